"""The built-in code editor. Its colors need no compiled grammars, unlike those of Textual."""

import re
from typing import Any

from rich.style import Style as RichStyle
from textual import events
from textual.color import Color
from textual.widgets import TextArea
from textual.widgets.text_area import TextAreaTheme

from quizapp.tui.rendering.highlight import STYLES, tokens

INDENT = 4


class CodeEditor(TextArea):
    """A text area for Python, with colors, automatic indentation and search."""

    DEFAULT_CSS = """
    CodeEditor { height: 1fr; border: none; padding: 0; background: $background; }
    CodeEditor:focus { border: none; }
    CodeEditor .text-area--gutter { color: $text-disabled; }
    CodeEditor .text-area--cursor-gutter { color: $text; }
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(
            "", soft_wrap=False, tab_behavior="indent", show_line_numbers=True, compact=True, **options
        )
        self.indent_width = INDENT

    def on_mount(self) -> None:
        """Follow the app's theme."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._retheme())
        self._retheme()

    def _retheme(self) -> None:
        variables = self.app.theme_variables
        styles = {kind: _rich(style, variables) for kind, style in STYLES.items()}
        name = f"quizapp-{self.app.theme}"
        self.register_theme(TextAreaTheme(name, syntax_styles=styles))
        self.theme = name
        self._line_cache.clear()
        self.refresh()

    def _build_highlight_map(self) -> None:
        """Color the source; Textual calls this after every edit."""
        self._line_cache.clear()
        highlights = self._highlights
        highlights.clear()
        source = self.text
        starts = [0]  # the offset at which each line begins
        for line in source.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        row = 0
        for start, end, kind in tokens(source):
            while starts[row + 1] <= start:
                row += 1
            # Textual wants highlights per line, in UTF-8 bytes; a token such as a docstring may span lines.
            at, first = row, start
            while first < end:
                stop = min(end, starts[at + 1] - 1)
                head = source[starts[at] : first]
                body = source[first:stop]
                low = len(head.encode())
                highlights[at].append((low, low + len(body.encode()), kind))
                at += 1
                first = starts[at]

    async def _on_key(self, event: events.Key) -> None:
        """On enter, keep the indentation, and indent one level more after a colon."""
        if event.key == "enter" and not self.read_only:
            row, column = self.cursor_location
            before = self.document.get_line(row)[:column]
            indent = before[: len(before) - len(before.lstrip())]
            if before.rstrip().endswith(":"):
                indent += " " * INDENT
            event.stop()
            event.prevent_default()
            self.replace("\n" + indent, *self.selection)
            return
        await super()._on_key(event)

    def action_delete_left(self) -> None:
        """Delete a whole level if the cursor is in the indentation."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        if self.selection.is_empty and before and not before.strip() and column % INDENT == 0:
            self.delete((row, column - INDENT), (row, column))
            return
        super().action_delete_left()

    def find(self, words: str) -> bool:
        """Select the next match of ``words``, ignoring case and wrapping at the end; False without one."""
        if not words:
            return False
        source = self.text
        lines = source.split("\n")
        row, column = self.selection.end
        offset = sum(len(line) + 1 for line in lines[:row]) + column
        pattern = re.compile(re.escape(words), re.IGNORECASE)
        match = pattern.search(source, offset) or pattern.search(source)
        if match is None:
            return False
        start, end = (self._location(source, at) for at in match.span())
        self.move_cursor(start)
        self.move_cursor(end, select=True, center=True)
        return True

    @staticmethod
    def _location(source: str, offset: int) -> tuple[int, int]:
        head = source[:offset]
        return head.count("\n"), offset - (head.rfind("\n") + 1)


def _rich(style: str, variables: dict[str, str]) -> RichStyle:
    """Convert a style of the highlighter to Rich's, with the theme's colors."""
    color = None
    words = style.split()
    for word in words:
        if word.startswith("$"):
            value = variables.get(word[1:], "")
            if value.startswith("auto"):  # Textual derives such a color from the background; Rich cannot
                value = variables["foreground"]
            color = Color.parse(value.split()[0]).rich_color if value else None
    dim = "$text-muted" in words
    return RichStyle(
        color=color, bold="bold" in words or None, italic="italic" in words or None, dim=dim or None
    )
