"""Opening the data beside the event loop: however long a migration takes, the screen answers."""

import threading

import pytest

from quizapp.bank.model import Bank
from quizapp.scheduling.service import Study
from quizapp.tui.app import QuizApp
from tests.tui.drawn import text
from tests.tui.waiting import opened, until

PATIENCE_S = 60.0


class SlowOpening(threading.Event):
    """Set once the data may open; ``begun`` is set when the program asks for it."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()


@pytest.fixture
def slow_open(monkeypatch: pytest.MonkeyPatch, bank: Bank, study: Study) -> SlowOpening:
    """Data whose opening waits, as for a migration, a backup and a replay of the log."""
    may_open = SlowOpening()

    def open_slowly(loaded: Bank) -> Study:
        assert loaded is bank
        may_open.begun.set()
        assert may_open.wait(PATIENCE_S)
        return study

    monkeypatch.setattr("quizapp.bank.loader.load_bank", lambda *_: bank)
    monkeypatch.setattr(Study, "open", staticmethod(open_slowly))
    return may_open


async def test_keys_are_answered_while_the_data_opens(slow_open: SlowOpening) -> None:
    app = QuizApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f1")
        await until(pilot, lambda: "Help" in text(app))
        assert not app.ready
        slow_open.set()
        await opened(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: "minutes" in text(app))


async def test_the_data_opens_although_a_covered_screen_keeps_its_callbacks(
    slow_open: SlowOpening, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What Textual does with the callbacks of a screen that another one covers before its first frame.
    monkeypatch.setattr(QuizApp, "call_after_refresh", lambda *_: True)
    slow_open.set()
    app = QuizApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)


async def test_data_that_opens_after_the_end_is_closed_again(
    slow_open: SlowOpening, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = threading.Event()
    close = study.close

    def close_and_tell() -> None:
        close()
        closed.set()

    monkeypatch.setattr(study, "close", close_and_tell)
    app = QuizApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, slow_open.begun.is_set)
        await pilot.press("ctrl+q")
        await pilot.pause()
    slow_open.set()
    assert closed.wait(PATIENCE_S)


async def test_keys_typed_before_the_data_is_open_are_pressed_then(slow_open: threading.Event) -> None:
    app = QuizApp()
    async with app.run_test(size=(80, 24)) as pilot:
        # A terminal that is not yet in the program's hands turns enter into ctrl+j.
        await pilot.press("ctrl+j", "space")
        assert app.screen.place == "home"
        slow_open.set()
        await until(pilot, lambda: app.screen.place == "drill" and "1 Again" in text(app))


async def test_ctrl_q_leaves_at_once_whatever_was_typed_before(slow_open: threading.Event) -> None:
    app = QuizApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter", "ctrl+q")
        await pilot.pause()
    assert app.return_code == 0
    slow_open.set()
