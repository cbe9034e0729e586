"""Waiting for what a screen shows, however busy the machine is."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from tests.tui.drawn import text

PATIENCE_S = 60.0
STEP_S = 0.05


async def until(pilot: Pilot[Any], holds: Callable[[], object]) -> None:
    """Return once ``holds`` does."""
    for _ in range(round(PATIENCE_S / STEP_S)):
        if holds():
            return
        await pilot.pause(STEP_S)
    raise AssertionError(f"it never happened; the screen shows\n{text(pilot.app)}")


async def shows(pilot: Pilot[Any], *parts: str) -> None:
    """Return once all ``parts`` are drawn; that can be a moment after the state that asks for them."""
    await until(pilot, lambda: all(part in text(pilot.app) for part in parts))


async def opened(pilot: Pilot[Any]) -> None:
    """Return once the data is open and the screen has been filled from it."""
    await until(pilot, lambda: pilot.app.ready and getattr(pilot.app.screen, "phase", "") != "loading")
    await pilot.pause()


async def settled(pilot: Pilot[Any]) -> None:
    """Return once no thread is at work for the screen and two looks at it see the same."""
    await until(pilot, lambda: all(worker.is_finished for worker in pilot.app.workers))
    before = ""
    while (now := text(pilot.app)) != before:
        before = now
        await pilot.pause(2 * STEP_S)


def keep_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let notices stay: on a busy machine one would be gone before the test reads it."""
    notify = App.notify

    def notify_for_an_hour(app: App[None], message: str, **options: Any) -> None:
        notify(app, message, **options | {"timeout": 3600.0})

    monkeypatch.setattr(App, "notify", notify_for_an_hour)
