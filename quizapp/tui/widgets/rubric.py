"""The marking of one answer: key points one at a time, misconceptions, follow-ups."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from quizapp.interview.marking.model import FollowUpMark, MisconceptionMark, PointMark, WordsMarking
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.text import plain
from quizapp.tui.widgets.row_list import RowList

POINT, WRONG, FOLLOW_UP = "point", "wrong", "follow-up"
_BOX = {1.0: ("[x] ", "$success bold"), 0.5: ("[½] ", "$warning bold"), 0.0: ("[ ] ", "")}


@dataclass(frozen=True, slots=True)
class RubricLine:
    """One decision: a key point, a misconception or a follow-up, by its index in the marking."""

    kind: str
    index: int


class Rubric(RowList):
    """Shows the decided lines and the next one. Later lines stay hidden, because they would give hints."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.marking: WordsMarking | None = None
        self.typed: Sequence[str] = ()
        self.order: list[RubricLine] = []
        self.cursor = 0
        self.furthest = 0
        self.blind = False

    def show(self, marking: WordsMarking, typed: Sequence[str], *, everything: bool, blind: bool) -> None:
        """Show the first line of a marking, or all lines if ``everything`` was decided before.

        ``typed`` holds the learner's answers to the follow-ups. ``blind`` hides the matching words.
        """
        self.marking, self.typed, self.blind = marking, typed, blind
        self.order = [RubricLine(POINT, i) for i in range(len(marking.points))]
        self.order += [RubricLine(WRONG, i) for i in range(len(marking.misconceptions))]
        self.order += [RubricLine(FOLLOW_UP, i) for i, row in enumerate(marking.follow_ups) if row.asked]
        self.cursor = 0
        self.furthest = len(self.order) if everything else 0
        self.changed()

    @property
    def line(self) -> RubricLine | None:
        """The line to decide; None if there are no lines."""
        return self.order[self.cursor] if self.cursor < len(self.order) else None

    def decided(self) -> None:
        """Go to the next line, and show it."""
        self.cursor = min(len(self.order) - 1, self.cursor + 1)
        self.furthest = max(self.furthest, self.cursor)
        self.changed()

    def count(self) -> int:
        """How many lines are shown so far."""
        return min(len(self.order), self.furthest + 1)

    def footer(self, width: int) -> list[Content]:
        """How many lines are still hidden."""
        del width
        left = len(self.order) - self.furthest - 1
        return [Content.styled(f"      {left} more", "$text-muted")] if left > 0 else []

    def row(self, place: int, width: int) -> list[Content]:
        """A line with its decision."""
        assert self.marking is not None
        line = self.order[place]
        here = Content.styled("▸ " if place == self.cursor else "  ", "$primary bold")
        if line.kind == POINT:
            return self._point(here, self.marking.points[line.index], width)
        if line.kind == WRONG:
            return self._misconception(here, self.marking.misconceptions[line.index], width)
        typed = self.typed[line.index] if line.index < len(self.typed) else ""
        return self._follow_up(here, self.marking.follow_ups[line.index], typed, width)

    def _point(self, here: Content, point: PointMark, width: int) -> list[Content]:
        text, style = _BOX[point.held]
        body = plain(point.text)
        if point.weight == 3:
            body = body.append(Content.styled("  essential", "$warning"))
        elif point.kind != "core":
            body = body.append(Content.styled(f"  {point.kind}", "$text-muted"))
        lines = hanging(here.append(Content.styled(text, style)), body, width)
        words = "" if self.blind else point.quote or ", ".join(point.words[:3])
        if words and point.ticked:
            lines += hanging(Content("      "), plain(f"you said: {words}", "$success"), width)
        elif point.ticked and not point.supported:
            lines += hanging(Content("      "), plain("unsupported: counts half", "$warning"), width)
        return lines

    @staticmethod
    def _misconception(here: Content, row: MisconceptionMark, width: int) -> list[Content]:
        box = Content.styled("[!] ", "$error bold") if row.stated else Content("[ ] ")
        label = Content.styled("A mistake, which costs marks if you said it:  ", "$error")
        body = label.append(plain(f"“{row.wrong}”"))
        lines = hanging(here.append(box), body, width)
        if row.stated:
            lines += hanging(Content("      "), plain(row.right, "$text-muted"), width)
        return lines

    @staticmethod
    def _follow_up(here: Content, row: FollowUpMark, typed: str, width: int) -> list[Content]:
        text, style = _BOX[row.held]
        lines = hanging(here.append(Content.styled(text, style)), plain(row.ask, "bold"), width)
        answer = plain(typed.strip() or "nothing said", "$text-muted italic")
        lines += hanging(Content("      "), answer, width)
        return [*lines, *hanging(Content("      "), plain(row.answer), width)]
