"""Judges a code review with this user's judge."""

from quizapp.bank.model import Exercise
from quizapp.interview.code_review.model import CodeReview, JudgedReview, ReviewAnswer, ReviewResult
from quizapp.interview.code_review.service import marked, run_answer
from quizapp.judge import grade
from quizapp.judge.client.learner_test_client import LearnerTestClient
from quizapp.judge.verdict import ProgramRun


def judge_with_client(review: CodeReview, exercise: Exercise, answer: ReviewAnswer) -> ReviewResult:
    """Mark an answer; starts a judge if this user has no warm one. Takes seconds.

    Raises `QuizError` if the judge fails.
    """
    return marked(review, answer, run_with_client(review, exercise, answer))


def run_with_client(review: CodeReview, exercise: Exercise, answer: ReviewAnswer) -> JudgedReview:
    """Run the test and the fix of an answer, as `judge_with_client` does, without marking it."""
    with LearnerTestClient() as client:
        client.connect()  # so that grading finds a warm judge
        return run_answer(
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
