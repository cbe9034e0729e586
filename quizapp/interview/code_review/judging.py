"""Judges a code review with this user's judge."""

from quizapp.bank.model import Exercise
from quizapp.interview.code_review.model import CodeReview, ReviewAnswer, ReviewResult
from quizapp.interview.code_review.service import judge_review
from quizapp.judge import grade
from quizapp.judge.client.learner_test_client import LearnerTestClient
from quizapp.judge.verdict import ProgramRun


def judge_with_client(review: CodeReview, exercise: Exercise, answer: ReviewAnswer) -> ReviewResult:
    """Mark an answer; starts a judge if this user has no warm one. Takes seconds.

    Raises `QuizError` if the judge fails.
    """
    with LearnerTestClient() as client:
        client.connect()  # so that grading finds a warm judge
        return judge_review(
            review,
            exercise,
            answer,
            run=lambda test, programs, seed: client.run(exercise, test, programs, seed=seed),
            grade=lambda source: grade(exercise, source.encode(), device="cpu"),
        )


def run_on(exercise: Exercise, test: str, source: str) -> ProgramRun:
    """Run a learner's test once, on one program. Raises `QuizError` if the judge fails."""
    with LearnerTestClient() as client:
        return client.run(exercise, test, [source], seed=1)[0]
