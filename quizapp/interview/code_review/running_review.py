"""A code review that is being sat: its steps, its clock, and the file from which it can be continued.

The file is written after every change and every second of typing, so a kill loses a second at most. When the
review is over, the result goes to the log and the file is removed.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from quizapp.errors import QuizError, TakenOver
from quizapp.interview.code_review.model import CodeReview, Decision, ReviewAnswer, ReviewResult
from quizapp.interview.code_review.review_steps import ReviewStep, ReviewSteps, empty_answer
from quizapp.scheduling.events import new_id
from quizapp.util.atomic import write_atomic

SAVE_EVERY_S = 1.0
"""How often what is being typed is written to the disk."""


class ReviewDraft(msgspec.Struct, kw_only=True):
    """What is stored of a running review. ``sitting`` names the window in which it runs."""

    id: str
    review: CodeReview
    answer: ReviewAnswer
    step: ReviewStep = ReviewStep.DECIDE
    result: ReviewResult | None = None
    sitting: str = ""


class RunningReview:
    """A review in progress. Every change is on disk when its method returns.

    ``at`` is the step at which it is. ``clock`` gives seconds; time counts only while the review is open.
    Raises `TakenOver` where another window has continued or finished it.
    """

    def __init__(self, draft: ReviewDraft, path: Path, clock: Callable[[], float]) -> None:
        self._draft = draft
        self._path = path
        self._clock = clock
        self._last = clock()
        self._is_stored = False
        self.at = ReviewSteps(draft.review, draft.answer, draft.step)
        draft.sitting = new_id()
        self._write()

    @classmethod
    def begin(cls, review: CodeReview, path: Path, clock: Callable[[], float]) -> "RunningReview":
        """Begin a review; the file at ``path`` is replaced."""
        return cls(ReviewDraft(id=new_id(), review=review, answer=empty_answer(review)), path, clock)

    @property
    def review(self) -> CodeReview:
        """The task."""
        return self._draft.review

    @property
    def answer(self) -> ReviewAnswer:
        """What was answered so far."""
        return self._draft.answer

    @property
    def result(self) -> ReviewResult | None:
        """The marks, once it was judged."""
        return self._draft.result

    @property
    def step(self) -> ReviewStep:
        """The current step."""
        return self.at.step

    @property
    def seconds_left(self) -> float:
        """The time left; never below 0."""
        return max(0.0, 60.0 * self.review.minutes - self.answer.seconds)

    @property
    def is_timed(self) -> bool:
        """Whether the clock runs."""
        return self.step not in (ReviewStep.JUDGE, ReviewStep.REVEAL)

    def tick(self) -> bool:
        """Let time pass. Returns True if that ended the review, which then waits to be judged."""
        now = self._clock()
        elapsed, self._last = now - self._last, now
        if not self.is_timed:
            return False
        self.answer.seconds += max(0.0, elapsed)
        if self.seconds_left > 0:
            return False
        self.hand_in()
        return True

    def decide(self, decision: Decision) -> None:
        """Decide whether the code is correct; that may be changed until the confidence is given."""
        self.at.decide(decision)
        self._write()

    def confide(self, confidence: int) -> None:
        """Give the confidence in percent, which makes the decision final."""
        self.at.confide(confidence)
        self._write()

    def go(self, step: ReviewStep) -> bool:
        """Go to another step. Returns whether that is possible."""
        moved = self.at.go(step)
        if moved:
            self._write()
        return moved

    def toggle_line(self, line: int) -> None:
        """Point at a line, or no longer."""
        self.at.toggle_line(line)
        self._write()

    def keep(self, *, words: str | None = None, check: str | None = None, fixed: str | None = None) -> None:
        """Store what was typed, and the time used."""
        answer = self.answer
        before = (answer.words, answer.check, answer.fixed)
        answer.words = before[0] if words is None else words
        answer.check = before[1] if check is None else check
        answer.fixed = before[2] if fixed is None else fixed
        if self.is_timed:
            self._write()

    def hand_in(self) -> None:
        """End the answering."""
        self._go(ReviewStep.JUDGE)

    def judged(self, result: ReviewResult) -> None:
        """Store what the judge found."""
        result.id = self._draft.id
        self._draft.result = result
        self._go(ReviewStep.REVEAL)

    def save(self) -> None:
        """Store the draft as it is."""
        self._write()

    def close(self) -> None:
        """Remove the file, because the review is in the log or was discarded."""
        self._path.unlink(missing_ok=True)

    @property
    def can_discard(self) -> bool:
        """Whether nothing was answered yet, so that the review can be left without a trace."""
        return self.answer.confidence is None and self.is_timed

    def _go(self, step: ReviewStep) -> None:
        self.at.step = step
        self._write()

    def _write(self) -> None:
        stored = _read(self._path) if self._is_stored else None
        if self._is_stored and (stored is None or stored.id != self._draft.id):
            raise TakenOver("This review was finished in another window; nothing was changed here.")
        if stored is not None and stored.sitting != self._draft.sitting:
            raise TakenOver("This review goes on in another window; nothing was changed here.")
        self._is_stored = True
        self._draft.step = self.at.step
        write_atomic(self._path, msgspec.json.encode(self._draft), durable=True)


def load_running(path: Path, clock: Callable[[], float]) -> RunningReview | None:
    """The review that can be continued, or None. A file that cannot be read counts as none."""
    draft = _read(path)
    return None if draft is None else RunningReview(draft, path, clock)


def _read(path: Path) -> ReviewDraft | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=ReviewDraft)
    except (OSError, msgspec.DecodeError):
        return None


def read_answer(text: str) -> ReviewAnswer:
    """An answer written as JSON, for scripts. Raises `QuizError` if it is malformed."""
    try:
        answer = msgspec.json.decode(text, type=ReviewAnswer)
    except msgspec.DecodeError as error:
        raise QuizError(
            f"the answer is not valid: {error}; give a JSON object with decision, confidence, lines, words, "
            "check and fixed"
        ) from None
    if answer.decision is None:
        raise QuizError("the answer has no decision; add 'decision': 'correct' or 'faulty'")
    return answer
