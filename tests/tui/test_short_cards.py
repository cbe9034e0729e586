"""Cards of a user's deck that have no exercise and no key points, in the drill."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from quizapp import paths
from quizapp.bank.decks.short_form import with_points
from quizapp.bank.model import Bank, Question
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.scheduling.views import CardFilter
from quizapp.settings.model import Settings
from quizapp.store.event_log import Store
from quizapp.tui import startup
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.drill.drill_screen import DrillScreen
from quizapp.tui.widgets.key_points import KeyPoints
from quizapp.tui.widgets.rating_bar import RatingBar
from tests.tui.drawn import text
from tests.tui.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def study(bank: Bank, clock: FixedClock, home: Path) -> Iterator[Study]:
    startup.mark_tour_seen()
    topic = next(iter(bank.topics))
    plain = Question("plain", topic, "medium", "recall", "What is the rank?", "8 to 64.", "")  # type: ignore[arg-type]
    listed = with_points(replace(plain, id="listed", answer="- small matrices\n- few Adam moments"))
    own = replace(bank, questions={"plain": plain, "listed": listed})
    with Study(own, Store.open(paths.database(), backups=None), Settings(), clock) as found:
        yield found


async def test_a_card_without_exercise_or_points_is_rated_by_hand(study: Study) -> None:
    app = QuizApp("drill", study=study, flt=CardFilter(ids=frozenset({"plain"})))
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(app.screen, DrillScreen))
        await pilot.press("e", "space", "enter")
        assert [note.message for note in app._notifications] == [
            "This card has no exercise.",
            "Compare your answer with this one, and rate yourself with 1 to 4.",
        ]
        assert not app.screen.query_one(KeyPoints).display
        await pilot.press("3")
        await until(pilot, lambda: study.card("plain").reps == 1)


async def test_a_typed_answer_without_points_gets_no_proposal(study: Study) -> None:
    app = QuizApp("drill", study=study, flt=CardFilter(ids=frozenset({"plain"})))
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(app.screen, DrillScreen))
        await pilot.press("t", *"it is small", "ctrl+r")
        await until(pilot, lambda: app.screen.query_one(RatingBar).display)
        assert app.screen.attempt is not None
        assert app.screen.attempt.proposal is None
        assert "it is small" in text(app)


async def test_the_list_of_an_answer_is_ticked_like_key_points(study: Study) -> None:
    app = QuizApp("drill", study=study, flt=CardFilter(ids=frozenset({"listed"})))
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(app.screen, DrillScreen))
        await pilot.press("space")
        assert [point.text for point in app.screen.query_one(KeyPoints).points] == [
            "small matrices",
            "few Adam moments",
        ]
        await pilot.press("a", "enter")
        await until(pilot, lambda: study.card("listed").reps == 1)
