"""The steps of an order question, moved by keys or dragged."""

from collections.abc import Sequence
from typing import Any

from textual import events
from textual.content import Content

from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.markdown import phrase
from quizapp.tui.widgets.lines import Lines


class Order(Lines):
    """``sequence`` holds indices into the right order, as the person has them now."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.steps: Sequence[str] = ()
        self.sequence: list[int] = []
        self.cursor = 0
        self.revealed = False
        self._dragging = False

    def show(self, steps: Sequence[str], order: Sequence[int]) -> None:
        """Show steps in a display order."""
        self.steps, self.sequence = steps, list(order)
        self.cursor, self.revealed, self._dragging = 0, False, False
        self.changed()

    def reveal(self) -> None:
        """Show the right order with what was misplaced."""
        self.revealed = True
        self.changed()

    def move(self, step: int) -> None:
        """Move the cursor."""
        if self.sequence:
            self.cursor = max(0, min(len(self.sequence) - 1, self.cursor + step))
            self.changed()

    def lift(self, step: int) -> None:
        """Move the step under the cursor."""
        target = self.cursor + step
        if not self.revealed and 0 <= target < len(self.sequence):
            here = self.sequence
            here[self.cursor], here[target] = here[target], here[self.cursor]
            self.cursor = target
            self.changed()

    def lines(self, width: int) -> list[Content]:
        """The person's order; once revealed the right one, with where each step was put."""
        if self.revealed:
            return self._revealed(width)
        lines: list[Content] = []
        for position in range(len(self.sequence)):
            lines += self._step(position, width)
        return lines

    def _step(self, position: int, width: int) -> list[Content]:
        here = position == self.cursor
        mark = "↕ " if here and self._dragging else "▸ " if here else "  "
        first = Content.assemble((mark, "$primary bold"), (f"{position + 1}  ", "$primary bold"))
        return hanging(first, phrase(self.steps[self.sequence[position]], "bold" if here else ""), width)

    def _revealed(self, width: int) -> list[Content]:
        lines: list[Content] = []
        for right, text in enumerate(self.steps):
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
        """Whether the step stands right after its forerunner (the first: at the start)."""
        step = self.sequence[put]
        return put == 0 if step == 0 else put > 0 and self.sequence[put - 1] == step - 1

    def _position_at(self, line: int) -> int:
        for position in range(len(self.sequence)):
            line -= len(self._step(position, max(8, self.content_size.width)))
            if line < 0:
                return position
        return len(self.sequence) - 1

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold of a step."""
        if not self.revealed and self.sequence:
            self.cursor = self._position_at(event.y)
            self._dragging = True
            self.capture_mouse()
            self.changed()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag it; the others make room."""
        if not self._dragging:
            return
        target = self._position_at(max(0, event.y))
        while target != self.cursor:
            before = self.cursor
            self.lift(1 if target > self.cursor else -1)
            if self.cursor == before:
                return

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Let go."""
        del event
        if self._dragging:
            self._dragging = False
            self.release_mouse()
            self.changed()


def _ordinal(number: int) -> str:
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(number, f"{number}th")
