"""The rows that replay derives from the log."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from quizapp.scheduling.events import Event

NEW, LEARNING, REVIEW, RELEARNING = range(4)
STATE_NAMES = ("new", "learning", "review", "relearning")


@dataclass(slots=True)
class CardRow:
    """One user's memory of one question (or exercise, as ``exercise:<slug>``).

    ``due`` and ``last`` are UTC in ms, ``due_day``, ``last_day`` and ``buried`` study days,
    ``interval`` seconds. ``stability`` is in days, 0.0 before the first review. ``buried`` hides the
    card up to and with that day. ``priority`` puts it first in the queue until its next review.
    ``caps`` are the longest intervals (days, JSON list) allowed after the coming reviews.
    ``content`` is the hash of the question when it was last reviewed or acknowledged.
    """

    card: str
    state: int = NEW
    step: int | None = None
    stability: float = 0.0
    difficulty: float = 0.0
    due: int = 0
    due_day: int = 0
    last: int = 0
    last_day: int = 0
    interval: int = 0
    reps: int = 0
    lapses: int = 0
    rating: int = 0
    suspended: int = 0
    buried: int = 0
    flagged: int = 0
    priority: int = 0
    caps: str = ""
    content: str = ""


class ReviewRow(NamedTuple):
    """One review that stands.

    ``state`` is the card's state before it, ``elapsed`` the study days since the one before,
    ``predicted`` the retrievability then (None on the first), ``interval`` the seconds promised.
    """

    seq: int
    card: str
    time: int
    day: int
    rating: int
    state: int
    elapsed: int
    stability: float
    predicted: float | None
    ms: int
    source: str
    interval: int


class Waiting(NamedTuple):
    """The part of a card that the queue needs; columns as in ``CardRow``."""

    card: str
    state: int
    due: int
    due_day: int
    priority: int


class Fold(Protocol):
    """How the schedule follows from events; given to the store by the part that knows."""

    @property
    def version(self) -> str:
        """Names rules and model; tables derived under another version are rebuilt."""

    def configure(self, settings: Iterable[Event]) -> None:
        """Take over the settings events that stand, in order; called before any ``apply``."""

    def apply(self, card: CardRow, event: Event) -> ReviewRow | None:
        """Change ``card`` as the event demands; the review that the event was, if it was one."""
