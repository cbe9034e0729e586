"""Every screen by name; each is imported when it is first opened."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from textual.screen import Screen

Builder = Callable[..., Screen[Any]]


def _build(module: str, name: str, **options: Any) -> Screen[Any]:
    screen: type[Screen[Any]] = getattr(import_module(f"quizapp.tui.screens.{module}"), name)
    return screen(**options)


PLACES: Mapping[str, Builder] = {
    place: partial(_build, place, name)
    for place, name in {
        "home": "HomeScreen",
        "drill": "DrillScreen",
        "exercises": "ExercisesScreen",
        "exercise": "ExerciseScreen",
        "browse": "BrowseScreen",
        "statistics": "StatisticsScreen",
        "settings": "SettingsScreen",
        "tour": "TourScreen",
        "mock": "MockScreen",
        "mockpast": "PastScreen",
        "incident": "IncidentScreen",
    }.items()
}
"""The builder of each screen; it takes what the screen takes."""
