"""The exercise opened, graded on save and on a change from outside, its verdict recorded."""

from typing import TYPE_CHECKING

from textual.widgets import Static, TextArea

from quizapp.errors import QuizError
from quizapp.judge.submission import user_file
from quizapp.tui.rendering.markdown import document
from quizapp.tui.screens.exercise.panes import SIDE_BY_SIDE, ExercisePanes
from quizapp.util.text import plural

if TYPE_CHECKING:
    from quizapp.judge.verdict import Verdict
    from quizapp.tui.judge_bridge import PendingSubmission


class ExerciseGrading(ExercisePanes):
    """No key waits for the judge; a verdict on older code is marked as such."""

    def on_mount(self) -> None:
        """Open the exercise once the data is there."""
        self.query_one("#find").display = False
        self.set_interval(0.25, self._tick)
        self.set_interval(1.0, self._look_at_file)
        if self.quiz.ready:
            self.opened()

    def opened(self) -> None:
        """Show the task and the user's file."""
        if self._loaded:
            return
        if self.slug not in self.quiz.bank.exercises:
            self.quiz.say(f"There is no exercise {self.slug!r}.", bad=True)
            self.call_later(self.quiz.go_back, self)
            return
        try:
            self.path = user_file(self.exercise)
            text = self.path.read_text(encoding="utf-8-sig")
        except (QuizError, OSError, UnicodeDecodeError) as error:
            self.quiz.say(f"The file cannot be opened: {error}", bad=True)
            self.call_later(self.quiz.go_back, self)
            return
        self._loaded = True
        self.opened_at = self.clock()
        self.query_one("#task", Static).update(document(self.exercise.prompt))
        self.view.exercise = self.exercise
        self._load(text)
        self._recall_last()
        self._fill_head()
        self.action_show("prompt" if self._unread(text) else "code")
        self.quiz.warm_judge()

    def _unread(self, text: str) -> bool:
        """Whether the task comes first: nothing is written yet, and the panes do not stand side by side."""
        return (
            self.app.size.width < SIDE_BY_SIDE
            and text == self.exercise.starter
            and not self.quiz.study.submissions(self.slug)
        )

    def _recall_last(self) -> None:
        """Show the last verdict again where the file has not changed since."""
        from quizapp.judge.verdict import Verdict

        past = self.quiz.study.submissions(self.slug)
        self.passed = self.quiz.study.exercise_state(self.slug).state == "passed"
        if past and past[-1].source == self.saved and past[-1].verdict.get("schema"):
            try:
                self.view.verdict = Verdict.from_json(dict(past[-1].verdict))
            except (KeyError, TypeError, ValueError):  # a verdict of another version: grade again
                return
            self.graded = self.saved
            self.view.changed()

    def on_unmount(self) -> None:
        """Whatever was being graded is void."""
        self.quiz.judge.cancel()

    def closing(self) -> None:
        """The program ends: keep what is typed."""
        if self._loaded:
            self._save()

    def _keep(self, text: str) -> None:
        """Save, ungraded, once the fingers rested between two looks: no ending may cost what was typed."""
        if text == self._seen and text != self._tried:
            self._tried = text
            self._save()
        self._seen = text

    def _look_at_file(self) -> None:
        """Another editor saved the file: take its text and grade it."""
        if not self._loaded or self.path is None:
            return
        text = self.editor.text
        if text != self.saved:
            self._keep(text)
            return
        changed_at = self._changed_at()
        if changed_at and changed_at != self.saved_at:
            self._reload(changed_at)

    def _reload(self, changed_at: float) -> None:
        assert self.path is not None
        try:
            text = self.path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            self.saved_at = changed_at
            self.quiz.say(f"The file cannot be read: {error}", bad=True)
            return
        changed = text != self.saved
        place = self.editor.cursor_location
        self._load(text)
        self.editor.move_cursor(place)
        if changed:
            self._grade(asked=False)

    # grading

    def action_grade(self) -> None:
        """Save and grade."""
        if self._save():
            self._grade(asked=True)

    def action_save(self) -> None:
        """Save; the verdict on a save counts only if it passes."""
        if self._save():
            self._grade(asked=False)

    def _grade(self, *, asked: bool) -> None:
        if not self._loaded:
            return
        self.graded, self.asked = self.saved, asked
        self.asked_at = self.clock()
        view = self.view
        view.running, view.message, view.verdict, view.stale, view.note = 0.0, "", None, False, ""
        view.warming, view.tone = not self.quiz.judge.is_warm, "$error"
        view.changed()
        self.action_show("verdict", focus=False)
        self.enter_phase("judging")
        self.quiz.judge.submit(self.exercise, self.saved, self.device, self._on_result)

    def _on_result(self, submission: "PendingSubmission", outcome: "Verdict | QuizError") -> None:
        """The judge answered the latest submission; a screen on its way out has voided it."""
        if not self.stands:
            return
        view = self.view
        view.running = None
        self.enter_phase("idle")
        if isinstance(outcome, QuizError):
            view.message = str(outcome)
        else:
            view.verdict = outcome
            view.stale = self.editor.text != submission.source
            self._record(outcome, submission.source)
        view.changed()
        self.query_one("#verdict").scroll_home(animate=False)
        self._fill_head()

    def _record(self, verdict: "Verdict", source: str) -> None:
        try:
            answered = self.quiz.study.record_verdict(
                self.slug,
                verdict.as_json(),
                source_text=source,
                asked=self.asked,
                hints=self.hints,
                seconds=self.clock() - self.opened_at,
            )
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        if verdict.passed:
            self.passed = True
            if answered is not None:
                effort = plural(answered.submissions, "submission")
                effort += f" and {plural(answered.hints, 'hint')}" if answered.hints else ""
                self.view.note = (
                    f"Rated {answered.rating.label} after {effort}; comes back in {answered.text}."
                )
            self.hints = 0

    def action_cancel(self) -> None:
        """Stop the grading at once."""
        self.quiz.judge.cancel()
        self.view.running = None
        self.view.message, self.view.tone = "Stopped. ctrl+r grades again.", "$warning"
        self.view.changed()
        self.enter_phase("idle")

    def _tick(self) -> None:
        view = self.view
        if view.running is not None:
            view.running = self.clock() - self.asked_at
            view.warming = view.warming and not self.quiz.judge.is_warm
            view.refresh()
        self._fill_head()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """A verdict on older code is marked as such."""
        event.stop()
        stale = self.editor.text != self.graded
        if self.view.verdict is not None and self.view.stale != stale:
            self.view.stale = stale
            self.view.changed()
