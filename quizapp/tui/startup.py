"""Opening the data once the first frame stands: read in a thread, told to the screens in the loop."""

from typing import TYPE_CHECKING

from quizapp.tui import weights_bridge
from quizapp.tui.workers import beside, tell

if TYPE_CHECKING:
    from quizapp.bank.model import Bank
    from quizapp.tui.app import QuizApp

CARE_S = 1.0
"""Seconds between two looks at what runs over the database in the background."""


def begin(app: "QuizApp") -> None:
    """Read the bank in a thread, then open the data and tell the screens."""
    beside(app, lambda: _load(app), "open")


def _load(app: "QuizApp") -> None:
    from quizapp.bank.loader import load_bank
    from quizapp.tui.startup_reading import extra_decks

    def reading(done: int, total: int) -> None:
        tell(app, _show_reading, app, done, total)

    tell(app, _open, app, load_bank(extra_decks(), reading))


def _show_reading(app: "QuizApp", done: int, total: int) -> None:
    """Tell the screen how far the first reading of the content is; later starts use what it leaves."""
    from quizapp.tui.widgets.key_bar import KeyBar

    for bar in app.screen.query(KeyBar):
        bar.reading = done / max(1, total) if done < total else None
        bar.refresh()


def _open(app: "QuizApp", bank: "Bank") -> None:
    from quizapp.scheduling.service import Study

    app.study_or_none = Study.open(bank)
    app.take(app.study.settings)
    _announce(app)


def _announce(app: "QuizApp") -> None:
    """Tell the screens on the stack that the data is open; then what is to be said at a start."""
    from quizapp.tui.startup_reading import tour_due

    _show_reading(app, 1, 1)
    for screen in app.screen_stack:
        opened = getattr(screen, "opened", None)
        if opened is not None:
            screen.call_later(opened)  # in its own time: it may not be drawn yet
    if app.start == "home" and tour_due():
        app.go("tour")
    weights_bridge.tell(app)
    _await_care(app)


def _await_care(app: "QuizApp") -> None:
    """Say what the backup and the check in the background found, once they are done."""
    if app.study.caring:
        app.set_timer(CARE_S, lambda: _await_care(app))
    elif app.study.warning:
        app.say(app.study.warning, bad=True)
