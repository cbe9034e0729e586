"""The built-in code editor. Its colors need no compiled grammars, unlike those of Textual."""

import re
from typing import Any, ClassVar

from rich.style import Style as RichStyle
from textual import events
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.widgets import TextArea
from textual.widgets.text_area import Selection, TextAreaTheme

from quizapp.tui.rendering.highlight import STYLES, tokens

INDENT = 4


class CodeEditor(TextArea):
    """A text area for Python, with colors, automatic indentation, comments and search."""

    DEFAULT_CSS = """
    CodeEditor { height: 1fr; border: none; padding: 0; background: $background; }
    CodeEditor:focus { border: none; }
    CodeEditor .text-area--gutter { color: $text-disabled; }
    CodeEditor .text-area--cursor-gutter { color: $text; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+home", "go_to_end('start')", "start of the code", show=False),
        Binding("ctrl+end", "go_to_end('end')", "end of the code", show=False),
        Binding("ctrl+shift+home", "go_to_end('start', True)", "select to the start", show=False),
        Binding("ctrl+shift+end", "go_to_end('end', True)", "select to the end", show=False),
    ]

    def __init__(self, **options: Any) -> None:
        super().__init__(
            "", soft_wrap=True, tab_behavior="indent", show_line_numbers=True, compact=True, **options
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

    def action_go_to_end(self, end: str, select: bool = False) -> None:
        """Go to the start or the end of the code, and select what is between."""
        self.move_cursor((0, 0) if end == "start" else self.document.end, select=select)

    def toggle_comment(self) -> None:
        """Comment the lines of the selection, or of the cursor; if all are comments, uncomment them."""
        first, last = sorted((self.selection.start, self.selection.end))
        bottom = last[0] - (
            last[0] > first[0] and last[1] == 0
        )  # a selection up to a line leaves that line out
        rows = range(first[0], bottom + 1)
        lines = [self.document.get_line(row) for row in rows]
        filled = [line for line in lines if line.strip()]
        if not filled:
            return
        if all(line.lstrip().startswith("#") for line in filled):
            changed = [re.sub(r"^(\s*)# ?", r"\1", line) for line in lines]
        else:
            depth = min(len(line) - len(line.lstrip()) for line in filled)
            changed = [f"{line[:depth]}# {line[depth:]}" if line.strip() else line for line in lines]
        selection = self.selection
        self.replace(
            "\n".join(changed), (rows[0], 0), (rows[-1], len(lines[-1])), maintain_selection_offset=False
        )
        if len(rows) > 1:
            self.selection = Selection((rows[0], 0), (rows[-1], len(changed[-1])))
        else:
            column = max(0, selection.end[1] + len(changed[0]) - len(lines[0]))
            self.move_cursor((rows[0], column))

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
