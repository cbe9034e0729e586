"""Coding and debug rounds as they are sat: stages, a second exercise, planted faults."""

from dataclasses import replace
from pathlib import Path

import pytest

from quizapp.interview.marking.propose import propose
from quizapp.interview.paper.code_rounds import CodeStock, sample_code_paper
from quizapp.interview.scoring.terms import coding_terms
from quizapp.practice.faults import plant_faults
from quizapp.scheduling.cards import Rating
from tests.interview.mock_kit import begin, blueprint, real_bank, study, wait
from tests.interview.test_code import FAILED


def verdict(item, held: set[int], stages: int | None = None) -> dict:
    """A verdict in which the behaviors ``held`` hold, of the leading stages or of all."""
    exercise = real_bank().exercises[item.exercise]
    asked = exercise.stages[:stages]
    tests = [
        {"name": f"t{number}", "behaviour": number, "passed": number in held, "message": "", "seconds": 0.1}
        for stage in asked
        for number in stage.behaviours
    ]
    passed = all(test["passed"] for test in tests)
    rows = [{"name": stage.name, "passed": held >= set(stage.behaviours)} for stage in asked]
    status = "passed" if passed else "failed"
    return FAILED | {"status": status, "passed": passed, "tests": tests, "stages": rows}


@pytest.fixture
def made(tmp_path: Path):
    with study(tmp_path) as one:
        yield one


def start(made, round_name: str):
    """A round about code: with this seed a debug round has faults, not runs."""
    interview, hand = begin(made, "post-training", 45, seed=3, round_name=round_name)
    interview.session.proceed()
    return interview, hand, interview.session.item


def behaviours(item) -> set[int]:
    return set(real_bank().exercises[item.exercise].behaviours)


def test_green_reveals_the_next_stage_and_only_the_stages_asked_for_count(made) -> None:
    interview, hand, item = start(made, "coding")
    assert item.staged_run.shown == 1
    first = set(item.stages[0].behaviours)
    wait(interview, hand, 60)
    outcome = interview.submitted(0, "x", verdict(item, first, 1), interview.session.elapsed_ms)
    assert outcome.revealed is not None
    assert item.staged_run.shown == 2
    core = {number for stage in item.stages if stage.name != "robust" for number in stage.behaviours}
    share = next(t.share for t in coding_terms(item, propose(item, ())) if t.name == "hidden behaviours")
    assert float(share) == pytest.approx(len(first) / len(core))


def test_only_a_second_red_grade_of_a_stage_costs(made) -> None:
    interview, hand, item = start(made, "coding")
    interview.session.checked(ok=True)
    first = set(item.stages[0].behaviours)

    def verification() -> float:
        terms = coding_terms(item, propose(item, ()))
        return float(next(t.share for t in terms if t.name == "verification"))

    for held, left in ((set(), 1.0), (first, 1.0), (first, 1.0), (first, 0.75)):
        wait(interview, hand, 5)
        now = interview.session.elapsed_ms
        interview.submitted(0, "x", verdict(item, held, item.staged_run.shown), now)
        assert verification() == left


def test_a_second_exercise_comes_only_if_the_first_is_complete_early(made) -> None:
    interview, hand, item = start(made, "coding")
    wait(interview, hand, 120)
    while not item.staged_run.finished:
        assert len(interview.session.items) == 1
        now = interview.session.elapsed_ms
        interview.submitted(0, "x", verdict(item, behaviours(item), item.staged_run.shown), now)
    second = interview.session.items[1]
    assert second.exercise != item.exercise
    assert second.budget == 60 * sum(stage.minutes for stage in second.stages)
    assert sum(phase.seconds for phase in interview.session.phases) == 45 * 60
    assert second.budget <= interview.session.left_ms / 1000
    interview.session.submit()
    interview.session.confide(75)
    assert interview.session.item is second


def test_without_time_there_is_no_second_exercise(made) -> None:
    interview, hand, item = start(made, "coding")
    wait(interview, hand, 43 * 60 - 70, step=5.0)
    if interview.session.item is not item:
        pytest.skip("the task was cut before")
    for _ in item.stages:
        now = interview.session.elapsed_ms
        interview.submitted(0, "x", verdict(item, behaviours(item), item.staged_run.shown), now)
    assert len(interview.session.items) == 1


def test_each_planted_fault_counts_by_itself_and_is_never_forgotten(made) -> None:
    interview, hand, item = start(made, "debug")
    assert item.slot == "hypotheses"
    assert len(item.asked.key_points) >= 2
    interview.session.type("I would check the mask first.")
    interview.session.submit()
    interview.session.confide(50)
    fix = interview.session.item
    assert fix.code == ""
    assert fix.coding.starter in item.asked.prompt + "\n"
    faults = set(fix.stages[0].behaviours)
    one = next(iter(faults))
    wait(interview, hand, 300)
    now = interview.session.elapsed_ms
    interview.submitted(1, "x", verdict(fix, behaviours(fix) - faults | {one}), now)
    share = next(t.share for t in coding_terms(fix, propose(fix, ())) if t.name == "hidden behaviours")
    assert float(share) == pytest.approx(1 / len(faults))
    interview.session.submit()
    interview.session.confide(50)
    report = interview.record()
    assert [q.effect.rating for q in report.questions] == [None, None]
    assert report.tomorrow == []


def test_all_green_after_debugging_is_rated_hard(made) -> None:
    interview, hand, _ = start(made, "debug")
    interview.session.submit()
    interview.session.confide(50)
    fix = interview.session.item
    wait(interview, hand, 60)
    interview.submitted(1, "x", verdict(fix, behaviours(fix)), interview.session.elapsed_ms)
    assert fix.staged_run.finished
    interview.session.end("early")
    assert interview.record().questions[1].effect.rating == Rating.HARD.label


def test_a_debug_round_may_have_broken_runs_after_hypotheses_on_all_of_them(made) -> None:
    for seed in range(20):
        interview, _ = begin(made, "post-training", 45, seed=seed, round_name="debug")
        think, *runs = interview.session.items
        if runs[0].kind == "incident":
            break
    assert (think.slot, think.budget, think.phase) == ("hypotheses", 600, "hypotheses")
    assert {run.phase for run in runs} == {"debug"}
    assert len({run.incident.fault_class for run in runs}) == len(runs) == 4
    assert all(run.incident.title in think.asked.prompt for run in runs)
    causes = [
        next((cause.text for cause in run.incident.causes if cause.id == run.incident.cause), "")
        for run in runs
    ]
    shown = [point.text for point in think.key_points]
    assert all(cause in point for cause, point in zip(causes, shown, strict=True))
    # The readings are sold in the second phase only.
    assert not any(run.incident.readings[0].shows in think.asked.prompt for run in runs)


def test_papers_of_faulty_code_are_drawn_from_the_programs_that_were_planted_before(made) -> None:
    exercise = real_bank().exercises["lora"]
    assert plant_faults(exercise, 3, 7) is plant_faults(exercise, 3, 7)


def test_a_pool_that_fills_only_a_part_of_a_round_is_named(made) -> None:
    interview, _ = begin(made, "post-training", 30, seed=5, round_name="review")
    assert interview.note == ""
    plan = blueprint().plan("post-training", 30, round_name="review")
    bank = real_bank()
    few = replace(bank, exercises={slug: bank.exercises[slug] for slug in ("lora", "adamw")})
    paper = sample_code_paper(CodeStock(plan, few, {}, 1))
    assert paper.note.startswith("Only 2 of the 3 reviews of this round can be asked now")
