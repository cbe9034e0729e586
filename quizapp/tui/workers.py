"""Work beside the loop, and its results told to the loop; an error on either way ends the app in order.

Textual's workers either keep an error to themselves or show its traceback.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quizapp.tui.app import QuizApp


def beside(app: "QuizApp", work: Callable[[], object], group: str, *, exclusive: bool = False) -> None:
    """Run ``work`` in a thread; ``exclusive`` gives up what the group still does."""

    def guarded() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - handed on
            tell(app, app.broke, error)

    app.run_worker(guarded, thread=True, group=group, exclusive=exclusive, exit_on_error=False)


def tell(app: "QuizApp", hear: Callable[..., object], *found: Any) -> None:
    """From a thread: call ``hear`` in the loop, or nothing where the app is closing."""

    def guarded() -> None:
        try:
            hear(*found)
        except Exception as error:  # noqa: BLE001 - handed on
            app.broke(error)

    if app.is_running and not app.leaving:
        app.call_from_thread(guarded)
