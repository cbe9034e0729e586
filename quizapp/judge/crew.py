"""Where the judge gets its workers from: forked by a zygote, or spawned warm and used once."""

import contextlib
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from quizapp.judge.isolation.kernel import adopt_orphans
from quizapp.judge.job import Job
from quizapp.judge.launch import clean_environment, command
from quizapp.judge.leftovers import kill_strays, kill_tree
from quizapp.judge.scratch import Scratch, new_folder
from quizapp.judge.zygote import fork_zygote

_LOADING = 120.0
_PATIENCE = 60.0


class Lost(ConnectionError):
    """The zygote has died; the next worker comes from a new one."""


class Handle(Protocol):
    """The judge's grip on a running worker."""

    def dump(self) -> None:
        """Have the worker write where it is."""

    def end(self, grace: float) -> int | None:
        """Kill the worker and what it left; its wait status, None if it was still running after ``grace``."""


class Worker:
    """A worker that has its job: its grip, the read ends of its pipes, its scratch folder."""

    def __init__(self, handle: Handle, result: int, printed: int, rank: int, scratch: Scratch):
        self.handle = handle
        self.result = result
        self.printed = printed
        self.rank = rank
        self.scratch = scratch

    def abandon(self) -> None:
        """Kill the worker and close its pipes."""
        with contextlib.suppress(Lost):
            self.handle.end(0.0)
        for descriptor in (self.result, self.printed):
            os.close(descriptor)


class ZygoteLink:
    """The judge's side of a zygote; starts another one when it has died."""

    def __init__(self, *, namespaces: bool, fork: bool):
        self._namespaces = namespaces
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._forked: int | None = None
        if fork:
            self._control, self._forked = fork_zygote(namespaces=namespaces)
            if namespaces:
                self._forked = None  # it made the namespaces and left; the zygote is its child
        else:
            self._control = self._spawn()

    def _spawn(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                command("quizapp.judge.zygote", str(theirs.fileno()), str(int(self._namespaces))),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=clean_environment(),
                start_new_session=True,
            )
        return ours

    def ask(self, message: dict[str, object], descriptors: tuple[int, ...] = ()) -> dict[str, object]:
        """Send one order and wait for the answer; `Lost` if the zygote is gone, and a new one is started."""
        with self._lock:
            try:
                socket.send_fds(self._control, [json.dumps(message).encode()], descriptors)
                answer = self._answer()
            except OSError:
                answer = b""
            if not answer:
                self._replace()
                raise Lost("the process that starts workers has died")
        decoded: dict[str, object] = json.loads(answer)
        return decoded

    def _answer(self) -> bytes:
        """Wait for the zygote, which a submission at T1 may have stopped or killed."""
        limit = time.monotonic() + _PATIENCE
        pid = self._process.pid if self._process is not None else self._forked
        while not select.select([self._control], [], [], 0.5)[0]:
            if pid is not None and not self._namespaces:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT if time.monotonic() < limit else signal.SIGKILL)
        return self._control.recv(1 << 16)

    def _replace(self) -> None:
        self._control.close()
        self._reap()
        self._control = self._spawn()

    def _reap(self) -> None:
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(2.0)
        if self._forked is not None:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._forked, 0)
            self._forked = None

    def fork(self, descriptors: tuple[int, int, int]) -> "ForkedHandle":
        """A new worker on the given pipe ends."""
        number = next(self._numbers)
        answer = self.ask({"op": "fork", "id": number}, descriptors)
        if "error" in answer:
            raise OSError(str(answer["error"]))
        return ForkedHandle(self, number)

    def pid(self) -> int:
        """The zygote's process."""
        number = self.ask({"op": "who"})["pid"]
        assert isinstance(number, int)
        return number

    def close(self) -> None:
        """Let the zygote end."""
        self._control.close()
        self._reap()


class ForkedHandle:
    """A worker forked by a zygote."""

    def __init__(self, link: ZygoteLink, number: int):
        self._link = link
        self._number = number

    def dump(self) -> None:
        """Have the worker write where it is."""
        with contextlib.suppress(Lost):
            self._link.ask({"op": "dump", "id": self._number})

    def end(self, grace: float) -> int | None:
        """Kill the worker and what it left; its wait status, None if it was still running after ``grace``.

        Raises `Lost` where the zygote died under it.
        """
        code = self._link.ask({"op": "end", "id": self._number, "grace": grace})["code"]
        assert code is None or isinstance(code, int)
        return code


class SpawnedHandle:
    """A worker with an interpreter of its own."""

    def __init__(self, process: subprocess.Popen[bytes], sweep: Callable[[], None]):
        self._process = process
        self._sweep = sweep

    def dump(self) -> None:
        """Have the worker write where it is."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGUSR1)
            self._process.send_signal(signal.SIGCONT)

    def end(self, grace: float) -> int | None:
        """Kill the worker and what it left; its wait status, None if it was still running after ``grace``."""
        kill_tree(self._process.pid)
        status = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(grace)
            status = -code if code < 0 else code << 8
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._sweep()
        return status


class Spare:
    """A spawned worker that has torch loaded and waits for its one job."""

    def __init__(self, device: str):
        pipes = [os.pipe() for _ in range(3)]
        (job_read, self.job), (self.result, result_write), (self.printed, printed_write) = pipes
        theirs = (job_read, result_write, printed_write)
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command("quizapp.judge.spawned", device, *map(str, theirs)),
            pass_fds=theirs,
            stdin=subprocess.DEVNULL,
            env=clean_environment(accelerator=device != "cpu"),
            start_new_session=True,
        )
        for descriptor in theirs:
            os.close(descriptor)

    def wait(self) -> None:
        """Wait until it has loaded: the submission's time begins after that."""
        select.select([self.result], [], [], _LOADING)

    def close(self) -> None:
        """Give the spare up: it ends when its job pipe closes."""
        for descriptor in (self.job, self.result, self.printed):
            os.close(descriptor)
        self.process.kill()
        self.process.wait()


class Crew:
    """Hands out workers. Make it before anything secret is loaded and while one thread runs: it forks."""

    def __init__(self, tier: str):
        self._links: dict[bool, ZygoteLink] = {}
        self._lock = threading.Lock()
        # One lasting thread starts the spares: the kernel kills them when the thread that started them ends.
        self._starter = ThreadPoolExecutor(1, "spares")
        self._spares: dict[str, list[Future[Spare]]] = {}
        self._used: list[Spare] = []
        self._preloaded: set[str] = set()
        self._folder = new_folder()
        if tier != "T0":
            namespaces = tier == "T3"
            self._links[namespaces] = ZygoteLink(namespaces=namespaces, fork=True)

    def scratch(self) -> Scratch:
        """A new scratch folder for one group of workers."""
        return Scratch(Path(tempfile.mkdtemp(dir=self._folder)))

    def preload(self, tier: str, names: list[str]) -> None:
        """Have the zygote of ``tier`` import modules that coming probes need."""
        new = set(names) - self._preloaded
        if new and tier != "T0":
            with contextlib.suppress(Lost):
                self._link(tier).ask({"op": "preload", "modules": sorted(new)})
                self._preloaded |= new

    def start(self, job: Job, scratch: Scratch) -> Worker:
        """Start a worker on ``job``. Raises `Lost` or `OSError`."""
        if job.tier == "T0" or job.device != "cpu":
            return self._spawned(job, scratch)
        for attempt in (1, 2):
            try:
                return self._forked(job, scratch)
            except Lost:
                self._preloaded.clear()
                if attempt == 2:
                    raise
        raise AssertionError

    def _link(self, tier: str) -> ZygoteLink:
        with self._lock:
            namespaces = tier == "T3"
            if namespaces not in self._links:
                self._links[namespaces] = ZygoteLink(namespaces=namespaces, fork=False)
            return self._links[namespaces]

    def _forked(self, job: Job, scratch: Scratch) -> Worker:
        link = self._link(job.tier)
        pipes = [os.pipe() for _ in range(3)]
        (job_read, job_write), (result_read, result_write), (printed_read, printed_write) = pipes
        try:
            handle = link.fork((job_read, result_write, printed_write))
        except OSError:
            for descriptor in (job_write, result_read, printed_read):
                os.close(descriptor)
            raise
        finally:
            for descriptor in (job_read, result_write, printed_write):
                os.close(descriptor)
        _hand_over(job_write, job)
        return Worker(handle, result_read, printed_read, job.rank, scratch)

    def _spawned(self, job: Job, scratch: Scratch) -> Worker:
        with self._lock:
            spares = self._spares.setdefault(job.device, [])
            spare = spares.pop(0) if spares else self._starter.submit(self._spare, job.device)
            spares.append(self._starter.submit(self._spare, job.device))
        ready = spare.result()
        ready.wait()
        _hand_over(ready.job, job)
        return Worker(
            SpawnedHandle(ready.process, self._sweep), ready.result, ready.printed, job.rank, scratch
        )

    def _sweep(self) -> None:
        """Kill orphans of spawned workers; in the thread that starts them, so that none is half known."""
        if sys.platform != "linux":
            return

        def sweep() -> None:
            with contextlib.suppress(Lost):
                known = {link.pid() for link in self._links.values()}
                kill_strays(
                    known | {spare.process.pid for spare in self._used if spare.process.poll() is None}
                )
                self._used = [spare for spare in self._used if spare.process.returncode is None]

        self._starter.submit(sweep).result()

    def _spare(self, device: str) -> Spare:
        if sys.platform == "linux":
            adopt_orphans()
        spare = Spare(device)
        self._used.append(spare)
        return spare

    def warm_spares(self, device: str, count: int) -> None:
        """Have ``count`` spawned workers for ``device`` ready."""
        with self._lock:
            spares = self._spares.setdefault(device, [])
            while len(spares) < count:
                spares.append(self._starter.submit(self._spare, device))

    def close(self) -> None:
        """End zygotes and spares and remove the scratch folders."""
        for link in self._links.values():
            link.close()
        for spares in self._spares.values():
            for spare in spares:
                spare.result().close()
        self._starter.shutdown()
        Scratch(self._folder).remove()


def _hand_over(descriptor: int, job: Job) -> None:
    # A worker that is gone already shows on its result pipe.
    with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "wb") as pipe:
        pipe.write(job.pack())


def wait_for_text(path: Path, seconds: float) -> str:
    """The text of a file that another process is about to write; what there is after ``seconds``."""
    limit = time.monotonic() + seconds
    size = -1
    while time.monotonic() < limit:
        now = path.stat().st_size if path.is_file() else 0
        if now and now == size:
            break
        size = now
        time.sleep(0.003)
    try:
        with path.open("rb") as stream:
            return stream.read(1 << 16).decode(errors="replace")
    except OSError:
        return ""
