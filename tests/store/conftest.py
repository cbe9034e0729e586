"""A store with the schedule's rules, and events to put in."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quizapp.scheduling.events import Draft, EventType, Moment
from quizapp.scheduling.reducer import CardReducer
from quizapp.store import Store

START = Moment(1_772_438_400_000, 0, 739_677)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "quizapp.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path) as opened:
        opened.attach(CardReducer())
        yield opened


@pytest.fixture
def answer() -> Callable[..., Draft]:
    """A review of a card some days after the start."""

    def make(card: str = "q0", rating: int = 3, days: int = 0, **fields) -> Draft:
        when = Moment(START.time + days * 86_400_000, 0, START.day + days)
        return Draft(EventType.ANSWER, when, card=card, rating=rating, source="drill", **fields)

    return make
