"""The warm judge: latest wins, it outlives its zygote, and it ends with whoever started it."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge import JudgeClient, grade
from quizapp.judge.client import process
from quizapp.judge.client.batch import grade_folder
from quizapp.judge.client.process import start_judge
from quizapp.judge.client.watch import watch
from quizapp.judge.protocol import discovery
from quizapp.judge.protocol.messages import JudgeFailed
from quizapp.judge.verdict import Verdict
from tests.judge.field import DATA, exercise

RIGHT = (DATA / "blend" / "solution.py").read_bytes()
WRONG = b"def blend(x, y, w):\n    return x\n"
SLOW = b"import time\ntime.sleep(100)\n"


@pytest.fixture(scope="module")
def blend() -> Exercise:
    return exercise("blend")


class RecordingClient:
    """A client that keeps its answers."""

    def __init__(self) -> None:
        self.answers: queue.Queue[tuple[int, Verdict | QuizError]] = queue.Queue()
        self.client = JudgeClient(lambda ticket, outcome: self.answers.put((ticket, outcome)))

    def verdict(self) -> tuple[int, Verdict]:
        ticket, outcome = self.answers.get(timeout=60)
        assert isinstance(outcome, Verdict), outcome
        return ticket, outcome


@pytest.fixture(scope="module")
def recording() -> Iterator[RecordingClient]:
    recording = RecordingClient()
    recording.client.start()
    yield recording
    recording.client.stop()


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_only_the_latest_submission_is_answered(recording: RecordingClient, blend: Exercise) -> None:
    for source in (SLOW, WRONG, SLOW, WRONG, SLOW):
        recording.client.submit(blend, source, timeout=50)
    last = recording.client.submit(blend, RIGHT, timeout=50)
    ticket, verdict = recording.verdict()
    assert ticket == last
    assert verdict.passed
    time.sleep(0.3)
    assert recording.answers.empty()


def test_a_cancelled_submission_is_never_answered(recording: RecordingClient, blend: Exercise) -> None:
    recording.client.submit(blend, SLOW, timeout=50)
    recording.client.cancel()
    last = recording.client.submit(blend, WRONG, timeout=50)
    assert recording.verdict()[0] == last


def test_a_seed_reproduces_a_verdict_word_for_word(recording: RecordingClient, blend: Exercise) -> None:
    messages = []
    for _ in range(2):
        recording.client.submit(blend, WRONG, seed=7, timeout=50)
        messages.append([test.message for test in recording.verdict()[1].tests])
    assert messages[0] == messages[1]


def test_an_unreadable_source_is_refused_at_once(recording: RecordingClient, blend: Exercise) -> None:
    with pytest.raises(QuizError):
        recording.client.submit(blend, Path("/dev/zero"))
    with pytest.raises(QuizError):
        recording.client.submit(blend, b"\xff\xfe")


def test_an_absent_device_is_reported(recording: RecordingClient, blend: Exercise) -> None:
    recording.client.submit(blend, RIGHT, device="cuda:63")
    _, outcome = recording.answers.get(timeout=60)
    assert isinstance(outcome, QuizError)
    assert "absent" in str(outcome)
    with pytest.raises(QuizError, match="not a device"):
        recording.client.submit(blend, RIGHT, device="gpu")


def test_a_seed_that_no_generator_accepts_is_refused(blend: Exercise) -> None:
    with pytest.raises(QuizError, match="64 bits"):
        grade(blend, RIGHT, seed=10**30)


def test_grade_uses_the_warm_judge_of_the_same_user(recording: RecordingClient, blend: Exercise) -> None:
    sock = discovery.connect_running(discovery.socket_key())
    assert sock is not None
    sock.close()
    before = {p.pid for p in psutil.process_iter()}
    assert grade(blend, RIGHT, timeout=50).passed
    started = [p for p in psutil.process_iter() if p.pid not in before and p.ppid() == os.getpid()]
    assert started == []


def test_the_judge_outlives_its_zygote_and_its_examiner(recording: RecordingClient, blend: Exercise) -> None:
    recording.client.submit(blend, RIGHT, timeout=50)
    assert recording.verdict()[1].passed
    judge = recording.client.pid
    marker = str(psutil.Process(judge).cmdline())
    processes = [
        p.pid
        for p in psutil.process_iter(["pid", "cmdline"])
        if p.info["pid"] != judge and str(p.info["cmdline"]) == marker
    ]
    assert len(processes) > 1
    for pid in processes:
        os.kill(pid, signal.SIGKILL)
    recording.client.submit(blend, RIGHT, timeout=50)
    assert recording.verdict()[1].passed
    assert recording.client.pid == judge


def test_a_killed_judge_is_replaced(recording: RecordingClient, blend: Exercise) -> None:
    recording.client.submit(blend, SLOW, timeout=50)
    judge = recording.client.pid
    os.kill(judge, signal.SIGKILL)
    last = recording.client.submit(blend, RIGHT, timeout=50)
    ticket, verdict = recording.verdict()
    assert (ticket, verdict.passed) == (last, True)
    assert recording.client.pid not in (0, judge)


def test_the_judge_ends_with_its_parent(tmp_path: Path) -> None:
    script = (
        "import sys, time; sys.path.insert(0, '.')\n"
        "from quizapp.judge import JudgeClient\n"
        "c = JudgeClient(); c.start(); print(c.pid, flush=True); time.sleep(100)"
    )
    env = {**os.environ, "QUIZAPP_HOME": str(tmp_path)}
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=env)
    assert parent.stdout is not None
    judge = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()

    def has_ended() -> bool:
        commands = [" ".join(p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"])]
        if any(str(tmp_path) in command for command in commands):
            return False
        # A process that is being torn down has no command line any more, but exists for a moment.
        return not psutil.pid_exists(judge) or psutil.Process(judge).status() == psutil.STATUS_ZOMBIE

    until(has_ended)


def test_a_folder_that_is_gone_is_not_blamed_on_the_code(
    blend: Exercise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # no warm judge there
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    here.rmdir()
    assert grade(blend, RIGHT, timeout=50).passed


def test_a_judge_that_breaks_by_itself_is_not_blamed_on_the_code(
    blend: Exercise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(process, "python_command", lambda *_: [sys.executable, "-c", "raise SystemExit(1)"])
    with pytest.raises(JudgeFailed, match="cannot start"):
        grade(blend, RIGHT)
    with pytest.raises(JudgeFailed, match="cannot start"):
        list(grade_folder(blend, [DATA / "blend" / "solution.py"]))
    recording = RecordingClient()
    recording.client.submit(blend, RIGHT)
    assert isinstance(recording.answers.get(timeout=60)[1], JudgeFailed)
    recording.client.stop()


def test_the_judge_ends_when_idle() -> None:
    process, sock = start_judge(idle=0.4)
    with sock:
        assert process.wait(60) == 0


def test_a_folder_that_others_may_enter_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = tmp_path / f"quizapp-{os.getuid()}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    assert discovery.listen("key") is None
    assert discovery.connect_running("key") is None


def next_verdict(outcomes: Iterator[Verdict | QuizError]) -> Verdict:
    outcome = next(outcomes)
    assert isinstance(outcome, Verdict), outcome
    return outcome


def test_watch_grades_each_save_and_the_last_one_wins(blend: Exercise, tmp_path: Path) -> None:
    path = tmp_path / "blend.py"
    path.write_bytes(WRONG)
    verdicts = watch(blend, path, timeout=50)
    assert next_verdict(verdicts).status == "failed"
    path.write_bytes(SLOW)
    time.sleep(0.3)
    draft = tmp_path / "draft"
    draft.write_bytes(RIGHT)
    draft.replace(path)
    assert next_verdict(verdicts).passed


def test_a_save_that_cannot_be_graded_is_named_and_the_one_before_it_is_not_judged(
    blend: Exercise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "blend.py"
    path.write_bytes(RIGHT)
    submit = JudgeClient.submit

    def submit_and_save(client: JudgeClient, *arguments: Any, **options: Any) -> int:
        ticket = submit(client, *arguments, **options)
        monkeypatch.undo()
        path.write_bytes(b"# \xe4\n")
        return ticket

    monkeypatch.setattr(JudgeClient, "submit", submit_and_save)
    with contextlib.closing(watch(blend, path, timeout=50)) as outcomes:
        assert "is not UTF-8" in str(next(outcomes))
        path.unlink()
        path.symlink_to("/dev/zero")
        assert "is a device" in str(next(outcomes))
        path.unlink()
        path.mkdir()
        assert "is a folder" in str(next(outcomes))
        path.rmdir()
        path.write_bytes(WRONG)
        assert next_verdict(outcomes).status == "failed"


def test_folder_gives_every_file_its_own_verdict(blend: Exercise, tmp_path: Path) -> None:
    sources = {
        "right": RIGHT,
        "wrong": WRONG,
        "crash": b"import ctypes\nctypes.string_at(0)\n",
        "exit": b"import os\nos._exit(0)\n",
        "latin": b"# \xe4\n",
        "again": RIGHT,
    }
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_bytes(source)
    os.mkfifo(tmp_path / "pipe.py")
    found = {Path(v.file).stem: v.status for v in grade_folder(blend, tmp_path, jobs=2, timeout=50)}
    assert found == {
        "right": "passed",
        "wrong": "failed",
        "crash": "error",
        "exit": "error",
        "latin": "error",
        "pipe": "error",
        "again": "passed",
    }


def test_folder_refuses_a_senseless_device_before_any_file(blend: Exercise, tmp_path: Path) -> None:
    with pytest.raises(QuizError):
        list(grade_folder(blend, tmp_path, device="tpu"))
