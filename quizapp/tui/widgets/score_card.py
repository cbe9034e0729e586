"""A scorecard: the parts of a report, one below the other."""

from collections.abc import Callable, Sequence

from textual.content import Content

from quizapp.interview.report.model import Report
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.text import link, plain
from quizapp.tui.widgets.lines import Lines

LEVEL_COLORS = {1: "$error", 2: "$warning", 3: "$primary", 4: "$success"}
"""Colors by the level of a mark; see `level_of`."""
CardPart = Callable[[Report, int], list[Content]]
"""Lays out one part of a report at a width; returns no lines if the report lacks that part."""


class ScoreCard(Lines):
    """Shows the given ``parts`` of a report; an interview has other parts than a single broken run."""

    def __init__(self, report: Report, parts: Sequence[CardPart], *, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.report = report
        self.parts = parts

    def lines(self, width: int) -> list[Content]:
        """All parts, one below the other."""
        lines: list[Content] = []
        for part in self.parts:
            if shown := part(self.report, width):
                lines += [*shown, Content("")]
        return lines[:-1]


def next_steps(report: Report, width: int) -> list[Content]:
    """What to do next: the key that opens each step, and its command."""
    lines: list[Content] = []
    for number, step in enumerate(report.next_steps, 1):
        key = Content.styled(f"{number}  ", "bold $primary")
        text = plain(step.what).append(Content.styled(f"  {step.command}", "$text-muted"))
        lines += [link(line, f"screen.step({number - 1})") for line in hanging(key, text, width)]
    return lines
