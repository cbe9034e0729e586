"""What the schedule tells screens and commands: plain frozen values.

Named tuples and not dataclasses: these fifteen would cost every start 6 ms more.
"""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from quizapp.scheduling.rating import Rating


class Filter(NamedTuple):
    """Which cards are wanted; an empty field leaves all in. ``ids`` are question ids."""

    topic: str = ""
    level: str = ""
    kind: str = ""
    track: str = ""
    exercise: str = ""
    ids: frozenset[str] = frozenset()


class Counts(NamedTuple):
    """What waits today: due cards, new ones within the limit, cards in learning; minutes estimated."""

    due: int
    new: int
    learning: int
    minutes: int

    @property
    def total(self) -> int:
        """Cards to answer today."""
        return self.due + self.new + self.learning


class DueCard(NamedTuple):
    """A card in the queue. ``due`` is UTC, None for a new card; ``state`` one of the four names."""

    id: str
    kind: str
    level: str
    topic: str
    due: datetime | None
    state: str

    def as_json(self) -> dict[str, Any]:
        """The object of ``due --json``."""
        return {
            "id": self.id,
            "kind": self.kind,
            "level": self.level,
            "topic": self.topic,
            "due": self.due.isoformat().replace("+00:00", "Z") if self.due else None,
            "state": self.state,
        }


class Preview(NamedTuple):
    """What a rating button promises. ``due`` is UTC."""

    rating: Rating
    due: datetime
    interval: timedelta
    text: str


class Answered(NamedTuple):
    """A review that is on disk. ``leech`` is True where this lapse made the card one."""

    event: str
    card: str
    rating: Rating
    due: datetime
    interval: timedelta
    text: str
    state: str
    leech: bool = False


class Undone(NamedTuple):
    """What undo took back or redo brought back: the type of the event, its card, its rating."""

    event: str
    type: str
    card: str
    rating: Rating | None


class Review(NamedTuple):
    """One review in a card's history. ``interval`` is what was promised then, ``seconds`` the time taken."""

    time: datetime
    rating: Rating
    state: str
    elapsed_days: int
    interval: timedelta
    seconds: float
    source: str


class CardFacts(NamedTuple):
    """All about one card. ``stability`` in days and ``retrievability`` are None before the first review."""

    id: str
    state: str
    due: datetime | None
    stability: float | None
    difficulty: float | None
    retrievability: float | None
    reps: int
    lapses: int
    suspended: bool
    buried: bool
    flagged: bool
    leech: bool
    history: tuple[Review, ...]


class TopicProgress(NamedTuple):
    """Progress in one topic; ``recall`` is the mean retrievability of its seen cards, None if none."""

    topic: str
    name: str
    total: int
    learned: int
    seen: int
    due: int
    new: int
    recall: float | None
    weak: bool


class ExerciseState(NamedTuple):
    """State of an exercise: new, started, passed or due; ``best`` is the largest share of tests passed."""

    slug: str
    state: str
    submissions: int
    passed_at: datetime | None
    due: datetime | None
    best: float


class Bin(NamedTuple):
    """One bin of the calibration: mean prediction and share recalled among ``reviews`` reviews."""

    low: float
    high: float
    reviews: int
    predicted: float
    recalled: float


class Group(NamedTuple):
    """Figures of one topic or level; ``retention`` is None without a review of a graduated card."""

    total: int
    seen: int
    learned: int
    reviews: int
    retention: float | None


class Stats(NamedTuple):
    """Figures over all reviews that stand.

    ``retention`` is the share of reviews of graduated cards not rated Again and ``predicted`` what the
    model expected of the same reviews; None without any. ``forecast`` counts the cards that fall due by
    date (today includes the overdue), ``per_day`` the reviews done by date.
    """

    reviews: int
    due: int
    new: int
    learned: int
    seen: int
    retention: float | None
    predicted: float | None
    seconds: float
    streak: int
    calibration: tuple[Bin, ...]
    forecast: tuple[tuple[date, int], ...]
    per_day: tuple[tuple[date, int], ...]
    ratings: Mapping[str, int]
    topics: Mapping[str, Group]
    levels: Mapping[str, Group]
    sources: Mapping[str, int]
    model: str

    def as_json(self) -> dict[str, Any]:
        """The object of ``stats --json``."""
        found = self._asdict()
        found["calibration"] = [bin_._asdict() for bin_ in self.calibration]
        for name in ("topics", "levels"):
            found[name] = {key: group._asdict() for key, group in getattr(self, name).items()}
        for name in ("forecast", "per_day"):
            found[name] = [{"date": day.isoformat(), "cards": number} for day, number in getattr(self, name)]
        return found
