"""Grading on the exercise screen: sends code to the judge, and shows and records the verdict."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.scheduling.cards import Rating
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.exercise.worked_file import GradeEffort, WorkedFile, rated_sentence
from quizapp.tui.widgets.verdict_view import VerdictView

if TYPE_CHECKING:
    from quizapp.judge.verdict import Verdict
    from quizapp.scheduling.views import RecordedReview
    from quizapp.tui.app import QuizApp
    from quizapp.tui.bridges.judge_bridge import PendingSubmission

DEVICES = (
    ("auto", "auto: the first CUDA device, else the CPU"),
    ("cpu", "cpu"),
    ("cuda", "cuda: an NVIDIA or ROCm GPU"),
    ("mps", "mps: Apple's GPU"),
)

RATINGS = (
    ("1", "Again: not without the solution"),
    ("2", "Hard: with effort or with help"),
    ("3", "Good: on your own"),
    ("4", "Easy: on your own, and at once"),
)


class ExerciseGrading:
    """Shows the judge's progress and verdict in ``view``; calls ``on_end`` when grading has ended.

    The schedule decides whether a verdict counts as a submission. It needs to know whether the user asked for
    the grade (``asked``) or a save was graded.
    """

    def __init__(
        self,
        quiz: "QuizApp",
        exercise: Exercise,
        work: WorkedFile,
        view: VerdictView,
        clock: Callable[[], float],
        on_end: Callable[[], None],
    ) -> None:
        self._quiz = quiz
        self._exercise = exercise
        self._work = work
        self._view = view
        self._clock = clock
        self._on_end = on_end
        self._submitted_at = 0.0
        self.opened_at = clock()
        self.revealed = False
        """Whether the last grade revealed the next stage of a run."""
        self.graded = ""
        """The code that the verdict in the view is about."""
        self.passed = quiz.study.exercise_state(exercise.slug).state in {"passed", "complete"}
        self.hints = 0
        """Hints shown since the last pass."""
        self.review: RecordedReview | None = None
        """How the last grade was rated; None if it was not."""
        view.exercise = exercise
        view.changed()

    def show_last_verdict(self, text: str) -> None:
        """Show the last verdict again if the file has not changed since."""
        from quizapp.judge.verdict import Verdict

        past = self._quiz.study.submissions(self._exercise.slug)
        if not past or past[-1].source != text or not past[-1].verdict.get("schema"):
            return
        try:
            self._view.verdict = self._work.shown(Verdict.from_json(dict(past[-1].verdict)))
        except (KeyError, TypeError, ValueError):  # another version of the program wrote the verdict
            return
        self.graded = text
        self._view.changed()

    def submit(self, source: str, device: str, *, asked: bool) -> None:
        """Grade ``source``; ``asked`` is False for a save that nobody asked to grade."""
        self._submitted_at = self._clock()
        self.revealed = False
        view = self._view
        view.running, view.message, view.verdict, view.stale, view.note = 0.0, "", None, False, ""
        view.warning, self.review = "", None
        view.warming, view.tone = not self._quiz.judge.is_warm, "$error"
        view.changed()
        on_result = partial(self._on_result, asked=asked)
        self._quiz.judge.submit(self._exercise, source, device, on_result, self._work.stages)

    def _on_result(
        self, submission: "PendingSubmission", outcome: "Verdict | QuizError", *, asked: bool
    ) -> None:
        """The judge answered the latest submission."""
        if not self._view.is_attached:  # the screen is closing
            return
        view = self._view
        view.running = None
        self.graded = submission.source
        if isinstance(outcome, QuizError):
            view.message = str(outcome)
        else:
            view.verdict = self._work.shown(outcome)
            self._record(outcome, submission.source, asked=asked)
        view.changed()
        self._on_end()

    def _record(self, verdict: "Verdict", source: str, *, asked: bool) -> None:
        try:
            effect = self._work.record(verdict, source, GradeEffort(asked, self.hints))
        except QuizError as error:
            self._quiz.say(str(error), bad=True)
            return
        self._view.note, self._view.warning = effect.note, effect.warning
        self.revealed, self.review = effect.revealed, effect.review
        if effect.passed:
            self.passed = True
            self.hints = 0

    def choose_rating(self) -> None:
        """Let the user give the last grade another rating than the proposed one."""
        review = self.review
        if review is None:
            self._quiz.say("The last grade was not rated, so there is no rating to change.")
            return

        def chosen(number: str | None) -> None:
            if number:
                self._rerate(review, Rating(int(number)))

        self._quiz.push_screen(Choose("How did it go?", RATINGS, str(int(review.rating))), chosen)

    def _rerate(self, review: "RecordedReview", rating: Rating) -> None:
        try:
            self.review = self._quiz.study.rerate(review, rating)
        except QuizError as error:
            self._quiz.say(str(error), bad=True)
            return
        self._view.note = rated_sentence(self.review)
        self._view.changed()

    def cancel(self) -> None:
        """Stop the grading at once."""
        self._quiz.judge.cancel()
        self._view.running = None
        self._view.message, self._view.tone = "Stopped. ctrl+r grades again.", "$warning"
        self._view.changed()

    def tick(self) -> None:
        """Show the time that the judge has taken so far."""
        view = self._view
        if view.running is not None:
            view.running = self._clock() - self._submitted_at
            view.warming = view.warming and not self._quiz.judge.is_warm
            view.refresh()

    def compare(self, text: str) -> bool:
        """Mark the verdict as stale while the code differs from what was graded; True if that changes."""
        stale = text != self.graded
        if self._view.verdict is None or self._view.stale == stale:
            return False
        self._view.stale = stale
        self._view.changed()
        return True

    def show_hint(self) -> bool:
        """Show the next hint, first those about failed behaviors; False if none is left."""
        from quizapp.judge.verdict import ordered_hints

        view = self._view
        remaining = [text for text in ordered_hints(self._exercise, view.verdict) if text not in view.hints]
        if not remaining:
            return False
        view.hints.append(remaining[0])
        self.hints += 1
        view.changed()
        return True

    def record_opened_solution(self, text: str) -> bool:
        """Record that the solution was opened before a pass; False, with a notice, if that fails."""
        try:
            self._quiz.study.record_verdict(
                self._exercise.slug,
                {"status": "failed", "passed": False},
                source_text=text,
                hints=self.hints,
                opened_solution=True,
                seconds=self._clock() - self.opened_at,
            )
        except QuizError as error:
            self._quiz.say(str(error), bad=True)
            return False
        return True
