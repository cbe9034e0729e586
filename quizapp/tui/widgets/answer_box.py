"""The optional typed answer of a recall question, and how its evidence is lit after the reveal."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from textual.content import Content, Span
from textual.widgets import TextArea

from quizapp.util.sanitize import escape_controls

if TYPE_CHECKING:
    from quizapp.bank.meaning.text_marking import TextMarking
    from quizapp.bank.model import Question


def mark_question(question: "Question", text: str) -> "TextMarking":
    """Mark a typed answer. The first one that is not empty loads what marking needs."""
    from quizapp.bank.meaning.text_marking import card_of, mark_text  # only for those who type

    return mark_text(card_of(question), text)


def load_marking(question: "Question") -> None:
    """Load what marking an answer to a question needs, so that the answer itself is marked at once."""
    mark_question(question, question.prompt + "\n" + question.say)


def light_evidence(text: str, marking: "TextMarking") -> Content:
    """The typed answer with the sentences that show a key point, or state a misconception, in color."""
    text = escape_controls(text.strip())
    spans = [
        *_spans(text, (found.evidence for found in marking.points), "$success bold"),
        *_spans(text, (found.evidence for found in marking.misconceptions), "$error bold"),
    ]
    return Content(text, spans=spans)


def _spans(text: str, evidence: Iterable[str], style: str) -> list[Span]:
    passages = set(filter(None, map(escape_controls, evidence)))
    starts = ((text.find(passage), passage) for passage in passages)
    return [Span(start, start + len(passage), style) for start, passage in starts if start >= 0]


class AnswerBox(TextArea):
    """A field of a few lines for an answer in the learner's own words.

    With ``leaves_pages`` the keys for a page up and down are left to the screen, which has more to scroll.
    """

    DEFAULT_CSS = """
    AnswerBox { height: 8; border: round $box; background: $background; padding: 0 1; }
    AnswerBox:focus { border: round $primary; }
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("", soft_wrap=True, show_line_numbers=False, **options)
        self.leaves_pages = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys for pages to the screen if it wants them."""
        if self.leaves_pages and action in {"cursor_page_up", "cursor_page_down"}:
            return False
        return super().check_action(action, parameters)
