"""Several clients at one warm judge: an app, commands, a watcher, and clients that leave or send nonsense."""

import contextlib
import json
import queue
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge import JudgeClient, grade
from quizapp.judge.client.process import end_judge, start_judge
from quizapp.judge.protocol import discovery, messages
from quizapp.judge.protocol.messages import ClientRequest, Operation
from quizapp.judge.protocol.orders import GradeOrder
from quizapp.judge.verdict import Verdict
from quizapp.paths import exercises
from tests.judge.field import DATA, exercise

RIGHT = (DATA / "blend" / "solution.py").read_bytes()
WRONG = b"def blend(x, y, w):\n    return x\n"
SLOW = b"import time\ntime.sleep(100)\n"
QUIZAPP = (sys.executable, "-m", "quizapp")


class App:
    """What the app does: it keeps a judge that others use too."""

    def __init__(self) -> None:
        self.answers: queue.Queue[Verdict | QuizError] = queue.Queue()
        self.client = JudgeClient(lambda _, outcome: self.answers.put(outcome))
        self.client.start()

    def grade(self, blend: Exercise, source: bytes) -> Verdict:
        self.client.submit(blend, source, timeout=50)
        verdict = self.answers.get(timeout=60)
        assert isinstance(verdict, Verdict), verdict
        return verdict

    def processes(self) -> set[int]:
        """The judge and what it has started: not all of that are its descendants, or have its command."""
        judge = psutil.Process(self.client.pid)
        command = judge.cmdline()
        alike = {p.pid for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == command}
        return alike | {child.pid for child in judge.children(recursive=True)}

    def idle(self) -> set[int]:
        """Its processes once none has come or gone for a second: spare ones are forked after a grade."""
        seen, since = self.processes(), time.monotonic()
        deadline = since + 60
        while time.monotonic() < since + 1:
            assert time.monotonic() < deadline
            time.sleep(0.02)
            now = self.processes()
            if now != seen:
                seen, since = now, time.monotonic()
        return seen

    def wait_for_rest(self, idle: set[int]) -> None:
        """Wait until no more processes run than did at rest. A spare one may have been replaced."""
        deadline = time.monotonic() + 60
        while len(self.processes()) > len(idle):
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.fixture(scope="module")
def blend() -> Exercise:
    return exercise("blend")


@pytest.fixture(scope="module")
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A data folder whose judge no other test uses: programs find a warm judge by this folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUIZAPP_HOME", str(tmp_path_factory.mktemp("shared-judge")))
        yield


@pytest.fixture(scope="module")
def app(blend: Exercise, own_home: None) -> Iterator[App]:
    app = App()
    assert app.grade(blend, RIGHT).passed
    yield app
    app.client.stop()


@contextlib.contextmanager
def command(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A running ``quizapp grade``."""
    with subprocess.Popen(
        [*QUIZAPP, "grade", *arguments, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        yield process
        process.kill()


def connect() -> socket.socket:
    sock = discovery.connect_running(discovery.socket_key())
    assert sock is not None
    return sock


def wait_for_worker(app: App, idle: set[int]) -> None:
    """Wait until something is being graded."""
    deadline = time.monotonic() + 60
    while app.processes() <= idle:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.exhaustive
def test_verdicts_of_clients_at_one_judge_never_cross(app: App, blend: Exercise, tmp_path: Path) -> None:
    idle = app.idle()
    wrong_mfu = tmp_path / "mfu.py"
    wrong_mfu.write_text("def flops_per_token(*_, **__):\n    return 1\n")
    watched = tmp_path / "warmup.py"
    watched.write_bytes((exercises() / "warmup" / "solution.py").read_bytes())
    expected = [("warmup", watched, "passed"), ("mfu", wrong_mfu, "failed")]
    with (
        command("warmup", str(watched)) as first,
        command("mfu", str(wrong_mfu)) as second,
        command("warmup", str(watched), "--watch") as watcher,
    ):
        for _ in range(6):
            assert not app.grade(blend, WRONG).passed
            assert app.grade(blend, RIGHT).passed
        for process, (slug, file, status) in zip((first, second), expected, strict=True):
            verdict = json.loads(process.communicate(timeout=60)[0])
            assert (verdict["exercise"], verdict["file"], verdict["status"]) == (slug, str(file), status)
        assert watcher.stdout is not None
        assert json.loads(watcher.stdout.readline())["status"] == "passed"
    app.wait_for_rest(idle)


def test_a_client_that_is_killed_in_a_grade_leaves_no_worker(
    app: App, blend: Exercise, tmp_path: Path
) -> None:
    idle = app.idle()
    slow = tmp_path / "warmup.py"
    slow.write_bytes(SLOW)
    with command("warmup", str(slow), "--timeout", "90") as process:
        wait_for_worker(app, idle)
        process.kill()
        app.wait_for_rest(idle)
    assert app.grade(blend, RIGHT).passed


def test_an_interrupted_command_leaves_the_others_alone(app: App, blend: Exercise, tmp_path: Path) -> None:
    idle = app.idle()
    slow = tmp_path / "warmup.py"
    slow.write_bytes(SLOW)
    with command("warmup", str(slow), "--timeout", "90") as process:
        wait_for_worker(app, idle)
        process.send_signal(signal.SIGINT)
        assert app.grade(blend, RIGHT).passed
    app.wait_for_rest(idle)


@pytest.mark.parametrize(
    "frame",
    [
        b"\xff" * 64,
        b"",
        struct.pack("<I", 100) + b"half",
        struct.pack("<I", 4) + b"[{]}",
        struct.pack("<I", 2) + b"[]",
        struct.pack("<I", 60_000) + b"[" * 60_000,
        b'{"op": "grade", "id": 1, "latest": false, "order": {}}',
        b'{"op": "ping", "id": [], "latest": false}',
        b'{"op": "grade", "id": [], "latest": false, "order": {"folder": "/", "source": "", "file": ""}}',
        b'{"op": "grade", "id": 1, "latest": 0, "order": {"folder": "/nowhere", "source": "", "file": 3}}',
    ],
    ids=[f"frame {number}" for number in range(10)],
)
def test_nonsense_from_one_client_disturbs_no_other(app: App, blend: Exercise, frame: bytes) -> None:
    with connect() as guest:
        guest.sendall(struct.pack("<I", len(frame)) + frame if frame.startswith(b"{") else frame)
        assert app.grade(blend, RIGHT).passed
        assert not grade(blend, WRONG, timeout=50).passed


@pytest.mark.exhaustive
def test_a_judge_ends_with_an_owner_that_sent_nonsense() -> None:
    process, sock = start_judge()
    body = b"[" * 60_000
    sock.sendall(struct.pack("<I", len(body)) + body)
    assert messages.receive_reply(sock, 0) is None  # the judge hangs up
    sock.close()
    end_judge(process)
    assert process.returncode == 0


def test_a_guest_that_leaves_cancels_only_its_own_grade(app: App, blend: Exercise) -> None:
    idle = app.idle()
    with connect() as guest:
        messages.send(guest, ClientRequest(Operation.GRADE, 1, GradeOrder.create(blend, SLOW, timeout=90)))
        wait_for_worker(app, idle)
        app.client.submit(blend, WRONG, timeout=50)
    verdict = app.answers.get(timeout=60)
    assert isinstance(verdict, Verdict)
    assert (verdict.status, verdict.exercise) == ("failed", "blend")
    app.wait_for_rest(idle)


@pytest.mark.exhaustive
def test_a_command_outlives_the_app_whose_judge_it_uses(app: App, blend: Exercise) -> None:
    # The last test of this file, since it ends the judge that all of them share.
    idle = app.idle()
    with connect() as guest:
        messages.send(guest, ClientRequest(Operation.GRADE, 1, GradeOrder.create(blend, SLOW, timeout=90)))
        wait_for_worker(app, idle)
        app.client.stop()
        with contextlib.suppress(OSError):
            assert messages.receive_reply(guest, 0) is None
    assert grade(blend, RIGHT, timeout=50).passed
