"""Opens the data in a thread after the first frame, and tells the screens when it is open."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events

from quizapp import paths
from quizapp.errors import QuizError
from quizapp.tui import actions
from quizapp.tui.bridges import weights_bridge
from quizapp.tui.screens.base import Place
from quizapp.tui.workers import call_on_ui, run_in_thread

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study
    from quizapp.tui.app import QuizApp


class EarlyKeys:
    """Keeps keys that have to wait for the data, and presses them again once it is open."""

    def __init__(self, app: "QuizApp") -> None:
        self._app = app
        self._held: list[events.Key] = []

    def hold(self, event: "events.Key") -> bool:
        """Whether a key was kept because nothing can follow it yet. All keys after it wait with it."""
        if self._app.ready or event.key in _NEVER_HELD:
            return False
        if event.key == "ctrl+j":  # enter, typed before the terminal was switched to single keys
            event = events.Key("enter", "\r")
        if self._held or self._must_wait(event.key):
            self._held.append(event)
            return True
        return False

    def _must_wait(self, key: str) -> bool:
        screen = self._app.screen
        if not isinstance(screen, Place):
            return False
        acts = [act for act in actions.of_place(screen.place) if key in act.key_list()]
        return bool(acts) and not any(
            act.alive(screen.phase) and not screen.waits(act.action) for act in acts
        )

    def press(self, *keys: "events.Key") -> None:
        """Press keys in turn, so that the second one reaches what the first one has led to."""
        self._held += keys
        self.release()

    def release(self) -> None:
        """Press the kept keys in turn.

        A key passes through several widgets before it acts, so there is a short pause after each.
        """
        if self._held:
            self._app.post_message(self._held.pop(0))
            self._app.set_timer(_BETWEEN_KEYS_S, self.release)


_BETWEEN_KEYS_S = 0.05
_NEVER_HELD = frozenset({"ctrl+c", "ctrl+q", "ctrl+z"})
MAINTENANCE_POLL_S = 1.0
"""How often to check whether the background backup or check has finished."""


def begin(app: "QuizApp") -> None:
    """Read the bank and open the data in a thread, then tell the screens."""
    run_in_thread(app, lambda: _open_data(app), "open")


def _open_data(app: "QuizApp") -> None:
    """Do everything that may take seconds: parse the content for the first time, migrate, replay."""
    from quizapp.bank.loader import load_bank
    from quizapp.scheduling.service import Study

    def report_progress(done: int, total: int) -> None:
        call_on_ui(app, _show_progress, app, done, total)

    study = Study.open(load_bank(extra_decks(), report_progress))
    if not app.is_headless:
        # A full collection would walk the whole bank, for a tenth of a second between two keys. A process of
        # tests runs many apps, whose remains would be kept as well.
        gc.freeze()
    call_on_ui(app, _data_opened, app, study)
    if app.study_or_none is not study:  # the app has ended, so nobody else will close the data
        study.close()


def _show_progress(app: "QuizApp", done: int, total: int) -> None:
    """Show the progress of parsing the content, which happens once: later starts use the cache."""
    from quizapp.tui.widgets.key_bar import KeyBar

    for bar in app.screen.query(KeyBar):
        bar.reading = done / max(1, total) if done < total else None
        bar.refresh()


def _data_opened(app: "QuizApp", study: "Study") -> None:
    """Pass the data to the app and its screens, then show the notices of a start."""
    app.study_or_none = study
    app.apply_settings(study.settings)
    _show_progress(app, 1, 1)
    for screen in app.screen_stack:
        opened = getattr(screen, "opened", None)
        if opened is not None:
            screen.call_later(opened)  # queued, because the screen may not be mounted yet
    app.call_after_refresh(app.early_keys.release)
    weights_bridge.show_news(app)
    _await_maintenance(app)


def _await_maintenance(app: "QuizApp") -> None:
    """Show the warning of the background backup or check, once it is done."""
    if app.study.maintaining:
        app.set_timer(MAINTENANCE_POLL_S, lambda: _await_maintenance(app))
    elif app.study.warning:
        app.say(app.study.warning, bad=True)


def extra_decks() -> list[Path]:
    """The user's decks from the settings file; an invalid file counts as none and is reported later."""
    from quizapp.settings.model import load_settings

    try:
        return [Path(deck).expanduser() for deck in load_settings(paths.config()).decks]
    except QuizError:
        return []


def _tour_mark() -> Path:
    return paths.home() / "tour-seen"


def tour_due() -> bool:
    """Whether this user has not seen the tour."""
    return not _tour_mark().exists()


def mark_tour_seen() -> None:
    """Remember that the tour was seen. If the folder is not writable, the tour just appears again."""
    try:
        _tour_mark().parent.mkdir(parents=True, exist_ok=True)
        _tour_mark().touch()
    except OSError:
        return
