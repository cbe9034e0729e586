"""Decides what comes next today: the next card of the drill, and the exercise to write or to review."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from quizapp.bank.model import Bank
from quizapp.scheduling.cards import CODE_REVIEW, EXERCISE, NEW, STATE_NAMES, QueuedCard
from quizapp.scheduling.queue import Queue, is_due
from quizapp.scheduling.study_day import StudyTime, as_datetime
from quizapp.scheduling.views import CardFilter, DayRest, DueCard, ExerciseProgress, QueueCounts
from quizapp.settings.model import Settings
from quizapp.store.event_log import Store
from quizapp.util.text import plural

if TYPE_CHECKING:
    from quizapp.scheduling.events import Moment
    from quizapp.scheduling.service import Study

_AHEAD_DAYS = 7
_MANY = 99_999
_TYPICAL_S = 40.0  # for one answer, until the learner's own times are known
_TYPICAL_RANGE_S = (5.0, 180.0)
_EXERCISE_ORDER = {ExerciseProgress.DUE: 0, ExerciseProgress.STARTED: 1, ExerciseProgress.NEW: 2}


class TodaysCards:
    """The queue of the current study day, read again when the day or the database has changed."""

    def __init__(self, bank: Bank, store: Store, settings: Settings, time: StudyTime) -> None:
        self._bank = bank
        self._store = store
        self._settings = settings
        self._time = time
        self._queue = Queue(bank, store, settings)
        self._seen_version = -1
        self.left_out = self._queue.left_out

    def queue_at(self, now: "Moment") -> Queue:
        """The queue at ``now``, read again if the day or the database has changed."""
        version = self._store.db.data_version()
        if version != self._seen_version or now.day != self._queue.day:
            self._store.follow()
            self._queue.load(now.day)
            self._seen_version = version
        return self._queue

    def _now(self) -> Queue:
        return self.queue_at(self._time.now())

    def outdated(self) -> None:
        """Mark the queue as outdated; it is read again before its next use."""
        self._seen_version = -1

    def leave_out(self, name: str) -> bool:
        """Skip a card until the program ends, and log nothing. False if it was skipped already.

        For a card that cannot be shown because its deck has a fault. A fault says nothing about what the
        learner remembers, so the schedule stays as it is, and the card returns once the deck is corrected.
        """
        if name in self.left_out:
            return False
        self._queue.leave_out(name)
        return True

    def counts(self, flt: CardFilter) -> QueueCounts:
        """Count what waits today; the minutes are estimated from recent answering times."""
        queue = self._now()
        due, new, learning = len(queue.reviews(flt)), len(queue.new(flt)), len(queue.learning(flt))
        low, high = _TYPICAL_RANGE_S
        seconds = min(max(self._store.tables.typical_seconds() or _TYPICAL_S, low), high)
        # A new card comes back twice through its learning steps.
        return QueueCounts(due, new, learning, round(seconds * (due + learning + 2 * new) / 60))

    def rest(self, flt: CardFilter) -> DayRest:
        """What there is beyond what ``flt`` shows today."""
        queue = self._now()
        shown = {row.card for row in (*queue.reviews(flt), *queue.new(flt), *queue.learning(flt))}

        def beyond(**extra: Any) -> tuple[set[str], set[str]]:
            wider = flt._replace(extra=flt.extra._replace(**extra))
            reviews, new = queue.reviews(wider), queue.new(wider)
            return {row.card for row in reviews} - shown, {row.card for row in new} - shown

        reviews, new = beyond(reviews=_MANY, new=_MANY)
        later, _ = beyond(reviews=_MANY, ahead=max(_AHEAD_DAYS, flt.extra.ahead))
        # Of the new cards, only those of a selection are missed; in the whole bank others come instead.
        kept_apart, kept_apart_new = beyond(reviews=_MANY, new=_MANY, related=True)
        if flt.ids:
            kept_apart |= kept_apart_new
        wanted = queue.wanted(flt)
        cards = [question.id for question in self._bank.questions.values() if wanted(question)]
        suspended = self._store.tables.suspended()
        self.outdated()  # nothing of the wider selections may stay in the queue
        return DayRest(
            len(reviews),
            len(new),
            len(later - reviews),
            tuple(sorted(kept_apart - reviews - new)),
            len(suspended.intersection(cards)),
            len(cards),
        )

    def with_more(self, flt: CardFilter, number: int) -> CardFilter:
        """``flt`` with so many more cards than the limits of the day allow: reviews, or else new ones."""
        new, reviews = self._now().over_limits
        if self.rest(flt).reviews:
            return flt._replace(extra=flt.extra._replace(reviews=reviews + number))
        return flt._replace(extra=flt.extra._replace(new=new + number))

    def with_later(self, flt: CardFilter) -> CardFilter:
        """``flt`` with the cards that fall due within a week."""
        return flt._replace(extra=flt.extra._replace(ahead=_AHEAD_DAYS, reviews=_MANY))

    def with_related(self, flt: CardFilter) -> CardFilter:
        """``flt`` with the cards that were kept apart because a related one came today."""
        return flt._replace(extra=flt.extra._replace(related=True, reviews=_MANY))

    def due(self, flt: CardFilter, limit: int | None) -> list[DueCard]:
        """Due cards first, then new ones within the day's limit, in the order of the drill."""
        queue = self._now()
        rows = [*queue.learning(flt), *queue.reviews(flt), *queue.new(flt)]
        return [self._due_card(row) for row in rows[:limit]]

    def next_card(self, flt: CardFilter, after: Collection[str]) -> DueCard | None:
        """The card to show now, leaving out the ids in ``after``."""
        now = self._time.now()
        row = self.queue_at(now).upcoming(flt, now.time, after)
        return self._due_card(row) if row else None

    def _due_card(self, row: QueuedCard) -> DueCard:
        due = as_datetime(row.due) if row.state else None
        question = self._bank.questions.get(row.card)
        if question is None:
            exercise = self._bank.exercises[row.card.removeprefix(EXERCISE)]
            return DueCard(row.card, "exercise", exercise.level, exercise.topic, due, STATE_NAMES[row.state])
        return DueCard(row.card, question.kind, question.level, question.topic, due, STATE_NAMES[row.state])

    def introductions(self, tracks: tuple[str, ...] | None) -> list[str]:
        """All cards that can be introduced, in the drill's order; ``tracks`` replaces the setting."""
        now = self._time.now()
        if tracks is None:
            return self.queue_at(now).unseen()
        queue = Queue(self._bank, self._store, replace(self._settings, tracks=tracks))
        queue.load(now.day)
        return queue.unseen()

    def due_exercises(self) -> list[DueCard]:
        """The exercises to write: recalled new ones first, then by due date."""
        now = self._time.now()
        ready = [
            row
            for row in self._store.tables.due_cards(now.day)
            if row.card.startswith(EXERCISE)
            and row.card.removeprefix(EXERCISE) in self._bank.exercises
            and (is_due(row, now) or (row.state == NEW and row.priority))
        ]
        return [self._due_card(row) for row in sorted(ready, key=lambda row: (row.due, row.card))]

    def due_ids(self) -> set[str]:
        """The ids of all cards that wait for a review, exercises and incidents among them."""
        now = self._time.now()
        return {row.card for row in self._store.tables.due_cards(now.day) if is_due(row, now)}


def alternative(bank: Bank, name: str) -> str | None:
    """A card of another kind on the same subject, for a leech: a variant, the parent or a sibling."""
    question = bank.questions.get(name)
    if question is None:
        return None
    family = question.parent or question.id
    for other in bank.questions.values():
        related = family in {other.parent, other.id} or other.id in question.siblings
        if related and other.kind != question.kind:
            return other.id
    return None


def next_exercise(study: "Study") -> str | None:
    """The slug of an exercise that is due, else of one with an open stage, a started, a new one, or None.

    New exercises come in the bank's order of introduction.
    """
    due = study.due_exercises()
    if due:
        return due[0].id.removeprefix(EXERCISE)
    tasks = study.stage_tasks()
    if tasks:
        return tasks[0].slug
    states = study.exercise_states()
    candidates = [
        (_EXERCISE_ORDER[states[slug].state], place, slug)
        for place, slug in enumerate(study.bank.exercises)
        if slug in states and states[slug].state in _EXERCISE_ORDER
    ]
    return min(candidates)[2] if candidates else None


class OpenTask(NamedTuple):
    """A stage that a pass left open, or a code review that is due. ``minutes`` is 0 if it is not known."""

    slug: str
    stage: str
    minutes: int

    @property
    def command(self) -> str:
        """The command that begins it."""
        return f"quizapp {'exercise' if self.stage else 'review'} {self.slug}"

    def text(self, title: str) -> str:
        """The task in a few words, with the ``title`` of its exercise."""
        if not self.stage:
            return f"code review of “{title}”"
        return f"stage {self.stage} of “{title}”, {plural(self.minutes, 'minute')}"


def open_tasks(study: "Study") -> list[OpenTask]:
    """The open stages and the code reviews that are due today, which a plan does not simulate."""
    stages = [OpenTask(task.slug, task.stage, task.minutes) for task in study.stage_tasks()]
    return [*stages, *(OpenTask(slug, "", 0) for slug in due_code_reviews(study))]


def due_code_reviews(study: "Study") -> list[str]:
    """The slugs of the exercises whose code review is due, the one that waits longest first."""
    today = study.now().day
    rows = [row for row in study.cards() if row.card.startswith(CODE_REVIEW)]
    due = sorted((row.due, row.card) for row in rows if row.due_day <= today and not row.suspended)
    slugs = [card.removeprefix(CODE_REVIEW) for _, card in due]
    return [slug for slug in slugs if slug in study.bank.exercises]


def next_code_review(study: "Study", reviewable: Callable[[str], bool]) -> str | None:
    """The slug of the exercise to review next, or None if there is none.

    Due reviews come first, then exercises that passed and were never reviewed, then all others, in the bank's
    order of introduction. ``reviewable`` says whether an exercise has a code review.
    """
    rows = [row for row in study.cards() if row.card.startswith(CODE_REVIEW)]
    reviewed = {row.card.removeprefix(CODE_REVIEW): row.due for row in rows}
    states = study.exercise_states()
    new = [slug for slug in study.bank.exercises if slug not in reviewed]
    order = [
        *due_code_reviews(study),
        *(slug for slug in new if states[slug].passed_at is not None),
        *new,
        *sorted(reviewed, key=lambda slug: reviewed[slug]),
    ]
    return next((slug for slug in order if slug in study.bank.exercises and reviewable(slug)), None)
