"""Interviews stored by the version before the rebuilding: they open, go on, and come to the same marks.

`data/interviews/recorded.json` holds four interviews in progress, as that version stored them, each with
what that version made of it after the same steps, and one finished report. Answers in words that were still
open are marked by today's rule, so that the figures of `running_report` that rest on them are today's.
"""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from quizapp.interview.report.model import Report, load_report
from quizapp.interview.service import Interview
from quizapp.scheduling.study_day import FixedClock
from tests.interview.mock_kit import EVENING, Hand, answer_now, small_bank, study, wait

RECORDED = json.loads(
    (Path(__file__).parent.parent / "data" / "interviews" / "recorded.json").read_text(encoding="utf-8")
)
SECONDS_AWAY = {"running": 90, "incident": 30, "single": 30}


def finish(interview: Interview, hand: Hand) -> None:
    """Answer every question that is left, as the recording did."""
    session = interview.session
    for _ in range(200):
        if session.ended:
            return
        wait(interview, hand, 20, step=5.0)
        if session.ended:
            return
        if session.item is None:
            session.proceed()
        elif session.item.state == "confidence":
            session.confide(50)
        else:
            answer_now(interview)


def figures(report: Report) -> dict:
    """What the recording kept of a report."""
    document = json.loads(json.dumps(report.as_json()))
    items = [
        {"card": item["card"], "state": item["state"], "mark": item["marks"]["total"],
         "terms": item["marks"]["terms"], "effect": item["effect"], "marking": item["marking"]}
        for item in document["items"]
    ]  # fmt: skip
    kept = ("totals", "dimensions", "band", "interval", "tomorrow")
    return without_wording({key: document[key] for key in kept} | {"items": items})


def without_wording(found: dict) -> dict:
    """The figures without the sentences that explain them, which may be put in other words.

    The words that show a point are left out too: they were single words, and today they are sentences.
    """
    for item in found["items"]:
        for point in item["marking"].get("points", ()):
            point["words"] = []
        item["effect"] = item["effect"] and {**item["effect"], "why": ""}
        item["terms"] = [{**term, "how": ""} for term in item["terms"]]
        item["marking"] = {key: value for key, value in item["marking"].items() if key != "note"}
    return found


@pytest.mark.parametrize("name", ["running", "incident", "single", "ended"])
def test_a_stored_interview_is_stored_again_as_it_was(name: str) -> None:
    stored = RECORDED[name]["running"]
    from quizapp.interview.session.session import InterviewSession

    again = json.loads(json.dumps(InterviewSession.from_json(stored, Hand()).as_json()))
    assert again == {key: stored[key] for key in again}
    assert stored.keys() - again.keys() == {"wall_ms", "marking", "sitting"}


@pytest.mark.parametrize("name", ["running", "incident", "single"])
def test_an_interview_in_progress_goes_on_to_the_same_marks(tmp_path: Path, name: str) -> None:
    clock = FixedClock(EVENING + timedelta(seconds=SECONDS_AWAY[name]))
    with study(tmp_path, small_bank(), clock) as made:
        hand = Hand()
        interview = Interview.resume(made, RECORDED[name], hand)
        head = {key: value for key, value in RECORDED[name].items() if key != "running"}
        assert json.loads(json.dumps(interview.head.as_json())) == head
        finish(interview, hand)
        assert figures(interview.record()) == without_wording(RECORDED[f"{name}_report"])


def test_an_interview_that_waited_for_its_marks_keeps_what_was_decided(tmp_path: Path) -> None:
    with study(tmp_path, small_bank(), FixedClock(EVENING)) as made:
        interview = Interview.resume(made, RECORDED["ended"], Hand())
        stored = RECORDED["ended"]["running"]["marking"]
        assert json.loads(json.dumps([marking.as_json() for marking in interview.markings])) == stored
        assert figures(interview.record()) == without_wording(RECORDED["finished_report"])


def test_a_finished_report_is_written_back_as_it_was() -> None:
    report = load_report(RECORDED["finished"])
    assert json.loads(json.dumps(report.as_json())) == RECORDED["finished"]
    assert figures(report) == without_wording(RECORDED["finished_report"])
