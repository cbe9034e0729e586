"""Which incidents a paper holds: by role, by what was asked before, passing and failing one-batch tests."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from quizapp.incidents.model import IncidentLibrary
from quizapp.incidents.selection import holds_false_alarm
from quizapp.interview.paper.knowledge import CardKnowledge
from quizapp.interview.paper.sample import sample_paper
from quizapp.scheduling.study_day import FixedClock
from tests.interview.mock_kit import (
    EVENING,
    at_incident,
    blueprint,
    finish,
    incidents,
    only,
    small_bank,
    solve,
    study,
)


def draw(seed: int, minutes: int = 45, role: str = "training-infrastructure", known=None, **options):
    plan = blueprint().plan(role, minutes, code=False)
    return sample_paper(plan, small_bank(), known or {}, seed, incidents(), **options)


def drawn(paper) -> list[str]:
    return [pick.incident for pick in paper.picks if pick.kind == "incident"]


def test_without_incidents_scenarios_are_questions_of_the_bank() -> None:
    plan = blueprint().plan("training-infrastructure", 45, code=False)
    paper = sample_paper(plan, small_bank(), {}, 1, IncidentLibrary())
    scenes = [pick for pick in paper.picks if pick.slot == "scenario"]
    assert scenes
    assert {pick.kind for pick in scenes} == {"recall"}


def test_too_few_incidents_are_filled_up_with_questions() -> None:
    plan = blueprint().plan("training-infrastructure", 60, code=False)
    paper = sample_paper(plan, small_bank(), {}, 1, only("flat-loss"))
    scenes = [pick.kind for pick in paper.picks if pick.slot == "scenario"]
    assert sorted(set(scenes)) == ["incident", "recall"]
    assert len(scenes) == plan.counts["scenario"]


def test_long_interviews_hold_a_passing_and_a_failing_one_batch_test() -> None:
    for seed in range(60):
        kinds = {incidents().incidents[name].one_batch for name in drawn(draw(seed))}
        assert kinds == {"passes", "fails"}
        first = drawn(draw(seed, 30))
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
        paper = sample_paper(plan, small_bank(), {}, seed, many)
        assert "rising-loss" in drawn(paper)


def test_the_false_alarm_comes_in_one_interview_in_eight() -> None:
    assert 0.10 < sum(holds_false_alarm(seed) for seed in range(4000)) / 4000 < 0.15
    for seed in range(40):
        assert ("quiet-floor" in drawn(draw(seed))) == holds_false_alarm(seed)


def test_a_class_seen_within_two_days_or_suspended_is_not_drawn() -> None:
    for state in (CardKnowledge(0.3, 12.0), CardKnowledge(0.3, 100.0, suspended=True)):
        for seed in range(10):
            assert "flat-loss" not in drawn(draw(seed, known={"incident:pairing": state}))


def test_a_weak_class_comes_before_others_and_with_a_variant_not_seen() -> None:
    library = incidents()
    flat = library.incidents["flat-loss"]
    twin = replace(flat, id="flat-again")
    other = replace(flat, id="strange", fault_class="strange")
    many = replace(library, incidents={i.id: i for i in (flat, twin, other)})
    weak = {"incident:pairing": CardKnowledge(0.5, 100.0)}
    plan = blueprint().plan("research-engineer", 30, code=False)
    names = {
        name
        for seed in range(30)
        for name in drawn(sample_paper(plan, small_bank(), weak, seed, many, {"flat-loss"}))
    }
    assert names == {"flat-again"}


def test_the_role_draws_from_its_own_pool_first() -> None:
    library = incidents()
    flat = library.incidents["flat-loss"]
    own = blueprint().roles["research-engineer"].scenario_pool[0]
    many = replace(library, incidents={"flat-loss": flat, own: replace(flat, id=own, fault_class="own")})
    plan = blueprint().plan("research-engineer", 30, code=False)
    for seed in range(10):
        assert drawn(sample_paper(plan, small_bank(), {}, seed, many)) == [own]


def test_a_variant_not_asked_yet_comes_before_the_pool_that_was() -> None:
    library = incidents()
    flat = library.incidents["flat-loss"]
    own = blueprint().roles["research-engineer"].scenario_pool[0]
    many = replace(library, incidents={"flat-loss": flat, own: replace(flat, id=own, fault_class="own")})
    plan = blueprint().plan("research-engineer", 30, code=False)
    for seed in range(10):
        paper = sample_paper(plan, small_bank(), {}, seed, many, {own})
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
