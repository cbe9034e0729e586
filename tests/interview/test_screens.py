"""The screens of a mock interview, driven by keys as a person does."""

import re
import threading
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from quizapp.errors import QuizError
from quizapp.interview.marking.self_check import SelfCheckResult
from quizapp.interview.report.model import load_report
from quizapp.interview.session.clock import Stopwatch
from quizapp.tui import actions
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.interview.marking import MarkScreen
from quizapp.tui.screens.interview.running import RunScreen
from quizapp.tui.screens.interview.scorecard import CardScreen
from quizapp.tui.screens.interview.setup import MockScreen
from quizapp.tui.startup import mark_tour_seen
from quizapp.tui.widgets.key_bar import KeyBar
from tests.interview.mock_kit import Hand, begin, done, incidents, sit, sit_down, small_bank, study
from tests.interview.test_code import FAILED
from tests.tui.waiting import until

pytestmark = pytest.mark.slow

SIZES = [(80, 24), (120, 40)]


@pytest.fixture(autouse=True)
def still_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quizapp.tui.widgets.answer_box.AnswerBox.cursor_blink", False, raising=False)
    monkeypatch.setattr("quizapp.interview.service.load_library", incidents)


def app_with(made, **options) -> QuizApp:
    return QuizApp("mock", study=made, **options)


def still(screen: RunScreen) -> Hand:
    """Put the screen's interview on a clock moved by hand."""
    hand = Hand()
    screen.session._stopwatch = Stopwatch(hand)
    return hand


async def answer(pilot, item) -> None:
    """Answer what is in hand, by keys."""
    if item is None:
        await pilot.press("enter")
    elif item.state == "confidence":
        await pilot.press("4")
    elif item.kind == "recall" or item.open_follow_up:
        await pilot.press(*"it is so because of the mean", "ctrl+r")
    elif item.kind == "incident":
        await diagnose(pilot)
    elif item.kind == "choice":
        await pilot.press("1")
    elif item.kind == "order":
        await pilot.press("J", "enter")
    else:
        await pilot.press("4", "2", "ctrl+r")


def quick_keys(item) -> list[str]:
    """The keys of any answer at all."""
    return {"choice": ["1"], "order": ["J", "enter"]}.get(item.kind, ["1", "ctrl+r"])


async def diagnose(pilot) -> None:
    """Take one reading, write, choose, freeze; all by keys."""
    await pilot.press("enter", "1", "f3", *"the labels are wrong", "f4")
    for _ in range(4):  # cause, place, rejected, by reading
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
    await pilot.press("space", "ctrl+r")


@pytest.mark.exhaustive
async def test_a_whole_interview_by_keys(tmp_path: Path) -> None:
    made = study(tmp_path, small_bank())
    app = app_with(made, role="applied-fine-tuning", minutes=30, seed=3, code=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)
        hand = still(app.screen)
        session = app.screen.session
        await pilot.press("enter")
        for _ in range(40):
            if not isinstance(app.screen, RunScreen):
                break
            hand.seconds += 8
            app.screen.tick()
            await pilot.pause()
            if not isinstance(app.screen, RunScreen):
                break
            await answer(pilot, session.item)
            await pilot.pause()
        assert isinstance(app.screen, MarkScreen)
        assert {item.state for item in session.items} == {"frozen"}
        case = next(item for item in session.items if item.kind == "incident")
        assert [row.reading for row in case.bought] == ["loss-curve"]
        assert set(case.as_json()["given"]) == {"cause", "place", "states", "decoy", "reading"}
        assert case.typed == "the labels are wrong"
        for _ in range(100):
            if isinstance(app.screen, CardScreen):
                break
            await pilot.press("enter")
            await pilot.pause()
        assert isinstance(app.screen, CardScreen)
        assert made.stats().reviews == len(session.items)
        await pilot.press("u")
        await pilot.pause()
        assert made.stats().reviews == 0
        assert isinstance(app.screen, MockScreen)
    made.close()


async def test_nothing_of_the_answer_is_shown_before_the_end(tmp_path: Path) -> None:
    made = study(tmp_path, small_bank())
    app = app_with(made, role="research-engineer", minutes=30, seed=4, code=False)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("enter")
        await pilot.pause()
        hand = still(app.screen)
        session = app.screen.session
        await pilot.press("enter")
        for _ in range(30):
            if not isinstance(app.screen, RunScreen) or app.screen.session.item is None:
                break
            item = app.screen.session.item
            await pilot.pause()
            shown = app.export_screenshot()
            for point in item.asked.key_points:
                assert point.text.replace(" ", "&#160;") not in shown
            hand.seconds += 3
            if item.state == "confidence":
                await pilot.press("3")
            elif item.kind in {"choice", "order"}:
                await pilot.press(*quick_keys(item))
            elif item.kind == "incident":
                assert item.asked.answer[:20].replace(" ", "&#160;") not in shown
                assert item.asked.hints[0][:20].replace(" ", "&#160;") not in shown
                await pilot.press("f3", *"so", "ctrl+r", "ctrl+r")
            else:
                await pilot.press(*"so", "ctrl+r")
        assert session.elapsed_ms > 0
    made.close()


async def test_leaving_and_resuming_keeps_the_words_and_the_clock(tmp_path: Path) -> None:
    made = study(tmp_path, small_bank())
    app = app_with(made, role="research-engineer", minutes=30, seed=6, code=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter")
        await pilot.pause()
        hand = still(app.screen)
        await pilot.press("enter")
        session = app.screen.session
        while session.item.kind != "recall":
            hand.seconds += 5
            await pilot.press(*quick_keys(session.item), "3")
            await pilot.pause()
        number = session.item.number
        await pilot.press(*"half a thought")
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, MockScreen)
        assert app.screen.unfinished is not None
        await pilot.press("r")
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)
        assert app.screen.session.item.number == number
        assert app.screen.query_one("#typed").text == "half a thought"
    made.close()


async def test_home_tells_of_an_interview_whose_clock_runs(tmp_path: Path) -> None:
    mark_tour_seen()
    made = study(tmp_path, small_bank())
    interview, _ = begin(made, "research-engineer", 30, seed=6, code=False)
    for said in ("not finished, its clock runs", "waits to be marked"):
        app = QuizApp(study=made)
        async with app.run_test(size=(60, 20)) as pilot:
            await until(
                pilot, lambda app=app, said=said: said in app.screen.query_one("#onward").visual.plain
            )
        interview.session.end()
        interview.save()
    made.close()


async def test_too_short_a_time_offers_no_code(tmp_path: Path) -> None:
    made = study(tmp_path, small_bank())
    app = app_with(made, role="research-engineer", minutes=15)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        fields = app.screen.query_one("#fields")
        assert "without code: the time is too short" in fields.visual.plain
        await pilot.press("down", "down", "right")
        assert "with code" in fields.visual.plain
    made.close()


async def test_before_the_paper_is_drawn_no_phase_has_a_time(tmp_path: Path) -> None:
    made = study(tmp_path, small_bank())
    for round_name, minutes, counted in (
        ("quiz", 20, "At most 12 questions: Brief, Quiz."),
        ("mixed", 15, "4 questions: Brief, Warm-up, Concepts, Reserve."),
    ):
        app = app_with(made, role="research-engineer", minutes=minutes, round_name=round_name)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            shape = " ".join(app.screen.query_one("#shape").visual.plain.split())
            assert counted in shape
            assert re.search(r"\d:\d\d", shape) is None
    made.close()


async def test_the_foot_says_that_enter_goes_on_after_the_last_line(tmp_path: Path) -> None:
    made = study(tmp_path, small_bank())
    interview, hand = begin(made, "research-engineer", 30, seed=4, code=False)
    sit(interview, hand, 4)
    interview.session.end("early")
    interview.propose()
    app = app_with(made)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = MarkScreen(interview)
        app.push_screen(screen)
        await pilot.pause()
        while screen.phase != "marks":
            await pilot.press("enter")
            await pilot.pause()
        place, foot = screen.at, screen.query_one(KeyBar)
        while screen._undecided() is not None:
            assert "enter as proposed" in foot.render().plain
            await pilot.press("n")
            await pilot.pause()
        assert screen.at == place
        assert "enter go on" in foot.render().plain
        await pilot.press("enter")
        await pilot.pause()
        assert screen.at == place + 1
    made.close()


async def test_a_point_without_matching_words_asks_for_the_phrase(tmp_path: Path) -> None:
    made = study(tmp_path, small_bank())
    interview, hand = begin(made, "research-engineer", 30, seed=4, code=False)
    sit(interview, hand, 4)
    interview.session.end("early")
    item = next(i for i in interview.session.items if i.kind == "recall" and i.reached)
    item.typed = "we simply look at the thing and then we decide on it together"
    interview.propose()
    app = app_with(made)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = MarkScreen(interview)
        app.push_screen(screen)
        await pilot.pause()
        while screen.item is not item:
            await pilot.press("enter")
            await pilot.pause()
        await pilot.press("y")
        await pilot.pause()
        assert screen.phase == actions.Phase.TYPING
        await pilot.press(*"look at the thing", "enter")
        await pilot.pause()
        point = screen.marking.points[0]
        assert (point.supported, point.held, point.quote) == (True, 1.0, "look at the thing")
        await pilot.press("y")
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        point = screen.marking.points[1]
        assert (point.ticked, point.supported, point.held) == (True, False, 0.5)
    made.close()


async def test_the_asked_phrase_is_read_off_the_answer_that_stays_in_view(tmp_path: Path) -> None:
    made = study(tmp_path, small_bank())
    interview, hand = begin(made, "training-infrastructure", 45, seed=5, code=False)
    sit(interview, hand, 4)
    interview.session.end("early")
    item = next(i for i in interview.session.items if i.kind == "incident" and i.reached)
    item.typed = "we simply look at the thing and then decide. " + "this and that we say besides. " * 60
    interview.propose()
    app = app_with(made)
    async with app.run_test(size=(120, 20)) as pilot:
        screen = MarkScreen(interview)
        app.push_screen(screen)
        await pilot.pause()
        while screen.item is not item:
            await pilot.press("enter")
            await pilot.pause()
        for _ in range(20):
            if screen.rubric.line is None or screen.marking.needs_phrase(screen.rubric.line.index):
                break
            await pilot.press("n")
            await pilot.pause()
        await pilot.press("y")
        await pilot.pause()
        assert screen.phase == actions.Phase.TYPING
        assert screen.query_one("#ask").region.bottom <= 19
        assert "we simply look" in app.export_screenshot().replace("&#160;", " ")
        await pilot.press("escape")
        await pilot.pause()
        assert "we simply look" in app.export_screenshot().replace("&#160;", " ")
    made.close()


async def test_back_at_the_code_the_last_verdict_stands_there(tmp_path: Path) -> None:
    made = study(tmp_path, small_bank())
    app = app_with(made)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        interview, hand = begin(made, "research-engineer", 30, seed=4, code=True)
        session = interview.session
        session.proceed()
        while session.item.kind != "coding":
            hand.seconds += 1.5 * session.item.budget + 1
            session.tick(present=True)
        test = FAILED["tests"][0]
        tests = [test | {"passed": held} for held in (True, True, False)]
        session.submitted(session.item.number, "x", FAILED | {"tests": tests}, 0)
        app.push_screen(RunScreen(interview))
        await pilot.pause()
        assert "failed: 2 of 3 hidden tests held" in app.export_screenshot().replace("&#160;", " ")
    made.close()


@pytest.fixture
def at_code(tmp_path: Path):
    """An app and an interview whose coding question is in hand."""
    made = study(tmp_path, small_bank())
    interview, hand = begin(made, "research-engineer", 30, seed=4, code=True)
    session = interview.session
    session.proceed()
    while session.item.kind != "coding":
        hand.seconds += 1.5 * session.item.budget + 1
        session.tick(present=True)
    yield app_with(made), interview
    made.close()


def output(screen: RunScreen) -> str:
    return screen.query_one("#output").content.plain


@pytest.mark.parametrize("check_first", [True, False])
async def test_a_submission_does_not_hide_a_check_that_still_runs(
    monkeypatch: pytest.MonkeyPatch, at_code, check_first: bool
) -> None:
    app, interview = at_code
    finished = threading.Event()

    def slow_check(source: str, module: str) -> SelfCheckResult:
        finished.wait(20)
        return SelfCheckResult(ok=False, counts=True, output="assertion failed")

    monkeypatch.setattr("quizapp.tui.screens.interview.coding.run_check", slow_check)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        screen = RunScreen(interview)
        app.push_screen(screen)
        await pilot.pause()
        results = []
        monkeypatch.setattr(app.judge, "submit", lambda *arguments: results.append(arguments[3]))
        await pilot.press("ctrl+t", "ctrl+s")
        submitted = "Submitted; the hidden tests are running …"
        assert output(screen).splitlines() == ["Running your module …", submitted]
        verdict = QuizError("the judge is away")
        if check_first:
            finished.set()
            await until(pilot, lambda: "assertion failed" in output(screen))
            assert output(screen).splitlines()[1].startswith("Submitted")
            results[0](None, verdict)
        else:
            results[0](None, verdict)
            assert output(screen).splitlines() == ["Running your module …", "the judge is away"]
            finished.set()
        await until(pilot, lambda: output(screen).splitlines() == ["assertion failed", "the judge is away"])
        await pilot.press("ctrl+s")  # what both said makes room
        assert output(screen) == submitted


async def test_a_seed_can_be_typed_and_gives_its_paper(tmp_path: Path) -> None:
    with study(tmp_path, small_bank()) as made:
        app = app_with(made, role="research-engineer", minutes=30, code=False)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            screen = app.screen
            await pilot.press("n", *"12x34", "escape")
            assert (screen.seed, app.focused) == (None, None)
            await pilot.press("down", "down", "down", *"x4711", "enter")
            await pilot.pause()
            assert screen.seed == 4711
            assert "4711" in app.export_screenshot()
            await pilot.press("n", "backspace", "enter")
            assert screen.seed is None
            await pilot.press("n", *"12", "enter", "n", *"34", "enter")
            assert screen.seed == 34
            for digit in "56789":
                app.post_message(events.Key(digit, digit))
            app.post_message(events.Key("enter", "\r"))
            await pilot.pause(0.1)
            assert (app.screen, screen.seed) == (screen, 56789)
            await pilot.press("n", *"4711", "enter", "enter")
            await pilot.pause()
            assert isinstance(app.screen, RunScreen)
            items = [item.card for item in app.screen.session.items]
    with study(tmp_path / "again", small_bank()) as made:
        same, _ = begin(made, "research-engineer", 30, seed=4711, code=False)
        assert [item.card for item in same.session.items] == items


@pytest.mark.parametrize("size", [*SIZES, (60, 20)])
async def test_every_screen_fits_and_names_its_keys(tmp_path: Path, size: tuple[int, int]) -> None:
    report = done(tmp_path, 2, bank=small_bank())
    with study(tmp_path, small_bank()) as made:
        app = app_with(made)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            for place in ("mock", "mockrun", "mockmark", "mockcard"):
                for act in actions.of_place(place):
                    assert act.help
                    assert act.key_list()
            app.push_screen(CardScreen(load_report(report)))
            await pilot.pause()
            assert app.screen.query_one("#scroll").virtual_size.width <= size[0]


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_running_looks_as_before(snap_compare, tmp_path: Path, size: tuple[int, int]) -> None:
    made = study(tmp_path, small_bank())

    async def run(pilot) -> None:
        await pilot.press("enter")
        await pilot.pause()
        hand = still(pilot.app.screen)
        pilot.app.screen.session.state.elapsed_ms = 0
        pilot.app.screen.session.phases[0].used_ms = 0
        await pilot.press("enter")
        session = pilot.app.screen.session
        while session.item.kind != "recall":
            hand.seconds += 10
            await pilot.press(*quick_keys(session.item), "3")
            await pilot.pause()
        # How many rounds that took depends on when keys are handled; the picture must not.
        pilot.app.screen.tick()
        session.state.elapsed_ms = 240_000
        for place, phase in enumerate(session.phases):
            phase.used_ms = phase.seconds * 1000 if place < session.phase else 0
        session.item.used_ms = 0
        for part in (0.3, 0.3):
            hand.seconds += round(part * session.item.budget)
            pilot.app.screen.tick()
        await pilot.press(*"The mean of the gradients is what counts, since")
        pilot.app.clear_notifications()
        await pilot.pause()

    app = app_with(made, role="research-engineer", minutes=45, seed=3, code=False)
    assert snap_compare(app, terminal_size=size, run_before=run)
    made.close()


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_scorecard_looks_as_before(snap_compare, tmp_path: Path, size: tuple[int, int]) -> None:
    made = study(tmp_path, small_bank())
    interview, hand = begin(made, "training-infrastructure", 45, seed=8, code=False)
    sit(interview, hand, 8)
    interview.session.end("early")
    report = interview.record()

    async def run(pilot) -> None:
        await pilot.pause()
        pilot.app.push_screen(CardScreen(report))
        await pilot.pause()

    assert snap_compare(app_with(made), terminal_size=size, run_before=run)
    made.close()


async def test_enter_does_not_hand_in_what_is_not_a_number(tmp_path: Path) -> None:
    with study(tmp_path, small_bank()) as made:
        interview, _ = begin(made, "research-engineer", 30, seed=4, code=False, round_name="napkin")
        interview.session.proceed()
        app = QuizApp("mock", study=made)
        async with app.run_test(size=(80, 24)) as pilot:
            await sit_down(app, pilot, interview)
            item = interview.session.item
            app.screen.query_one("#numeric Input", Input).focus()
            await pilot.press(*"4,2x22", "enter")
            await until(
                pilot, lambda: any("Correct the number" in note.message for note in app._notifications)
            )
            assert item.state == "open"
            await pilot.press(*["backspace"] * 3, *"e22", "enter")
            await until(pilot, lambda: item.state != "open")
            assert item.given == "4,2e22"
