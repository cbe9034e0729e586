"""The marking screen can show every kind of question of every round, up to the scorecard."""

from pathlib import Path

import pytest

from quizapp.interview import RoundName
from quizapp.interview.rounds.round_table import find_round
from quizapp.interview.service import Interview
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.interview.marking import MarkScreen
from quizapp.tui.screens.interview.scorecard import CardScreen
from tests.interview.mock_kit import answer_now, begin, mark_as_proposed, real_bank, sit_down, study
from tests.tui.drawn import text
from tests.tui.waiting import until

pytestmark = pytest.mark.slow

_OFTEN = (RoundName.MIXED, RoundName.REVIEW)  # the others are left to test-all


def ended(made, name: RoundName) -> Interview:
    """A round of which one question was answered."""
    interview, _ = begin(made, minutes=find_round(name).default_minutes, round_name=name, seed=1)
    interview.session.proceed()
    answer_now(interview)
    interview.session.end("early")
    interview.propose()
    return interview


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in _OFTEN else pytest.mark.exhaustive, id=name)
        for name in RoundName
    ],
)
async def test_every_round_can_be_marked_to_its_end(name: RoundName, tmp_path: Path) -> None:
    made = study(tmp_path, real_bank())
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(MarkScreen(ended(made, name)))
        await pilot.pause()
        await mark_as_proposed(pilot)
        if isinstance(app.screen, Choose):  # whether so short an interview counts
            await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CardScreen))


async def test_an_estimate_is_shown_with_its_working_and_number(tmp_path: Path) -> None:
    made = study(tmp_path, real_bank())
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(80, 50)) as pilot:
        interview, _ = begin(made, round_name=RoundName.NAPKIN, seed=1)
        interview.session.proceed()
        interview.session.type("my working")
        interview.session.give("1e99")
        interview.session.submit()
        interview.session.confide(75)
        interview.session.end("early")
        interview.propose()
        app.push_screen(MarkScreen(interview))
        await pilot.pause()
        shown = text(app)
        assert "my working" in shown
        assert "1e99" in shown
        assert "times too large; right is" in shown


async def test_an_estimate_without_its_number_is_not_frozen_by_one_key(tmp_path: Path) -> None:
    made = study(tmp_path, real_bank())
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        interview, _ = begin(made, round_name=RoundName.NAPKIN, seed=1)
        interview.session.proceed()
        item = interview.session.item
        interview.session.type("my working")
        await sit_down(app, pilot, interview)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "There is no number yet" in text(app))
        assert item.state == "open"
