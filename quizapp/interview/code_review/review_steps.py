"""The steps of a code review, and the answer that they fill: decide, point, say, prove, fix."""

from enum import StrEnum

import msgspec

from quizapp.interview.code_review.model import CodeReview, Decision, ReviewAnswer
from quizapp.interview.code_review.proof import test_problem

STARTING_TEST = "import torch\n\n\ndef check(m):\n    # m is the module; use plain asserts\n    assert ...\n"


class ReviewStep(StrEnum):
    """The steps of a review, in order. Correct code needs no line, no words and no fix."""

    DECIDE = "decide"
    CONFIDENCE = "confidence"
    POINT = "point"
    SAY = "say"
    PROVE = "prove"
    FIX = "fix"
    JUDGE = "judge"
    REVEAL = "reveal"


_FAULTY = (ReviewStep.POINT, ReviewStep.SAY, ReviewStep.PROVE, ReviewStep.FIX)
_CORRECT = (ReviewStep.PROVE,)


def empty_answer(review: CodeReview) -> ReviewAnswer:
    """The answer with which a review begins: an empty test, and the code shown as the file to fix."""
    return ReviewAnswer(check=STARTING_TEST, fixed=review.shown)


class ReviewSteps:
    """Where a learner is in a review. The methods change ``answer`` and ``step`` and store nothing."""

    def __init__(self, review: CodeReview, answer: ReviewAnswer, step: ReviewStep | None = None) -> None:
        self.review = review
        self.answer = answer
        self.step = self._first_open() if step is None else step

    def _first_open(self) -> ReviewStep:
        """The step at which an answer is taken up again whose last step is not known."""
        if self.answer.decision is None:
            return ReviewStep.DECIDE
        return ReviewStep.CONFIDENCE if self.answer.confidence is None else self.steps[0]

    @property
    def steps(self) -> tuple[ReviewStep, ...]:
        """The steps that follow the decision, and between which the learner may go back and forth."""
        return _CORRECT if self.answer.decision == Decision.CORRECT else _FAULTY

    @property
    def is_decided(self) -> bool:
        """Whether the decision is final, because its confidence was given."""
        return self.answer.confidence is not None

    def decide(self, decision: Decision) -> None:
        """Decide whether the code is correct; that may be changed until the confidence is given."""
        self.answer.decision = decision
        self.step = ReviewStep.CONFIDENCE

    def confide(self, confidence: int) -> None:
        """Give the confidence in percent, which makes the decision final."""
        self.answer.confidence = confidence
        self.step = self.steps[0]

    def go(self, step: ReviewStep) -> bool:
        """Go to one of `steps`, or back to the decision before it is final. Returns whether it did."""
        between = step in self.steps and self.step in self.steps
        if between or (step == ReviewStep.DECIDE and self.step == ReviewStep.CONFIDENCE):
            self.step = step
            return True
        return False

    def next_step(self) -> ReviewStep | None:
        """The step after the current one; None at the last one."""
        if self.step not in self.steps:
            return None
        place = self.steps.index(self.step) + 1
        return self.steps[place] if place < len(self.steps) else None

    def toggle_line(self, line: int) -> None:
        """Point at a line, or no longer."""
        self.answer.lines = sorted(set(self.answer.lines) ^ {line})

    def submitted(self) -> ReviewAnswer:
        """The answer to judge: without a test or a fix that is still as it was given."""
        answer = msgspec.structs.replace(self.answer)
        if answer.check.strip() == STARTING_TEST.strip():
            answer.check = ""
        if answer.fixed.strip() == self.review.shown.strip():
            answer.fixed = ""
        return answer

    def missing(self) -> list[str]:
        """What the steps still ask for, in words."""
        answer = self.submitted()
        given = {
            ReviewStep.POINT: ("a line", bool(answer.lines)),
            ReviewStep.SAY: ("the consequence", bool(answer.words.strip())),
            ReviewStep.PROVE: ("a test", not self.test_problem()),
            ReviewStep.FIX: ("a fix", bool(answer.fixed)),
        }
        return [given[step][0] for step in self.steps if not given[step][1]]

    def test_problem(self) -> str:
        """Why the test cannot be run; empty if it can."""
        if self.answer.check.strip() == STARTING_TEST.strip():
            return "There is no test yet; write an assert that fails on the code shown."
        return test_problem(self.answer.check)
