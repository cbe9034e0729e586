"""The steps of an order question, moved by keys or dragged."""

from collections.abc import Sequence
from typing import Any

from textual import events
from textual.content import Content

from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.markdown import phrase
from quizapp.tui.widgets.row_list import RowList


class Order(RowList):
    """Steps that the learner puts in order. ``sequence`` holds indices into the right order."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.steps: Sequence[str] = ()
        self.sequence: list[int] = []
        self.revealed = False
        self.answered = True
        self._dragging = False

    def show(self, steps: Sequence[str], order: Sequence[int]) -> None:
        """Show steps; ``order`` holds their indices in display order."""
        self.steps, self.sequence = steps, list(order)
        self.cursor, self.revealed, self._dragging = 0, False, False
        self.changed()

    def reveal(self, *, answered: bool = True) -> None:
        """Show the right order; if the steps were ``answered``, also which of them were misplaced."""
        self.revealed, self.answered = True, answered
        self.changed()

    def lift(self, step: int) -> None:
        """Move the step under the cursor by ``step`` places."""
        target = self.cursor + step
        if not self.revealed and 0 <= target < len(self.sequence):
            here = self.sequence
            here[self.cursor], here[target] = here[target], here[self.cursor]
            self.cursor = target
            self.changed()

    def lines(self, width: int) -> list[Content]:
        """The learner's order; once revealed, the right order with the learner's place of each step."""
        return self._revealed(width) if self.revealed else super().lines(width)

    def count(self) -> int:
        """How many steps there are."""
        return len(self.sequence)

    def row(self, place: int, width: int) -> list[Content]:
        """A step at its current place."""
        here = place == self.cursor
        mark = "↕ " if here and self._dragging else "▸ " if here else "  "
        first = Content.assemble((mark, "$primary bold"), (f"{place + 1}  ", "$primary bold"))
        return hanging(first, phrase(self.steps[self.sequence[place]], "bold" if here else ""), width)

    def _revealed(self, width: int) -> list[Content]:
        lines: list[Content] = []
        for right, text in enumerate(self.steps):
            if not self.answered:
                lines += hanging(Content.styled(f"{right + 1}  ", "$primary bold"), phrase(text), width)
                continue
            put = self.sequence.index(right)
            fine = self._neighbours_fit(put)
            first = Content.assemble(
                ("✓ " if fine else "✗ ", "$success bold" if fine else "$error bold"),
                (f"{right + 1}  ", "$primary bold"),
            )
            body = phrase(text)
            if put != right:
                after = f", rightly after {right}" if fine else ""
                body = body.append(Content.styled(f"  yours: {_ordinal(put + 1)}{after}", "$text-muted"))
            lines += hanging(first, body, width)
        return lines

    def _neighbours_fit(self, put: int) -> bool:
        """Whether the step follows its predecessor, or for the first step, comes first."""
        step = self.sequence[put]
        return put == 0 if step == 0 else put > 0 and self.sequence[put - 1] == step - 1

    def picked(self, place: int) -> None:
        """Do nothing: the mouse events below have moved the cursor already."""

    def _place_at(self, line: int) -> int:
        place = self.row_at(line)
        return len(self.sequence) - 1 if place is None else place

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Start dragging a step."""
        if not self.revealed and self.sequence:
            self.cursor = self._place_at(event.y)
            self._dragging = True
            self.capture_mouse()
            self.changed()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag the step; the others make room."""
        if not self._dragging:
            return
        target = self._place_at(max(0, event.y))
        while target != self.cursor:
            before = self.cursor
            self.lift(1 if target > self.cursor else -1)
            if self.cursor == before:
                return

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Drop the step."""
        del event
        if self._dragging:
            self._dragging = False
            self.release_mouse()
            self.changed()


def _ordinal(number: int) -> str:
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(number, f"{number}th")
