"""All screens by name. Each is imported when it is first opened, to keep the start fast."""

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
    place: partial(_build, module, name)
    for place, (module, name) in {
        "home": ("home", "HomeScreen"),
        "drill": ("drill.drill_screen", "DrillScreen"),
        "exercises": ("exercise.exercise_list", "ExercisesScreen"),
        "exercise": ("exercise.exercise_screen", "ExerciseScreen"),
        "review": ("code_review.review_screen", "ReviewScreen"),
        "browse": ("browse", "BrowseScreen"),
        "statistics": ("progress.statistics", "StatisticsScreen"),
        "plan": ("progress.plan_screen", "PlanScreen"),
        "settings": ("settings", "SettingsScreen"),
        "tour": ("tour", "TourScreen"),
        "mock": ("interview.setup", "MockScreen"),
        "mockpast": ("interview.past", "PastScreen"),
        "incident": ("incidents.catalogue", "IncidentScreen"),
    }.items()
}
"""The builder of each screen, which accepts the screen's arguments."""
