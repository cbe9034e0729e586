"""Fits the memory model in the background when a drill ends, and shows what the fit changed."""

import contextlib
import threading
from typing import TYPE_CHECKING

from quizapp.tui import workers

if TYPE_CHECKING:
    import subprocess

    from quizapp.tui.app import QuizApp


def session_ended(app: "QuizApp") -> None:
    """Start a fit after cards of the user's own data were answered; one at a time."""
    if not app.opened_here or app.refitting is not None:
        return
    from quizapp.scheduling.weights import background

    with contextlib.suppress(OSError):
        app.refitting = background.start()
        threading.Thread(target=_wait, args=(app, app.refitting), daemon=True).start()


def _wait(app: "QuizApp", process: "subprocess.Popen[bytes]") -> None:
    process.wait()
    with contextlib.suppress(RuntimeError):  # the interface has ended; the next start shows the news
        workers.call_on_ui(app, _ended, app)


def _ended(app: "QuizApp") -> None:
    app.refitting = None
    show_news(app)


def show_news(app: "QuizApp") -> None:
    """Show what the last fit changed, unless that was shown before."""
    from quizapp.scheduling.weights import background

    sentence = background.news() if app.opened_here else ""
    if sentence:
        app.notify(sentence, timeout=12, markup=False)
