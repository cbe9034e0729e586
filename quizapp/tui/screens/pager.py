"""Longer texts over a screen: card facts, a diff, a solution, a past submission."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from quizapp.tui import actions, terminal
from quizapp.tui.rendering.layout import fold_code
from quizapp.tui.rendering.markdown import document
from quizapp.tui.rendering.text import plain
from quizapp.tui.screens.base import Dialog
from quizapp.tui.widgets.key_bar import KeyBar
from quizapp.tui.widgets.lines import Lines
from quizapp.util.sanitize import one_line


class _Code(Lines):
    """Code or a diff, whose long lines are broken as code and not as prose."""

    def __init__(self, source: Content) -> None:
        super().__init__()
        self._source = source

    def lines(self, width: int) -> list[Content]:
        """Every line, the long ones in pieces."""
        lines = self._source.split("\n", allow_blank=True)
        return [piece for line in lines for piece in fold_code(line, width)]


class Pager(Dialog):
    """Shows a text: Markdown, prepared content, or plain."""

    place = "pager"
    BINDINGS: ClassVar[list[object]] = actions.bindings("pager", "leave", "help", "next_theme")  # type: ignore[assignment]
    CSS_PATH = "styles/pager.tcss"

    def __init__(self, title: str, source: str | Content, *, markdown: bool = True) -> None:
        super().__init__()
        self._title = title
        self._source = source
        self._markdown = markdown

    def compose(self) -> ComposeResult:
        """The text in a scroll."""
        code = isinstance(self._source, Content) or not self._markdown
        with Vertical(classes="box code" if code else "box") as box:
            box.border_title = one_line(self._title)
            with VerticalScroll(can_focus=False):
                if isinstance(self._source, Content):
                    yield _Code(self._source)
                elif self._markdown:
                    yield Static(document(self._source), markup=False)
                else:
                    yield _Code(plain(self._source))
            yield KeyBar()

    def on_resize(self) -> None:
        """Update the key bar after layout, because page keys are offered only if the text does not fit."""
        self.call_after_refresh(self.refresh_keys)

    def offers(self, act: actions.Act) -> bool:
        """Offer page keys only if the text is longer than the box."""
        return not act.action.startswith("page") or self.scroller().max_scroll_y > 0

    def action_copy(self) -> None:
        """Copy the text."""
        source = self._source.plain if isinstance(self._source, Content) else self._source
        terminal.copy_text(self.quiz, source)
