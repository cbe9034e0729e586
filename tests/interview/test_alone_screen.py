"""A broken run by itself, by keys: chosen, sat, marked, undone, left and resumed."""

from pathlib import Path

import pytest

from quizapp.incidents.loader import load_library
from quizapp.interview import archive
from quizapp.interview.blueprint import SINGLE_INCIDENT
from quizapp.interview.paper.incident_pool import list_incidents
from quizapp.interview.service import Interview
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.incidents.catalogue import IncidentScreen
from quizapp.tui.screens.interview.marking import MarkScreen
from quizapp.tui.screens.interview.past import PastScreen
from quizapp.tui.screens.interview.running import RunScreen
from quizapp.tui.screens.interview.scorecard import CardScreen
from quizapp.tui.screens.interview.setup import MockScreen
from quizapp.tui.startup import mark_tour_seen
from quizapp.tui.widgets.score_card import ScoreCard
from tests.interview.mock_kit import Hand, begin, mark_as_proposed, real_bank, study
from tests.tui.waiting import shows

pytestmark = pytest.mark.slow

SIZES = [(60, 20), (80, 24), (120, 40)]
RUN = "double-softmax"
SAID = "The library applies a second softmax."


@pytest.fixture
def made(tmp_path: Path):
    with study(tmp_path, real_bank()) as found:
        yield found


def shown(app: QuizApp) -> str:
    return app.export_screenshot().replace("&#160;", " ")


async def chosen(pilot, value: str) -> None:
    """Take an entry of the list that is asked."""
    dialog = pilot.app.screen
    assert isinstance(dialog, Choose)
    place = [name for name, _ in dialog._entries].index(value)
    await pilot.press(*["down"] * place, "enter")
    await pilot.pause()


async def answered(pilot) -> dict:
    """From the running screen to the scorecard, by keys; the report as stored."""
    app = pilot.app
    asked = app.screen.session.item.incident
    await pilot.press("f2", "enter", "2")
    await pilot.pause()
    await pilot.press("f3", *SAID)
    await pilot.press("f4", "enter")
    await pilot.pause()
    await chosen(pilot, asked.cause)
    await pilot.press("enter")
    await pilot.pause()
    await chosen(pilot, asked.place)
    await pilot.press("ctrl+r", "ctrl+r")
    await pilot.pause()
    assert "How sure are you" in shown(app)
    await pilot.press("4")
    await pilot.pause()
    assert isinstance(app.screen, MarkScreen)
    await mark_as_proposed(pilot)
    assert isinstance(app.screen, CardScreen)
    return archive.done(app.study, SINGLE_INCIDENT)[0].as_json()


async def test_the_whole_sitting_by_keys_up_to_the_review_and_its_undo(made) -> None:
    app = QuizApp("incident", study=made, wanted=RUN)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await shows(pilot, "A loss that settles far too high")
        await shows(pilot, "Not done yet")
        assert made.mocks() == []  # looking starts no clock
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)
        assert app.screen.session.item.asked.id == RUN
        report = await answered(pilot)
        item = report["items"][0]
        assert (item["question"]["id"], item["confidence"], item["typed"]) == (RUN, 75, SAID)
        assert [term["points"] for term in item["marks"]["terms"] if term["term"] == "cause"] == [12]
        assert made.stats().sources == {"incident": 1}
        told = shown(app)
        assert "Reproducibility" in told
        assert "Diagnosis" in told
        assert "interval" not in told
        await pilot.press("u")
        await pilot.pause()
        assert made.stats().reviews == 0
        assert archive.done(made, SINGLE_INCIDENT) == []
        assert isinstance(app.screen, IncidentScreen)


async def test_without_a_name_it_is_the_next_one(made) -> None:
    app = QuizApp("incident", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        first = list_incidents(made, load_library())[0].incident
        assert app.screen.table.current.incident is first
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen.session.item.asked.id == first.id


async def test_after_a_sitting_the_next_run_comes_first_and_the_result_is_a_key_away(made) -> None:
    app = QuizApp("incident", study=made, wanted=RUN)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        first = app.screen.table.current.incident
        assert app.screen.table.cursor > 0
        await pilot.press("enter")
        await pilot.pause()
        await answered(pilot)
        await pilot.press("escape")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, IncidentScreen)
        assert screen.table.current.incident is list_incidents(made, load_library())[0].incident
        await shows(pilot, f"1 of {len(load_library().incidents)} done")
        await pilot.press(*["pagedown"] * 6, "c")
        await pilot.pause()
        assert isinstance(app.screen, CardScreen)
        assert first.title in shown(app)
        await pilot.press("pagedown")
        await pilot.pause()
        await shows(pilot, "queue: the exercise ")
        await pilot.press("a")
        await pilot.pause()
        await shows(pilot, "Every mark is a sum")


async def test_a_run_that_was_left_is_resumed_with_its_words_and_readings(made) -> None:
    app = QuizApp("incident", study=made, wanted=RUN)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("enter", "2")
        await pilot.pause()
        await pilot.press("f3", *"softmax twice", "escape")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, IncidentScreen)
        await shows(pilot, "is not finished")
        await pilot.press("enter")  # no second clock beside the first
        await pilot.pause()
        assert isinstance(app.screen, Choose)
        await pilot.press("escape")
        await pilot.pause()
        await pilot.press("r")
        await pilot.pause()
        item = app.screen.session.item
        assert (item.asked.id, item.typed, len(item.bought)) == (RUN, "softmax twice", 1)


async def test_after_a_killed_terminal_either_screen_goes_on_with_it(made) -> None:
    interview = Interview.begin_incident(made, RUN, clock=Hand())
    interview.start()
    interview.session.type("softmax twice")
    interview.save()
    for place in ("incident", "mock"):
        app = QuizApp(place, study=made)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            assert "A broken run (A loss that settles far too high)" in " ".join(shown(app).split())
            await pilot.press("r")
            await pilot.pause()
            assert isinstance(app.screen, RunScreen)
            assert app.screen.session.item.typed == "softmax twice"


async def test_an_interview_that_is_not_finished_is_gone_on_with_from_here(made) -> None:
    begin(made, "research-engineer", 15, seed=4)
    app = QuizApp("incident", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await shows(pilot, "15 minutes) ")
        await pilot.press("enter", "enter")
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)
        assert app.screen.interview.head.minutes == 15


async def test_runs_sat_alone_are_in_no_history_of_interviews(made) -> None:
    app = QuizApp("incident", study=made, wanted=RUN)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        await answered(pilot)
        for place, kind in (("mock", MockScreen), ("mockpast", PastScreen)):
            app.go(place)
            await pilot.pause()
            assert isinstance(app.screen, kind)
            await shows(pilot, "No interviews yet")
        app.go("statistics")
        await pilot.pause()
        await pilot.press(*["right"] * 3)
        await pilot.pause(0.4)
        assert "Mock interviews: 1" not in shown(app)


async def test_home_leads_to_it_by_key_and_by_mouse(made) -> None:
    mark_tour_seen()
    app = QuizApp("home", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("r")
        await pilot.pause()
        assert isinstance(app.screen, IncidentScreen)
        await pilot.press("escape")
        await pilot.pause()
        lines = app.screen.query_one("#onward").content.plain.splitlines()
        row = next(number for number, line in enumerate(lines) if "Broken run" in line)
        await pilot.click("#onward", offset=(4, row))
        await pilot.pause()
        assert isinstance(app.screen, IncidentScreen)


async def test_a_click_moves_and_only_the_button_starts_the_clock(made) -> None:
    app = QuizApp("incident", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        screen = app.screen
        for _ in range(3):
            await pilot.click("#table", offset=(20, 2))
            await pilot.pause()
        assert screen.table.cursor == 2
        assert app.screen is screen
        third = screen.table.current.incident
        lines = screen.query_one("#chosen").content.plain.splitlines()
        row = next(number for number, line in enumerate(lines) if "Begin" in line)
        await pilot.click("#chosen", offset=(5, row))
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)
        assert app.screen.session.item.asked.id == third.id


@pytest.mark.parametrize(
    "size", [SIZES[0], *(pytest.param(size, marks=pytest.mark.exhaustive) for size in SIZES[1:])]
)
async def test_the_choice_and_the_scorecard_fit_the_terminal(made, size: tuple[int, int]) -> None:
    app = QuizApp("incident", study=made, wanted=RUN)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        table = app.screen.table
        assert table.size.height >= 8
        await shows(pilot, "Begin")
        assert app.screen.query_one("#chosen").virtual_size.width <= size[0]
        await pilot.press("enter")
        await pilot.pause()
        await answered(pilot)
        card = app.screen.query_one(ScoreCard)
        assert (
            max(line.cell_length for line in card.lines(card.content_size.width)) <= card.content_size.width
        )
