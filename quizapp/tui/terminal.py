"""The terminal around the interface: its loss, ctrl+z, the clipboard, and the user's editor."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import SuspendNotSupported

from quizapp.errors import INTERNAL

if TYPE_CHECKING:
    from types import FrameType

    from textual.app import App

    from quizapp.tui.app import QuizApp

POLL_SECONDS = 2.0
"""How often to check whether the terminal still exists."""
GRACE_SECONDS = 3.0
"""How long an orderly exit may take before the process is killed: it may block on a lost terminal."""
_CLIPBOARD_TOOLS = (
    ("pbcopy",), ("wl-copy",), ("xclip", "-selection", "clipboard"), ("xsel", "-ib"), ("clip.exe",),
)  # fmt: skip
_LINE_OPTIONS = {"code": "--goto", "codium": "--goto", "subl": "", "zed": "", "hx": "", "helix": ""}
_USUAL_EDITORS = ("nano", "vim", "vi", "emacs", "notepad")


# losing the terminal


def watch_for_hangup(app: "QuizApp") -> None:
    """Exit cleanly on SIGTERM and SIGHUP, and when the terminal disappears without a signal.

    Otherwise the input loop would spin on end-of-file at 100 % CPU.
    """
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGHUP"):
        with contextlib.suppress(AttributeError, NotImplementedError, RuntimeError):
            loop.add_signal_handler(getattr(signal, name), end_app, app)
    stdin = sys.__stdin__
    if stdin is not None and stdin.isatty() and hasattr(os, "ttyname"):
        app.set_interval(POLL_SECONDS, lambda: _end_if_gone(app, stdin.fileno()))


def _end_if_gone(app: "QuizApp", descriptor: int) -> None:
    try:
        os.get_terminal_size(descriptor)
    except OSError:
        end_app(app)


def end_app(app: "QuizApp") -> None:
    """Leave in order; if that blocks, end the process."""
    app.action_leave()
    last_resort = threading.Timer(GRACE_SECONDS, os._exit, (INTERNAL,))
    last_resort.daemon = True
    last_resort.start()


# ctrl+z


def suspend_to_shell(app: "QuizApp") -> None:
    """Suspend the program until the shell continues it.

    Typed text is saved first, because the shell may end the program instead. The judge runs in a session of
    its own, so it continues meanwhile, and its answer waits in the socket.
    """
    if app.is_web:
        app.say("In a browser there is no shell to go to; ctrl+q leaves the program.")
        return
    if not hasattr(signal, "SIGTSTP"):
        app.say("This system cannot suspend a program; open another window instead.", bad=True)
        return
    app.save_typed()
    try:
        with app.suspend():
            continued = _stop_process_group()
    except SuspendNotSupported:
        app.say("This terminal cannot be handed over; open another window instead.", bad=True)
        return
    app.refresh(layout=True)
    if not continued:
        app.say("There is no shell to return to, so the program stays; ctrl+q leaves it.")


def _stop_process_group() -> bool:
    """Stop the process group, as the terminal itself would. False if no shell could continue it.

    The whole group has to stop, because a shell waits for the process that it started, such as ``make run``.
    The kernel ignores a stop signal to a group that nobody can continue. SIGCONT shows that it did stop.
    """
    continued: list[int] = []

    def note(number: int, frame: "FrameType | None") -> None:
        del frame
        continued.append(number)

    before = [(name, signal.getsignal(name)) for name in (signal.SIGTSTP, signal.SIGCONT)]
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    signal.signal(signal.SIGCONT, note)
    try:
        os.kill(0, signal.SIGTSTP)
    finally:
        for name, handler in before:
            signal.signal(name, handler)
    return bool(continued)


# the clipboard


def copy_text(app: "App[Any]", text: str) -> None:
    """Put ``text`` on the clipboard and say so.

    The terminal's escape sequence (OSC 52) also works over ssh. Not every terminal supports it, so a
    clipboard tool of the system is tried as well.
    """
    app.copy_to_clipboard(text)
    if not (app.is_headless or app.is_web):  # a browser's clipboard is not that of the server
        app.run_worker(lambda: _copy_with_tool(text), thread=True, group="copy")
    app.notify("Copied.", timeout=2)


def _copy_with_tool(text: str) -> None:
    for tool in _CLIPBOARD_TOOLS:
        path = shutil.which(tool[0])
        if path:
            # A tool that hangs or cannot start loses nothing: the escape sequence was already sent.
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                subprocess.run(  # noqa: S603 - a fixed tool found on the user's own path, no shell
                    [path, *tool[1:]], input=text.encode(), timeout=2, check=False,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip
            return


# the user's own editor


def editor_command(setting: str, path: Path, line: int = 0) -> list[str] | None:
    """The command that opens ``path``, at ``line`` unless 0; None without an editor.

    The setting comes first, then ``VISUAL``, ``EDITOR``, and the usual editors that are installed.
    """
    import shlex  # only an editor needs it, and this module is loaded before the first frame

    wanted = setting or os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        words = shlex.split(wanted)
    except ValueError:  # an unclosed quotation mark, which may be an apostrophe in a path
        words = [wanted]
    words = words or next(([name] for name in _USUAL_EDITORS if shutil.which(name)), [])
    if not words:
        return None
    program = Path(words[0]).stem
    if program in {"code", "codium"} and "--wait" not in words:
        words.append("--wait")
    return [*words, *_path_at_line(program, path, line)]


def _path_at_line(program: str, path: Path, line: int) -> Sequence[str]:
    if line <= 0 or program == "notepad":
        return (str(path),)
    if program in _LINE_OPTIONS:
        option = _LINE_OPTIONS[program]
        return (*((option,) if option else ()), f"{path}:{line}")
    return (f"+{line}", str(path))


def edit_file(app: "QuizApp", path: Path, line: int = 0) -> bool:
    """Run the user's editor on a file and wait for it; False, with a notice, if that is not possible."""
    if app.is_web:
        app.say(f"A browser cannot open your editor. The file is {path}; what you save there appears here.")
        return False
    words = editor_command(app.study.settings.editor, path, line)
    if words is None:
        app.say("No editor was found: set EDITOR, or the editor in the settings.", bad=True)
        return False
    problem = ""
    try:
        with app.suspend():
            # Caught here, because an error that leaves the block would leave the app suspended.
            try:
                subprocess.run(words, check=False)  # noqa: S603 - the user's own choice of program
            except OSError as error:
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
    """Open a content file at a line; ``file`` is absolute or relative to the packaged content."""
    path = Path(file)
    if not path.is_file():
        from quizapp import paths

        path = paths.content().parent / file
    if path.is_file():
        edit_file(app, path, line)
    else:
        app.say(f"The file {file} does not exist.", bad=True)
