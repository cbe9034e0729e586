"""Ctrl+c while a command starts: it ends with the shell's exit code, and never with a traceback."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import IO

import pytest

pytestmark = pytest.mark.slow
COMMANDS = (("grade", "warmup", "--watch"), ("questions",), ("due",), ("stats",), ("check",), ("plan",))


def next_import(stderr: IO[str]) -> str:
    """The next module that the program reports to have imported; empty once it has ended."""
    for line in stderr:
        if line.startswith("import time:"):
            return line.rsplit("|", 1)[1].strip()
    return ""


@contextlib.contextmanager
def started(*command: str, disposition: str = "SIG_DFL") -> Iterator["subprocess.Popen[str]"]:
    """A command that has just begun to run its own code, whatever this suite has inherited for SIGINT."""
    program = [sys.executable, "-X", "importtime", "-m", "quizapp", *command]
    launch = (
        f"import os, signal; signal.signal(signal.SIGINT, signal.{disposition}); "
        f"os.execv({program[0]!r}, {program})"
    )
    with subprocess.Popen(
        [sys.executable, "-c", launch],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        while next_import(process.stderr) != "quizapp.cli.main":
            assert process.poll() is None
        yield process


def interrupt(command: tuple[str, ...], after: int) -> tuple[int, str]:
    """Press ctrl+c after so many imports. Returns the exit code and what followed on stderr."""
    with started(*command) as process:
        assert process.stderr is not None
        for _ in range(after):
            assert next_import(process.stderr)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    rest = [line for line in errors.splitlines() if not line.startswith("import time:")]
    return process.returncode, "\n".join(rest)


@pytest.mark.parametrize(
    ("command", "after"), [(COMMANDS[0], 1), (COMMANDS[0], 40), (("due",), 2), (("due",), 60)]
)
def test_ctrl_c_at_the_start_ends_without_a_traceback(command: tuple[str, ...], after: int) -> None:
    # The interpreter may have gone on for a moment, even to the end of the program.
    assert interrupt(command, after) in {(130, ""), (-signal.SIGINT, "")}


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_ctrl_c_after_any_import_ends_without_a_traceback(command: tuple[str, ...]) -> None:
    endings = [interrupt(command, after) for after in range(1, 90, 6)]
    assert [ending for ending in endings if ending not in {(130, ""), (-signal.SIGINT, "")}] == []


def test_a_background_job_that_ignores_ctrl_c_goes_on() -> None:
    with started("due", disposition="SIG_IGN") as process:
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output
