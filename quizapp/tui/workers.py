"""Runs work in threads and passes results to the event loop. An error on either side ends the app cleanly.

Textual's own workers either swallow an error or print its traceback over the screen.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quizapp.tui.app import QuizApp


def run_in_thread(app: "QuizApp", work: Callable[[], object], group: str, *, exclusive: bool = False) -> None:
    """Run ``work`` in a thread; ``exclusive`` abandons earlier work of the same group."""

    def guarded() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - handed on
            call_on_ui(app, app.broke, error)

    app.run_worker(guarded, thread=True, group=group, exclusive=exclusive, exit_on_error=False)


def call_on_ui(app: "QuizApp", function: Callable[..., object], *values: Any) -> None:
    """From a thread, call ``function`` in the event loop and wait. Does nothing once the app is closing."""

    def guarded() -> None:
        try:
            function(*values)
        except Exception as error:  # noqa: BLE001 - handed on
            app.broke(error)

    if app.is_running and not app.leaving:
        app.call_from_thread(guarded)
