"""The head of a running interview: the cut of a question is announced before it comes."""

from pathlib import Path

import pytest

from quizapp.interview.rounds.round_table import ROUNDS
from quizapp.tui.app import QuizApp
from tests.interview.mock_kit import begin, real_bank, sit_down, study
from tests.tui.drawn import text
from tests.tui.waiting import until


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quiz", "coding", "debug", "review", "design"])
async def test_the_cut_is_announced_in_every_round(name: str, tmp_path: Path) -> None:
    made = study(tmp_path, real_bank())
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        interview, hand = begin(
            made, minutes=ROUNDS[name].default_minutes, round_name=name, seed=3, role="post-training"
        )
        interview.session.proceed()
        await sit_down(app, pilot, interview)
        item = interview.session.item
        hand.seconds += 9
        await pilot.pause(0.5)
        assert "cut in" not in text(app)
        while item.used_ms < 1450 * item.budget:
            # Less than a gap that would count as the terminal being away.
            hand.seconds += min(9.0, 1.45 * item.budget - item.used_ms / 1000 + 0.1)
            interview.tick()
        await until(pilot, lambda: "cut in" in text(app))
        # Five hundredths of the budget are left, unless the interview ends first.
        left = min(0.05 * item.budget, interview.session.left_ms / 1000)
        shown = text(app).split("cut in ")[1].split()[0]
        minutes, seconds = map(int, shown.split(":"))
        assert abs(60 * minutes + seconds - left) <= 2
