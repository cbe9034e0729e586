"""The panes of a code review: the code shown, and the fields for words, test and fix."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.widgets import TextArea

from quizapp.interview.code_review.model import ReviewAnswer
from quizapp.interview.code_review.review_steps import ReviewStep, ReviewSteps
from quizapp.tui.actions import Phase
from quizapp.tui.widgets.answer_box import AnswerBox
from quizapp.tui.widgets.code_editor import CodeEditor
from quizapp.tui.widgets.reviewed_code import ReviewedCode

PANE_OF_STEP = {ReviewStep.SAY: "say", ReviewStep.PROVE: "prove", ReviewStep.FIX: "fix"}
STEP_OF_PANE = {pane: step for step, pane in PANE_OF_STEP.items()} | {"code": ReviewStep.POINT}
PHASES = {
    ReviewStep.DECIDE: Phase.DECIDE,
    ReviewStep.CONFIDENCE: Phase.CONFIDENCE,
    ReviewStep.POINT: Phase.POINT,
    ReviewStep.JUDGE: Phase.JUDGING,
    ReviewStep.REVEAL: Phase.REVEAL,
}
_FIELDS = {"say": "#words", "prove": "#check", "fix": "#fixed"}


class ReviewPanes(Container):
    """One pane is current; on a wide terminal the code stays beside it."""

    _pointed: Sequence[int] = ()

    def compose(self) -> ComposeResult:
        """The code, then a pane per field."""
        with VerticalScroll(id="code", classes="pane current", can_focus=False) as code:
            code.border_title = "Code"
            yield ReviewedCode(id="shown")
        with Vertical(id="say", classes="pane") as say:
            say.border_title = "What goes wrong"
            yield AnswerBox(id="words")
        with Vertical(id="prove", classes="pane") as prove:
            prove.border_title = "Test"
            yield CodeEditor(id="check")
        with Vertical(id="fix", classes="pane") as fix:
            fix.border_title = "Fix"
            yield CodeEditor(id="fixed")

    @property
    def shown(self) -> ReviewedCode:
        """The code shown."""
        return self.query_one("#shown", ReviewedCode)

    @property
    def view(self) -> VerticalScroll:
        """What scrolls the code."""
        return self.query_one("#code", VerticalScroll)

    def load(self, answer: ReviewAnswer) -> None:
        """Fill the fields with what was typed before."""
        for field, text in (("#words", answer.words), ("#check", answer.check), ("#fixed", answer.fixed)):
            self.query_one(field, TextArea).load_text(text)

    def texts(self) -> tuple[str, str, str]:
        """What the fields hold: the words, the test and the fix."""
        words, check, fixed = (self.query_one(field, TextArea).text for field in _FIELDS.values())
        return words, check, fixed

    def show_code(self, at: ReviewSteps) -> None:
        """Show the code, with a cursor while the learner points."""
        pointing = at.step == ReviewStep.POINT
        self._pointed = at.answer.lines
        self.shown.show(at.review.shown, at.answer.lines, has_cursor=pointing)
        if pointing:
            self._bring_cursor_into_view()

    def show_pane(self, pane: str) -> None:
        """Make a pane the current one, and focus its field."""
        for each in self.query(".pane"):
            each.set_class(each.id == pane, "current")
        if pane == "fix":
            self._start_at_the_fault()
        if pane != "code":
            # Beside another pane the code is narrower, so that its lines lie lower.
            self.call_after_refresh(self._bring_fault_into_view)
        field = _FIELDS.get(pane)
        self.screen.set_focus(self.query_one(field, TextArea) if field else None)

    def _start_at_the_fault(self) -> None:
        """Put the cursor of a fix that has just been opened at the first line pointed at."""
        editor = self.query_one("#fixed", CodeEditor)
        if self._pointed and editor.cursor_location == (0, 0):
            editor.move_cursor((self._pointed[0] - 1, 0), center=True)

    def _bring_fault_into_view(self) -> None:
        """Show the first line pointed at, where the code stays beside the current pane."""
        view, width = self.view, self.shown.content_size.width
        if not (self._pointed and width and view.size.height):
            return
        row = self.shown.rows_of(self._pointed[0], width).start
        if not view.scroll_y <= row < view.scroll_y + view.size.height:
            view.scroll_to(y=row - view.size.height // 2, animate=False)

    def _bring_cursor_into_view(self) -> None:
        """Move the cursor to the first line in view if it is above or below, as after reading on.

        A line that nobody sees must not be pointed at, since a wrong one costs marks.
        """
        view, shown = self.view, self.shown
        if not view.size.height or not shown.content_size.width:
            return
        rows = range(round(view.scroll_y), round(view.scroll_y) + view.size.height)
        if shown.rows_of(shown.cursor, shown.content_size.width).start not in rows:
            shown.move(shown.first_line_from(rows.start, shown.content_size.width) - shown.cursor)

    def move(self, step: int) -> None:
        """Move the cursor in the code, and keep it in view."""
        self.shown.move(step)
        view = self.view
        rows = self.shown.rows_of(self.shown.cursor, self.shown.content_size.width)
        top, height = round(view.scroll_y), view.size.height
        if rows.start < top:
            view.scroll_to(y=rows.start, animate=False)
        elif rows.stop > top + height:
            view.scroll_to(y=rows.stop - height, animate=False)

    def move_page(self, direction: int) -> None:
        """Move the cursor by a page."""
        self.move(direction * max(1, self.view.size.height - 2))
