"""The key points of a recall question, to be ticked."""

from collections.abc import Sequence
from textwrap import shorten
from typing import Any

from textual.content import Content
from textual.message import Message

from quizapp.bank.model import KeyPoint, musts
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.markdown import phrase
from quizapp.tui.rendering.text import plain
from quizapp.tui.widgets.row_list import RowList
from quizapp.util.sanitize import escape_controls

SENTENCE_WIDTH = 140
"""Characters of the learner's sentence that are quoted below a point."""


class KeyPoints(RowList):
    """Key points ticked by key or click. A recognized point quotes the typed sentence that shows it."""

    class Ticked(Message):
        """A tick changed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.points: Sequence[KeyPoint] = ()
        self.ticks: set[int] = set()
        self.musts: Sequence[KeyPoint] = ()
        self.recognized: dict[int, str] = {}
        self.asks = False
        self.second_voice: dict[int, str] = {}

    def show(self, points: Sequence[KeyPoint], recognized: dict[int, str], *, asks: bool) -> None:
        """Show points; those recognized in a sentence of the typed answer start ticked.

        The others are asked about with ``asks``, since the marking may have missed them.
        """
        self.points, self.musts = points, musts(points)
        self.recognized, self.asks = recognized, asks
        self.ticks = set(recognized)
        self.second_voice = {}
        self.cursor = next((i for i in range(len(points)) if i not in recognized), 0)
        self.changed()

    def show_second_voice(self, place: int, quote: str) -> None:
        """Quote the words in which a language model finds a point. That ticks nothing."""
        self.second_voice[place] = quote
        self.changed()

    def count(self) -> int:
        """How many points there are."""
        return len(self.points)

    def row(self, place: int, width: int) -> list[Content]:
        """A point with its box and weight, and the words that show it."""
        point = self.points[place]
        ticked, here = place in self.ticks, place == self.cursor
        box = Content.assemble(
            ("▸ " if here else "  ", "$primary bold"),
            ("[x] " if ticked else "[ ] ", "$success bold" if ticked else ""),
        )
        body = phrase(point.text, "bold" if here else "")
        if point in self.musts:
            body = body.append(Content.styled("  essential", "$warning"))
        elif point.kind != "core":
            body = body.append(Content.styled(f"  {point.kind}", "$text-muted"))
        lines = hanging(box, body, width)
        if place in self.recognized:
            sentence = shorten(escape_controls(self.recognized[place]), SENTENCE_WIDTH)
            lines += hanging(Content("      "), plain(f"you said: {sentence}", "$success"), width)
        elif self.asks and not ticked:
            lines += hanging(Content("      "), plain("Did you say this?", "$text-muted"), width)
        if place in self.second_voice:
            quote = shorten(escape_controls(self.second_voice[place]), SENTENCE_WIDTH)
            said = plain(f"second voice: you said “{quote}”", "$text-muted")
            lines += hanging(Content("      "), said, width)
        return lines

    def toggle(self, index: int | None = None) -> None:
        """Tick or untick a point; without ``index``, the one under the cursor, then go to the next."""
        at = self.cursor if index is None else index
        self.ticks ^= {at}
        self.cursor = min(len(self.points) - 1, at + 1) if index is None else at
        self.changed()
        self.post_message(self.Ticked())

    def toggle_all(self) -> None:
        """Tick all points, or untick them if all are ticked."""
        everything = set(range(len(self.points)))
        self.ticks = set() if self.ticks == everything else everything
        self.changed()
        self.post_message(self.Ticked())

    def picked(self, place: int) -> None:
        """A click on a point ticks it."""
        self.toggle(place)
