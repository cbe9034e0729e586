"""Runs submissions against a judge of one tier and looks for harm."""

import contextlib
import hashlib
import shutil
import socket
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from quizapp.bank.model import Exercise
from quizapp.bank.parse_exercise import load_exercise
from quizapp.judge import JudgeClient, grade
from quizapp.judge.protocol import discovery
from quizapp.judge.verdict import Verdict

DATA = Path(__file__).parent / "data"
SECRET = "the canary sings at dawn"


def exercise(name: str, folder: Path = DATA) -> Exercise:
    """A fixture exercise."""
    found, faults = load_exercise(folder / name)
    assert found is not None, faults
    return found


@dataclass
class Field:
    """A warm judge of one tier, its own exercise folder, a canary, and sockets that nobody may connect to."""

    tier: str
    place: Path
    connections: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.began = time.time()
        shutil.copytree(DATA / "blend", self.place / "exercises" / "blend")
        self.exercise = exercise("blend", self.place / "exercises")
        self.canary = self.place / "canary"
        self.canary.write_text(SECRET, encoding="utf-8")
        self.canary.chmod(0o640)
        self.before = self._state()
        self._listeners = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)]
        self._listeners[1].bind(str(self.place / "socket"))
        self._listeners[1].listen()
        self._listeners.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self._listeners[2].bind(("127.0.0.1", self.port))
        for listener in self._listeners:
            threading.Thread(target=self._listen, args=(listener,), daemon=True).start()
        self.client = JudgeClient(tier=self.tier)
        self.client.start()
        while (sock := discovery.connect_running(discovery.socket_key())) is None:
            time.sleep(0.05)
        sock.close()
        first = self.grade((DATA / "blend" / "solution.py").read_bytes(), seconds=30.0)
        assert first.passed, first
        self.processes = self.running()
        # The first zygote is forked from the judge, so its command line is the judge's.
        self.children = psutil.Process(self.client.pid).children()

    @property
    def port(self) -> int:
        """The TCP and UDP port at which the field listens."""
        number = self._listeners[0].getsockname()[1]
        assert isinstance(number, int)
        return number

    def _listen(self, listener: socket.socket) -> None:
        try:
            while True:
                if listener.type == socket.SOCK_DGRAM:
                    self.connections.append(str(listener.recv(100)))
                else:
                    guest, address = listener.accept()
                    guest.close()
                    self.connections.append(str(address))
        except OSError:
            return

    def fill(self, source: str) -> bytes:
        """``source`` with this field's paths in place of the placeholders."""
        return (
            source.replace("CANARY", str(self.canary))
            .replace("EXERCISE", str(self.exercise.folder))
            .replace("SOCKET", str(self.place / "socket"))
            .replace("PORT", str(self.port))
            .replace("NONCE", self.place.name)
            .encode()
        )

    def grade(self, source: bytes, seconds: float | None = None, seed: int | None = None) -> Verdict:
        """The verdict of the warm judge."""
        return grade(self.exercise, source, device="cpu", timeout=seconds, seed=seed, tier=self.tier)

    def grade_all(
        self, sources: Iterable[tuple[str, bytes, float | None]], jobs: int = 4
    ) -> dict[str, Verdict]:
        """Verdicts by name, several at a time."""
        items = list(sources)
        with ThreadPoolExecutor(jobs) as pool:
            verdicts = pool.map(lambda item: self.grade(item[1], item[2]), items)
            return {name: verdict for (name, _, _), verdict in zip(items, verdicts, strict=True)}

    def _state(self) -> dict[str, str]:
        """Content, mode and time of everything that must not change."""
        files = [self.canary, *sorted((self.place / "exercises").rglob("*"))]
        return {
            str(path): f"{path.lstat().st_mode:o} {path.lstat().st_mtime_ns} "
            + (hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
            for path in files
            if "__pycache__" not in path.parts and path.exists()
        }

    def restore(self) -> None:
        """Put back what a submission may change where no layer protects it (T0, T1)."""
        shutil.rmtree(self.exercise.folder, ignore_errors=True)
        shutil.copytree(DATA / "blend", self.exercise.folder)
        self.canary.unlink(missing_ok=True)
        self.canary.write_text(SECRET, encoding="utf-8")

    def running(self) -> set[int]:
        """The judge's processes and everything below them, and orphans that still look like them.

        A spawned worker that waits for a job below the judge does not count.
        """
        found: set[int] = set()
        for process in psutil.process_iter(["cmdline", "pid", "ppid", "status", "create_time"]):
            line = process.info["cmdline"] or []
            if process.info["status"] == psutil.STATUS_ZOMBIE or not line:
                continue  # without a command line it is killed and only its memory is being freed
            ours = any(str(self.place.parent) in part for part in line)
            orphan = process.info["ppid"] == 1 and process.info["create_time"] >= self.began
            if ours or (orphan and any("quizapp.judge.worker.main" in part for part in line)):
                found.add(process.info["pid"])
        if self.client.pid:
            with contextlib.suppress(psutil.NoSuchProcess):
                found |= {
                    child.pid
                    for child in psutil.Process(self.client.pid).children(recursive=True)
                    if (words := child.cmdline()) and "quizapp.judge.worker.main" not in " ".join(words)
                }
        return found

    def left_running(self) -> list[str]:
        """Processes that were not there at the start and stay; on a busy machine, dying takes a moment."""
        limit = time.monotonic() + 5.0
        while (left := self._new_processes()) and time.monotonic() < limit:
            time.sleep(0.1)
        return [_account(pid) for pid in sorted(left)]

    def _new_processes(self) -> set[int]:
        """Those since the start, but for a zygote in the place of one that ended: the judge replaces it."""
        new = self.running() - self.processes
        ended = sum(map(_has_ended, self.children))
        replaced = sorted(pid for pid in new if _is_zygote(pid, self.client.pid))[:ended]
        return new.difference(replaced)

    def changed(self) -> list[str]:
        """Guarded files that are not as they were."""
        now = self._state()
        return [path for path in {*self.before, *now} if self.before.get(path) != now.get(path)]

    def close(self) -> None:
        """End the judge and the listeners."""
        self.client.stop()
        for listener in self._listeners:
            listener.close()


def _is_zygote(pid: int, judge: int | None) -> bool:
    try:
        process = psutil.Process(pid)
        return process.ppid() == judge and "quizapp.judge.server.workers.zygote" in " ".join(
            process.cmdline()
        )
    except psutil.NoSuchProcess:
        return False


def _has_ended(process: psutil.Process) -> bool:
    """Whether a process is gone or a zombie. On a busy machine another one may have its id by now."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _account(pid: int) -> str:
    try:
        process = psutil.Process(pid)
        return f"{pid} child of {process.ppid()}, {process.status()}: {' '.join(process.cmdline()[-6:])}"
    except psutil.NoSuchProcess:
        return f"{pid} has gone since"


def texts(verdict: Verdict) -> list[str]:
    """Every text of a verdict that reaches a terminal."""
    return [verdict.error or "", verdict.printed, *verdict.notes, *(test.message for test in verdict.tests)]


def control_characters(verdict: Verdict) -> list[str]:
    """Characters in a verdict that a terminal would obey."""
    return [c for text in texts(verdict) for c in text if not (c in "\n\t" or c.isprintable())]
