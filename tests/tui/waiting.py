"""Waiting for what a screen shows, however busy the machine is."""

from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot

PATIENCE_S = 60.0
STEP_S = 0.05


async def until(pilot: Pilot[Any], holds: Callable[[], object]) -> None:
    """Return once ``holds`` does."""
    for _ in range(round(PATIENCE_S / STEP_S)):
        if holds():
            return
        await pilot.pause(STEP_S)
    raise AssertionError("it never happened")


async def opened(pilot: Pilot[Any]) -> None:
    """Return once the data is open."""
    await until(pilot, lambda: pilot.app.ready)
    await pilot.pause()
