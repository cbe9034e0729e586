"""The marking of one answer: what the program proposes and the learner decides, as it is stored."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from quizapp.incidents.diagnosis import DiagnosisMark
from quizapp.interview.code_review.model import JudgedReview
from quizapp.interview.marking.text_evidence import says_quote


class MarkedBy(StrEnum):
    """Who has the last word on a mark."""

    SELF = "self"
    MACHINE = "machine"


class PointMark(msgspec.Struct):
    """A key point and how far the answer makes it.

    ``kind`` is core, trade-off or production; in an incident it is the section of the answer. ``words`` hold
    the learner's sentence that shows the point; in older documents, single words. ``quote`` is the phrase
    that the learner named as proof. ``held`` is the credit: 0, 0.5 or 1. ``verify`` exists only in incidents
    and marks a point about verifying the fix.
    """

    text: str
    weight: int
    kind: str
    proposed: bool = False
    words: list[str] = []
    ticked: bool = False
    half: bool = False
    quote: str = ""
    supported: bool = False
    held: float = 0.0
    verify: bool | msgspec.UnsetType = msgspec.UNSET


class MisconceptionMark(msgspec.Struct):
    """A misconception and whether the answer states it."""

    wrong: str
    right: str
    proposed: bool
    stated: bool


class BeatMark(msgspec.Struct):
    """A part of a well-built answer and whether the answer has it."""

    name: str
    check: str
    proposed: bool
    held: bool


class FollowUpMark(msgspec.Struct):
    """A follow-up question and the credit for its answer: 0, 0.5 or 1."""

    ask: str
    answer: str
    asked: bool
    proposed: float
    held: float


class Marking(msgspec.Struct, kw_only=True):
    """The part that all markings share. ``empty`` is True if the answer holds nothing that could count."""

    by: MarkedBy
    empty: bool

    @classmethod
    def from_json(cls, kind: str, data: Mapping[str, Any]) -> "Marking":
        """Read the stored marking of a question of that kind."""
        return msgspec.convert(data, TYPE_BY_KIND.get(kind, MachineMarking))

    def as_json(self) -> dict[str, Any]:
        """Return the stored form."""
        stored: dict[str, Any] = msgspec.to_builtins(self)
        return stored


class MachineMarking(Marking, kw_only=True):
    """The marking of a choice, a number, an order or a cloze. ``note`` is shown beside the mark."""

    right_parts: int
    parts: int
    note: str


class WordsMarking(Marking, kw_only=True, rename={"follow_ups": "probes"}):
    """The marking of an answer in words. The learner decides on every line."""

    points: list[PointMark]
    misconceptions: list[MisconceptionMark]
    beats: list[BeatMark]
    follow_ups: list[FollowUpMark]
    spoken: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether the answer was spoken, so that nothing is written that could support a point."""

    def needs_phrase(self, index: int) -> bool:
        """Whether the learner must name a supporting phrase to tick this point."""
        return not self.points[index].proposed and not self.empty and self.spoken is not True

    def tick(self, index: int, typed: str, *, ticked: bool, half: bool = False, quote: str = "") -> None:
        """Tick or untick a key point.

        A tick that neither matching words nor a phrase from the ``typed`` answer supports counts half. A
        spoken answer is marked from memory, so that its ticks count in full.
        """
        point = self.points[index]
        quote = quote.strip()
        point.ticked = ticked
        point.half = half and ticked
        point.quote = quote if ticked and says_quote(quote, typed) else ""
        point.supported = bool(ticked and (point.proposed or point.quote))
        if not ticked or self.empty:
            point.held = 0.0
        else:
            believed = point.supported or self.spoken is True
            point.held = 1.0 if believed and not point.half else 0.5

    def unmarked(self) -> "WordsMarking":
        """Return a copy with every decision on the key points reset, to mark the answer again blind."""
        points = [PointMark(point.text, point.weight, point.kind) for point in self.points]
        return WordsMarking(
            by=self.by, empty=False, points=points, misconceptions=[], beats=self.beats, follow_ups=[]
        )

    def counted_points(self) -> Sequence[PointMark]:
        """The key points as they count. In an empty answer none of them is held."""
        if not self.empty:
            return self.points
        return [msgspec.structs.replace(point, held=0.0) for point in self.points]


class CodingMarking(WordsMarking, kw_only=True):
    """The marking of code, by the last verdict within the time, and of its explanation.

    ``behaviours`` counts the behaviors under test. ``checked`` is True if the learner ran a check of their
    own before the first submission.
    """

    behaviours: int
    behaviours_passed: int
    status: str
    checked: bool
    failed_submissions: int


class EstimateMarking(WordsMarking, kw_only=True):
    """The marking of an estimate. The machine marks the ``number``, the learner the working.

    ``number`` is 1 within 10 % of the right one, 0.5 within a factor of 1.5, else 0. ``note`` says so.
    """

    number: float
    note: str


class IncidentMarking(WordsMarking, kw_only=True):
    """The marking of an incident. The machine marks the diagnosis, the learner the answer in words."""

    diagnosis: DiagnosisMark


class ReviewMarking(WordsMarking, kw_only=True):
    """The marking of a code review. Its points are the consequences of the faults.

    The rest follows from the answer and from what the judge found out, which is None until it ran.
    """

    judged: JudgedReview | None = None


TYPE_BY_KIND: Mapping[str, type[Marking]] = {
    "recall": WordsMarking,
    "coding": CodingMarking,
    "incident": IncidentMarking,
    "estimate": EstimateMarking,
    "review": ReviewMarking,
}
