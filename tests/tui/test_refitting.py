"""The end of a session starts the fitting; what it changed is said."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from quizapp import paths
from quizapp.scheduling.weights import background
from quizapp.tui.app import QuizApp
from tests.tui.waiting import until

pytestmark = pytest.mark.slow

App = Callable[..., QuizApp]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every start, each of a process that ends at once and leaves a note."""
    found: list[str] = []

    def start() -> "subprocess.Popen[bytes]":
        found.append("start")
        paths.cache().mkdir(parents=True, exist_ok=True)
        (paths.cache() / "refit.json").write_text(json.dumps({"reviews": 500, "sentence": "It was fitted."}))
        return subprocess.Popen([sys.executable, "-c", ""])

    monkeypatch.setattr(background, "start", start)
    return found


@pytest.mark.parametrize("way", ["limit", "leave"])
async def test_a_session_with_answers_starts_it_once(app: App, started: list[str], way: str) -> None:
    running = app("drill", **({"limit": 1} if way == "limit" else {}))
    running.opened_here = True
    async with running.run_test(notifications=True) as pilot:
        await pilot.pause()
        if running.focused is not None:
            await pilot.press("escape")
        await pilot.press("space", "3")
        await pilot.pause()
        if running.focused is not None:
            await pilot.press("escape")
        await pilot.press("q")
        await until(pilot, lambda: running._notifications)
        assert [note.message for note in running._notifications] == ["It was fitted."]
    assert started == ["start"]


async def test_looking_without_answering_starts_nothing(app: App, started: list[str]) -> None:
    running = app("drill")
    running.opened_here = True
    async with running.run_test() as pilot:
        await pilot.pause()
        await pilot.press("escape", "q")
        await pilot.pause()
    assert started == []
