"""Cards and reviews as replay derives them from the log."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

from quizapp.scheduling.events import Event


class CardState(IntEnum):
    """The four states of a card; the numbers are stored and are those of FSRS."""

    NEW = 0
    LEARNING = 1
    REVIEW = 2
    RELEARNING = 3


NEW, LEARNING, REVIEW, RELEARNING = CardState
STATE_NAMES = tuple(state.name.lower() for state in CardState)


class Rating(IntEnum):
    """How well a card was recalled; the numbers are FSRS's and the keys of the drill."""

    AGAIN = 1
    HARD = 2
    GOOD = 3
    EASY = 4

    # Aliases, because papers and tools on FSRS write the ratings with a capital.
    Again = AGAIN
    Hard = HARD
    Good = GOOD
    Easy = EASY

    @property
    def label(self) -> str:
        """The word on the button."""
        return self.name.capitalize()


LONGEST_ANSWER_S = 600.0
"""Seconds after which a pause no longer counts as thinking about an answer."""

EXERCISE = "exercise:"
INCIDENT = "incident:"
CODE_REVIEW = "review:"

ANKI = "anki"
"""The source of events that were imported from Anki, and the device that they seem to come from."""


def has_steps(card: str) -> bool:
    """Whether a card has learning steps. Only questions are short enough to repeat within minutes."""
    return not card.startswith((EXERCISE, INCIDENT, CODE_REVIEW))


@dataclass(slots=True)
class CardRow:
    """One user's memory of one question, exercise (``exercise:<slug>``) or code review (``review:<slug>``).

    ``due`` and ``last`` are UTC in ms, ``due_day``, ``last_day`` and ``buried`` study days,
    ``interval`` seconds. ``stability`` is in days, 0.0 before the first review; ``fast`` is the second
    stability of FSRS-7, 0.0 under FSRS-6. ``buried`` hides the card through that day. ``priority`` puts
    it first in the queue until its next review.
    ``caps`` are the longest intervals (days, JSON list) allowed after the coming reviews.
    ``content`` is the hash of the question when it was last reviewed or acknowledged.
    """

    card: str
    state: int = NEW.value
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
    fast: float = 0.0


class ReviewRow(NamedTuple):
    """One review that was not undone.

    ``state`` is the card's state before the review and ``elapsed`` the study days since the review before.
    ``predicted`` is the retrievability at that moment, None for the first review. ``interval`` is the
    promised wait in seconds.
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


class QueuedCard(NamedTuple):
    """The part of a card that the queue needs; fields as in ``CardRow``."""

    card: str
    state: int
    due: int
    due_day: int
    priority: int


class EventReducer(Protocol):
    """The rules that derive cards from events; the schedule passes them to the store."""

    @property
    def version(self) -> str:
        """Names the rules and the model. Cards derived under another version are rebuilt."""

    def configure(self, settings: Iterable[Event]) -> None:
        """Read the settings events that were not undone, in order; called before any ``apply``."""

    def apply(self, card: CardRow, event: Event) -> ReviewRow | None:
        """Apply an event to ``card``; return the review if the event was one."""
