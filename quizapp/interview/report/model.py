"""The report of an interview as typed data, and its JSON form ``quizapp.mock/1`` or ``quizapp.mock/2``.

The JSON form is a contract: the store keeps it, ``quizapp mock report --format json`` prints it, and the
schema in ``docs/schemas`` is generated from the types below. In JSON the fields of ``MarkedQuestion.asked``
lie in the same object as its marking and marks, so loading and dumping convert between the two shapes.

msgspec costs a few milliseconds to import. Nothing that starts the program or paints the home screen imports
this module.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from quizapp.errors import QuizError
from quizapp.interview import RoundName
from quizapp.interview.blueprint import Beat, InterviewForm, form_of_role
from quizapp.interview.marking.model import (
    CodingMarking,
    FollowUpMark,
    Marking,
    MisconceptionMark,
    PointMark,
    WordsMarking,
)
from quizapp.interview.session.flow import ClockEvent, Count, Milliseconds, PhaseTime
from quizapp.interview.session.question import IN_WORDS, InterviewQuestion

SCHEMA, SCHEMA_2 = "quizapp.mock/1", "quizapp.mock/2"
"""The schemas of reports by the rules of version 1 and 2."""

# These limits appear only in the published schema. A stored report that breaks one must still open.
Percent = Annotated[int, Meta(extra_json_schema={"minimum": 0, "maximum": 100})]
Held = Annotated[float, Meta(extra_json_schema={"enum": [0, 0.5, 1]})]


class Band(StrEnum):
    """How a total compares with the pass mark of the role."""

    STRONG = "strong"
    PASS = "pass"  # noqa: S105 - a band, not a password
    BELOW = "below"


class ClockLog(Struct):
    """How long the interview took, and what happened to its clock."""

    elapsed_ms: Milliseconds
    events: list[ClockEvent]


class MarkTerm(Struct, frozen=True):
    """One term of a mark in decimals, for reading. The mark follows from the question's other fields."""

    term: str
    dimension: str
    weight: float
    share: float
    points: float
    how: str


class Marks(Struct):
    """The mark of a question with its terms. ``reached`` is false if the learner never saw it."""

    total: Percent
    reached: bool
    terms: list[MarkTerm]


class QuestionEffect(Struct, omit_defaults=True):
    """The effect of a question on the schedule: a review with ``rating`` and ``due``, or none.

    ``why`` gives the reason. ``caps`` are upper limits in days for the next intervals. ``linked`` cards come
    first tomorrow.
    """

    why: str
    rating: Annotated[str | None, Meta(extra_json_schema={"enum": ["Again", "Hard", "Good", "Easy", None]})]
    due: str | None
    caps: list[int]
    linked: list[str] | None = None


class MarkedQuestion(Struct):
    """A question as it was asked and answered, its marking, its marks, and its effect on the schedule."""

    asked: InterviewQuestion
    marking: Marking
    marks: Marks
    effect: QuestionEffect | None = None

    @property
    def lost(self) -> int:
        """Marks lost times planned seconds: the cost of the question to the total."""
        return self.asked.planned * (100 - self.marks.total)

    @property
    def in_words(self) -> bool:
        """Whether the answer is text that is marked against key points."""
        return self.asked.kind in IN_WORDS

    @property
    def points(self) -> list[PointMark]:
        """The key points; empty if only the machine marks."""
        return self.marking.points if isinstance(self.marking, WordsMarking) else []

    @property
    def misconceptions(self) -> list[MisconceptionMark]:
        """The misconceptions; empty if only the machine marks."""
        return self.marking.misconceptions if isinstance(self.marking, WordsMarking) else []

    @property
    def follow_ups(self) -> list[FollowUpMark]:
        """The marks of the follow-ups; empty if only the machine marks."""
        return self.marking.follow_ups if isinstance(self.marking, WordsMarking) else []

    @property
    def coding_marking(self) -> CodingMarking:
        """The marking of a coding question. Raises ``TypeError`` for others."""
        if not isinstance(self.marking, CodingMarking):
            raise TypeError(f"{self.asked.card} is not a coding question")
        return self.marking

    def as_json(self) -> dict[str, Any]:
        """One JSON object: the question's fields, then marking, marks and effect."""
        marks, effect = msgspec.to_builtins((self.marks, self.effect))
        return self.asked.as_json() | {"marking": self.marking.as_json(), "marks": marks, "effect": effect}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "MarkedQuestion":
        """Read the JSON object of a question."""
        asked = InterviewQuestion.from_json(row)
        return cls(
            asked,
            Marking.from_json(asked.kind, row["marking"]),
            msgspec.convert(row["marks"], Marks),
            msgspec.convert(row.get("effect"), QuestionEffect | None),
        )


class DimensionMark(Struct):
    """A dimension over all questions: percent earned, and level 1 to 4."""

    percent: Percent
    level: Annotated[int, Meta(extra_json_schema={"enum": [1, 2, 3, 4]})]


class BandResult(Struct):
    """The band with its reason."""

    name: Band
    why: str


class TotalInterval(Struct):
    """The 80 % interval of the total, from ``draws`` bootstrap samples with ``seed``."""

    low: Percent
    high: Percent
    draws: int
    seed: int


class Totals(Struct):
    """The total as marked, the total adjusted for generous marking, and that of the questions reached."""

    raw: Percent
    adjusted: Percent
    reached: Percent
    items: Count
    items_reached: Count


class TopicInflation(Struct):
    """Sums and counts of the self-marked and the machine-marked questions of a topic.

    ``inflation`` is the resulting adjustment, rounded for display. ``calibration.inflation_of`` computes it
    exactly.
    """

    self_sum: int = 0
    self_n: int = 0
    machine_sum: int = 0
    machine_n: int = 0
    inflation: float = 0.0


class ConfidenceBin(Struct):
    """The questions answered with one degree of confidence, in percent, and their mean mark."""

    confidence: int
    items: Count
    mean_mark: float | None


class Calibration(Struct):
    """How well confidence predicted marks. ``brier`` and ``bias`` are None if no confidence was given."""

    items: Count
    brier: float | None
    bias: float | None
    bins: Annotated[list[ConfidenceBin], Meta(extra_json_schema={"minItems": 5, "maxItems": 5})]


class ReportCalibration(Calibration):
    """The calibration of one interview, and by topic over this and all earlier ones."""

    topics: dict[str, Calibration]


class EarlierTotal(Struct):
    """The total of an earlier interview, with the percents of its dimensions."""

    id: str
    started: str
    minutes: int
    total: Percent
    dimensions: dict[str, int]


class Comparison(Struct):
    """Up to three earlier interviews for the role, and the difference from their mean, None without any."""

    last: Annotated[list[EarlierTotal], Meta(extra_json_schema={"maxItems": 3})]
    difference: int | None


class PooledTotal(Struct):
    """The weighted mean of the role's totals, provisional while fewer than three are recent."""

    total: int
    mocks_in_30_days: int
    provisional: bool


class WeakTopic(Struct):
    """A topic with its number of questions, its mean mark, and the marks lost times planned seconds."""

    topic: str
    items: int
    mean: float
    lost: int


class NextStep(Struct):
    """A suggestion for the learner, with the command that carries it out."""

    what: str
    command: str


class PeerMarks(Struct):
    """Another person's marks for one answer: 0, 0.5 or 1 for each point and follow-up."""

    points: list[float]
    misconceptions: list[bool]
    probes: list[float]
    mark: Percent


class Agreement(Struct):
    """How well two markings of the same key points agree.

    ``kappa`` is None if chance alone explains the agreement.
    """

    points: int
    percent: int
    kappa: float | None


class PeerReview(Struct):
    """The marks that another person gave. ``items`` is keyed by the number of the question."""

    by: str
    at: str
    items: dict[str, PeerMarks]
    total: Percent
    agreement: Agreement


class BlindMarks(Struct):
    """The key points of one answer, marked again without seeing the first marks."""

    item: int
    at: str
    held: list[float]


class Report(Struct):
    """A finished interview. Times are UTC in ISO 8601; ``questions`` are ``items`` in JSON."""

    schema: Literal["quizapp.mock/1", "quizapp.mock/2"]
    id: Annotated[str, Meta(extra_json_schema={"minLength": 1})]
    seed: int
    role: Annotated[str, Meta(extra_json_schema={"description": "incident: a single broken run"})]
    title: str
    minutes: Annotated[int, Meta(extra_json_schema={"minimum": 1})]
    code: Annotated[bool, Meta(description="whether the paper has a coding phase")]
    pass_mark: Percent
    blueprint: Annotated[str, Meta(description="hash of the blueprint")]
    content_hash: Annotated[str, Meta(description="hash over the questions asked")]
    app: str
    torch: str
    device: str
    beats: dict[str, list[Beat]]
    started: str
    finished: str
    clock: ClockLog
    phases: list[PhaseTime]
    questions: list[MarkedQuestion] = field(name="items")
    dimensions: dict[str, DimensionMark]
    band: BandResult
    interval: TotalInterval
    reviews: list[PeerReview]
    remarks: Annotated[list[BlindMarks], Meta(description="answers marked again, blind")]
    tomorrow: Annotated[list[str], Meta(description="cards first in tomorrow's queue without a review")]
    totals: Totals
    inflation: dict[str, TopicInflation]
    calibration: ReportCalibration
    comparison: Comparison
    pooled: PooledTotal
    weak_topics: list[WeakTopic]
    next_steps: list[NextStep]
    redacted: bool = False
    rules: Annotated[int, Meta(description="version of the rules of the score")] = 1
    round: Annotated[str, Meta(description="name of the round; empty in version 1, which had one")] = ""
    spoken: bool = False
    counts: Annotated[bool, Meta(description="whether it is in trends, comparisons and pooled totals")] = True

    loop: Annotated[str, Meta(description="id of the loop that it is a round of")] = ""
    loop_rounds: list[str] = []

    @property
    def round_name(self) -> str:
        """The name of the round; version 1 had only mixed ones."""
        return self.round or RoundName.MIXED

    @property
    def form(self) -> InterviewForm:
        """Whether it reports on a mock interview or on a single incident."""
        return form_of_role(self.role)

    @property
    def started_at(self) -> datetime:
        """When the interview began."""
        return datetime.fromisoformat(self.started)

    @property
    def planned_seconds(self) -> int:
        """The planned seconds of all questions: the divisor of the total."""
        return sum(question.asked.planned for question in self.questions)

    @property
    def reached(self) -> list[MarkedQuestion]:
        """The questions that the learner saw."""
        return [question for question in self.questions if question.marks.reached]

    def question(self, number: int) -> MarkedQuestion:
        """Return the question with this number. Raises ``StopIteration`` if there is none."""
        return next(question for question in self.questions if question.asked.number == number)

    def as_json(self) -> dict[str, Any]:
        """Return the report in its JSON form."""
        data: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(self, questions=[]))
        data["items"] = [question.as_json() for question in self.questions]
        for key, default in (
            ("redacted", False),
            ("rules", 1),
            ("round", ""),
            ("spoken", False),
            ("counts", True),
            ("loop", ""),
            ("loop_rounds", []),
        ):
            if data[key] == default:  # as version 1 wrote it
                del data[key]
        return data


def load_report(document: Mapping[str, Any]) -> Report:
    """Read a stored report. Keys that older versions did not write get their defaults.

    Raises ``QuizError`` if the document is not a finished report.
    """
    try:
        report = msgspec.convert({**document, "items": []}, Report)
        report.questions = [MarkedQuestion.from_json(row) for row in document["items"]]
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        name = document.get("id", "without an id")
        raise QuizError(f"the report of the mock interview {name} cannot be read: {error}") from error
    return report


def costliest(questions: Iterable[MarkedQuestion]) -> list[MarkedQuestion]:
    """Sort questions by marks lost, weighted by planned time, the costliest first."""
    return sorted(questions, key=lambda question: (-question.lost, question.asked.number))


def best(questions: Sequence[MarkedQuestion]) -> list[MarkedQuestion]:
    """The three questions with the highest marks of at least 50, without the three costliest questions."""
    costly = {question.asked.number for question in costliest(questions)[:3] if question.lost}
    good = [one for one in questions if one.marks.total >= 50 and one.asked.number not in costly]
    return sorted(good, key=lambda one: (-one.marks.total, -one.asked.planned, one.asked.number))[:3]
