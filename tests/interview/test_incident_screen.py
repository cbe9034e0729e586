"""The incident on its screen, driven by keys and clicks: readings, hints, diagnosis, marking."""

from pathlib import Path

import pytest

from quizapp.incidents.model import IncidentLibrary
from quizapp.interview.service import Interview
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.interview.marking import MarkScreen
from quizapp.tui.screens.interview.running import RunScreen
from quizapp.tui.widgets.clock_bar import ClockBar
from quizapp.tui.widgets.row_list import RowList
from tests.interview.mock_kit import Hand, at_incident, begin, only, sit_down, small_bank, study
from tests.tui.waiting import shows, until

pytestmark = pytest.mark.slow


@pytest.fixture
def running(tmp_path: Path):
    made = study(tmp_path, small_bank())
    interview, hand, item = at_incident(made)
    yield QuizApp("mock", study=made), interview, hand, item
    made.close()


def shown(app: QuizApp) -> str:
    return app.export_screenshot().replace("&#160;", " ")


@pytest.mark.parametrize(("wanted", "told"), [("flat-loss", True), ("", False)])
async def test_the_brief_explains_broken_runs_where_one_is_asked(
    tmp_path: Path, wanted: str, told: bool
) -> None:
    with study(tmp_path, small_bank()) as made:
        library = only(wanted) if wanted else IncidentLibrary()
        interview, _ = begin(made, "research-engineer", 30, seed=4, code=False, library=library)
        app = QuizApp("mock", study=made)
        async with app.run_test(size=(120, 40)) as pilot:
            await sit_down(app, pilot, interview)
            await shows(pilot, "enter begins")
            assert ("broken run" in shown(app)) == told
            assert ("control run" in shown(app)) == told


async def test_a_reading_is_predicted_then_paid_then_shown(running) -> None:
    app, interview, _, item = running
    async with app.run_test(size=(80, 24)) as pilot:
        await sit_down(app, pilot, interview)
        assert "2.30 → 0.0001" not in shown(app)
        await pilot.press("down", "down", "down", "enter")
        await pilot.pause()
        await shows(pilot, "How does it end?")
        assert item.bought == []
        await pilot.press("escape")
        await pilot.pause()
        assert "How does it end?" not in shown(app)
        await pilot.press("enter", "2")
        await pilot.pause()
        await shows(pilot, "2.30 → 0.0001")
        await shows(pilot, "you predicted flat")
        assert [(row.reading, row.predicted) for row in item.bought] == [("one-batch", "flat")]
        assert item.used_ms >= 30_000
        stored = app.study.mocks("running")[0].document["running"]["items"][item.number]
        assert stored["bought"] == item.as_json()["bought"]


@pytest.mark.parametrize(("pane", "told"), [("f2", "take readings"), ("f4", "choose and tick")])
async def test_letters_that_no_field_takes_are_told_where_to_go(running, pane: str, told: str) -> None:
    app, interview, _, item = running
    async with app.run_test(size=(80, 24)) as pilot:
        await sit_down(app, pilot, interview)
        await pilot.press(pane, *"jk", "down")
        assert not app._notifications
        await pilot.press(*"Because")
        await pilot.pause()
        (note,) = app._notifications
        assert note.message == f"f3 is where you write; here you {told}."
        assert item.given is None
        app.clear_notifications()
        await pilot.press("f3", *"Because")
        await pilot.pause()
        assert item.typed == "Because"
        assert not app._notifications


async def test_a_prediction_outside_the_reading_is_refused(running) -> None:
    app, interview, _, item = running
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await sit_down(app, pilot, interview)
        await pilot.press("down", "down", "enter", "5")  # accuracy by class has two outcomes
        await pilot.pause()
        assert item.bought == []
        assert screen.phase == "predict"


async def test_a_reading_that_time_does_not_allow_is_refused_in_words(running) -> None:
    app, interview, hand, item = running
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await sit_down(app, pilot, interview)
        hand.seconds += 1.5 * item.budget - 20
        interview.session.tick(present=True)
        await pilot.press("down", "down", "down", "enter")
        await pilot.pause()
        assert screen.phase == "readings"
        assert item.bought == []


async def test_a_hint_is_shown_once_its_price_is_accepted(running) -> None:
    app, interview, _, item = running
    async with app.run_test(size=(80, 24)) as pilot:
        await sit_down(app, pilot, interview)
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert isinstance(app.screen, Choose)
        await pilot.press("enter")
        await pilot.pause()
        assert item.hints == 0
        for number in (1, 2):
            await pilot.press("ctrl+t")
            await pilot.pause()
            await pilot.press("down", "enter")
            await pilot.pause()
            assert item.hints == number
        await shows(pilot, "Ask which parts")
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert not isinstance(app.screen, Choose)


async def test_letters_move_the_cursor_of_a_dialog(running) -> None:
    app, interview, _, item = running
    async with app.run_test(size=(80, 24)) as pilot:
        await sit_down(app, pilot, interview)
        for keys in (["j", "k", "enter"], ["j", "enter"]):  # No, then Show the hint
            await pilot.press("ctrl+t")
            await pilot.pause()
            await pilot.press(*keys)
            await pilot.pause()
        assert item.hints == 1


async def test_a_notice_goes_with_its_question_and_never_covers_the_clock(running) -> None:
    app, interview, *_ = running
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        screen = await sit_down(app, pilot, interview)
        await pilot.press("ctrl+r")
        await pilot.pause()
        (notice,) = screen.query("Toast")
        assert notice.region.y >= screen.query_one(ClockBar).region.bottom
        await pilot.press("ctrl+r")
        await pilot.pause()
        assert screen.phase == "confidence"
        assert not app._notifications


async def test_an_unfinished_answer_is_named_once_and_then_frozen(running) -> None:
    app, interview, _, item = running
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await sit_down(app, pilot, interview)
        await pilot.press("ctrl+r")
        await pilot.pause()
        assert (item.state, screen.phase) == ("open", "telling")
        await pilot.press(*"labels", "ctrl+r")
        await pilot.pause()
        assert item.state == "confidence"
        assert item.typed == "labels"


async def test_what_was_named_is_not_offered_as_rejected_and_states_are_ticked(running) -> None:
    app, interview, _, item = running
    async with app.run_test(size=(80, 24)) as pilot:
        await sit_down(app, pilot, interview)
        await pilot.press("f4", "enter")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        cause = item.given.cause
        await pilot.press("down", "enter")
        await pilot.pause()
        assert cause not in [value for value, _ in app.screen._entries]
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("enter")  # no reading was taken yet
        await pilot.pause()
        assert not isinstance(app.screen, Choose)
        await pilot.press("down", "space", "down", "space", "up", "space")
        await pilot.pause()
        states = item.asked.states
        assert item.given.states == [states[1].id]


async def test_no_fault_names_its_place_and_another_cause_takes_it_back(running) -> None:
    app, interview, _, item = running
    causes = [row.id for row in item.asked.causes]
    healthy = causes.index("no-fault")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await sit_down(app, pilot, interview)
        for place, expected in ((healthy, "nothing"), (healthy - 1 if healthy else 1, None)):
            screen.incident.form.cursor = 0
            await pilot.press("f4", "enter")
            await pilot.pause()
            await pilot.press("home", *["down"] * place, "enter")
            await pilot.pause()
            assert item.given.cause == causes[place]
            assert (item.given.place or None) == expected


async def test_words_and_choices_wait_when_the_question_is_put_aside(running) -> None:
    app, interview, *_ = running
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await sit_down(app, pilot, interview)
        await pilot.press("f3", *"half a thought", "escape")
        await pilot.pause()
        again = Interview.resume(app.study, app.study.mocks("running")[0].document, clock=Hand())
        app.push_screen(RunScreen(again))
        await pilot.pause()
        assert app.screen is not screen
        await pilot.press("f3")
        await pilot.pause()
        assert app.screen.query_one("#said").text == "half a thought"


async def test_the_diagnosis_is_shown_as_marked_after_the_last_key_point(running) -> None:
    app, interview, _, item = running
    session = interview.session
    session.buy("one-batch", "down")
    session.type("The one-batch test passes, so the pairing of labels with their inputs must be broken.")
    session.commit("cause", "leak")
    session.commit("decoy", "dead-units")
    session.commit("reading", "one-batch")
    session.submit()
    session.confide(75)
    session.end("early")
    interview.propose()
    async with app.run_test(size=(120, 70)) as pilot:
        await pilot.pause()
        screen = MarkScreen(interview)
        app.push_screen(screen)
        await pilot.pause()
        while screen.item.number != item.number:
            await pilot.press("enter")
            await pilot.pause()
        assert "Labels are permuted" not in shown(app)
        for _ in screen.rubric.order:
            await pilot.press("n")
            await pilot.pause()
        told = shown(app)
        assert "Labels are permuted" in told
        assert "evidence 6 of 6" in told
        assert "cause 0 of 12" in told
        assert "✓ rejected: " in told


def line_of(rows: RowList, place: int) -> tuple[int, int]:
    """Where the last line of a row lies in its widget."""
    width = rows.content_size.width
    heights = [len(rows.heading(row, width)) + len(rows.row(row, width)) for row in range(place + 1)]
    return 6, sum(heights) - 1


async def test_a_click_moves_to_a_reading_and_the_next_one_asks_for_it(running) -> None:
    app, interview, _, item = running
    async with app.run_test(size=(80, 40)) as pilot:
        screen = await sit_down(app, pilot, interview)
        readings = screen.incident.readings
        for _ in range(2):
            assert screen.phase == "readings"
            await pilot.click(readings, offset=line_of(readings, 3))
            await pilot.pause()
            assert readings.cursor == 3
        assert screen.phase == "predict"
        await pilot.click(readings, offset=line_of(readings, 1))
        await pilot.pause()
        assert (readings.cursor, screen.phase) == (1, "readings")
        assert item.bought == []


async def test_a_click_moves_to_a_line_of_the_diagnosis_and_the_next_one_chooses(running) -> None:
    app, interview, _, item = running
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await sit_down(app, pilot, interview)
        await pilot.press("f4")
        await pilot.pause()
        form = screen.incident.form
        state = len(form.rows) - 1
        for expected in (None, [form.rows[state][1]]):
            await pilot.click(form, offset=line_of(form, state))
            await pilot.pause()
            assert (item.diagnosis.states or None) == expected
        await pilot.click(screen.incident.readings, offset=line_of(screen.incident.readings, 2))
        await pilot.pause()
        assert (screen.incident.pane, screen.incident.readings.cursor) == ("run", 2)


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_every_pane_fits_its_width(running, size: tuple[int, int]) -> None:
    app, interview, *_ = running
    async with app.run_test(size=size) as pilot:
        screen = await sit_down(app, pilot, interview)
        for name in ("#case-run", "#case-answer", "#case-diagnosis"):
            await pilot.press({"#case-run": "f2", "#case-answer": "f3", "#case-diagnosis": "f4"}[name])
            await pilot.pause()
            pane = screen.query_one(name)
            assert pane.display
            assert pane.virtual_size.width <= pane.size.width
        assert (screen.query_one("#case-run").display) == (size[0] >= 118)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_readings_look_as_before(snap_compare, running, size: tuple[int, int]) -> None:
    app, interview, *_ = running

    async def run(pilot) -> None:
        await sit_down(app, pilot, interview)
        await pilot.press("enter", "2")
        await pilot.pause()
        await pilot.press("down", "down", "down", "enter")
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=run)


async def test_all_that_is_missing_is_said_before_an_answer_is_frozen(running) -> None:
    app, interview, _, item = running
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await sit_down(app, pilot, interview)
        await pilot.press("ctrl+r")
        await pilot.pause()
        await shows(pilot, "Nothing is written yet, not chosen yet: cause, place, rejected; ctrl+r again")
        await pilot.press("f4", "enter")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert item.given.cause
        await pilot.press("ctrl+r")
        await pilot.pause()
        assert item.state == "confidence"


async def test_what_turns_out_missing_later_is_said_again(running) -> None:
    app, interview, _, item = running
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await sit_down(app, pilot, interview)
        asked = item.asked
        for field, value in (("cause", asked.cause), ("place", asked.place), ("decoy", asked.decoys[0])):
            interview.session.commit(field, value)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "Nothing is written yet" in shown(app))
        await shows(pilot, "Nothing is written yet; ctrl+r again")
        await pilot.press("f3", *"Because")
        interview.session.commit("place", "")
        await pilot.press("ctrl+r")
        await pilot.pause()
        await shows(pilot, "Not chosen yet: place; ctrl+r again")
        assert item.state == "open"
