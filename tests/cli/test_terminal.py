"""The whole program in a real pseudo-terminal, driven by keys and read from the screen."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pyte
import pytest

from quizapp import paths

pytestmark = pytest.mark.slow

ROWS, COLUMNS = 30, 100
PATIENCE = 60.0


def heed_ctrl_c() -> None:
    """Undo what a suite that runs in the background inherits: there, shells ignore the signal."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Terminal:
    """A running program and what its screen shows."""

    def __init__(self, *arguments: str, command: tuple[str, ...] = (sys.executable, "-m", "quizapp")):
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        program, *others = (*command, *arguments)
        self.process = pexpect.spawn(
            program, others, dimensions=(ROWS, COLUMNS), timeout=5, preexec_fn=heed_ctrl_c
        )

    def text(self) -> str:
        """The screen as it is now."""
        with contextlib.suppress(pexpect.TIMEOUT, pexpect.EOF):
            self._stream.feed(self.process.read_nonblocking(65536, timeout=0.1))
        return "\n".join(self.screen.display)

    def wait(self, condition: Callable[[str], bool]) -> str:
        """Wait until the screen meets the condition."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            text = self.text()
            if condition(text):
                return text
        pytest.fail(f"the screen never came:\n{self.text()}")

    def press(self, keys: str) -> None:
        """Type keys."""
        self.process.send(keys)

    def end(self) -> int:
        """Wait for the program's end and return its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.process.isalive():
            text = self.text()
            if time.monotonic() > deadline:
                pytest.fail(f"the program did not end:\n{text}")
        self.process.close(force=True)
        return -self.process.signalstatus if self.process.exitstatus is None else self.process.exitstatus


@pytest.fixture
def start(home: Path) -> Iterator[Callable[..., Terminal]]:
    """Starts the program; the tour is taken as seen."""
    subprocess.run([sys.executable, "-m", "quizapp", "due"], check=True, capture_output=True)
    running: list[Terminal] = []

    def begin(*arguments: str, **options: tuple[str, ...]) -> Terminal:
        running.append(Terminal(*arguments, **options))
        return running[-1]

    yield begin
    for terminal in running:
        terminal.process.close(force=True)


def reviews() -> int:
    done = subprocess.run(
        [sys.executable, "-m", "quizapp", "stats", "--json"], check=True, capture_output=True, text=True
    )
    return int(json.loads(done.stdout)["reviews"])


def test_home_opens_and_quits(start: Callable[..., Terminal]) -> None:
    terminal = start()
    terminal.wait(lambda text: "Welcome" in text)
    terminal.press("\x1b")
    terminal.wait(lambda text: "20 new" in text or "Today" in text)
    terminal.press("q")
    assert terminal.end() == 0


def test_a_drilled_card_is_there_after_quitting_in_the_middle(start: Callable[..., Terminal]) -> None:
    terminal = start("drill", "--kind", "recall")
    before = terminal.wait(lambda text: "reveal" in text.lower())
    terminal.press(" ")
    terminal.wait(lambda text: "Again" in text and "Easy" in text)
    terminal.press("3")
    terminal.wait(lambda text: "reveal" in text.lower() and "Easy" not in text and text != before)
    terminal.press(" ")
    terminal.wait(lambda text: "Again" in text and "Easy" in text)
    terminal.process.kill(9)
    assert reviews() == 1


def test_a_broken_run_goes_on_after_its_terminal_was_killed(start: Callable[..., Terminal]) -> None:
    terminal = start("incident", "healthy-until")
    terminal.wait(lambda text: "Begin (enter)" in text and "Healthy until step 11" in text)
    terminal.press("\r")
    terminal.wait(lambda text: "f2 Run" in text and "At step 11 it is" in text)
    terminal.press("\r2")  # the first reading is free
    terminal.wait(lambda text: "you predicted" in text)
    terminal.process.kill(9)
    terminal = start("incident")
    terminal.wait(lambda text: "A broken run (Healthy until step 11) is not finished" in text)
    terminal.press("r")
    terminal.wait(lambda text: "f2 Run" in text and "you predicted" in text)
    terminal.press("\x11")
    assert terminal.end() == 0
    assert reviews() == 0


def test_an_unknown_run_takes_no_screen(start: Callable[..., Terminal]) -> None:
    terminal = start("incident", "zzz")
    terminal.wait(lambda text: "there is no incident 'zzz'" in text)
    assert terminal.end() == 2


def test_exercise_can_be_passed_inside(start: Callable[..., Terminal], home: Path) -> None:
    subprocess.run([sys.executable, "-m", "quizapp", "exercise", "warmup"], check=True, capture_output=True)
    path = next(home.rglob("warmup.py"))
    path.write_text((paths.exercises() / "warmup" / "solution.py").read_text())
    terminal = start("exercise", "warmup")
    terminal.wait(lambda text: "Warmup" in text)
    terminal.press("\x12")
    terminal.wait(lambda text: "passed" in text.lower())
    terminal.press("\x11")
    assert terminal.end() == 0
    done = subprocess.run(
        [sys.executable, "-m", "quizapp", "exercise", "--json"], check=True, capture_output=True, text=True
    )
    assert {row["slug"]: row["state"] for row in json.loads(done.stdout)}["warmup"] == "complete"


@pytest.mark.parametrize("editor", ["no-such-editor", "no-such-editor 'half quoted"])
def test_an_editor_that_is_missing_leaves_the_program_in_charge(
    start: Callable[..., Terminal], monkeypatch: pytest.MonkeyPatch, editor: str
) -> None:
    monkeypatch.setenv("VISUAL", editor)
    terminal = start("exercise", "warmup")
    terminal.wait(lambda text: "Warmup" in text)
    terminal.press("\x0f")
    terminal.wait(lambda text: "no-such-editor" in text and "Task" in text)
    terminal.press("\x1bOR")  # f3: keys still arrive
    terminal.wait(lambda text: "import torch" in text or "def " in text)
    terminal.press("\x11")
    assert terminal.end() == 0


SHELL = ("bash", "--norc", "--noprofile", "-i")


@pytest.mark.parametrize(
    "wrapped",
    [
        pytest.param("{}", id="alone"),
        pytest.param("sh -c '{}; true'", id="below-make", marks=pytest.mark.exhaustive),
    ],
)
def test_ctrl_z_steps_aside_and_the_judge_goes_on(
    start: Callable[..., Terminal], home: Path, wrapped: str
) -> None:
    subprocess.run([sys.executable, "-m", "quizapp", "exercise", "warmup"], check=True, capture_output=True)
    path = next(home.rglob("warmup.py"))
    path.write_text((paths.exercises() / "warmup" / "solution.py").read_text())
    terminal = start(command=SHELL)
    terminal.press("PS1='ready> '\n")
    terminal.wait(lambda text: "\nready>" in text)
    terminal.press(wrapped.format(f"{sys.executable} -m quizapp exercise warmup") + "\n")
    terminal.wait(lambda text: "Task" in text and "grade" in text)
    terminal.press("\x12\x1bOQ\x1a")  # ctrl+r, f2: away from the code, where the next key would undo
    terminal.wait(lambda text: "Stopped" in text and "\nready>" in text)
    terminal.press("echo $((6 * 7))\n")
    terminal.wait(lambda text: "42" in text)
    terminal.press("fg; echo ended $?\n")
    terminal.wait(lambda text: "Stopped" not in text and "f4" in text)
    terminal.press("\x1bOS")  # f4
    terminal.wait(lambda text: "✓ passed" in text)
    terminal.press("\x11")
    terminal.wait(lambda text: "ended 0" in text)


def test_ctrl_z_without_a_shell_says_so_and_stays(start: Callable[..., Terminal]) -> None:
    terminal = start("drill", "--kind", "recall")
    terminal.wait(lambda text: "reveal" in text.lower())
    terminal.press("\x1a")
    terminal.wait(lambda text: "no shell to return" in text and "reveal" in text.lower())
    terminal.press(" ")
    terminal.wait(lambda text: "Again" in text and "Easy" in text)
    terminal.press("\x11")
    assert terminal.end() == 0


def test_watch_says_what_is_watched_and_what_came_out_in_the_terminals_width(
    start: Callable[..., Terminal], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    terminal = start("grade", "warmup", "--watch")
    text = terminal.wait(lambda text: "waiting for the next save of warmup.py" in text)
    assert re.search(r"failed, \d+ of \d+ tests hold; saved at \d\d:\d\d:\d\d", text)
    reasons = [line for line in text.splitlines() if line.startswith("  ")]
    assert [line for line in reasons if line[60:].strip()] == []
    path = next(home.rglob("warmup.py"))
    path.write_text((paths.exercises() / "warmup" / "solution.py").read_text())
    terminal.wait(lambda text: "passed, " in text)
    terminal.press("\x03")
    assert terminal.end() == 0


def test_text_reaches_a_pipe_that_knows_only_ascii() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "quizapp", "show", "adam-bias-correction"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert b"# adam-bias-correction" in done.stdout
    assert done.stderr == b""


@pytest.mark.parametrize("shell", ['"$@" >&-', '"$@" <&- >&- 2>&-'])
def test_closed_streams_are_no_error(shell: str) -> None:
    command = [sys.executable, "-m", "quizapp", "show", "adam-bias-correction"]
    done = subprocess.run(["/bin/sh", "-c", shell, "sh", *command], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_a_full_disk_is_one_sentence() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "quizapp", "show", "adam-bias-correction"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert b"the disk is full" in done.stderr
    assert done.stderr.count(b"\n") == 1
