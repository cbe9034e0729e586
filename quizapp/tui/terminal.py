"""A terminal that goes away ends the program, which else would read end-of-file for ever, at full speed."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

from quizapp.errors import INTERNAL

if TYPE_CHECKING:
    from quizapp.tui.app import QuizApp

LOOK_S = 2.0
"""Seconds between two looks at the terminal."""
GRACE_S = 3.0
"""Seconds for an orderly end, which writes to a terminal that may be gone."""


def watch(app: "QuizApp") -> None:
    """End in order on SIGTERM and SIGHUP, and when the terminal is gone without a signal."""
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGHUP"):
        with contextlib.suppress(AttributeError, NotImplementedError, RuntimeError):
            loop.add_signal_handler(getattr(signal, name), _end, app)
    stdin = sys.__stdin__
    if stdin is not None and stdin.isatty() and hasattr(os, "ttyname"):
        app.set_interval(LOOK_S, lambda: _look(app, stdin.fileno()))


def _look(app: "QuizApp", descriptor: int) -> None:
    try:
        os.get_terminal_size(descriptor)
    except OSError:
        _end(app)


def _end(app: "QuizApp") -> None:
    app.action_leave()
    last = threading.Timer(GRACE_S, os._exit, (INTERNAL,))
    last.daemon = True
    last.start()
