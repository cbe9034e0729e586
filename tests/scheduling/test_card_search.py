"""The search of the browser: words, ``state:`` and ``due:``."""

from pathlib import Path

import pytest

from quizapp.scheduling.cards import Rating
from quizapp.scheduling.study_day import FixedClock
from quizapp.scheduling.views import CardSearch
from tests.scheduling.study_kit import MORNING, study


@pytest.mark.parametrize(
    ("query", "cards"),
    [
        ("state:new", ["q4", "q5"]),
        ("state:learning", ["q0"]),
        ("state:review", ["q1", "q3"]),
        ("state:susp", ["q2", "q5"]),
        ("state:flagged", ["q1", "q5"]),
        ("state:buried", ["q3"]),
        ("state:flagged state:susp", ["q5"]),
        ("due:today", ["q0"]),
        ("due:month", ["q0", "q1", "q2", "q3"]),
        ("due:30", ["q0", "q1", "q2", "q3"]),
        ("due:nonsense", []),
        ("state:", ["q0", "q1", "q2", "q3", "q4", "q5"]),
        ("topic-1 state:review", ["q1"]),
    ],
)
def test_cards_are_found_by_state_and_due_date(tmp_path: Path, query: str, cards: list[str]) -> None:
    with study(tmp_path, 6, clock=FixedClock(MORNING)) as desk:
        desk.answer("q0", Rating.GOOD)
        for name in ("q1", "q2", "q3"):
            desk.answer(name, Rating.EASY)
        desk.suspend("q2")
        desk.bury("q3")
        desk.flag("q1")
        desk.flag("q5")
        desk.suspend("q5")
        assert sorted(row.question.id for row in CardSearch(desk).rows(query)) == cards
