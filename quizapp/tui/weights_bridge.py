"""The interface's side of fitting the weights: starts it when a session ends, says what changed."""

import contextlib
import threading
from typing import TYPE_CHECKING

from quizapp.tui import workers

if TYPE_CHECKING:
    import subprocess

    from quizapp.tui.app import QuizApp


def session_ended(app: "QuizApp") -> None:
    """Fit in the background after cards were answered on the user's own data; once per run at a time."""
    if not app.opened_here or app.refitting is not None:
        return
    from quizapp.scheduling.weights import background

    with contextlib.suppress(OSError):
        app.refitting = background.start()
        threading.Thread(target=_wait, args=(app, app.refitting), daemon=True).start()


def _wait(app: "QuizApp", process: "subprocess.Popen[bytes]") -> None:
    process.wait()
    with contextlib.suppress(RuntimeError):  # the interface has ended: the next start says it
        workers.tell(app, _ended, app)


def _ended(app: "QuizApp") -> None:
    app.refitting = None
    tell(app)


def tell(app: "QuizApp") -> None:
    """Say what the last fitting changed, if it was not said yet."""
    from quizapp.scheduling.weights import background

    sentence = background.news() if app.opened_here else ""
    if sentence:
        app.notify(sentence, timeout=12, markup=False)
