"""A live incident on its screen: the script opens with the commit, runs stream, marks follow."""

import threading
from pathlib import Path
from time import monotonic
from typing import Self

import pytest

from quizapp import paths
from quizapp.incidents.live.live_work import LiveMode, RunCommand
from quizapp.interview.service import Interview
from quizapp.interview.session.live_sitting import LOCKED, NO_CAUSE
from quizapp.judge.client import script_client
from quizapp.judge.protocol.scripts import ScriptOrder, ScriptOutcome, ScriptRun
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.incidents.command_dialog import CommandDialog, read_command
from quizapp.tui.screens.interview.marking import MarkScreen
from tests.incidents.live_kit import StandIn, live_library
from tests.interview.mock_kit import Hand, blueprint, incidents, sit_down, small_bank, solve, study
from tests.tui.waiting import shows, until

pytestmark = pytest.mark.slow

KEY_S = 1.0
"""Far above the 50 ms that a key may take, because the machine of a test may be busy."""


class FakeJudge:
    """Stands in for the client of the judge: prints at once, and holds an edited run until it is let go."""

    held = threading.Event()
    lines = 3

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def connect(self) -> None:
        pass

    def run(self, order: ScriptOrder, on_line=None, canceled=None) -> ScriptRun:
        if on_line is None:
            return StandIn()(order.source, RunCommand(order.steps, order.seed), order.measured)
        for step in range(self.lines):
            on_line(f"step {step}  loss {2.5 - step / self.lines}")
        if order.seed == 8:
            while not (self.held.wait(0.01) or canceled.is_set()):
                pass
        if canceled is not None and canceled.is_set():
            return ScriptRun(ScriptOutcome.CANCELED, "You stopped it.", "step 0  loss 2.5", 1.0, order.seed)
        return StandIn()(order.source, RunCommand(order.steps, order.seed), order.measured)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> type[FakeJudge]:
    kind = type("OneJudge", (FakeJudge,), {"held": threading.Event()})
    monkeypatch.setattr(script_client, "ScriptClient", kind)
    return kind


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judge):
    monkeypatch.setenv("QUIZAPP_HOME", str(tmp_path))
    made = study(tmp_path, small_bank())
    yield QuizApp("mock", study=made), made
    judge.held.set()
    made.close()


def begin(made, mode: LiveMode = LiveMode.CLOCK) -> Interview:
    interview = Interview.begin_incident(
        made,
        "flat-loss",
        live=mode,
        clock=Hand(),
        library=live_library(incidents()),
        blueprint=blueprint(),
        seed=3,
    )
    interview.start()
    return interview


def text_of(app: QuizApp) -> str:
    return app.export_screenshot().replace("&#160;", " ")


async def test_the_script_opens_with_the_commit_and_its_runs_are_logged(running, judge) -> None:
    app, made = running
    interview = begin(made)
    item = interview.session.item
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await sit_down(app, pilot, interview)
        desk = screen.incident.desk
        await until(pilot, lambda: item.live.broken_run is not None)
        await pilot.press("f5", "x")
        await shows(pilot, LOCKED[:40])
        assert desk.editor.text == item.live_task.broken
        await pilot.press("f4", "c")
        await until(pilot, lambda: NO_CAUSE in [notice.message for notice in app._notifications])
        solve(interview)
        await pilot.press("c")
        await shows(pilot, "Cause and place are fixed")
        await pilot.press("down", "enter")
        await until(pilot, lambda: item.live.committed and not desk.editor.read_only)
        await pilot.press("#", "enter")
        await until(pilot, lambda: item.live.source.startswith("#"))
        path = paths.home() / "live" / item.live_task.name / "run.py"
        await until(pilot, lambda: path.read_text().startswith("#\n"))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, CommandDialog))
        await pilot.press(*"12", "space", "7", "enter")
        await until(pilot, lambda: [run.outcome for run in item.live.runs] == ["ended"])
        await shows(pilot, "run.py --steps 12 --seed 7, edited script")
        assert item.live.runs[0].price == item.live_task.price_of(12)


async def test_a_commit_that_is_chosen_after_the_cut_does_nothing(running) -> None:
    app, made = running
    interview = begin(made)
    item = interview.session.item
    async with app.run_test(size=(80, 24)) as pilot:
        await sit_down(app, pilot, interview)
        solve(interview)
        await pilot.press("f4", "c")
        await shows(pilot, "Cause and place are fixed")
        interview.session.flow.cut(item, lost=False)
        await pilot.press("down", "enter")
        assert not item.live.committed
        assert app.return_code is None


async def test_a_run_streams_while_keys_are_taken_and_can_be_stopped(running, judge) -> None:
    app, made = running
    judge.lines = 20_000
    interview = begin(made)
    item = interview.session.item
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await sit_down(app, pilot, interview)
        await until(pilot, lambda: item.live.broken_run is not None)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, CommandDialog))
        await pilot.press(*"12", "space", "8", "enter")
        await until(pilot, lambda: screen.incident.desk.is_running and screen.incident.desk._lines)
        await pilot.press("f3")
        slowest = 0.0
        for letter in "the rate is far too high":
            started = monotonic()
            await pilot.press("space" if letter == " " else letter)
            slowest = max(slowest, monotonic() - started)
        assert screen.incident.answer.text == "the rate is far too high"
        assert slowest < KEY_S
        await pilot.press("ctrl+b")
        await until(pilot, lambda: item.live.runs[0].outcome == "canceled")
        await pilot.press("f6")
        await shows(pilot, "You stopped it.")


async def test_a_file_changed_before_the_commit_is_put_back_and_after_it_is_taken(running) -> None:
    app, made = running
    interview = begin(made)
    item = interview.session.item
    path = paths.home() / "live" / item.live_task.name / "run.py"
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await sit_down(app, pilot, interview)
        await until(pilot, path.exists)
        path.write_text("print('early')\n")
        await until(pilot, lambda: path.read_text() == item.live_task.broken)
        assert path.with_name("run_previous.py").read_text() == "print('early')\n"
        solve(interview)
        assert screen.incident.desk.sitting.commit() == ""
        path.write_text("print('later')\n")
        await until(pilot, lambda: item.live.source == "print('later')\n")
        assert screen.incident.desk.editor.text == "print('later')\n"
        lines = [f"x = {number}" for number in range(100)]
        path.write_text("\n".join(lines))
        editor = screen.incident.desk.editor
        await until(pilot, lambda: editor.text == "\n".join(lines))
        editor.move_cursor((80, 2))
        path.write_text("\n".join([*lines, "y = 1"]))
        await until(pilot, lambda: editor.text.endswith("y = 1"))
        assert editor.cursor_location == (80, 2)


async def test_what_is_handed_in_is_measured_while_the_words_are_marked(running) -> None:
    app, made = running
    interview = begin(made)
    item = interview.session.item
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await sit_down(app, pilot, interview)
        solve(interview)
        screen.incident.desk.sitting.commit()
        screen.incident.desk.sitting.edit(item.live_task.healthy)
        screen.incident.desk.editor.load_text(item.live_task.healthy)
        screen.incident.answer.load_text(item.incident.answer)
        await pilot.press("ctrl+r")
        await shows(pilot, "How sure")
        await pilot.press("5")
        await until(pilot, lambda: isinstance(app.screen, MarkScreen))
        await until(pilot, lambda: item.live.measured is not None)
        assert item.live.measured.repaired
        stored = made.mocks("running")[0].document["running"]["items"][0]
        assert stored["live"]["measured"]["nodes"] == 1


async def test_practice_says_what_each_reading_excludes(running) -> None:
    app, made = running
    interview = begin(made, LiveMode.PRACTICE)
    item = interview.session.item
    async with app.run_test(size=(120, 40)) as pilot:
        await sit_down(app, pilot, interview)
        await pilot.press("enter", "1")
        await until(pilot, lambda: item.bought)
        await shows(pilot, "It excludes")
        assert item.used_ms == 0


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("12", RunCommand(12, 7)),
        (" 12 8 ", RunCommand(12, 8)),
        ("12, seed 8", RunCommand(12, 8)),
        ("", None),
        ("-3", None),
        ("1e3", None),
        ("12 8 9", None),
    ],
)
def test_steps_and_seed_are_read_from_one_field(typed: str, command: RunCommand | None) -> None:
    assert read_command(typed, 7) == command
