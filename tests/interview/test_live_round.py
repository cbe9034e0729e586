"""A live incident as the form of a debug round: its place in the paper, its clock, its marks, a resume."""

import json
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from quizapp.incidents.live.hand_in import measure_hand_in
from quizapp.incidents.live.live_work import LIVE_S, RunCommand
from quizapp.incidents.loader import load_library
from quizapp.interview import archive
from quizapp.interview.paper.code_rounds import CodeStock, sample_code_paper
from quizapp.interview.paper.model import Paper
from quizapp.interview.report.explain import explain
from quizapp.interview.report.files import rendered
from quizapp.interview.report.model import load_report
from quizapp.interview.service import Interview
from quizapp.interview.session.clock import STALL_MS
from quizapp.interview.session.live_sitting import LOST, LiveSitting, end_run
from quizapp.scheduling.study_day import FixedClock
from quizapp.tui.app import QuizApp
from tests.incidents.live_kit import StandIn, live_library
from tests.interview.mock_kit import (
    EVENING,
    Hand,
    begin,
    blueprint,
    finish,
    incidents,
    real_bank,
    sit_down,
    small_bank,
    solve,
    study,
    wait,
)
from tests.tui.waiting import shows, until
from tools.schemas import FOLDER

pytestmark = pytest.mark.slow


@pytest.fixture
def made(tmp_path: Path):
    with study(tmp_path, small_bank(), FixedClock(EVENING)) as found:
        yield found


def paper_of(seed: int, *, torch: bool = True) -> Paper:
    plan = blueprint().plan("post-training", 45, round_name="debug")
    return sample_code_paper(CodeStock(plan, real_bank(), {}, seed, load_library(), torch=torch))


def form_of(paper: Paper) -> str:
    last = paper.picks[-1]
    return "live" if last.live else last.kind


def begin_live(made, *, false_alarm: bool = False) -> tuple[Interview, Hand, LiveSitting]:
    """A round with a live incident, after its hypotheses."""
    for seed in range(200):
        interview, hand = begin(
            made, "post-training", 45, seed=seed, round_name="debug", library=live_library(incidents())
        )
        last = interview.session.items[-1]
        if last.live is not None and last.incident.false_alarm == false_alarm:
            break
        interview.discard()
    interview.session.proceed()
    interview.session.type("I would read the rate first.")
    interview.session.submit()
    interview.session.confide(50)
    return interview, hand, LiveSitting(interview.session)


def record(interview: Interview) -> dict:
    """The report, once the judge has measured what was handed in."""
    finish(interview)
    for item in interview.unjudged():
        healthy = item.incident.false_alarm
        result = measure_hand_in(item.live_task, item.live_work, StandIn(), number=item.seed, healthy=healthy)
        interview.measured(item.number, result)
    return interview.record().as_json()


def run(sitting: LiveSitting, steps: int, seed: int = 7):
    command = RunCommand(steps, seed)
    assert sitting.problem_with(command) == ""
    return sitting.begin_run(command)[0], command


# the paper


def test_code_a_live_run_and_runs_to_diagnose_are_drawn_alike_and_from_the_seed() -> None:
    papers = [paper_of(seed) for seed in range(24)]
    forms = Counter(map(form_of, papers))
    assert set(forms) == {"coding", "live", "incident"}
    assert min(forms.values()) >= 4
    assert [form_of(paper_of(seed)) for seed in range(12)] == [form_of(paper) for paper in papers[:12]]


def test_a_live_run_takes_thirty_minutes_after_ten_of_hypotheses() -> None:
    paper = next(paper for paper in map(paper_of, range(24)) if form_of(paper) == "live")
    assert dict(paper.seconds) == {"brief": 60, "hypotheses": 600, "debug": LIVE_S, "reserve": 240}
    think, repair = paper.picks
    assert think.about == (repair.incident,)


def test_without_torch_the_round_has_runs_to_diagnose_and_says_why() -> None:
    papers = [(paper_of(seed), paper_of(seed, torch=False)) for seed in range(12)]
    assert {form_of(paper) for _, paper in papers} == {"incident"}
    for usual, paper in papers:
        assert paper.note.startswith("Without torch nothing") == (form_of(usual) != "incident")


def test_hypotheses_show_the_script_and_ask_for_rivals_of_the_cause(made) -> None:
    interview, _, sitting = begin_live(made)
    think, item = interview.session.items[0], sitting.item
    assert item.live_task.broken.strip() in think.asked.prompt
    assert item.incident.prompt.strip() in think.asked.prompt
    assert not any(reading.shows in think.asked.prompt for reading in item.incident.readings)
    causes = {row.id: row.text for row in item.incident.causes}
    cause, *rivals = [point.text for point in think.key_points]
    assert cause == causes[item.incident.cause]
    assert all(any(causes[name] in rival for rival in rivals) for name in item.incident.decoys)


# the sitting


def test_its_report_has_the_marks_of_a_round_in_every_format(made) -> None:
    interview, _, sitting = begin_live(made)
    item = sitting.item
    solve(interview)
    end_run(run(sitting, 3)[0], StandIn()(item.live_task.broken, RunCommand(3, 7), False))
    assert sitting.commit() == ""
    assert sitting.edit(item.live_task.healthy)
    stored = record(interview)
    schema = json.loads((FOLDER / "report.json").read_text())
    jsonschema.validate(stored, schema)
    marks = stored["items"][1]["marks"]
    points = {row["term"]: row["points"] for row in marks["terms"]}
    assert (points["fix"], points["cause"], points["place"]) == (10, 10, 5)
    assert sum(row["weight"] for row in marks["terms"] if row["weight"] > 0) == 100
    report = load_report(stored)
    assert "run.py --steps 3 --seed 7" in explain(report)
    for kind in ("md", "html"):
        assert "run.py --steps 3 --seed 7" in rendered(report, kind, made.bank.topics)


def test_a_run_that_went_badly_is_repaired_again_live(made) -> None:
    interview, _, sitting = begin_live(made)
    incident = sitting.item.incident
    interview.session.end("early")
    commands = [step["command"] for step in record(interview)["next_steps"]]
    assert f"quizapp incident {incident.id} --live" in commands


def test_a_run_pays_with_the_clock_of_the_round(made) -> None:
    interview, hand, sitting = begin_live(made)
    item = sitting.item
    left = interview.session.left_ms
    run(sitting, item.live_task.steps)
    assert left - interview.session.left_ms == 1000 * item.live_task.price
    wait(interview, hand, interview.session.left_ms / 1000 - 5, step=STALL_MS / 2000)
    assert sitting.problem_with(RunCommand(item.live_task.steps, 7)) != ""
    wait(interview, hand, 10)
    assert interview.session.ended


def test_a_killed_round_goes_on_with_script_and_clock_and_without_the_run(made) -> None:
    interview, _, sitting = begin_live(made)
    solve(interview)
    sitting.commit()
    sitting.edit(sitting.item.live_task.healthy)
    run(sitting, 3)
    interview.save()
    left = interview.session.left_ms
    again = Interview.resume(made, archive.running(made).document, clock=Hand())
    item = LiveSitting(again.session).item
    assert item.live_work.script(item.live_task) == item.live_task.healthy
    assert [row.outcome for row in item.live_work.runs] == [LOST]
    assert item.live_work.committed
    assert again.session.left_ms <= left


@pytest.mark.parametrize("false_alarm", [False, True])
def test_the_wrong_end_is_capped_as_in_any_incident_of_a_round(made, false_alarm: bool) -> None:
    interview, _, sitting = begin_live(made, false_alarm=false_alarm)
    item = sitting.item
    solve(interview)
    causes = [row.id for row in item.incident.causes]
    wrong = next(name for name in causes if name != item.incident.cause) if false_alarm else "no-fault"
    interview.session.commit("cause", wrong)
    assert record(interview)["items"][1]["marks"]["total"] == (30 if false_alarm else 15)


async def test_the_screen_of_the_round_has_script_and_log(tmp_path: Path, monkeypatch) -> None:
    from quizapp.judge.client import script_client
    from tests.interview.test_live_screen import FakeJudge

    monkeypatch.setenv("QUIZAPP_HOME", str(tmp_path))
    monkeypatch.setattr(script_client, "ScriptClient", FakeJudge)
    with study(tmp_path, small_bank(), FixedClock(EVENING)) as made:
        interview, _, sitting = begin_live(made)
        app = QuizApp("mock", study=made)
        async with app.run_test(size=(80, 24)) as pilot:
            await sit_down(app, pilot, interview)
            item = sitting.item
            await until(pilot, lambda: item.live.broken_run is not None)
            await pilot.press("f6")
            await shows(pilot, "The broken run")
            solve(interview)
            await pilot.press("f4", "c")
            await shows(pilot, "Cause and place are fixed")
            await pilot.press("down", "enter")
            await until(pilot, lambda: item.live.committed)
