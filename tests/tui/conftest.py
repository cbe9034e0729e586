"""The real app on a small bank, a real store in a temporary folder, and a clock that stands still."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from quizapp import paths
from quizapp.bank.loader import parse_bank
from quizapp.bank.model import Bank
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.settings.model import Settings
from quizapp.store.event_log import Store
from quizapp.tui import actions, startup
from quizapp.tui.app import QuizApp
from quizapp.tui.rendering.markdown import document
from tests.tui.waiting import keep_notices

DATA = Path(__file__).parents[1] / "data" / "tui"
MORNING = datetime(2026, 3, 2, 8, 30, tzinfo=timezone(timedelta(0), "UTC"))


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A modern terminal, whatever the machine's own is."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("QUIZAPP_ASCII", "0")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    document.cache_clear()  # texts laid out for another terminal
    actions.override({})  # a user's own keys, left by the test before


@pytest.fixture(autouse=True)
def lasting_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notices that stay until they are read."""
    keep_notices(monkeypatch)


@pytest.fixture(scope="session")
def bank() -> Bank:
    """All five kinds, two topics, one exercise."""
    found = parse_bank([DATA / "questions"], DATA / "none", DATA / "exercises")
    assert not found.faults
    return found


@pytest.fixture
def clock() -> FixedClock:
    """A morning in March."""
    return FixedClock(MORNING)


@pytest.fixture
def study(bank: Bank, clock: FixedClock, home: Path) -> Iterator[Study]:
    """An empty history."""
    startup.mark_tour_seen()
    with Study(bank, Store.open(paths.database(), backups=None), Settings(), clock) as found:
        yield found


@pytest.fixture
def app(study: Study) -> Callable[..., QuizApp]:
    """Makes the app at a screen."""

    def make(start: str = "home", **options: Any) -> QuizApp:
        return QuizApp(start, study=study, **options)

    return make
