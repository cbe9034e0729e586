"""The readings of an incident: what each asks and costs, and what those that were bought gave."""

from collections.abc import Mapping, Sequence
from typing import Any

from textual import events
from textual.content import Content
from textual.message import Message
from textual.style import Style

from quizapp.tui.text import plain
from quizapp.tui.widgets.lines import Lines, hanging


class Readings(Lines):
    """A list with a cursor; ``asking`` shows the outcomes to predict for the reading under it."""

    class Picked(Message):
        """A reading was clicked."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.readings: Sequence[Mapping[str, Any]] = ()
        self.bought: Mapping[str, Mapping[str, Any]] = {}
        self.cursor = 0
        self.asking = False

    def show(self, readings: Sequence[Mapping[str, Any]], bought: Sequence[Mapping[str, Any]]) -> None:
        """Show the readings of an item with its purchases; the cursor stays where it is."""
        self.readings = readings
        self.bought = {row["reading"]: row for row in bought}
        self.cursor = min(self.cursor, max(0, len(readings) - 1))
        self.asking = False
        self.changed()

    @property
    def here(self) -> Mapping[str, Any] | None:
        """The reading under the cursor."""
        return self.readings[self.cursor] if self.cursor < len(self.readings) else None

    def move(self, step: int) -> None:
        """Move the cursor."""
        self.cursor = max(0, min(len(self.readings) - 1, self.cursor + step))
        self.changed()

    def span(self) -> tuple[int, int]:
        """First and last line of the reading under the cursor."""
        width = max(8, self.content_size.width)
        first = sum(len(self._reading(place, width)) for place in range(self.cursor))
        return first, first + len(self._reading(self.cursor, width)) - 1 if self.readings else first

    def lines(self, width: int) -> list[Content]:
        """All readings."""
        return [line for place in range(len(self.readings)) for line in self._reading(place, width)]

    def _reading(self, place: int, width: int) -> list[Content]:
        reading = self.readings[place]
        here = place == self.cursor
        bought = self.bought.get(reading["id"])
        first = Content.styled("▸ " if here else "  ", "$primary bold")
        if bought is not None:
            first = first.append(Content.styled("  read  ", "$success"))
            title = plain(reading["title"], "bold").append(
                Content.styled(f"  {bought['outcome']}", "$primary bold")
            )
            if bought["predicted"] != bought["outcome"]:
                title = title.append(Content.styled(f"  you said {bought['predicted']}", "$text-muted"))
            lines = hanging(first, title, width)
            for row in reading["shows"].splitlines():
                lines += hanging(Content(" " * 10), plain(row), width)
            return lines
        price = f"{reading['seconds']:>3} s" if reading["seconds"] else " free"
        first = first.append(Content.styled(f"{price}   ", "$text-muted"))
        lines = hanging(first, plain(reading["title"], "bold" if here else ""), width)
        if here:
            lines += hanging(Content(" " * 10), plain(reading["asks"], "$text-muted"), width)
            lines += self._outcomes(reading, width) if self.asking else []
        return lines

    @staticmethod
    def _outcomes(reading: Mapping[str, Any], width: int) -> list[Content]:
        lines = [Content(" " * 10).append(Content.styled("How does it end?", "bold $primary"))]
        for number, outcome in enumerate(reading["outcomes"]):
            part = Content.assemble((f"{number + 1} ", "bold $primary"), (f"{outcome}", "bold"))
            link = Style.from_meta({"@click": f"screen.predict({number})"})
            part = part.stylize(link, 0, len(part.plain))
            if lines[-1].cell_length + 3 + part.cell_length > width:
                lines.append(Content(" " * 10).append(part))
            else:
                lines[-1] = lines[-1].append("   ").append(part)
        return lines

    def on_click(self, event: events.Click) -> None:
        """A click goes to a reading."""
        if event.style.meta.get("@click"):
            return
        at = event.y
        for place in range(len(self.readings)):
            height = len(self._reading(place, max(8, self.content_size.width)))
            if at < height:
                self.post_message(self.Picked(place))
                return
            at -= height
