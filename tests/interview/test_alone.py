"""An incident by itself: which comes next, its clock and marks, and that no interview is compared with it."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import jsonschema
import pytest

from quizapp.errors import UnknownName
from quizapp.incidents.loader import find_incident, load_library
from quizapp.interview import archive, trends
from quizapp.interview.blueprint import SINGLE_INCIDENT
from quizapp.interview.paper.incident_pool import list_incidents
from quizapp.interview.paper.knowledge import variants_seen
from quizapp.interview.report.explain import explain
from quizapp.interview.report.files import rendered, write_reports
from quizapp.interview.report.model import load_report
from quizapp.interview.service import Interview
from quizapp.scheduling.study_day import FixedClock
from tests.interview.mock_kit import (
    EVENING,
    Hand,
    begin,
    blueprint,
    incidents,
    sit,
    small_bank,
    solve,
    study,
    wait,
)
from tools.schemas import FOLDER

pytestmark = pytest.mark.slow

POOR = "nothing comes to mind about this run, sorry"


@pytest.fixture
def made(tmp_path: Path):
    with study(tmp_path, small_bank(), FixedClock(EVENING)) as found:
        yield found


def alone(made, name: str = "flat-loss", **options) -> tuple[Interview, Hand]:
    hand = Hand()
    options = {"library": incidents(), "blueprint": blueprint(), "seed": 3} | options
    interview = Interview.begin_incident(made, name, clock=hand, **options)
    interview.start()
    return interview, hand


def sat(made, name: str = "flat-loss", text: str = "", seconds: float = 20, **options) -> dict:
    interview, hand = alone(made, name, **options)
    wait(interview, hand, seconds)
    solve(interview, text)
    interview.session.submit()
    interview.session.confide(75)
    return interview.record().as_json()


def order(made, library=None) -> list[str]:
    return [case.incident.id for case in list_incidents(made, library or incidents())]


# the clock


def test_the_run_is_in_hand_at_once_and_the_marking_follows_its_answer(made) -> None:
    interview, hand = alone(made)
    session = interview.session
    assert session.item.asked.id == "flat-loss"
    assert session.item.budget == blueprint().incident_seconds
    wait(interview, hand, 30)
    session.type("The labels are shuffled.")
    session.submit()
    session.confide(50)
    assert session.ended
    assert (session.item, session.items[0].state) == (None, "frozen")


def test_it_runs_to_its_own_cut_as_in_an_interview(made) -> None:
    interview, hand = alone(made)
    item = interview.session.item
    interview.session.type("half a thought")
    wait(interview, hand, 1.5 * item.budget - 2)
    assert not interview.session.ended
    said = wait(interview, hand, 3)
    assert "cut" in said
    assert interview.session.ended
    assert (item.state, item.typed) == ("cut", "half a thought")
    assert interview.record().as_json()["items"][0]["effect"]["why"] == "cut at 150 % of its time"


def test_it_goes_on_after_the_process_was_gone_and_the_clock_went_on(made) -> None:
    interview, hand = alone(made)
    wait(interview, hand, 40)
    interview.session.buy("one-batch", "down")
    interview.session.type("The pairing of labels")
    interview.save()
    made.clock.time += timedelta(seconds=60)
    again = Interview.resume(made, archive.running(made).document, clock=Hand())
    item = again.session.item
    assert again.form is SINGLE_INCIDENT
    assert (item.typed, [row.reading for row in item.bought]) == ("The pairing of labels", ["one-batch"])
    assert item.used_ms == 1000 * (40 + 30 + 60)


def test_time_that_ran_out_meanwhile_writes_no_review(made) -> None:
    alone(made)
    made.clock.time += timedelta(hours=1)
    again = Interview.resume(made, archive.running(made).document, clock=Hand())
    assert again.session.ended
    report = again.record().as_json()
    assert (report["items"][0]["state"], report["items"][0]["effect"]["rating"]) == ("lost", None)
    assert made.stats().reviews == 0


# marks and schedule


def test_it_has_the_marks_that_the_same_answer_has_in_an_interview(made, tmp_path: Path) -> None:
    from tests.interview.test_incident import at_incident, finish

    with study(tmp_path / "other", small_bank()) as other:
        interview, _, item = at_incident(other)
        solve(interview, POOR)
        finish(interview)
        inside = interview.record().as_json()["items"][item.number]["marks"]
    assert sat(made, text=POOR)["items"][0]["marks"] == inside


def test_it_writes_one_review_of_the_fault_class_and_one_undo_takes_it_back(made) -> None:
    report = sat(made)
    assert report["items"][0]["effect"]["rating"] in {"Good", "Easy"}
    assert made.stats().sources["incident"] == 1
    assert made.card("incident:pairing").reps == 1
    assert variants_seen(made) == {"flat-loss"}
    made.undo()
    assert made.stats().reviews == 0
    assert made.card("incident:pairing").reps == 0
    assert (variants_seen(made), archive.done(made, SINGLE_INCIDENT)) == (frozenset(), [])


def test_below_fifty_its_exercise_becomes_due(made) -> None:
    report = sat(made, text=POOR)
    assert report["items"][0]["marks"]["total"] < 50
    assert [card.id for card in made.due_exercises()] == ["exercise:lora"]


# the order


def test_what_was_not_had_comes_first_and_a_class_of_today_waits(made) -> None:
    library = incidents()
    twin = replace(library.incidents["flat-loss"], id="a-twin", title="Another", level="easy")
    library = replace(library, incidents={**library.incidents, "a-twin": twin})
    assert order(made, library)[0] == "a-twin"  # all are new: the easy, then by id
    sat(made)
    assert order(made, library)[-2:] == ["a-twin", "flat-loss"]
    made.clock.time += timedelta(days=60)
    assert order(made, library)[0] == "a-twin"  # its class is being forgotten, this variant is new
    assert order(made, library)[-1] == "flat-loss"
    standing = {case.incident.id: case.standing for case in list_incidents(made, library)}
    assert standing["a-twin"] == "new"  # that its class is due would tell which fault it has
    assert standing["flat-loss"].endswith(" due")


def test_a_class_of_today_waits_even_for_what_was_had(made) -> None:
    library = incidents()
    twin = replace(library.incidents["flat-loss"], id="a-twin", title="Another")
    library = replace(library, incidents={**library.incidents, "a-twin": twin})
    for name in ("rising-loss", "quiet-floor"):
        sat(made, name)
        made.clock.time += timedelta(days=10)
    sat(made)
    assert order(made, library) == ["rising-loss", "quiet-floor", "a-twin", "flat-loss"]


def many_runs(faults: int, alarms: int):
    library = incidents()
    flat, quiet = library.incidents["flat-loss"], library.incidents["quiet-floor"]
    made = [replace(flat, id=f"fault-{n}", title=f"Run {n}", fault_class=f"class-{n}") for n in range(faults)]
    made += [replace(quiet, id=f"alarm-{n}", title=f"Case {n}") for n in range(alarms)]
    return replace(library, incidents={one.id: one for one in made})


@pytest.mark.parametrize("alarms", [1, 3, 9])
def test_a_false_alarm_is_one_of_eight_runs_sat_alone_however_many_there_are(made, alarms: int) -> None:
    library = many_runs(14, alarms)
    met = []
    for _ in range(32):
        met.append(order(made, library)[0])
        sat(made, met[-1], library=library)
        made.clock.time += timedelta(days=3)
    counts = [sum(name.startswith("alarm") for name in met[at : at + 8]) for at in range(0, 32, 8)]
    if alarms == 3:
        assert counts[:2] == [1, 1]
    assert 3 <= sum(counts) <= 5


def test_the_turn_of_a_false_alarm_moves_nothing_but_the_first_of_the_list(made, monkeypatch) -> None:
    library = many_runs(6, 3)
    lists = []
    for turn in (False, True):
        monkeypatch.setattr(
            "quizapp.interview.paper.incident_pool.is_false_alarm_turn", lambda _, turn=turn: turn
        )
        lists.append(order(made, library))
    fault, alarm = (names[0] for names in lists)
    assert (fault[:5], alarm[:5]) == ("fault", "alarm")
    assert [name for name in lists[0] if name != fault and name != alarm] == [
        name for name in lists[1] if name != fault and name != alarm
    ]
    assert lists[0].index(alarm) == 1 + [n for n in lists[0] if n != fault].index(alarm)


def test_the_order_is_the_same_every_time_and_holds_every_incident_once(made) -> None:
    assert order(made) == order(made)
    assert sorted(order(made)) == sorted(incidents().incidents)


def test_what_was_had_in_an_interview_counts_as_had(made) -> None:
    from tests.interview.test_incident import at_incident, finish

    interview, _, item = at_incident(made)
    solve(interview)
    finish(interview)
    report = interview.record().as_json()
    case = next(case for case in list_incidents(made, incidents()) if case.incident.id == "flat-loss")
    assert case.standing == str(report["items"][item.number]["marks"]["total"])
    assert case.last.report.id == report["id"]


def test_a_run_had_alone_is_no_unseen_variant_of_an_interview(made) -> None:
    sat(made)
    made.clock.time += timedelta(days=30)
    drawn = {
        row.asked.id: row.unseen
        for seed in range(30)
        for row in begin(made, "training-infrastructure", 60, seed=seed, code=False)[0].session.items
        if row.kind == "incident"
    }
    assert drawn["flat-loss"] is False
    assert drawn["rising-loss"] is True


# beside interviews


def test_no_figure_of_an_interview_changes_with_runs_sat_alone(tmp_path: Path) -> None:
    def interview_report(folder: Path, *, runs: bool) -> tuple[dict, list, list]:
        with study(folder, small_bank(), FixedClock(EVENING)) as made:
            for number in range(3 if runs else 0):
                sat(made, ["flat-loss", "rising-loss", "quiet-floor"][number], POOR)
                made.clock.time += timedelta(minutes=1)
            made.clock.time = EVENING + timedelta(days=3)
            interview, hand = begin(made, "research-engineer", 15, seed=4, code=False)
            interview.session.proceed()
            sit(interview, hand, 5)
            interview.session.end("early")
            report = interview.record().as_json()
            standing = trends.standings(archive.done(made), made.clock.now())
            return report, standing, archive.blind_queue(archive.done(made), made.clock.now())

    (with_runs, standing, queue), (without, other, _) = (
        interview_report(tmp_path / str(runs), runs=runs) for runs in (True, False)
    )
    for key in ("comparison", "inflation"):
        assert with_runs[key] == without[key]
    assert with_runs["pooled"]["mocks_in_30_days"] == without["pooled"]["mocks_in_30_days"] == 1
    assert standing[0].interviews == other[0].interviews == 1
    assert (len(standing), queue) == (1, [])


def test_an_interview_is_not_counted_among_runs_either(made) -> None:
    interview, hand = begin(made, "research-engineer", 15, seed=4, code=False)
    sit(interview, hand, 5)
    interview.session.end("early")
    interview.record()
    sat(made)
    assert [report.role for report in archive.done(made, SINGLE_INCIDENT)] == ["incident"]
    assert [report.role for report in archive.done(made)] == ["research-engineer"]
    assert [mock.document["role"] for mock in archive.interviews(made)] == ["research-engineer"]


# the report


def test_the_report_tells_the_parts_and_no_band(made, tmp_path: Path) -> None:
    report = sat(made, text=POOR)
    schema = json.loads((FOLDER / "report.json").read_text())
    jsonschema.validate(json.loads(json.dumps(report)), schema)
    title = incidents().incidents["flat-loss"].title
    for form in ("md", "html"):
        text = rendered(load_report(report), form)
        assert f"Incident: {title}" in text
        assert f"{report['items'][0]['marks']['total']} of 100: reproducibility" in text
        assert "of 35" in text
        assert "quizapp incident" in text
        for absent in ("80 % interval", "Pass mark", "ass mark", "Dimensions", "Costliest", "Brier", "Mock"):
            assert absent not in text, (form, absent)
    told = explain(load_report(report))
    assert told.startswith(f"Incident {report['id']}: {title}")
    assert "replay plan" in told
    assert "Band" not in told
    names = [path.name for path in write_reports(load_report(report), tmp_path / "out", made.bank.topics)]
    assert all(name.startswith("incident-") for name in names)


# names


def test_a_run_is_found_by_id_name_and_the_beginning_of_either(made) -> None:
    library = load_library()
    one = library.incidents["double-softmax"]
    for text in (one.id, one.name, one.name.upper(), "double", one.name[:20]):
        assert find_incident(library, text) is one
    with pytest.raises(
        UnknownName, match=r"several names begin with it: a-loss-that-does.*, a-loss-that-settles"
    ):
        find_incident(library, "a-loss-that")
    with pytest.raises(UnknownName, match="did you mean 'double-softmax'"):
        find_incident(library, "doubel-softmax")
    with pytest.raises(UnknownName, match="lists them"):
        find_incident(library, "")


def test_names_tell_no_fault_and_are_different(made) -> None:
    library = load_library()
    names = [one.name for one in library.incidents.values()]
    assert len(set(names) | set(library.incidents)) == 2 * len(names)
    for one in library.incidents.values():
        assert one.id not in one.name
        assert one.cause not in one.name
