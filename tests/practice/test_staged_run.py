"""A run in stages: what a grade reveals, what it broke, and what of it counts."""

import pytest

from quizapp.bank.model import Stage
from quizapp.judge.verdict import StageResult, TestResult, Verdict, VerdictStatus
from quizapp.practice.staged_run import StagedRun, StageGrade, leading_stages, outcome_sentence

ADAPTER = Stage("adapter", 10, "Write the adapter.", (1, 2))
INJECT = Stage("inject", 8, "Inject it.", (3,))
ROBUST = Stage("robust", 3, "Harden it.", (4, 5))
STAGES = (ADAPTER, INJECT, ROBUST)


def graded(*, judged: bool = True, **held: bool) -> Verdict:
    """A verdict on the stages named; without ``judged`` there was no evidence."""
    stages = tuple(StageResult(name, passed) for name, passed in held.items())
    status = VerdictStatus.PASSED if all(held.values()) else VerdictStatus.FAILED
    tests = (TestResult("test_any", 1, status == VerdictStatus.PASSED),) if judged else ()
    return Verdict("lora", "lora.py", "cpu", status, tests, stages=stages)


def test_a_green_grade_reveals_the_next_stage_and_the_last_one_ends_the_run() -> None:
    run = StagedRun(STAGES)
    assert run.shown_stages == (ADAPTER,)
    assert run.current is ADAPTER

    outcome = run.record(graded(adapter=True), 60)
    assert outcome.green
    assert outcome.revealed is INJECT
    assert outcome_sentence(outcome) == 'Stage "adapter" holds. Next: stage "inject".'

    outcome = run.record(graded(adapter=True, inject=True), 90)
    assert outcome.revealed is ROBUST
    assert run.core_held
    assert not run.finished

    outcome = run.record(graded(adapter=True, inject=True, robust=True), 120)
    assert outcome.finished
    assert outcome.revealed is None
    assert run.finished
    assert run.shown == 3
    assert outcome_sentence(outcome) == "All stages hold."


def test_a_red_grade_reveals_nothing_and_names_what_is_broken_again() -> None:
    run = StagedRun(STAGES)
    run.record(graded(adapter=True), 60)

    outcome = run.record(graded(adapter=False, inject=False), 70)

    assert run.shown == 2
    assert outcome.failing == ("adapter", "inject")
    assert outcome.broken_again == ("adapter",)
    expected = 'Stage "adapter" held before and is broken again. Stage "inject" does not hold yet.'
    assert outcome_sentence(outcome) == expected


def test_a_stage_that_held_while_another_failed_can_be_broken_again() -> None:
    run = StagedRun(STAGES)
    run.record(graded(adapter=True), 1)
    run.record(graded(adapter=False, inject=True), 2)

    outcome = run.record(graded(adapter=True, inject=False), 3)

    assert outcome.broken_again == ("inject",)


def test_a_grade_without_evidence_accuses_no_earlier_stage() -> None:
    run = StagedRun(STAGES)
    run.record(graded(adapter=True), 1)

    outcome = run.record(graded(adapter=False, inject=False, judged=False), 2)

    assert not outcome.green
    assert outcome.broken_again == ()
    assert run.shown == 2


def test_a_stored_run_goes_on_where_it_was() -> None:
    run = StagedRun(STAGES)
    run.record(graded(adapter=True), 61)
    run.record(graded(adapter=True, inject=False), 70)

    again = StagedRun(STAGES, list(run.grades))

    assert again.current is INJECT
    assert again.revealed_at == 61
    assert again.outcome() == run.outcome()
    assert again.red_grades() == {"adapter": 0, "inject": 1, "robust": 0}


def test_only_repeated_red_grades_of_a_stage_cost() -> None:
    run = StagedRun(STAGES)
    for held in (False, False, True):
        run.record(graded(adapter=held), 1)
    run.record(graded(adapter=True, inject=False), 1)
    assert run.red_grades() == {"adapter": 2, "inject": 1, "robust": 0}
    assert run.repeated_reds == 1


def test_robust_counts_only_once_it_is_shown() -> None:
    run = StagedRun(STAGES)
    assert run.counted_behaviours == {1, 2, 3}
    run.record(graded(adapter=True), 1)
    run.record(graded(adapter=True, inject=True), 2)
    assert run.counted_behaviours == {1, 2, 3, 4, 5}


def test_grades_under_other_stage_names_reveal_nothing() -> None:
    run = StagedRun(STAGES, [StageGrade(1.0, 1, ("an old name",))])
    assert run.shown == 1
    assert not run.finished


@pytest.mark.parametrize(("minutes", "count"), [(9, 0), (10, 1), (17, 1), (18, 2), (60, 3)])
def test_leading_stages_fit_into_the_minutes(minutes: int, count: int) -> None:
    assert leading_stages(STAGES, minutes) == STAGES[:count]
