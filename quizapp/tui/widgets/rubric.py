"""The marking of one answer: key points one at a time, misconceptions, follow-ups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from textual.content import Content

from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.text import plain
from quizapp.tui.widgets.row_list import RowList

POINT, WRONG, PROBE = "point", "wrong", "probe"
_BOX = {1.0: ("[x] ", "$success bold"), 0.5: ("[½] ", "$warning bold"), 0.0: ("[ ] ", "")}


@dataclass(frozen=True, slots=True)
class RubricLine:
    """One thing to decide: a key point, a misconception or a follow-up, by its place in the marking."""

    kind: str
    index: int


class Rubric(RowList):
    """Shows what is decided and the one that comes next; what lies beyond stays hidden."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.marking: Mapping[str, Any] = {}
        self.probes: Sequence[str] = ()
        self.order: list[RubricLine] = []
        self.cursor = 0
        self.furthest = 0
        self.blind = False

    def show(
        self, marking: Mapping[str, Any], probes: Sequence[str], *, everything: bool, blind: bool
    ) -> None:
        """Show a marking, from its first line, or all of it where it was decided before."""
        self.marking, self.probes, self.blind = marking, probes, blind
        self.order = [RubricLine(POINT, i) for i in range(len(marking.get("points", ())))]
        self.order += [RubricLine(WRONG, i) for i in range(len(marking.get("misconceptions", ())))]
        asked = [i for i, probe in enumerate(marking.get("probes", ())) if probe["asked"]]
        self.order += [RubricLine(PROBE, i) for i in asked]
        self.cursor = 0
        self.furthest = len(self.order) if everything else 0
        self.changed()

    @property
    def line(self) -> RubricLine | None:
        """What is to be decided."""
        return self.order[self.cursor] if self.cursor < len(self.order) else None

    def decided(self) -> None:
        """Show the next line."""
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
        """A line with what was decided on it."""
        line = self.order[place]
        here = Content.styled("▸ " if place == self.cursor else "  ", "$primary bold")
        body = {POINT: self._point, WRONG: self._wrong, PROBE: self._probe}[line.kind]
        return body(here, line.index, width)

    def _point(self, here: Content, index: int, width: int) -> list[Content]:
        point = self.marking["points"][index]
        text, style = _BOX[float(point["held"])]
        body = plain(point["text"])
        if point["weight"] == 3:
            body = body.append(Content.styled("  must", "$warning"))
        elif point["kind"] != "core":
            body = body.append(Content.styled(f"  {point['kind']}", "$text-muted"))
        lines = hanging(here.append(Content.styled(text, style)), body, width)
        said = "" if self.blind else point["quote"] or ", ".join(point["words"][:3])
        if said and point["ticked"]:
            lines += hanging(Content("      "), plain(f"you said: {said}", "$success"), width)
        elif point["ticked"] and not point["supported"]:
            lines += hanging(Content("      "), plain("unsupported: counts half", "$warning"), width)
        return lines

    def _wrong(self, here: Content, index: int, width: int) -> list[Content]:
        wrong = self.marking["misconceptions"][index]
        box = Content.styled("[!] ", "$error bold") if wrong["stated"] else Content("[ ] ")
        body = Content.styled("Did you say this?  ", "$accent").append(plain(f"“{wrong['wrong']}”"))
        lines = hanging(here.append(box), body, width)
        if wrong["stated"]:
            lines += hanging(Content("      "), plain(wrong["right"], "$text-muted"), width)
        return lines

    def _probe(self, here: Content, index: int, width: int) -> list[Content]:
        probe = self.marking["probes"][index]
        text, style = _BOX[float(probe["held"])]
        lines = hanging(here.append(Content.styled(text, style)), plain(probe["ask"], "bold"), width)
        typed = self.probes[index].strip() if index < len(self.probes) else ""
        lines += hanging(Content("      "), plain(typed or "nothing said", "$text-muted italic"), width)
        return [*lines, *hanging(Content("      "), plain(probe["answer"]), width)]
