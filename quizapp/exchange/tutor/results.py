"""The typed results of the tutor: plain data, since output schemas are made from them.

They have no slots, because the SDK would take a slot for the default value of its field.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class AnswerState(StrEnum):
    """How far the answer to the open question is. ``none``: no question is open."""

    NONE = "none"
    ASKED = "asked"
    FROZEN = "frozen"
    REVEALED = "revealed"
    RATED = "rated"


@dataclass(frozen=True)
class TutorQuestion:
    """The open question as the learner may see it. ``say`` is how to answer it, or why there is none."""

    state: AnswerState
    question: str
    kind: str
    level: str
    topic: str
    exercise: str
    prompt: str
    say: str
    waiting: str


@dataclass(frozen=True)
class FrozenAnswer:
    """The answer that will be marked; it can no longer be changed."""

    state: AnswerState
    question: str
    answer: str


@dataclass(frozen=True)
class NumberedPoint:
    """A key point of the full answer; ``must`` marks those without which an answer is not good."""

    number: int
    text: str
    weight: int
    must: bool


@dataclass(frozen=True)
class MarkedPoint:
    """A key point that the answer shows, with the words of the answer that show it."""

    point: int
    quote: str


@dataclass(frozen=True)
class StatedMisconception:
    """A common mistake that the answer seems to state, its correction, and the words that state it."""

    wrong: str
    right: str
    quote: str


@dataclass(frozen=True)
class RevealedAnswer:
    """The full answer beside the frozen one, and what the program proposes.

    ``share`` is the proposed share of the full marks, 0 to 1; ``proposed_rating`` is None without a proposal.
    """

    state: AnswerState
    question: str
    answer: str
    solution: str
    points: Sequence[NumberedPoint]
    shown: Sequence[MarkedPoint]
    misconceptions: Sequence[StatedMisconception]
    note: str
    share: float
    proposed_rating: int | None
    reason: str


@dataclass(frozen=True)
class ProposedMarks:
    """The marks as they now stand, and the rating that follows from them."""

    state: AnswerState
    question: str
    shown: Sequence[MarkedPoint]
    share: float
    proposed_rating: int | None
    reason: str


@dataclass(frozen=True)
class RatedCard:
    """A review that is on disk. ``due`` is UTC, ``interval`` the wait, ``event`` its id in the log."""

    state: AnswerState
    question: str
    rating: int
    due: str
    interval: str
    event: str


@dataclass(frozen=True)
class GradedStage:
    """Whether every hidden test of a stage passed."""

    name: str
    passed: bool


@dataclass(frozen=True)
class FailedBehavior:
    """A behavior that does not hold; ``follows`` if that probably follows from another one.

    ``messages`` say what was called, what came back, and what was expected.
    """

    number: int
    text: str
    messages: Sequence[str]
    follows: bool


@dataclass(frozen=True)
class Grade:
    """The verdict on a file. ``recorded`` says whether it is in the log, ``note`` what that means."""

    exercise: str
    file: str
    status: str
    passed: bool
    held: int
    tests: int
    stages: Sequence[GradedStage]
    failed: Sequence[FailedBehavior]
    error: str
    device: str
    seed: int
    tier: str
    recorded: bool
    note: str


@dataclass(frozen=True)
class GivenHint:
    """A hint. ``number`` counts those given since the last pass, ``left`` those that remain."""

    exercise: str
    hint: str
    number: int
    left: int


@dataclass(frozen=True)
class TopicFigures:
    """The cards of a topic: all, seen, and learned."""

    topic: str
    total: int
    seen: int
    learned: int


@dataclass(frozen=True)
class PlanFigures:
    """The plan until the interview: the expected recall against the target, and what today holds."""

    date: str
    days: int
    recall: float
    target: float
    sentences: Sequence[str]
    minutes_today: float
    reviews_today: float
    new_today: float


@dataclass(frozen=True)
class StudyStatus:
    """What waits today, how the learner stands, and the plan, if the settings have an interview's date.

    ``minutes`` estimates the time for what waits. ``retention`` is None before the first repeated review.
    """

    waiting: str
    due: int
    learning: int
    new: int
    minutes: int
    next_exercise: str
    exercises_to_write: Sequence[str]
    reviews: int
    seen: int
    learned: int
    retention: float | None
    streak: int
    topics: Sequence[TopicFigures]
    plan: PlanFigures | None


@dataclass(frozen=True)
class ListedRun:
    """A broken run to choose; ``standing`` is ``new``, or the last marks and whether it is due.

    ``topic`` is empty until the run was sat: it would say where to look.
    """

    name: str
    title: str
    level: str
    topic: str
    standing: str


@dataclass(frozen=True)
class PricedReading:
    """An instrument: what it costs of the clock, what it measures, and the outcomes it can have."""

    title: str
    seconds: int
    asks: str
    outcomes: Sequence[str]


@dataclass(frozen=True)
class RunBrief:
    """What the learner sees of a broken run when its clock starts; results of readings cost time on it."""

    name: str
    title: str
    level: str
    topic: str
    seconds: int
    setup: str
    symptom: str
    readings: Sequence[PricedReading]
    command: str


@dataclass(frozen=True)
class BrokenRuns:
    """The runs to choose from, the recommended one first, or the brief of the one that was asked for."""

    runs: Sequence[ListedRun]
    brief: RunBrief | None
