"""One interview, two windows of the program: the one that resumed it last has it, and it is marked once."""

from datetime import timedelta
from pathlib import Path

import pytest

from quizapp.errors import TakenOver
from quizapp.interview import archive
from quizapp.interview.blueprint import SINGLE_INCIDENT
from quizapp.interview.service import Interview
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.incidents.catalogue import IncidentScreen
from quizapp.tui.screens.interview.marking import MarkScreen
from quizapp.tui.screens.interview.running import RunScreen
from quizapp.tui.screens.interview.setup import MockScreen
from tests.interview.mock_kit import Hand, begin, real_bank, small_bank, study
from tests.tui.waiting import shows, until

pytestmark = pytest.mark.slow


@pytest.fixture
def made(tmp_path: Path):
    with study(tmp_path, small_bank()) as found:
        yield found


def resumed(made) -> Interview:
    """What another window holds after it resumed the interview."""
    return Interview.resume(made, archive.running(made).document, Hand())


def shown(app: QuizApp) -> str:
    return app.export_screenshot().replace("&#160;", " ")


def test_what_the_second_window_answers_is_not_overwritten_by_the_first(made) -> None:
    first, _ = begin(made, "research-engineer", 30, seed=4, code=False)
    second = resumed(made)
    second.session.proceed()
    second.save()
    first.save()
    assert "another window" in first.taken
    assert not second.taken
    assert archive.running(made).document["running"]["sitting"] == second.sitting
    third = resumed(made)
    assert third.session.phase == second.session.phase == 1


def test_an_interview_is_marked_once_and_one_undo_takes_it_back(made) -> None:
    first, _ = begin(made, "research-engineer", 30, seed=4, code=False)
    first.session.end("early")
    first.save()
    second = resumed(made)
    with pytest.raises(TakenOver, match="goes on in another window"):
        first.record()
    second.record()
    reviews = made.stats().reviews
    for late in (first, second):
        with pytest.raises(TakenOver, match="marked in another window"):
            late.record()
    first.save()
    assert first.taken
    assert [mock.state for mock in made.mocks()] == ["done"]
    assert made.stats().reviews == reviews
    made.undo()
    assert [mock.state for mock in made.mocks()] == ["undone"]
    assert made.stats().reviews == 0


async def test_the_window_that_lost_it_leaves_and_says_so(made) -> None:
    app = QuizApp(study=made)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.pause()
        app.push_screen(MockScreen())
        await pilot.pause()
        first, _ = begin(made, "research-engineer", 30, seed=4, code=False)
        app.push_screen(RunScreen(first))
        await pilot.pause()
        second = resumed(made)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MockScreen))
        await until(pilot, lambda: "goes on in another window" in shown(app))
        second.session.end("early")
        second.record()
        await pilot.press("r")
        await until(pilot, lambda: "finished in another window" in shown(app))
        assert isinstance(app.screen, MockScreen)
        assert app.screen.unfinished is None


async def test_resuming_takes_what_the_other_window_did_meanwhile(made) -> None:
    app = QuizApp(study=made)
    first, _ = begin(made, "research-engineer", 30, seed=4, code=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.push_screen(MockScreen())
        await pilot.pause()
        first.session.proceed()
        first.save()
        await pilot.press("r")
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)
        assert app.screen.session.phase == 1


async def test_a_run_marked_in_another_window_is_not_marked_again(tmp_path: Path) -> None:
    with study(tmp_path, real_bank()) as made:
        app = QuizApp(study=made)
        async with app.run_test(size=(80, 24), notifications=True) as pilot:
            await pilot.pause()
            app.push_screen(IncidentScreen())
            await pilot.pause()
            await pilot.press("enter")
            await pilot.pause()
            made.clock.time += timedelta(seconds=1)
            await pilot.press("ctrl+e", "down", "enter")
            await pilot.pause()
            assert isinstance(app.screen, MarkScreen)
            resumed(made).record()
            await pilot.press("enter")
            await pilot.pause()
            assert isinstance(app.screen, IncidentScreen)
            await shows(pilot, "marked in another window")
            assert len(archive.done(made, SINGLE_INCIDENT)) == 1


@pytest.mark.parametrize("place", [MockScreen, IncidentScreen])
async def test_no_second_clock_begins_beside_one_of_another_window(tmp_path: Path, place) -> None:
    with study(tmp_path, real_bank()) as made:
        app = QuizApp(study=made)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            app.push_screen(place())
            await pilot.pause()
            first, _ = begin(made, "research-engineer", 30, seed=4, code=False)
            await pilot.press("enter")
            await pilot.pause()
            await shows(pilot, "The interview is not finished")
            await pilot.press("escape")
            first.session.end("early")
            first.save()
            await pilot.press("enter")
            await pilot.pause()
            await shows(pilot, "The interview waits to be marked")
            await pilot.press("enter")
            await pilot.pause()
            assert isinstance(app.screen, MarkScreen)
            assert len(made.mocks()) == 1
