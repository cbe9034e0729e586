"""A damaged database met while the app runs: a sentence, never a screen that waits for ever."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from quizapp import paths
from quizapp.errors import BrokenData
from quizapp.scheduling.service import Study
from quizapp.store import database
from quizapp.tui import startup
from quizapp.tui.app import QuizApp
from tests.tui.waiting import until

pytestmark = pytest.mark.slow

PAGE = 4096


@pytest.fixture
def damage(monkeypatch: pytest.MonkeyPatch, home: Path, bank) -> Iterator[object]:
    """Writes over the first page of a table; small files are checked in the background here."""
    monkeypatch.setattr(database, "CHECKED_AT_OPEN", 0)
    monkeypatch.setattr("quizapp.bank.loader.load_bank", lambda *_: bank)
    startup.mark_tour_seen()
    with Study.open(bank) as study:
        for _ in range(3):
            for card in list(bank.questions)[:3]:
                study.answer(card, 3)

    def write(table: str) -> None:
        path = paths.database()
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            ((root,),) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,))
        db.close()
        data = bytearray(path.read_bytes())
        data[(root - 1) * PAGE : root * PAGE] = b"\xff" * PAGE
        path.write_bytes(data)

    return write


def ended(app: QuizApp) -> bool:
    return app._exit or app._exception is not None


async def test_a_page_that_home_needs_ends_the_app_with_a_sentence(damage) -> None:
    damage("cards")
    app = QuizApp()
    with pytest.raises(BrokenData, match="has been moved to"):
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: ended(app))
    assert app.return_code == 3


async def test_what_the_check_finds_is_said_at_once(damage) -> None:
    damage("events_parent")  # an index that home does not read
    app = QuizApp()
    told: list[tuple[str, str]] = []

    async def see() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: list(app._notifications))
            told.extend((notice.message, app.screen.place) for notice in app._notifications)

    with pytest.raises(BrokenData, match="has been moved to"):
        await see()
    ((text, place),) = told
    assert "damaged" in text
    assert place == "home"


@pytest.mark.parametrize("where", ["quizapp.bank.loader.load_bank", "quizapp.tui.startup._data_opened"])
async def test_an_error_while_the_data_opens_is_not_kept_by_its_thread(
    damage, monkeypatch, where: str
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(where, broken)
    app = QuizApp()
    with pytest.raises(ZeroDivisionError):
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: ended(app))


async def test_an_error_while_a_verdict_is_shown_ends_the_app(study: Study) -> None:
    app = QuizApp(study=study)

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    async def grade() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            exercise = next(iter(study.bank.exercises.values()))
            app.judge.submit(exercise, "def", "cpu", broken)
            await until(pilot, lambda: ended(app))

    with pytest.raises(ZeroDivisionError):
        await grade()
