"""The optional typed answer of a recall question: words that show a key point light up."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.style import Style as RichStyle
from textual.color import Color
from textual.content import Content, Span
from textual.widgets import TextArea
from textual.widgets.text_area import TextAreaTheme

from quizapp.bank.key_terms import words
from quizapp.bank.model import KeyPoint
from quizapp.util.sanitize import escape_controls

if TYPE_CHECKING:
    from quizapp.bank.meaning import PointEvidence

_WORD = re.compile(r"[^\W_]+")


def recognized_points(points: Sequence[KeyPoint], text: str, prompt: str) -> "dict[int, PointEvidence]":
    """The indices of the key points that a typed text shows, with the sentence and the terms that do."""
    if not text.strip():
        return {}
    from quizapp.bank.meaning import find_evidence  # only for those who type

    return find_evidence(points, text, prompt)


def term_spans(text: str, terms: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of every word of ``text`` that belongs to one of the ``terms``."""
    stems = {stem for term in terms for stem in words(term)}
    for match in _WORD.finditer(text):
        if any(stem in stems for stem in words(match[0])):
            yield match.span()


def highlight_terms(text: str, points: Sequence[KeyPoint], prompt: str = "") -> Content:
    """The typed answer with the words that show a key point in color."""
    text = escape_controls(text.strip())
    terms = [term for found in recognized_points(points, text, prompt).values() for term in found.terms]
    return Content(text, spans=[Span(start, end, "$success bold") for start, end in term_spans(text, terms)])


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
        self.points: Sequence[KeyPoint] = ()
        self.prompt = ""
        self.recognized: dict[int, PointEvidence] = {}
        self.leaves_pages = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys for pages to the screen if it wants them."""
        if self.leaves_pages and action in {"cursor_page_up", "cursor_page_down"}:
            return False
        return super().check_action(action, parameters)

    def show(self, points: Sequence[KeyPoint], prompt: str = "") -> None:
        """Empty the box for a question."""
        self.points, self.prompt, self.recognized = points, prompt, {}
        self.load_text("")

    def on_mount(self) -> None:
        """Follow the app's theme."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._retheme())
        self._retheme()

    def _retheme(self) -> None:
        color = Color.parse(self.app.theme_variables["success"]).rich_color
        self.register_theme(
            TextAreaTheme("recognized", syntax_styles={"recognized": RichStyle(color=color, bold=True)})
        )
        self.theme = "recognized"
        self._line_cache.clear()
        self.refresh()

    def _build_highlight_map(self) -> None:
        """Highlight the words that show a key point; Textual calls this after every edit."""
        self._line_cache.clear()
        self._highlights.clear()
        points = getattr(self, "points", ())  # Textual's constructor calls this before ours has set them
        self.recognized = recognized_points(points, self.text, self.prompt) if points else {}
        terms = [term for found in self.recognized.values() for term in found.terms]
        if not terms:
            return
        for row, line in enumerate(self.document.lines):
            for start, end in term_spans(line, terms):
                # Textual counts columns of highlights in UTF-8 bytes.
                self._highlights[row].append(
                    (len(line[:start].encode()), len(line[:end].encode()), "recognized")
                )
