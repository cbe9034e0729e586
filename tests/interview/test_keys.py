"""The key walk of the mock interview's other screens: running in each phase, marking, scorecard."""

from collections.abc import Callable
from pathlib import Path

import pytest

from quizapp.interview.report.model import load_report
from quizapp.interview.service import Interview
from quizapp.scheduling.service import Study
from quizapp.tui import actions
from quizapp.tui.app import QuizApp
from quizapp.tui.palette import QuizCommands
from quizapp.tui.screens.base import Place
from quizapp.tui.screens.help import HelpScreen, help_lines
from quizapp.tui.screens.interview.marking import MarkScreen
from quizapp.tui.screens.interview.running import RunScreen
from quizapp.tui.screens.interview.scorecard import CardScreen
from tests.interview.mock_kit import begin, done, incidents, sit, small_bank, study

pytestmark = pytest.mark.slow

CLICKED: dict[str, set[str]] = {"mockrun": {"at"}, "mockmark": set(), "mockcard": set()}


def running(made: Study, tmp_path: Path) -> Place:
    interview = Interview.begin(made, "research-engineer", 30, code=True, seed=4, library=incidents())
    interview.start()
    return RunScreen(interview)


def marking(made: Study, tmp_path: Path) -> Place:
    interview, hand = begin(made, "research-engineer", 30, seed=4, code=False)
    sit(interview, hand, 4)
    interview.session.end("early")
    interview.propose()
    return MarkScreen(interview)


def card(made: Study, tmp_path: Path) -> Place:
    return CardScreen(load_report(done(tmp_path, 2, bank=small_bank())))


@pytest.mark.parametrize("make", [running, marking, card])
async def test_each_mock_screen_binds_and_offers_what_the_table_says(
    tmp_path: Path, make: Callable[[Study, Path], Place]
) -> None:
    with study(tmp_path, small_bank()) as made:
        app = QuizApp("mock", study=made)
        async with app.run_test() as pilot:
            await pilot.pause()
            screen = make(made, tmp_path)
            app.push_screen(screen)
            await pilot.pause()
            place = screen.place
            bound = {binding.action for _, binding in screen._bindings}
            for act in actions.of_place(place):
                assert callable(getattr(screen, f"action_{act.action.partition('(')[0]}", None)), act.id
                assert act.action in bound, act.id
            own = {name.removeprefix("action_") for name in vars(type(screen)) if name.startswith("action_")}
            named = {act.action.partition("(")[0] for act in actions.of_place(place)}
            assert own - named <= CLICKED[place], own - named
            for phase in actions.phases(place):
                screen.set_focus(None)
                screen.enter_phase(phase)
                here = screen.phase
                live = [act for act in actions.live(place, here) if act.action != "command_palette"]
                offered = [entry.name for entry in QuizCommands(screen).entries()]
                ours = [name for name in offered if not name.startswith(("Go:", "Exercise: open"))]
                assert len(ours) == len(live), here
                assert {act.help for act in live} <= {sentence for _, sentence, _ in help_lines(place, here)}
                for act in live:
                    assert act.reachable(here) or act.rank == 0 or here == actions.Phase.TYPING, (
                        act.id,
                        here,
                    )
            await pilot.press("f1")
            assert isinstance(app.screen, HelpScreen)
            await pilot.press("escape")
            assert app.screen is screen
