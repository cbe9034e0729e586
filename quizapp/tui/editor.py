"""The user's own editor: the interface steps aside while it runs."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

if TYPE_CHECKING:
    from quizapp.tui.app import QuizApp

_LINE_STYLE = {"code": "--goto", "codium": "--goto", "subl": "", "zed": "", "hx": "", "helix": ""}
_USUAL = ("nano", "vim", "vi", "emacs", "notepad")


def command(setting: str, path: Path, line: int = 0) -> list[str] | None:
    """How to open ``path`` (at a line): the setting, ``VISUAL``, ``EDITOR``, or one that is installed."""
    wanted = setting or os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        words = shlex.split(wanted)
    except ValueError:  # a quote that is not closed: perhaps a path
        words = [wanted]
    words = words or next(([name] for name in _USUAL if shutil.which(name)), [])
    if not words:
        return None
    program = Path(words[0]).stem
    if program in {"code", "codium"} and "--wait" not in words:
        words.append("--wait")
    return [*words, *_at_line(program, path, line)]


def _at_line(program: str, path: Path, line: int) -> Sequence[str]:
    if line <= 0 or program == "notepad":
        return (str(path),)
    if program in _LINE_STYLE:
        option = _LINE_STYLE[program]
        return (*((option,) if option else ()), f"{path}:{line}")
    return (f"+{line}", str(path))


def edit(app: "QuizApp", path: Path, line: int = 0) -> bool:
    """Run the editor on a file and wait; False, with a notice, where that is not possible."""
    words = command(app.study.settings.editor, path, line)
    if words is None:
        app.say("No editor found: set EDITOR, or the editor in the settings.", bad=True)
        return False
    problem = ""
    try:
        with app.suspend():
            try:
                subprocess.run(words, check=False)  # noqa: S603 - the user's own choice of program
            except OSError as error:  # beyond the block it would leave the terminal handed over
                problem = error.strerror or type(error).__name__
    except SuspendNotSupported:
        app.say(f"This terminal cannot be handed over; the file is {path}.", bad=True)
        return False
    app.refresh()
    if problem:
        app.say(
            f"The editor {words[0]} does not start ({problem}): set EDITOR, or the editor in the settings.",
            bad=True,
        )
    return not problem


def open_source(app: "QuizApp", file: str, line: int) -> None:
    """Open a content file at a line."""
    path = Path(file)
    if not path.is_file():
        from quizapp import paths

        path = paths.content().parent / file
    if path.is_file():
        edit(app, path, line)
    else:
        app.say(f"The file {file} is not there.", bad=True)
