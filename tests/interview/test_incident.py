"""A scenario as a broken run: readings for seconds of the clock, marks by terms, its card."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from quizapp.incidents.diagnosis import BoughtReading, StatedDiagnosis
from quizapp.interview import archive
from quizapp.interview.marking.propose import propose
from quizapp.interview.report.build import redacted
from quizapp.interview.report.explain import explain
from quizapp.interview.report.files import rendered
from quizapp.interview.report.model import load_report
from quizapp.interview.scoring import score
from quizapp.interview.scoring.terms import terms_of
from quizapp.interview.service import Interview
from quizapp.interview.session.question import InterviewQuestion
from tests.interview import recompute
from tests.interview.mock_kit import at_incident, begin, finish, only, small_bank, solve, study, wait


@pytest.fixture
def made(tmp_path: Path):
    with study(tmp_path, small_bank()) as found:
        yield found


def terms(interview: Interview, item: InterviewQuestion) -> dict[str, float]:
    interview.propose()
    marking = interview.markings[item.number]
    return {term.name: float(term.points) for term in terms_of(item, marking)}


def ticked(interview: Interview, item: InterviewQuestion) -> None:
    """Every key point said, none of the misconceptions."""
    marking = interview.markings[item.number]
    for point in marking.points:
        point.ticked = point.supported = True
        point.held = 1.0
    for row in marking.misconceptions:
        row.stated = False
    for beat in marking.beats:
        beat.held = True
    marking.empty = False


# the clock


def test_a_reading_costs_its_price_on_the_item_the_phase_and_the_interview(made) -> None:
    interview, hand, item = at_incident(made)
    session = interview.session
    wait(interview, hand, 7)
    before = (session.elapsed_ms, item.used_ms, session.now.used_ms)
    assert session.buy("one-batch", "flat")[0] == "reading"
    after = (session.elapsed_ms, item.used_ms, session.now.used_ms)
    assert [b - a for a, b in zip(before, after, strict=True)] == [30_000] * 3
    assert item.bought == [BoughtReading("one-batch", 30, "flat", "down", before[0])]
    wait(interview, hand, 3)
    assert session.elapsed_ms == before[0] + 33_000


def test_a_price_can_bring_the_warning_marks_of_the_clock(made) -> None:
    interview, hand, item = at_incident(made)
    wait(interview, hand, 0.5 * item.budget - 10)
    assert "mark-50" in interview.session.buy("one-batch", "flat")


def test_a_reading_is_bought_once_with_a_prediction_of_its_own_words(made) -> None:
    interview, _, item = at_incident(made)
    session = interview.session
    assert session.buy("one-batch", "sideways") == []
    assert session.buy("unheard-of", "down") == []
    assert session.buy("one-batch", "down")
    elapsed = session.elapsed_ms
    assert session.buy("one-batch", "down") == []
    assert (session.elapsed_ms, len(item.bought)) == (elapsed, 1)


def test_what_cannot_be_paid_before_the_cut_is_not_sold(made) -> None:
    interview, hand, item = at_incident(made)
    session = interview.session
    wait(interview, hand, 1.5 * item.budget - 25)
    assert session.can_buy("control-run")
    assert not session.can_buy("one-batch")
    assert session.buy("one-batch", "down") == []
    assert item.bought == []
    assert item.state == "open"


def test_nothing_is_sold_once_the_answer_is_frozen(made) -> None:
    interview, _, item = at_incident(made)
    session = interview.session
    session.type("the labels")
    session.submit()
    assert session.buy("loss-curve", "flat") == []
    assert session.hint() == []
    session.commit("cause", "leak")
    assert item.given is None


def test_what_was_bought_is_on_disk_before_it_is_shown_and_survives_a_resume(made) -> None:
    interview, hand, item = at_incident(made)
    interview.session.buy("one-batch", "down")
    interview.session.hint()
    interview.session.commit("cause", "leak")
    interview.save()
    stored = archive.running(made).document
    again = Interview.resume(made, stored, clock=hand)
    found = again.session.items[item.number]
    assert (found.bought, found.hints, found.given) == (item.bought, 1, StatedDiagnosis(cause="leak"))
    assert again.session.elapsed_ms >= interview.session.elapsed_ms
    assert [e["event"] for e in stored["running"]["events"]].count("reading") == 1


def test_a_named_cause_cannot_be_rejected_as_well(made) -> None:
    interview, _, item = at_incident(made)
    interview.session.commit("decoy", "leak")
    interview.session.commit("cause", "leak")
    assert item.given == StatedDiagnosis(cause="leak")


# the marks


def test_a_perfect_answer_by_the_cheapest_path_has_all_marks(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview)
    finish(interview)
    interview.propose()
    ticked(interview, item)
    found = terms(interview, item)
    assert sum(found.values()) == 100
    assert (found["replay plan"], found["state to save"], found["fix"]) == (30, 5, 20)
    assert [found[name] for name in ("cause", "place", "predictions", "evidence")] == [12, 6, 6, 6]
    assert interview.finished().as_json()["items"][item.number]["marks"]["total"] == 100


def test_the_strong_answer_alone_is_proposed_for_most_points(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview)
    finish(interview)
    assert interview.finished().as_json()["items"][item.number]["marks"]["total"] >= 80


def test_paying_over_twice_the_cheapest_path_costs_a_mark_per_ten_seconds_up_to_six(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview)
    assert "price" not in terms(interview, item)
    for paid, lost in ((60, 0), (70, 1), (85, 2.5), (120, 6), (400, 6)):
        interview.markings[item.number].diagnosis.paid = paid
        assert terms(interview, item).get("price", 0) == -lost


def test_without_evidence_the_diagnosis_has_at_most_ten(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview)
    interview.session.commit("reading", "loss-curve")
    found = terms(interview, item)
    diagnosis = sum(found[name] for name in ("cause", "place", "predictions", "evidence", "cap"))
    assert (found["evidence"], diagnosis) == (0, 10)


@pytest.mark.parametrize(
    ("reading", "told"), [("one-batch", "the same"), ("loss-curve", "Most hidden"), ("", "Most hidden")]
)
def test_the_rejected_cause_is_told_right_or_not_by_the_reading_that_was_taken(
    made, reading: str, told: str
) -> None:
    interview, *_ = at_incident(made)
    solve(interview)
    interview.session.commit("decoy", "dead-units")
    interview.session.commit("reading", reading)
    finish(interview)
    row = next(
        line for line in rendered(interview.finished(), "md").splitlines() if line.startswith("| rejected")
    )
    said, right = row.split("|")[2:4]
    assert said.strip()
    assert told in right


def test_a_fix_without_verification_has_at_most_thirteen(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview)
    interview.propose()
    ticked(interview, item)
    proof = next(p for p in interview.markings[item.number].points if p.verify)
    others = [p for p in interview.markings[item.number].points if p.kind == "fix" and not p.verify]
    proof.held = 0.0
    proof.weight = 1
    assert sum(p.weight for p in others) > 2
    found = terms(interview, item)
    assert found["fix"] > 13
    assert found["fix"] + found["cap"] == 13


def test_hints_cost_ten_marks_each_and_there_are_two(made) -> None:
    interview, _, item = at_incident(made)
    session = interview.session
    assert [session.hint() for _ in range(3)] == [["hint"], ["hint"], []]
    solve(interview)
    finish(interview)
    assert terms(interview, item)["hints"] == -20
    row = interview.finished().as_json()["items"][item.number]
    assert row["hints"] == 2
    assert "hints -20" in rendered(interview.finished(), "md")


def test_a_fault_named_in_a_healthy_run_loses_the_fix_and_caps_the_diagnosis(made) -> None:
    interview, _, item = at_incident(made, "quiet-floor")
    solve(interview)
    interview.propose()
    ticked(interview, item)
    assert sum(terms(interview, item).values()) == 100
    interview.markings.clear()
    interview.session.commit("cause", "leak")
    interview.propose()
    ticked(interview, item)
    found = terms(interview, item)
    assert found["fix"] == 0
    assert sum(found[name] for name in ("cause", "place", "predictions", "evidence", "cap")) <= 10


def test_no_marks_are_taken_below_zero(made) -> None:
    interview, _, item = at_incident(made)
    session = interview.session
    session.hint()
    session.hint()
    session.type("no idea")
    finish(interview)
    row = interview.finished().as_json()["items"][item.number]
    assert row["marks"]["total"] == 0
    assert recompute.differences(json.loads(json.dumps(interview.finished().as_json()))) == []


def test_words_strung_together_or_copied_from_the_run_support_no_point(made) -> None:
    for text in (
        "seed command control run permutation assert prior one batch dead three seeds same index",
        "Training loss reads 2.31 at step 1 and 2.30 at step 128. There is no error and no NaN.",
    ):
        interview, _, item = at_incident(made)
        interview.session.type(text)
        finish(interview)
        interview.propose()
        held = [p.held for p in interview.markings[item.number].points]
        assert sum(held) <= 1


# the report and the schedule


def test_the_report_tells_what_was_bought_committed_and_right(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview, "nothing comes to mind about this run, sorry")
    finish(interview)
    report = interview.record().as_json()
    for form in ("md", "html"):
        text = rendered(load_report(report), form)
        assert "One-batch test" in text
        assert "2.30 → 0.0001" in text
        assert "Cheapest path" in text
        assert "Labels are permuted" in text
    told = explain(load_report(report))
    assert "took One-batch test (30 s): predicted up, was down" in told
    assert "no evidence: at most 10 of 30" in told or "evidence" in told
    plain = redacted(load_report(report)).as_json()
    row = plain["items"][item.number]
    assert row["given"] is None
    assert {bought["predicted"] for bought in row["bought"]} == {""}
    assert "sorry" not in rendered(load_report(plain), "html")


def test_its_card_is_the_class_and_never_stands_in_the_drill(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview)
    finish(interview)
    report = interview.record().as_json()
    row = report["items"][item.number]
    assert row["card"] == "incident:pairing"
    assert row["effect"]["rating"] in {"Good", "Easy"}
    assert made.stats().sources["incident"] == 1
    facts = made.card("incident:pairing")
    assert (facts.reps, facts.due.isoformat()) == (1, row["effect"]["due"])
    made.clock.time += timedelta(days=400)
    assert not any(card.id.startswith("incident:") for card in made.due())
    made.undo()
    assert made.card("incident:pairing").reps == 0


def test_below_fifty_makes_its_exercise_due(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview, "nothing comes to mind about this run, sorry")
    finish(interview)
    report = interview.record().as_json()
    row = report["items"][item.number]
    assert row["marks"]["total"] < 50
    assert row["effect"]["rating"] == "Again"
    assert row["effect"]["linked"] == ["exercise:lora"]
    assert [card.id for card in made.due_exercises()] == ["exercise:lora"]


def test_an_incident_that_was_not_reached_leaves_no_trace(made) -> None:
    interview, _ = begin(made, "research-engineer", 30, seed=4, code=False, library=only("flat-loss"))
    interview.session.proceed()
    interview.session.end("early")
    report = interview.record().as_json()
    row = next(row for row in report["items"] if row["kind"] == "incident")
    assert (row["effect"]["rating"], row["marks"]["total"]) == (None, 0)
    assert not any(name.startswith("incident:") for name in report["tomorrow"])
    assert {term["points"] for term in row["marks"]["terms"]} == {0}


def test_a_friend_and_a_blind_look_mark_its_words_too(made) -> None:
    from quizapp.interview.peer.peer_review import answers_to_mark, ask_reviewer

    interview, _, item = at_incident(made)
    solve(interview)
    finish(interview)
    report = interview.record()
    assert [row.asked.number for row in answers_to_mark(report)][-1] == item.number
    found = ask_reviewer(report, lambda prompt: "n", lambda text: None)
    assert found.items[str(item.number)].mark == 40  # diagnosis 30, state 5, parts told 5


def test_edits_of_the_content_change_no_old_mark(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview)
    finish(interview)
    report = json.loads(json.dumps(interview.record().as_json()))
    row = report["items"][item.number]
    again = propose(InterviewQuestion.from_json(row), interview.beats(item))
    assert score.mark_of(terms_of(InterviewQuestion.from_json(row), again)) == row["marks"]["total"]
