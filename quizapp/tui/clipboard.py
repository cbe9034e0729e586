"""Copying: the terminal's own escape, which works over ssh, and the system's clipboard where it has one."""

import shutil
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App

_TOOLS = (("pbcopy",), ("wl-copy",), ("xclip", "-selection", "clipboard"), ("xsel", "-ib"), ("clip.exe",))


def copy(app: "App[Any]", text: str) -> None:
    """Put ``text`` on the clipboard and say so."""
    app.copy_to_clipboard(text)
    if not app.is_headless:
        app.run_worker(lambda: _system(text), thread=True, group="copy")
    app.notify("Copied.", timeout=2)


def _system(text: str) -> None:
    for tool in _TOOLS:
        path = shutil.which(tool[0])
        if path:
            # one that hangs or cannot start takes nothing away: the terminal's escape was sent
            with suppress(OSError, subprocess.SubprocessError):
                subprocess.run(  # noqa: S603 - a fixed tool found on the user's own path, no shell
                    [path, *tool[1:]], input=text.encode(), timeout=2, check=False,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip
            return
