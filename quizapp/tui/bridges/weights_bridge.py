"""Fits the memory model in a background process after a drill, and reports what the fit changed."""

import contextlib
import threading
from typing import TYPE_CHECKING

from quizapp.tui import workers

if TYPE_CHECKING:
    import subprocess

    from quizapp.tui.app import QuizApp


def session_ended(app: "QuizApp") -> None:
    """Start a fit after a drill over the user's own data, unless one is still running."""
    if not app.opened_here or app.refitting is not None:
        return
    from quizapp.scheduling.weights import background

    # Without a trainer the models are still compared with the weights that they have.
    with contextlib.suppress(OSError):
        app.refitting = background.start()
        threading.Thread(target=_wait, args=(app, app.refitting), daemon=True).start()


def _wait(app: "QuizApp", process: "subprocess.Popen[bytes]") -> None:
    process.wait()
    with contextlib.suppress(RuntimeError):  # the interface has ended; the next start reports the fit
        workers.call_on_ui(app, _ended, app)


def _ended(app: "QuizApp") -> None:
    app.refitting = None
    show_news(app)


def show_news(app: "QuizApp") -> None:
    """Report what the last fit changed, unless it was reported before."""
    from quizapp.scheduling.weights import background

    sentence = background.news() if app.opened_here else ""
    if sentence:
        app.notify(sentence, timeout=12, markup=False)
