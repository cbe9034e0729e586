"""A live incident as an interview: the order of its acts, its clock, what survives, its marks, its card."""

import json
from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizapp.errors import QuizError
from quizapp.incidents.live.hand_in import measure_hand_in
from quizapp.incidents.live.live_work import LIVE_S, LiveMode, RunCommand
from quizapp.interview import archive
from quizapp.interview.paper.incident_pool import list_incidents
from quizapp.interview.report.explain import explain
from quizapp.interview.report.files import rendered
from quizapp.interview.report.model import load_report
from quizapp.interview.scoring.live_terms import short_share
from quizapp.interview.service import Interview
from quizapp.interview.session import live_sitting
from quizapp.interview.session.live_sitting import LiveSitting, end_run
from quizapp.scheduling.study_day import FixedClock
from tests.incidents.live_kit import StandIn, live_library
from tests.interview.mock_kit import (
    EVENING,
    Hand,
    blueprint,
    finish,
    incidents,
    small_bank,
    solve,
    study,
    wait,
)
from tools.schemas import FOLDER

pytestmark = pytest.mark.slow

FAULT, ALARM = "flat-loss", "quiet-floor"


@pytest.fixture
def made(tmp_path: Path):
    with study(tmp_path, small_bank(), FixedClock(EVENING)) as found:
        yield found


def live(made, name: str = FAULT, mode: LiveMode = LiveMode.CLOCK) -> tuple[Interview, Hand, LiveSitting]:
    hand = Hand()
    library = live_library(incidents())
    interview = Interview.begin_incident(
        made, name, live=mode, clock=hand, library=library, blueprint=blueprint(), seed=3
    )
    interview.start()
    return interview, hand, LiveSitting(interview.session)


def run(interview: Interview, sitting: LiveSitting, steps: int, seed: int = 7) -> None:
    command = RunCommand(steps, seed)
    assert sitting.problem_with(command) == ""
    work, task = sitting.item.live_work, sitting.item.live_task
    record, _ = sitting.begin_run(command)
    end_run(record, StandIn()(work.script(task), command, False))


def repaired(item) -> str:
    guard = "        assert loss < 3  # guard"
    return item.live_task.healthy.replace("loss.backward()", f"loss.backward()\n{guard.strip()}")


def hand_in(interview: Interview) -> None:
    item = interview.session.items[0]
    result = measure_hand_in(
        item.live_task, item.live_work, StandIn(), number=item.seed, healthy=item.incident.false_alarm
    )
    interview.measured(0, result)


def sat(interview: Interview) -> dict:
    finish(interview)
    if interview.unjudged():
        hand_in(interview)
    return interview.record().as_json()


def terms(report: dict) -> dict[str, float]:
    return {row["term"]: row["points"] for row in report["items"][0]["marks"]["terms"]}


def full(made, name: str = FAULT, mode: LiveMode = LiveMode.CLOCK) -> dict:
    """A sitting in which everything is right."""
    interview, _, sitting = live(made, name, mode)
    item = sitting.item
    solve(interview)
    run(interview, sitting, 3)
    sitting.state(RunCommand(3, 7))
    assert sitting.commit() == ""
    if not item.incident.false_alarm:
        assert sitting.edit(item.live_task.healthy)
    return sat(interview)


# the order of the acts


def test_the_script_stays_closed_until_cause_and_place_are_committed(made) -> None:
    interview, _, sitting = live(made)
    item = sitting.item
    assert sitting.commit() == live_sitting.NO_CAUSE
    assert not sitting.edit("print(1)\n")
    solve(interview)
    assert sitting.commit() == ""
    assert sitting.edit("print(1)\n")
    cause = item.diagnosis.cause
    interview.session.commit("cause", next(row.id for row in item.incident.causes if row.id != cause))
    assert item.diagnosis.cause == cause


def test_an_incident_without_a_live_form_says_so(made) -> None:
    with pytest.raises(QuizError, match="has no live form"):
        Interview.begin_incident(made, FAULT, live=LiveMode.CLOCK, library=incidents(), blueprint=blueprint())


# the clock


def test_a_run_costs_by_its_steps_and_one_that_no_longer_fits_is_refused(made) -> None:
    interview, hand, sitting = live(made)
    item = sitting.item
    assert item.budget == LIVE_S
    run(interview, sitting, 128)
    whole = item.used_ms
    run(interview, sitting, 12)
    assert (whole, item.used_ms - whole) == (1000 * item.live_task.price, 3000)
    wait(interview, hand, 1.5 * LIVE_S - item.used_ms / 1000 - 10, step=5.0)
    assert sitting.problem_with(RunCommand(128, 7)) == live_sitting.TOO_LATE
    assert sitting.problem_with(RunCommand(0, 7)).startswith("A run has at most")


def test_practice_costs_no_time_and_schedules_nothing(made) -> None:
    interview, hand, sitting = live(made, mode=LiveMode.PRACTICE)
    run(interview, sitting, 128)
    wait(interview, hand, 4 * LIVE_S, step=60.0)
    solve(interview)
    assert sitting.item.used_ms == 0
    made.clock.time += timedelta(days=2)
    again = Interview.resume(made, archive.running(made).document, clock=Hand())
    assert not again.session.ended
    report = sat(again)
    assert (report["counts"], report["items"][0]["effect"]["rating"]) == (False, None)
    assert made.stats().reviews == 0
    assert all(row.last is None for row in list_incidents(made, incidents()))


# what survives


def test_everything_is_there_after_a_kill_and_the_run_of_that_moment_is_lost(made) -> None:
    interview, _, sitting = live(made)
    solve(interview)
    sitting.commit()
    run(interview, sitting, 3)
    sitting.state(RunCommand(3, 7))
    sitting.edit("print(1)\n")
    sitting.begin_run(RunCommand(5, 8))
    interview.save()
    item = Interview.resume(made, archive.running(made).document, clock=Hand()).session.item
    work = item.live_work
    assert (work.script(item.live_task), work.command) == ("print(1)\n", RunCommand(3, 7))
    assert [(row.outcome, row.edited) for row in work.runs] == [("ended", False), ("lost", True)]
    assert work.committed


# marks


def test_everything_right_earns_everything_but_the_guard(made) -> None:
    report = full(made)
    found = terms(report)
    assert (found["symptom shown"], found["replays agree"], found["short"], found["state to save"]) == (
        10,
        10,
        10,
        5,
    )
    assert (found["healthy band"], found["small fix"], found["guard"]) == (12, 5, 0)
    assert (found["cause"], found["place"]) == (12, 6)
    assert report["items"][0]["effect"]["rating"] is not None
    jsonschema.validate(report, json.loads((FOLDER / "report.json").read_text()))
    for form in ("md", "html", "json"):
        assert rendered(load_report(report), form, small_bank().topics)
    assert "healthy band" in explain(load_report(report))


def test_a_false_alarm_left_alone_earns_what_a_repair_does(made) -> None:
    interview, _, sitting = live(made, ALARM)
    solve(interview)
    run(interview, sitting, 128, seed=9)
    finish(interview)
    task = interview.session.items[0].live_task
    judge = StandIn()
    result = measure_hand_in(task, interview.session.items[0].live_work, judge, number=1, healthy=True)
    interview.measured(0, result)
    found = terms(interview.record().as_json())
    assert (found["healthy band"], found["small fix"], found["guard"], found["evidence"]) == (12, 5, 3, 6)


def test_a_changed_script_in_a_false_alarm_earns_nothing_for_the_fix_and_caps_the_diagnosis(made) -> None:
    interview, _, sitting = live(made, ALARM)
    solve(interview)
    sitting.commit()
    sitting.edit(sitting.item.live_task.broken.replace("0.1", "0.05", 1))
    found = terms(sat(interview))
    assert found["healthy band"] == 0
    assert sum(found[name] for name in ("cause", "place", "predictions", "evidence", "cap")) == 10


@pytest.mark.parametrize("named", [True, False])
def test_words_and_a_command_without_a_diagnosis_earn_at_most_ten(made, named: bool) -> None:
    interview, _, sitting = live(made)
    item = sitting.item
    interview.session.type(item.incident.answer)
    interview.session.commit("states", [row.id for row in item.incident.states if row.right])
    if named:
        interview.session.commit("cause", item.incident.cause)
    sitting.state(RunCommand(3, 7))
    report = sat(interview)
    assert report["items"][0]["marks"]["total"] <= 10
    assert any(row["term"] == "no diagnosis" for row in report["items"][0]["marks"]["terms"])


def named(interview: Interview, sitting: LiveSitting, cause: str) -> list[dict]:
    """The terms of whoever takes a reading, names a cause, and reproduces the symptom."""
    item = sitting.item
    reading = next(row for row in item.incident.readings if row.id != "control-run")
    interview.session.buy(reading.id, reading.outcomes[0])
    interview.session.commit("cause", cause)
    interview.session.commit("place", item.incident.place)
    sitting.state(RunCommand(3, 7))
    return sat(interview)["items"][0]["marks"]["terms"]


REPRODUCTION = ("symptom shown", "replays agree", "short", "state to save")


@pytest.mark.parametrize("proved", [True, False])
def test_a_reproduction_of_which_nothing_came_earns_at_most_ten_of_35(made, proved: bool) -> None:
    """A cause that is right by chance, without evidence, is nothing."""
    interview, _, sitting = live(made)
    if proved:
        solve(interview)
    rows = named(interview, sitting, sitting.item.incident.cause)
    earned = sum(row["points"] for row in rows if row["term"] in REPRODUCTION)
    cap = sum(row["points"] for row in rows if "came of it" in row["how"])
    assert earned >= 30
    assert earned + cap == pytest.approx(earned if proved else 10)


def test_a_small_repair_lifts_every_cap_of_a_wrong_cause(made) -> None:
    """Whoever commits to a wrong cause may still find the right one with the script in hand."""
    interview, _, sitting = live(made)
    solve(interview, "It is the rate.")
    sitting.state(RunCommand(3, 7))
    sitting.commit()
    sitting.edit(sitting.item.live_task.healthy)
    rows = sat(interview)["items"][0]["marks"]["terms"]
    assert not [row for row in rows if "came of it" in row["how"] or "in all" in row["how"]]
    assert {"symptom shown", "healthy band"} <= {row["term"] for row in rows if row["points"] > 0}


def test_a_broken_run_called_healthy_earns_at_most_fifteen(made) -> None:
    interview, _, sitting = live(made)
    interview.session.type(sitting.item.incident.answer)
    rows = named(interview, sitting, "no-fault")
    assert sum(row["points"] for row in rows) == pytest.approx(15)
    assert "a broken run called healthy" in rows[-1]["how"]


def test_a_false_alarm_left_alone_without_a_control_run_is_not_proved(made) -> None:
    interview, _, sitting = live(made, ALARM)
    rows = named(interview, sitting, "no-fault")
    fix = [row for row in rows if row["term"] in ("healthy band", "small fix", "guard")]
    capped = [row for row in rows if "without a control run" in row["how"]]
    assert sum(row["points"] for row in [*fix, *capped]) == 13


def test_in_an_interview_the_fix_is_measured_and_the_weights_are_those_of_a_round(made) -> None:
    interview, _, sitting = live(made)
    item = sitting.item
    item.rules = 2
    solve(interview)
    sitting.commit()
    sitting.edit(item.live_task.healthy)
    found = terms(sat(interview))
    assert (found["fix"], found["cause"], found["place"]) == (10, 10, 5)
    weights = [row["weight"] for row in load_report_terms(interview) if row["weight"] > 0]
    assert sum(weights) == 100


def load_report_terms(interview: Interview) -> list[dict]:
    return interview.finished().as_json()["items"][0]["marks"]["terms"]


@given(st.integers(1, 500), st.integers(1, 50))
def test_a_longer_reproduction_never_earns_more(steps: int, minimal: int) -> None:
    share = short_share(steps, minimal)
    assert 0 <= short_share(steps + 1, minimal) <= share <= 1
    assert (share == 1) == (steps <= 2 * minimal)
    assert (share == Fraction(0)) == (steps >= 10 * minimal)
