"""What the schedule tells screens and commands: plain frozen values."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from typing import Any

from quizapp.memory.rating import Rating


@dataclass(frozen=True, slots=True)
class Filter:
    """Which cards are wanted; an empty field leaves all in. ``ids`` are question ids."""

    topic: str = ""
    level: str = ""
    kind: str = ""
    track: str = ""
    exercise: str = ""
    ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Counts:
    """What waits today: due cards, new ones within the limit, cards in learning; minutes estimated."""

    due: int
    new: int
    learning: int
    minutes: int

    @property
    def total(self) -> int:
        """Cards to answer today."""
        return self.due + self.new + self.learning


@dataclass(frozen=True, slots=True)
class DueCard:
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


@dataclass(frozen=True, slots=True)
class Preview:
    """What a rating button promises. ``due`` is UTC."""

    rating: Rating
    due: datetime
    interval: timedelta
    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A review that is on disk. ``leech`` is True where this lapse made the card one."""

    event: str
    card: str
    rating: Rating
    due: datetime
    interval: timedelta
    text: str
    state: str
    leech: bool = False


@dataclass(frozen=True, slots=True)
class Undone:
    """What undo took back or redo brought back: the type of the event, its card, its rating."""

    event: str
    type: str
    card: str
    rating: Rating | None


@dataclass(frozen=True, slots=True)
class Review:
    """One review in a card's history. ``interval`` is what was promised then, ``seconds`` the time taken."""

    time: datetime
    rating: Rating
    state: str
    elapsed_days: int
    interval: timedelta
    seconds: float
    source: str


@dataclass(frozen=True, slots=True)
class CardFacts:
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


@dataclass(frozen=True, slots=True)
class TopicProgress:
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


@dataclass(frozen=True, slots=True)
class ExerciseState:
    """State of an exercise: new, started, passed or due; ``best`` is the largest share of tests passed."""

    slug: str
    state: str
    submissions: int
    passed_at: datetime | None
    due: datetime | None
    best: float


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin of the calibration: mean prediction and share recalled among ``reviews`` reviews."""

    low: float
    high: float
    reviews: int
    predicted: float
    recalled: float


@dataclass(frozen=True, slots=True)
class Group:
    """Figures of one topic or level; ``retention`` is None without a review of a graduated card."""

    total: int
    seen: int
    learned: int
    reviews: int
    retention: float | None


@dataclass(frozen=True, slots=True)
class Stats:
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
        found = asdict(self)
        for name in ("forecast", "per_day"):
            found[name] = [{"date": day.isoformat(), "cards": number} for day, number in getattr(self, name)]
        return found
