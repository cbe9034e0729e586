"""Past versions of the code: read one, compare with it, or put it back, and begin again from the starter."""

import difflib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from textual.content import Content

from quizapp.errors import QuizError
from quizapp.tui.screens.choose import Choose
from quizapp.util.sanitize import escape_controls

if TYPE_CHECKING:
    from quizapp.bank.model import Exercise
    from quizapp.store.documents import Submission
    from quizapp.tui.app import QuizApp
    from quizapp.tui.widgets.code_editor import CodeEditor

_KEPT = "kept"
"""The status of a version that was kept when the user began again; it was not graded."""


class PastCode:
    """The past versions of one exercise's code beside the code in the editor.

    ``on_replaced`` is called after another version was put into the editor.
    """

    def __init__(
        self, quiz: "QuizApp", exercise: "Exercise", editor: "CodeEditor", on_replaced: Callable[[], None]
    ) -> None:
        self._quiz = quiz
        self._exercise = exercise
        self._editor = editor
        self._on_replaced = on_replaced

    def choose(self) -> None:
        """Offer the past versions, the newest first."""
        versions = self._versions()
        # A changed rating stores the submission again; it is still one version.
        later = [*versions[1:], None]
        past = {
            str(one.id): one
            for one, after in reversed([*zip(versions, later, strict=True)])
            if after is None or (one.source, one.verdict) != (after.source, after.verdict)
        }
        if not past:
            self._quiz.say("Nothing was graded yet.")
            return

        def chosen(value: str | None) -> None:
            if value:
                self._reopen(past[value])

        entries = [(value, past_line(submission)) for value, submission in past.items()]
        self._quiz.push_screen(Choose("Past versions", entries), chosen)

    def _reopen(self, submission: "Submission") -> None:
        ways = [
            ("read", "Read it"),
            ("diff", "Compare it with the code now"),
            ("back", "Put it into the editor (ctrl+z takes it back)"),
        ]

        def chosen(way: str | None) -> None:
            if way == "read":
                self._quiz.read(past_line(submission), f"```python\n{submission.source}\n```")
            elif way == "diff":
                self._quiz.read("Changes since this version", diff(submission.source, self._editor.text))
            elif way == "back":
                self._replace(submission.source)

        self._quiz.push_screen(Choose("This version", ways), chosen)

    def compare(self) -> None:
        """Show what changed since the last grade."""
        past = [one for one in self._versions() if one.source != self._editor.text]
        if not past:
            self._quiz.say("The code is the same as in every grade.")
            return
        self._quiz.read("Since the last grade", diff(past[-1].source, self._editor.text))

    def reset(self) -> None:
        """Ask, keep the code as a past version, and put the starter into the editor."""
        if self._editor.text == self._exercise.starter:
            self._quiz.say("The code is the starter already.")
            return

        def chosen(way: str | None) -> None:
            if way == "reset" and self._keep(self._editor.text):
                self._replace(self._exercise.starter)

        ways = [("no", "No, go on with this code"), ("reset", "Begin again; f6 brings this code back")]
        self._quiz.push_screen(Choose("Begin again from the starter?", ways), chosen)

    def _keep(self, source: str) -> bool:
        """Store a version without grading it; False, with a notice, if that fails."""
        if any(one.source == source for one in self._versions()):
            return True
        try:
            self._quiz.study.record_verdict(
                self._exercise.slug, {"status": _KEPT, "passed": False}, source_text=source, asked=False
            )
        except QuizError as error:
            self._quiz.say(str(error), bad=True)
            return False
        return True

    def _replace(self, source: str) -> None:
        self._editor.replace(source, (0, 0), self._editor.document.end)
        self._on_replaced()

    def _versions(self) -> "list[Submission]":
        return self._quiz.study.submissions(self._exercise.slug)


def past_line(submission: "Submission") -> str:
    """When a submission was graded, and how it went."""
    when = datetime.fromtimestamp(submission.time / 1000, UTC).astimezone()
    share = f"  {submission.tests_passed} of {submission.tests} tests" if submission.tests else ""
    return f"{when:%Y-%m-%d %H:%M}  {submission.status}{share}"


def diff(before: str, after: str) -> Content:
    """The difference between two texts, or that there is none."""
    return diff_lines(before, after) or Content("No difference.")


def diff_lines(before: str, after: str) -> Content:
    """The lines of a unified diff; empty without a difference."""
    lines = []
    old, new = (escape_controls(text).splitlines() for text in (before, after))
    for line in difflib.unified_diff(old, new, lineterm="", n=3):
        if line.startswith(("---", "+++")):
            continue
        style = {"+": "$success", "-": "$error", "@": "$primary"}.get(line[:1], "$text-muted")
        lines.append(Content.styled(line, style))
    return Content("\n").join(lines)
