"""Marks a code review with the help of a judge, and records the result in the schedule."""

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.interview.code_review.model import (
    CodeReview,
    ConsequenceMark,
    Decision,
    FixOutcome,
    JudgedReview,
    ProofOutcome,
    ReviewAnswer,
    ReviewMarks,
    ReviewResult,
)
from quizapp.interview.code_review.proof import RunTest, prove
from quizapp.interview.code_review.review_marks import mark_review, propose_consequence
from quizapp.interview.code_review.sample_review import can_review, sample_review
from quizapp.judge.verdict import Verdict

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study
    from quizapp.scheduling.views import RecordedReview

MOST_FEEDBACK = 4

Grade = Callable[[str], Verdict]
"""Grades a source against the hidden tests of the review's exercise."""


def judge_review(
    review: CodeReview, exercise: Exercise, answer: ReviewAnswer, *, run: RunTest, grade: Grade
) -> ReviewResult:
    """Run everything that the answer contains, and mark it. The consequences are proposals.

    Nothing that the learner wrote can make this raise, but a judge that fails can (`QuizError`).
    """
    return marked(review, answer, run_answer(review, exercise, answer, run=run, grade=grade))


def run_answer(
    review: CodeReview, exercise: Exercise, answer: ReviewAnswer, *, run: RunTest, grade: Grade
) -> JudgedReview:
    """Run the test and the fix of an answer. Raises `QuizError` only if the judge fails."""
    shown = grade(review.shown)
    proof, fix = ProofOutcome(), FixOutcome()
    if answer.check.strip():
        proof = prove(review, exercise, answer.check, run)
    if not review.is_correct and answer.decision == Decision.FAULTY and answer.fixed.strip():
        fix = fix_outcome(review, shown, answer.fixed, grade)
    return JudgedReview(proof, fix, feedback(review, shown))


def marked(review: CodeReview, answer: ReviewAnswer, judged: JudgedReview) -> ReviewResult:
    """The result of an answer from what the judge found; the consequences are proposals."""
    return remark(
        ReviewResult(
            review=review,
            answer=answer,
            consequences=propose_consequences(review, answer),
            proof=judged.proof,
            fix=judged.fix,
            feedback=judged.feedback,
        )
    )


def propose_consequences(review: CodeReview, answer: ReviewAnswer) -> list[ConsequenceMark]:
    """Propose for each fault how far the learner's words say what it does."""
    return [propose_consequence(fault, answer.words) for fault in review.faults]


def remark(result: ReviewResult) -> ReviewResult:
    """Compute the marks of a result again, as is needed after the learner decided on a consequence."""
    result.marks = mark_review(result.review, result.answer, result.consequences, result.proof, result.fix)
    return result


def fix_outcome(review: CodeReview, shown: Verdict, fixed: str, grade: Grade) -> FixOutcome:
    """Grade the learner's file.

    A fault counts as repaired if its behaviors hold again and nothing fails that held in the code shown.
    """
    if fixed.strip() == review.shown.strip():
        return FixOutcome(text="The file is the code shown, unchanged.")
    verdict = grade(fixed)
    if verdict.passed:
        return FixOutcome(passed=True, repaired=[fault.mutant for fault in review.faults])
    failing = verdict.failing_behaviours
    if not verdict.tests:
        return FixOutcome(text=verdict.error or f"The judge says: {verdict.status}.")
    broken = failing - shown.failing_behaviours
    repaired = [f.mutant for f in review.faults if not broken and not failing & set(f.behaviours)]
    # Some test still fails, so at least one fault is left.
    repaired = repaired[: max(0, len(review.faults) - 1)]
    return FixOutcome(repaired=repaired, failing=sorted(failing))


def feedback(review: CodeReview, shown: Verdict) -> list[str]:
    """What the judge says about the code shown: a sentence per behavior, those of the faults first."""
    if shown.error:
        return [shown.error]
    planted = {number for fault in review.faults for number in fault.behaviours}
    failed = [test for test in shown.tests if not test.passed and test.message]
    failed.sort(key=lambda test: test.behaviour not in planted)  # stable: otherwise in the judge's order
    by_behaviour: dict[int, str] = {}
    for test in failed:
        by_behaviour.setdefault(test.behaviour, test.message)
    return list(dict.fromkeys(by_behaviour.values()))[:MOST_FEEDBACK]


def next_review(study: "Study", slug: str | None = None, seed: int | None = None) -> CodeReview:
    """The review to sit next: of the exercise ``slug`` if it is given, from ``seed`` if it is given.

    Raises `QuizError` if there is no such exercise, or none that can be reviewed.
    """
    from quizapp.bank.loader import find_exercise
    from quizapp.scheduling.next_step import next_code_review

    exercises = study.bank.exercises
    chosen = slug or next_code_review(study, lambda name: can_review(exercises[name]))
    if chosen is None:
        raise QuizError("no exercise has mutants that suit a code review; 'quizapp check' names the faults")
    seed = random.SystemRandom().getrandbits(31) if seed is None else seed
    return sample_review(find_exercise(study.bank, chosen), seed)


def record_result(study: "Study", result: ReviewResult) -> "RecordedReview | None":
    """Write a finished review to the log, which schedules the next one of its exercise.

    Returns the review of the card; None if the review was not due and only stored.
    """
    from quizapp.scheduling.exercises import CodeReviewOutcome

    review, answer = result.review, result.answer
    outcome = CodeReviewOutcome(
        result.marks.total, answer.confidence or 0, answer.seconds, 60.0 * review.minutes, review.seed
    )
    return study.record_code_review(review.exercise, stored(result), outcome)


def stored(result: ReviewResult) -> dict[str, object]:
    """The result as JSON, without the programs with a single fault, which only the marking needs."""
    faults = tuple(msgspec.structs.replace(fault, alone="") for fault in result.review.faults)
    review = msgspec.structs.replace(result.review, faults=faults)
    document: dict[str, object] = msgspec.to_builtins(msgspec.structs.replace(result, review=review))
    return document


def share_of(results: Sequence[ReviewMarks]) -> int:
    """The mean of the totals of several reviews, rounded half up; 0 without one."""
    if not results:
        return 0
    return (2 * sum(marks.total for marks in results) + len(results)) // (2 * len(results))
