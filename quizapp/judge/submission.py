"""Finds, creates and reads the user's own exercise files."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from quizapp import paths
from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.util.atomic import create_atomic

MAX_SOURCE = 256 << 10

_GUIDE = """\
# How to help here

This folder holds exercises for an interview about training ML models. Whoever opened it wants to be able to
write each of these modules from memory, so a solution that somebody else writes is worth nothing here.

If you are an assistant:

- **Ask** what the code should do next, and which behavior of the task is still missing.
- **Hint**: name the idea, the shape, or the line to look at. One step at a time, the smallest one first.
- **Review** what is there: say what is wrong and why, and let the learner fix it.
- **Do not write the solution**, neither in these files nor in the chat, and do not look for one on this
  machine. Answer questions about Python and PyTorch with an example from another task.

Commands:

- `quizapp exercise SLUG | cat` prints the task; the folder `SLUG/` holds the learner's file.
- `quizapp grade SLUG` runs the hidden tests on that file and says what fails. Every grade counts as a
  submission, so let the learner ask for it.
- `quizapp exercise SLUG` in a terminal opens the exercise; `ctrl+t` shows its next hint. Hints lower the
  rating, so let the learner ask for them too.
- `quizapp mcp` offers questions, grades, and hints as tools that do not spoil answers.

quizapp wrote this file once. It does not change it, and it does not bring it back.
"""
_GUIDE_WRITTEN = "quizapp wrote AGENTS.md into this folder. Delete this file too to get it again.\n"

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def user_path(exercise: Exercise) -> Path:
    """The path of the user's file for ``exercise``, whether it exists or not."""
    return paths.workspace() / exercise.slug / exercise.module


def user_file(exercise: Exercise) -> Path:
    """The user's file for ``exercise``, created from the starter if missing and never overwritten.

    Raises `QuizError` if it cannot be created.
    """
    path = user_path(exercise)
    if os.path.lexists(path):
        return path
    try:
        create_module(path, exercise.starter)
    except OSError as error:
        raise QuizError(
            f"{path} cannot be created: {error.strerror}; make room for it or set QUIZAPP_HOME."
        ) from None
    return path


def create_module(path: Path, text: str) -> None:
    """Create a module for the user to edit, unless there is one. Raises ``OSError``.

    With the first one, ``AGENTS.md`` in the workspace tells an assistant how to help.
    """
    create_atomic(path, text, mode=0o644)
    with suppress(OSError):  # nobody should miss their exercise because of a note beside it
        _write_guide(paths.workspace())


def _write_guide(workspace: Path) -> None:
    """Write ``AGENTS.md``, unless it is there or was there once: a user who deletes it does not want it."""
    written = workspace / ".agents-md-written"
    if not written.exists():
        create_atomic(workspace / "AGENTS.md", _GUIDE, mode=0o644)
        create_atomic(written, _GUIDE_WRITTEN, mode=0o644)


def read_source(path: Path) -> bytes:
    """Read the bytes of a submission.

    Raises `QuizError` for anything but a regular UTF-8 file of at most 256 KiB.
    """
    try:
        _refuse_special(path, path.stat().st_mode)
        # Without O_NONBLOCK, opening a pipe that appeared meanwhile would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            # Check again, since another process may have put something else there between stat and open.
            _refuse_special(path, os.fstat(descriptor).st_mode)
            source = stream.read(MAX_SOURCE + 1)
    except OSError as error:
        raise QuizError(f"{path} cannot be read: {_reason(error)}.") from None
    except ValueError:
        raise QuizError(f"{str(path)!r} is not a file name; check it for stray bytes.") from None
    return check_source(source, str(path))


def _refuse_special(path: Path, mode: int) -> None:
    for test, name in _KINDS:
        if test(mode):
            raise QuizError(f"{path} is {name}; give a Python file.")


def _reason(error: OSError) -> str:
    reasons = {
        errno.ENOENT: "there is no such file",
        errno.ELOOP: "its links form a circle",
        errno.EACCES: "you may not read it; change its permissions",
        errno.ENOTDIR: "a part of its path is not a folder",
    }
    return reasons.get(error.errno or 0, error.strerror or "the system refuses")


def check_source(source: bytes, name: str) -> bytes:
    """Return ``source`` unchanged. Raises `QuizError` if it is too large or not UTF-8 text."""
    if len(source) > MAX_SOURCE:
        raise QuizError(f"{name} is larger than {MAX_SOURCE >> 10} KiB; submit the exercise's module alone.")
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise QuizError(f"{name} is not UTF-8 at byte {error.start}; save it as UTF-8.") from None
    if "\0" in text:
        raise QuizError(f"{name} contains a zero byte, so it is not Python source.")
    return source
