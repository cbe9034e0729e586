"""The readings of an incident with their prices, and the results of those that were bought."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from textual.content import Content
from textual.style import Style

from quizapp.incidents.curves import curve_in
from quizapp.incidents.diagnosis import BoughtReading, OfferedReading
from quizapp.tui.rendering.curve import curve_lines
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.text import plain
from quizapp.tui.widgets.row_list import RowList


class Readings(RowList):
    """A list with a cursor. While ``asking``, the reading under the cursor shows the outcomes to predict.

    Rows that are curves are drawn; with ``numbers`` their numbers stand below.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.readings: Sequence[OfferedReading] = ()
        self.bought: dict[str, BoughtReading] = {}
        self.excluded: Mapping[str, Sequence[str]] = {}
        self.asking = False
        self.numbers = False

    def show(
        self,
        readings: Sequence[OfferedReading],
        bought: Sequence[BoughtReading],
        excluded: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """Show the readings and those that were bought; the cursor stays where it is.

        ``excluded`` holds, by reading, the causes that it excludes, where that is shown.
        """
        self.excluded = excluded
        self.readings = readings
        self.bought = {row.reading: row for row in bought}
        self.keep_cursor()
        self.asking = False
        self.changed()

    @property
    def here(self) -> OfferedReading | None:
        """The reading under the cursor."""
        return self.readings[self.cursor] if self.cursor < len(self.readings) else None

    def count(self) -> int:
        """How many readings there are."""
        return len(self.readings)

    def row(self, place: int, width: int) -> list[Content]:
        """A reading with its price, or with its result if it was bought."""
        reading = self.readings[place]
        here = place == self.cursor
        bought = self.bought.get(reading.id)
        first = Content.styled("▸ " if here else "  ", "$primary bold")
        if bought is not None:
            first = first.append(Content.styled("  read  ", "$success"))
            title = plain(reading.title, "bold").append(
                Content.styled(f"  {bought.outcome}", "$primary bold")
            )
            if bought.predicted != bought.outcome:
                title = title.append(Content.styled(f"  you predicted {bought.predicted}", "$text-muted"))
            lines = hanging(first, title, width)
            for row in reading.shows.splitlines():
                curve = curve_in(row)
                if curve is not None:
                    lines += [Content(" " * 10).append(line) for line in curve_lines(curve, width - 10)]
                beside = row if curve is None or self.numbers else curve.rest
                for line in _packed(beside, width - 10) if beside else ():
                    lines += hanging(Content(" " * 10), plain(line), width)
            return [*lines, *self._excluded_lines(reading.id, width)]
        price = f"{reading.seconds:>3} s" if reading.seconds else " free"
        first = first.append(Content.styled(f"{price}   ", "$text-muted"))
        lines = hanging(first, plain(reading.title, "bold" if here else ""), width)
        if here:
            lines += hanging(Content(" " * 10), plain(reading.asks, "$text-muted"), width)
            lines += self._outcomes(reading, width) if self.asking else []
        return lines

    def _excluded_lines(self, name: str, width: int) -> list[Content]:
        if name not in self.excluded:
            return []
        causes = self.excluded[name]
        text = f"It excludes: {'; '.join(causes)}." if causes else "It excludes none of the causes offered."
        return hanging(Content(" " * 10), plain(text, "$success"), width)

    @staticmethod
    def _outcomes(reading: OfferedReading, width: int) -> list[Content]:
        lines = [Content(" " * 10).append(Content.styled("How does it end?", "bold $primary"))]
        for number, outcome in enumerate(reading.outcomes):
            part = Content.assemble((f"{number + 1} ", "bold $primary"), (f"{outcome}", "bold"))
            link = Style.from_meta({"@click": f"screen.predict({number})"})
            part = part.stylize(link, 0, len(part.plain))
            if lines[-1].cell_length + 3 + part.cell_length > width:
                lines.append(Content(" " * 10).append(part))
            else:
                lines[-1] = lines[-1].append("   ").append(part)
        return lines


def _packed(row: str, width: int) -> list[str]:
    """Wrap a row of pieces separated by dots, breaking it only between pieces."""
    lines: list[str] = []
    for piece in row.split(" · "):
        joined = f"{lines[-1]} · {piece}" if lines else piece
        if lines and len(joined) > width:
            lines.append(piece)
        else:
            lines[-1:] = [joined]
    return lines
