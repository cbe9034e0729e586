"""The values that the schedule returns to screens and commands, and the search among its cards.

They are named tuples because defining them as dataclasses would slow every start by 6 ms.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from quizapp.bank.model import Question
from quizapp.scheduling.cards import STATE_NAMES, CardRow, Rating

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study
    from quizapp.scheduling.weights.evaluate import ModelComparison


class Extra(NamedTuple):
    """What a drill shows beyond its day: cards over the daily limits, cards not due yet, related cards.

    ``ahead`` is how many days before its due day a card may come. ``related`` lets in cards that wait because
    a sibling, parent or variant came today.
    """

    new: int = 0
    reviews: int = 0
    ahead: int = 0
    related: bool = False


EVERYTHING = Extra(new=99_999, reviews=99_999, ahead=36_500)
"""All cards of a selection, whether they are due or not; only related cards are still kept apart."""


class CardFilter(NamedTuple):
    """Selects cards; an empty field does not restrict. ``ids`` are question ids."""

    topic: str = ""
    level: str = ""
    kind: str = ""
    track: str = ""
    exercise: str = ""
    ids: frozenset[str] = frozenset()
    extra: Extra = Extra()


class DayRest(NamedTuple):
    """What is there beyond today's queue: why the drill is over, and how it can go on.

    ``reviews`` and ``new`` are the cards that only the daily limits hold back, ``ahead`` those that fall due
    within a week. ``apart`` are the ids of cards that wait because a related one came today.
    """

    reviews: int
    new: int
    ahead: int
    apart: tuple[str, ...]
    suspended: int
    cards: int


class QueueCounts(NamedTuple):
    """What is left today: reviews that are due, new cards within the limit, cards in learning steps.

    ``minutes`` is the estimated time for all of them.
    """

    due: int
    new: int
    learning: int
    minutes: int

    @property
    def total(self) -> int:
        """Cards to answer today."""
        return self.due + self.new + self.learning

    @property
    def waiting(self) -> int:
        """Cards that were seen before and wait for an answer, which people call due."""
        return self.due + self.learning

    @property
    def text(self) -> str:
        """The counts in one phrase, the same wherever they are told."""
        parts = f" ({self.learning} learning, {self.due} to review)" if self.learning else ""
        return f"{self.waiting} due{parts}, {self.new} new"


class DueCard(NamedTuple):
    """A card in the queue. ``due`` is UTC, None for a new card; ``state`` one of the four names."""

    id: str
    kind: str
    level: str
    topic: str
    due: datetime | None
    state: str

    def as_json(self) -> dict[str, object]:
        """The object of ``due --json``."""
        return {
            "id": self.id,
            "kind": self.kind,
            "level": self.level,
            "topic": self.topic,
            "due": self.due.isoformat().replace("+00:00", "Z") if self.due else None,
            "state": self.state,
        }


class RatingPreview(NamedTuple):
    """The promise of a rating button. ``due`` is UTC."""

    rating: Rating
    due: datetime
    interval: timedelta
    text: str


class RecordedReview(NamedTuple):
    """A review that is on disk. ``leech`` is True if this lapse made the card a leech."""

    event: str
    card: str
    rating: Rating
    due: datetime
    interval: timedelta
    text: str
    state: str
    leech: bool = False
    submissions: int = 0
    hints: int = 0


class UndoneAct(NamedTuple):
    """The action that was undone or redone: the type of its event, its card and its rating."""

    event: str
    type: str
    card: str
    rating: Rating | None


class PastReview(NamedTuple):
    """One review in a card's history: ``interval`` is what it promised, ``seconds`` the answering time."""

    time: datetime
    rating: Rating
    state: str
    elapsed_days: int
    interval: timedelta
    seconds: float
    source: str


class CardFacts(NamedTuple):
    """State, memory and history of one card.

    ``due``, ``stability`` (days), ``difficulty`` and ``retrievability`` are None before the first review.
    """

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
    history: tuple[PastReview, ...]


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


class ExerciseProgress(StrEnum):
    """The progress of an exercise; the values appear in ``exercise --json``.

    It is passed when all core stages hold, and complete when ``robust`` holds too.
    """

    NEW = "new"
    STARTED = "started"
    PASSED = "passed"
    COMPLETE = "complete"
    DUE = "due"


class ExerciseState(NamedTuple):
    """The progress of an exercise.

    ``best`` is the largest share of the exercise that held, 0 to 1. ``open_stage`` names the stage that a
    pass left open, such as ``robust``. It is a task of its own from the study day after the pass, which
    ``open_stage_due`` says.
    """

    slug: str
    state: ExerciseProgress
    submissions: int
    passed_at: datetime | None
    due: datetime | None
    best: float
    open_stage: str = ""
    open_stage_due: bool = False


class StageTask(NamedTuple):
    """A stage that a pass left open: it lowers no rating and comes back as a task of its own."""

    slug: str
    stage: str
    minutes: int


class CalibrationBin(NamedTuple):
    """One bin of the calibration: mean prediction and share recalled among ``reviews`` reviews."""

    low: float
    high: float
    reviews: int
    predicted: float
    recalled: float


class GroupFigures(NamedTuple):
    """Statistics of one topic or level; ``retention`` is None without a review of a graduated card."""

    total: int
    seen: int
    learned: int
    reviews: int
    retention: float | None


class StudyStatistics(NamedTuple):
    """Statistics over all reviews that were not undone.

    ``retention`` is the share of reviews of graduated cards that were not rated Again. ``predicted`` is what
    the model expected of the same reviews. Both are None without such reviews. ``forecast`` counts the cards
    that fall due on each date (today includes overdue cards), ``per_day`` the reviews done on each date.
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
    calibration: tuple[CalibrationBin, ...]
    forecast: tuple[tuple[date, int], ...]
    per_day: tuple[tuple[date, int], ...]
    ratings: Mapping[str, int]
    topics: Mapping[str, GroupFigures]
    levels: Mapping[str, GroupFigures]
    sources: Mapping[str, int]
    model: str
    comparison: "ModelComparison | None" = None

    def as_json(self) -> dict[str, object]:
        """The object of ``stats --json``."""
        return self._asdict() | {
            "comparison": self.comparison.as_json() if self.comparison else None,
            "calibration": [calibration_bin._asdict() for calibration_bin in self.calibration],
            "topics": {topic: figures._asdict() for topic, figures in self.topics.items()},
            "levels": {level: figures._asdict() for level, figures in self.levels.items()},
            "forecast": _cards_by_date(self.forecast),
            "per_day": _cards_by_date(self.per_day),
        }


def _cards_by_date(days: Sequence[tuple[date, int]]) -> list[dict[str, object]]:
    return [{"date": day.isoformat(), "cards": number} for day, number in days]


SEARCH_STATES = (*STATE_NAMES, "suspended", "flagged", "buried", "leech", "due")
SEARCH_DUE = {"today": 0, "tomorrow": 1, "week": 7, "month": 30}


class SearchRow(NamedTuple):
    """A question with its card, if it has one."""

    question: Question
    card: CardRow | None
    days: int | None
    """Study days until it is due; None for a card never seen."""

    @property
    def state(self) -> str:
        """The card's state in one word."""
        if self.card is None or not self.card.reps:
            return "new"
        return "suspended" if self.card.suspended else STATE_NAMES[self.card.state]


class CardSearch:
    """Finds questions by words, ``state:`` and ``due:``. The cards are read at the start and by `refresh`."""

    def __init__(self, study: "Study") -> None:
        self.study = study
        self._cards: Mapping[str, CardRow] = {}
        self._today = 0
        self.refresh()

    def refresh(self) -> None:
        """Read the cards again."""
        self._cards = {row.card: row for row in self.study.cards()}
        self._today = self.study.now().day

    def rows(self, query: str) -> list[SearchRow]:
        """The rows that match every part of a query."""
        from quizapp.bank.search import search

        words, tests = [], []
        for part in query.split():
            name, _, value = part.casefold().partition(":")
            if name in {"state", "due"}:
                if value:  # "state:" alone is still being typed
                    tests.append(self._test(name, value))
            else:
                words.append(part)
        rows = map(self._row, search(self.study.bank, " ".join(words)))
        return [row for row in rows if all(test(row) for test in tests)]

    def _row(self, question: Question) -> SearchRow:
        card = self._cards.get(question.id)
        days = card.due_day - self._today if card is not None and card.state else None
        return SearchRow(question, card, days)

    def _test(self, name: str, value: str) -> Callable[[SearchRow], bool]:
        if name == "state":
            return lambda row: self._is(row, value)
        limit = SEARCH_DUE.get(value) if not value.isdigit() else int(value)
        if limit is None:
            names = [name for name in SEARCH_DUE if name.startswith(value)]
            limit = SEARCH_DUE[names[0]] if names else -1
        return lambda row: row.days is not None and row.days <= limit

    def _is(self, row: SearchRow, value: str) -> bool:
        card = row.card
        # A prefix is enough, so that the list narrows while the word is being typed.
        if row.state in STATE_NAMES and row.state.startswith(value):
            return True
        if card is None:
            return False
        return (
            ("suspended".startswith(value) and bool(card.suspended))
            or ("flagged".startswith(value) and bool(card.flagged))
            or ("buried".startswith(value) and card.buried >= self._today)
            or ("leech".startswith(value) and self.study.is_leech(card))
            or ("due".startswith(value) and row.days is not None and row.days <= 0 and not card.suspended)
        )
