"""Old answers, marked again without a look at their first marks."""

from textual.content import Content
from textual.widgets import Static

from quizapp.interview import archive
from quizapp.interview.marking.model import WordsMarking
from quizapp.interview.report.model import Report
from quizapp.tui.rendering.markdown import Document
from quizapp.tui.screens.interview.marking import RubricScreen
from quizapp.util.text import plural


class BlindScreen(RubricScreen):
    """Marks an old answer again without showing its marks. Every point must be decided, for comparison."""

    blind = True

    def __init__(self, report: Report, number: int) -> None:
        question = report.question(number)
        marking = question.marking
        assert isinstance(marking, WordsMarking)
        super().__init__([question.asked], [marking.unmarked()])
        self.report, self.number = report, number
        self.held: dict[int, float] = {}

    def show(self) -> None:
        """Show the whole question, since it may be weeks old."""
        super().show()
        self.query_one("#prompt", Static).update(Document(self.item.asked.prompt))

    def _show_head(self) -> None:
        left = Content.styled("Marked again", "bold $primary")
        left = left.append(Content.styled(f"  an answer of {self.report.started[:10]}", "$text-muted"))
        right = f"{len(self.held)} of {len(self.rubric_marking.points)} decided"
        gap = max(1, self.size.width - 2 - left.cell_length - len(right))
        self.query_one("#head", Static).update(left.append(" " * gap).append(right))

    def hold(self, index: int, held: float, quote: str) -> None:
        """Store the decision; it needs no phrase, since it is compared and not counted."""
        del quote
        self.rubric_marking.points[index].held = held
        self.held[index] = held
        self._show_head()

    def action_take(self) -> None:
        """Finish once every point is decided, because an open point would count as not said."""
        left = len(self.rubric_marking.points) - len(self.held)
        if not left:
            self.seen.add(self.at)
        if left:
            self.quiz.say(f"Decide every point: {plural(left, 'point')} left (y, h or n).")
            return
        super().action_take()

    def finish(self) -> None:
        """Store the blind marks beside the first."""
        held = [point.held for point in self.rubric_marking.points]
        agreement = archive.store_remark(self.quiz.study, self.report, self.number, held)
        self.quiz.say(f"{agreement}. The first marks stay.")
        self.quiz.go_back(self)
