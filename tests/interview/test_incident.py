"""A scenario as a broken run: readings for seconds of the clock, marks by terms, its card."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import recompute
from mock_kit import EVENING, begin, blueprint, incidents, small_bank, solve, study, wait

from quizapp.incidents.model import Library
from quizapp.interview import marking as marks
from quizapp.interview import past, score
from quizapp.interview.casting import alarms
from quizapp.interview.document import redacted
from quizapp.interview.explain import explain
from quizapp.interview.files import rendered
from quizapp.interview.interview import Interview
from quizapp.interview.item import Item
from quizapp.interview.knowledge import Known
from quizapp.interview.paper import draw_paper
from quizapp.memory.days import FixedClock


def only(name: str) -> Library:
    library = incidents()
    return replace(library, incidents={name: library.incidents[name]})


def at_incident(made, name: str = "flat-loss", **options):
    """An interview whose one scenario is in hand."""
    options = {"seed": 4, "code": False, "library": only(name)} | options
    interview, hand = begin(made, "research-engineer", 15, **options)
    session = interview.session
    session.proceed()
    for _ in range(40):
        if session.item is not None and session.item.kind == "incident":
            return interview, hand, session.item
        session.submit()
        session.confide(50)
    raise AssertionError("no incident was drawn")


@pytest.fixture
def made(tmp_path: Path):
    with study(tmp_path, small_bank()) as found:
        yield found


def terms(interview: Interview, item: Item) -> dict[str, float]:
    interview.propose()
    marking = interview.markings[item.number]
    return {term.name: float(term.points) for term in score.terms_of(item, marking)}


def ticked(interview: Interview, item: Item) -> None:
    """Every key point said, none of the misconceptions."""
    marking = interview.markings[item.number]
    for point in marking["points"]:
        point.update(ticked=True, supported=True, held=1.0)
    for row in marking["misconceptions"]:
        row["stated"] = False
    for beat in marking["beats"]:
        beat["held"] = True
    marking["empty"] = False


def finish(interview: Interview) -> None:
    interview.session.submit()
    interview.session.confide(75)
    interview.session.end("early")


# the clock


def test_a_reading_costs_its_price_on_the_item_the_phase_and_the_interview(made) -> None:
    interview, hand, item = at_incident(made)
    session = interview.session
    wait(interview, hand, 7)
    before = (session.elapsed_ms, item.used_ms, session.now.used_ms)
    assert session.buy("one-batch", "flat")[0] == "reading"
    after = (session.elapsed_ms, item.used_ms, session.now.used_ms)
    assert [b - a for a, b in zip(before, after, strict=True)] == [30_000] * 3
    assert item.bought == [
        {"reading": "one-batch", "seconds": 30, "predicted": "flat", "outcome": "down", "at_ms": before[0]}
    ]
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
    stored = past.running(made).document
    again = Interview.resume(made, stored, clock=hand)
    found = again.session.items[item.number]
    assert (found.bought, found.hints, found.given) == (item.bought, 1, {"cause": "leak"})
    assert again.session.elapsed_ms >= interview.session.elapsed_ms
    assert [e["event"] for e in stored["running"]["events"]].count("reading") == 1


def test_a_named_cause_cannot_be_rejected_as_well(made) -> None:
    interview, _, item = at_incident(made)
    interview.session.commit("decoy", "leak")
    interview.session.commit("cause", "leak")
    assert item.given == {"cause": "leak"}


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
    assert interview.finished()["items"][item.number]["marks"]["total"] == 100


def test_the_strong_answer_alone_is_proposed_for_most_points(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview)
    finish(interview)
    assert interview.finished()["items"][item.number]["marks"]["total"] >= 80


def test_paying_over_twice_the_cheapest_path_costs_a_mark_per_ten_seconds_up_to_six(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview)
    assert "price" not in terms(interview, item)
    for paid, lost in ((60, 0), (70, 1), (85, 2.5), (120, 6), (400, 6)):
        interview.markings[item.number]["diagnosis"]["paid"] = paid
        assert terms(interview, item).get("price", 0) == -lost


def test_without_evidence_the_diagnosis_has_at_most_ten(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview)
    interview.session.commit("reading", "loss-curve")
    found = terms(interview, item)
    diagnosis = sum(found[name] for name in ("cause", "place", "predictions", "evidence", "cap"))
    assert (found["evidence"], diagnosis) == (0, 10)


@pytest.mark.parametrize(
    ("reading", "told"), [("one-batch", "as said"), ("loss-curve", "Most"), ("", "Most")]
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
    assert right.strip().startswith(told)


def test_a_fix_without_verification_has_at_most_thirteen(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview)
    interview.propose()
    ticked(interview, item)
    proof = next(p for p in interview.markings[item.number]["points"] if p["verify"])
    others = [p for p in interview.markings[item.number]["points"] if p["kind"] == "fix" and not p["verify"]]
    proof["held"] = 0.0
    proof["weight"] = 1
    assert sum(p["weight"] for p in others) > 2
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
    row = interview.finished()["items"][item.number]
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
    row = interview.finished()["items"][item.number]
    assert row["marks"]["total"] == 0
    assert recompute.differences(json.loads(json.dumps(interview.finished()))) == []


def test_words_strung_together_or_copied_from_the_run_support_no_point(made) -> None:
    for text in (
        "seed command control run permutation assert prior one batch dead three seeds same index",
        "Training loss reads 2.31 at step 1 and 2.30 at step 128. There is no error and no NaN.",
    ):
        interview, _, item = at_incident(made)
        interview.session.type(text)
        finish(interview)
        interview.propose()
        held = [p["held"] for p in interview.markings[item.number]["points"]]
        assert sum(held) <= 1


# the report and the schedule


def test_the_report_tells_what_was_bought_committed_and_right(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview, "nothing comes to mind about this run, sorry")
    finish(interview)
    report = interview.record()
    for form in ("md", "html"):
        text = rendered(report, form)
        assert "One-batch test" in text
        assert "2.30 → 0.0001" in text
        assert "Cheapest path" in text
        assert "Labels are permuted" in text
    told = explain(report)
    assert "bought One-batch test (30 s): predicted up, was down" in told
    assert "no evidence: at most 10 of 30" in told or "evidence" in told
    plain = redacted(report)
    row = plain["items"][item.number]
    assert row["given"] is None
    assert {bought["predicted"] for bought in row["bought"]} == {""}
    assert "sorry" not in rendered(plain, "html")


def test_its_card_is_the_class_and_never_stands_in_the_drill(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview)
    finish(interview)
    report = interview.record()
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
    report = interview.record()
    row = report["items"][item.number]
    assert row["marks"]["total"] < 50
    assert row["effect"]["rating"] == "Again"
    assert row["effect"]["linked"] == ["exercise:lora"]
    assert [card.id for card in made.due_exercises()] == ["exercise:lora"]


def test_an_incident_that_was_not_reached_leaves_no_trace(made) -> None:
    interview, _ = begin(made, "research-engineer", 15, seed=4, code=False, library=only("flat-loss"))
    interview.session.proceed()
    interview.session.end("early")
    report = interview.record()
    row = next(row for row in report["items"] if row["kind"] == "incident")
    assert (row["effect"]["rating"], row["marks"]["total"]) == (None, 0)
    assert not any(name.startswith("incident:") for name in report["tomorrow"])
    assert {term["points"] for term in row["marks"]["terms"]} == {0}


def test_a_friend_and_a_blind_look_mark_its_words_too(made) -> None:
    from quizapp.interview.friend import interview_friend, to_mark

    interview, _, item = at_incident(made)
    solve(interview)
    finish(interview)
    report = interview.record()
    assert [row["number"] for row in to_mark(report)][-1] == item.number
    found = interview_friend(report, lambda prompt: "n", lambda text: None)
    assert found["items"][str(item.number)]["mark"] == 40  # diagnosis 30, state 5, parts told 5


# the paper


def draw(seed: int, minutes: int = 45, role: str = "training-infrastructure", known=None, **options):
    plan = blueprint().plan(role, minutes, code=False)
    return draw_paper(blueprint(), plan, small_bank(), known or {}, seed, incidents(), **options)


def drawn(paper) -> list[str]:
    return [pick.incident for pick in paper.picks if pick.kind == "incident"]


def test_without_incidents_scenarios_are_questions_of_the_bank() -> None:
    plan = blueprint().plan("training-infrastructure", 45, code=False)
    paper = draw_paper(blueprint(), plan, small_bank(), {}, 1, Library())
    scenes = [pick for pick in paper.picks if pick.slot == "scenario"]
    assert scenes
    assert {pick.kind for pick in scenes} == {"recall"}


def test_too_few_incidents_are_filled_up_with_questions() -> None:
    plan = blueprint().plan("training-infrastructure", 60, code=False)
    paper = draw_paper(blueprint(), plan, small_bank(), {}, 1, only("flat-loss"))
    scenes = [pick.kind for pick in paper.picks if pick.slot == "scenario"]
    assert sorted(set(scenes)) == ["incident", "recall"]
    assert len(scenes) == plan.counts["scenario"]


def test_long_interviews_hold_a_passing_and_a_failing_one_batch_test() -> None:
    for seed in range(60):
        kinds = {incidents().incidents[name].one_batch for name in drawn(draw(seed))}
        assert kinds == {"passes", "fails"}
        first = drawn(draw(seed, 15))
        assert [incidents().incidents[name].one_batch for name in first] == ["passes"]


def test_a_failing_test_is_drawn_though_passing_ones_abound() -> None:
    library = incidents()
    flat, rising = library.incidents["flat-loss"], library.incidents["rising-loss"]
    twin = replace(flat, id="twin", fault_class="other", exercise="adamw")
    many = replace(library, incidents={i.id: i for i in (flat, twin, rising)})
    plan = blueprint().plan("applied-fine-tuning", 45, code=True)
    plan = replace(plan, counts={**plan.counts, "coding": 0})
    assert plan.counts["scenario"] == 2
    for seed in range(20):
        paper = draw_paper(blueprint(), plan, small_bank(), {}, seed, many)
        assert "rising-loss" in drawn(paper)


def test_the_false_alarm_comes_in_one_interview_in_eight() -> None:
    assert 0.10 < sum(alarms(seed) for seed in range(4000)) / 4000 < 0.15
    for seed in range(40):
        assert ("quiet-floor" in drawn(draw(seed))) == alarms(seed)


def test_a_class_seen_within_two_days_or_suspended_is_not_drawn() -> None:
    for state in (Known(0.3, 12.0), Known(0.3, 100.0, suspended=True)):
        for seed in range(10):
            assert "flat-loss" not in drawn(draw(seed, known={"incident:pairing": state}))


def test_a_weak_class_comes_before_others_and_with_a_variant_not_seen() -> None:
    library = incidents()
    flat = library.incidents["flat-loss"]
    twin = replace(flat, id="flat-again")
    other = replace(flat, id="strange", fault_class="strange")
    many = replace(library, incidents={i.id: i for i in (flat, twin, other)})
    weak = {"incident:pairing": Known(0.5, 100.0)}
    plan = blueprint().plan("research-engineer", 15, code=False)
    names = {
        name
        for seed in range(30)
        for name in drawn(draw_paper(blueprint(), plan, small_bank(), weak, seed, many, {"flat-loss"}))
    }
    assert names == {"flat-again"}


def test_the_role_draws_from_its_own_pool_first() -> None:
    library = incidents()
    flat = library.incidents["flat-loss"]
    own = blueprint().roles["research-engineer"].scenario_pool[0]
    many = replace(library, incidents={"flat-loss": flat, own: replace(flat, id=own, fault_class="own")})
    plan = blueprint().plan("research-engineer", 15, code=False)
    for seed in range(10):
        assert drawn(draw_paper(blueprint(), plan, small_bank(), {}, seed, many)) == [own]


def test_a_variant_not_asked_yet_comes_before_the_pool_that_was() -> None:
    library = incidents()
    flat = library.incidents["flat-loss"]
    own = blueprint().roles["research-engineer"].scenario_pool[0]
    many = replace(library, incidents={"flat-loss": flat, own: replace(flat, id=own, fault_class="own")})
    plan = blueprint().plan("research-engineer", 15, code=False)
    for seed in range(10):
        paper = draw_paper(blueprint(), plan, small_bank(), {}, seed, many, {own})
        assert drawn(paper) == ["flat-loss"]


def test_the_next_interview_knows_which_variant_was_asked(tmp_path: Path) -> None:
    clock = FixedClock(EVENING)
    with study(tmp_path, small_bank(), clock) as made:
        interview, _, item = at_incident(made)
        assert item.unseen
        solve(interview)
        finish(interview)
        interview.record()
        clock.time += timedelta(days=3)
        _, _, again = at_incident(made)
        assert not again.unseen
        assert again.recall is not None


def test_edits_of_the_content_change_no_old_mark(made) -> None:
    interview, _, item = at_incident(made)
    solve(interview)
    finish(interview)
    report = json.loads(json.dumps(interview.record()))
    row = report["items"][item.number]
    again = marks.propose(Item.from_json(row), interview.beats(item))
    assert score.mark_of(score.terms_of(Item.from_json(row), again)) == row["marks"]["total"]
