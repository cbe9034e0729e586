"""An exercise: task, code and verdict; here the keys for hints, solutions, past code and search."""

import difflib
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.widgets import Input

from quizapp.errors import QuizError
from quizapp.tui import actions
from quizapp.tui.rendering.highlight import highlight
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.exercise.grading import ExerciseGrading
from quizapp.tui.screens.exercise.panes import DEVICES
from quizapp.util.sanitize import escape_controls

if TYPE_CHECKING:
    from quizapp.store.documents import Submission


class ExerciseScreen(ExerciseGrading):
    """``slug`` names the exercise."""

    place = "exercise"
    BINDINGS: ClassVar[list[object]] = actions.bindings("exercise")  # type: ignore[assignment]
    CSS_PATH = "exercise_screen.tcss"

    def action_edit(self) -> None:
        """Hand the file to the user's editor; a change is graded."""
        from quizapp.tui.terminal import edit_file

        if self.path is None or not self._save():
            return
        line = self.editor.cursor_location[0] + 1
        if edit_file(self.quiz, self.path, line):
            self._reload(self._changed_at())

    def action_hint(self) -> None:
        """The next hint, first those that help with what failed."""
        view = self.view
        failed = {test.behaviour for test in view.verdict.tests if not test.passed} if view.verdict else set()
        left = [hint for hint in self.exercise.hints if hint.text not in view.hints]
        left.sort(key=lambda hint: not failed & set(hint.behaviours) if hint.behaviours else 0)
        if not left:
            self.quiz.say("There is no further hint.")
            return
        view.hints.append(left[0].text)
        self.hints += 1
        view.changed()
        self.action_show("verdict", focus=False)
        self.call_after_refresh(self.query_one("#verdict").scroll_end, animate=False)

    def action_device(self) -> None:
        """Choose the device."""
        self.quiz.push_screen(
            Choose("Run the code on which device?", DEVICES, self.device), self._chose_device
        )

    def _chose_device(self, device: str | None) -> None:
        if device:
            self.device = device
            self._fill_head()

    def action_past(self) -> None:
        """Past submissions, the newest first."""
        past = list(reversed(self.quiz.study.submissions(self.slug)))
        if not past:
            self.quiz.say("Nothing was submitted yet.")
            return
        entries = [(str(submission.id), _past_line(submission)) for submission in past]
        known = {str(submission.id): submission for submission in past}

        def chosen(value: str | None) -> None:
            if value:
                self._reopen(known[value])

        self.quiz.push_screen(Choose("Past submissions", entries), chosen)

    def _reopen(self, submission: "Submission") -> None:
        ways = [
            ("read", "Read it"),
            ("diff", "Compare it with the code now"),
            ("back", "Put it into the editor (ctrl+z takes it back)"),
        ]

        def chosen(way: str | None) -> None:
            if way == "read":
                self.quiz.read(_past_line(submission), f"```python\n{submission.source}\n```")
            elif way == "diff":
                self.quiz.read("From then to now", _diff(submission.source, self.editor.text))
            elif way == "back":
                editor = self.editor
                editor.replace(submission.source, (0, 0), editor.document.end)
                self.action_show("code")

        self.quiz.push_screen(Choose("This submission", ways), chosen)

    def action_diff(self) -> None:
        """What changed since the last submission."""
        past = [s for s in self.quiz.study.submissions(self.slug) if s.source != self.editor.text]
        if not past:
            self.quiz.say("Nothing differs from what was submitted.")
            return
        self.quiz.read("Since the last submission", _diff(past[-1].source, self.editor.text))

    def action_solution(self) -> None:
        """Show a solution: free after a pass, else on demand and rated Again."""
        if self.passed:
            self._show_solution()
            return
        ways = [("no", "No, I go on trying"), ("yes", "Show me: the exercise is rated Again")]
        self.quiz.push_screen(Choose("Show a solution before passing?", ways), self._chose_solution)

    def _chose_solution(self, way: str | None) -> None:
        if way != "yes":
            return
        try:
            self.quiz.study.record_verdict(
                self.slug,
                {"status": "failed", "passed": False},
                source_text=self.editor.text,
                hints=self.hints,
                opened_solution=True,
                seconds=self.clock() - self.opened_at,
            )
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        self._show_solution()

    def _show_solution(self) -> None:
        source = self.exercise.solution
        difference = _diff_lines(self.editor.text, source) if self.passed else Content("")
        text = highlight(escape_controls(source))
        if difference:
            text = text.append(Content.styled("\n\nFrom your code to this one\n\n", "bold")).append(
                difference
            )
        self.quiz.read("A solution", text)

    def action_find(self) -> None:
        """Find in the code; asked again, find the next."""
        field = self.query_one("#find", Input)
        if field.display and field.value:
            self._find_next()
            return
        field.display = True
        self.action_show("code", focus=False)
        field.focus()
        self.enter_phase("find")

    def _find_next(self) -> None:
        if not self.editor.find(self.query_one("#find", Input).value):
            self.quiz.say("Not found.")

    def on_input_submitted(self) -> None:
        """Enter finds the next."""
        self._find_next()

    def action_close_find(self) -> None:
        """Close the search field."""
        self.query_one("#find").display = False
        self.enter_phase("idle")
        self.editor.focus()

    @property
    def phase(self) -> str:
        """Judging and finding go before typing, since escape means something else then."""
        if self._phase in {"judging", "find"}:
            return self._phase
        return super().phase

    def action_back(self) -> None:
        """Save and leave."""
        if self._loaded and not self._save():
            return
        self.quiz.go_back(self)


def _past_line(submission: "Submission") -> str:
    from datetime import UTC, datetime

    when = datetime.fromtimestamp(submission.time / 1000, UTC).astimezone()
    share = f"  {submission.tests_passed} of {submission.tests} tests" if submission.tests else ""
    return f"{when:%Y-%m-%d %H:%M}  {submission.status}{share}"


def _diff_lines(before: str, after: str) -> Content:
    lines = []
    for line in difflib.unified_diff(
        escape_controls(before).splitlines(), escape_controls(after).splitlines(), lineterm="", n=3
    ):
        if line.startswith(("---", "+++")):
            continue
        style = {"+": "$success", "-": "$error", "@": "$primary"}.get(line[:1], "$text-muted")
        lines.append(Content.styled(line, style))
    return Content("\n").join(lines)


def _diff(before: str, after: str) -> Content:
    found = _diff_lines(before, after)
    return found or Content("No difference.")
