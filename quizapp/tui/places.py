"""Every screen by name; each is imported when it is first opened."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from textual.screen import Screen

if TYPE_CHECKING:
    from quizapp.memory.facts import Filter

Builder = Callable[..., Screen[Any]]


def _home() -> Screen[Any]:
    from quizapp.tui.screens.home import HomeScreen

    return HomeScreen()


def _drill(filter: "Filter | None" = None, **options: Any) -> Screen[Any]:  # noqa: A002 - the CLI's word
    from quizapp.tui.screens.drill import DrillScreen

    return DrillScreen(filter, **options)


def _exercises() -> Screen[Any]:
    from quizapp.tui.screens.exercises import ExercisesScreen

    return ExercisesScreen()


def _exercise(**options: Any) -> Screen[Any]:
    from quizapp.tui.screens.exercise import ExerciseScreen

    return ExerciseScreen(**options)


def _browse(**options: Any) -> Screen[Any]:
    from quizapp.tui.screens.browse import BrowseScreen

    return BrowseScreen(**options)


def _statistics() -> Screen[Any]:
    from quizapp.tui.screens.statistics import StatisticsScreen

    return StatisticsScreen()


def _settings() -> Screen[Any]:
    from quizapp.tui.screens.settings import SettingsScreen

    return SettingsScreen()


def _tour() -> Screen[Any]:
    from quizapp.tui.screens.tour import TourScreen

    return TourScreen()


def _mock(**options: Any) -> Screen[Any]:
    module = import_module("quizapp.tui.screens.mock")
    return cast("Screen[Any]", module.MockScreen(**options))


def _mockpast() -> Screen[Any]:
    from quizapp.tui.screens.mockpast import PastScreen

    return PastScreen()


PLACES: Mapping[str, Builder] = {
    "home": _home,
    "drill": _drill,
    "exercises": _exercises,
    "exercise": _exercise,
    "browse": _browse,
    "statistics": _statistics,
    "settings": _settings,
    "tour": _tour,
    "mock": _mock,
    "mockpast": _mockpast,
}
