"""The ground of the schedule's facade: opening, time, names, the queue and the drafts of reviews."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from quizapp.bank.model import Bank, Question
from quizapp.errors import UnknownName
from quizapp.scheduling import fuzz
from quizapp.scheduling.cards import NEW, STATE_NAMES, CardRow, Waiting
from quizapp.scheduling.events import ANSWER, RENAME, Draft, Moment
from quizapp.scheduling.fsrs import Outcome, Scheduler
from quizapp.scheduling.queue import Queue, is_due
from quizapp.scheduling.rating import Rating
from quizapp.scheduling.reducer import EXERCISE, INCIDENT, CardFold, has_steps, memory_of, next_cap
from quizapp.scheduling.study_day import Clock, SystemClock, as_datetime, interval_text, moment
from quizapp.scheduling.views import Counts, DueCard, Filter, Preview
from quizapp.settings.model import Settings, load_settings
from quizapp.store.event_log import Store
from quizapp.util.suggest import did_you_mean

NO_FILTER = Filter()
DEFAULTS = Settings()
SYSTEM_CLOCK = SystemClock()


class StudyCore:
    """A learner's schedule over a bank: what waits, and what an answer would do."""

    def __init__(
        self, bank: Bank, store: Store, settings: Settings = DEFAULTS, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self.bank = bank
        self.store = store
        self.settings = settings
        self.clock = clock
        self._fold = CardFold(settings.rollover_hour)
        store.attach(self._fold)
        self._queue = Queue(bank, store, settings)
        self._seen_version = -1
        self._follow_aliases()

    @classmethod
    def open(cls, bank: Bank | None = None) -> Self:
        """The user's own schedule: their settings, database, backups, and the bank with their decks."""
        from quizapp import paths

        settings = load_settings(paths.config())
        store = Store.open(paths.database(), backups=paths.backups())
        try:
            if bank is None:
                from quizapp.bank.loader import load_bank

                bank = load_bank([Path(deck).expanduser() for deck in settings.decks])
            return cls(bank, store, settings)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _follow_aliases(self) -> None:
        """Hand the history of renamed questions to their present ids, as events."""
        gone = [old for old in self.bank.aliases if old not in self.bank.questions]
        known = self.store.known(gone) if gone else []
        if known:
            now = self.now()
            self.store.append(*(Draft(RENAME, now, card=self.bank.resolve(old), target=old) for old in known))

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler with the weights in force."""
        return self._fold.scheduler

    # time and names

    def now(self) -> Moment:
        """The present as the log writes it."""
        return moment(self.clock.now(), self.settings.rollover_hour)

    def today(self) -> date:
        """The present study day."""
        return date.fromordinal(self.now().day)

    def resolve(self, card_id: str) -> str:
        """The present id of a question, exercise or incident card. Raises ``UnknownName`` with close ones."""
        name = self.bank.resolve(card_id)
        if name in self.bank.questions or (name.startswith(INCIDENT) and name != INCIDENT):
            return name
        slug = name.removeprefix(EXERCISE)
        if slug != name and slug in self.bank.exercises:
            return name
        names = [*self.bank.questions, *(EXERCISE + slug for slug in self.bank.exercises)]
        hint = did_you_mean(name, names, "'quizapp questions' lists them")
        raise UnknownName(f"there is no question '{card_id}'; {hint}")

    def _question(self, name: str) -> Question | None:
        return self.bank.questions.get(name)

    # queue

    def _fresh_queue(self, now: Moment) -> Queue:
        version = self.store.db.data_version()
        if version != self._seen_version or now.day != self._queue.day:
            self.store.follow()
            self._queue.load(now.day)
            self._seen_version = version
        return self._queue

    def _stale(self) -> None:
        self._seen_version = -1

    def counts(self, flt: Filter = NO_FILTER) -> Counts:
        """What waits today; the minutes are estimated from recent answering times."""
        queue = self._fresh_queue(self.now())
        due, new, learning = len(queue.reviews(flt)), len(queue.new(flt)), len(queue.learning(flt))
        seconds = min(max(self.store.typical_seconds() or 40.0, 5.0), 180.0)
        # a new card comes back twice through its learning steps
        return Counts(due, new, learning, round(seconds * (due + learning + 2 * new) / 60))

    def due(self, flt: Filter = NO_FILTER, limit: int | None = None) -> list[DueCard]:
        """Due cards first, then new ones within the day's limit, in the order of the drill."""
        queue = self._fresh_queue(self.now())
        rows = [*queue.learning(flt), *queue.reviews(flt), *queue.new(flt)]
        return [self._due_card(row) for row in rows[:limit]]

    def next_card(self, flt: Filter = NO_FILTER, after: Collection[str] = ()) -> DueCard | None:
        """The card to show now, leaving out the ids in ``after``; None when the day is done."""
        now = self.now()
        row = self._fresh_queue(now).upcoming(flt, now.time, after)
        return self._due_card(row) if row else None

    def _due_card(self, row: Waiting) -> DueCard:
        due = as_datetime(row.due) if row.state else None
        question = self._question(row.card)
        if question is None:
            exercise = self.bank.exercises[row.card.removeprefix(EXERCISE)]
            return DueCard(row.card, "exercise", exercise.level, exercise.topic, due, STATE_NAMES[row.state])
        return DueCard(row.card, question.kind, question.level, question.topic, due, STATE_NAMES[row.state])

    def introductions(self, tracks: tuple[str, ...] | None = None) -> list[str]:
        """All cards that can be introduced, in the drill's order; ``tracks`` in place of those set."""
        now = self.now()
        if tracks is None:
            return self._fresh_queue(now).unseen()
        queue = Queue(self.bank, self.store, replace(self.settings, tracks=tracks))
        queue.load(now.day)
        return queue.unseen()

    def due_exercises(self) -> list[DueCard]:
        """The exercises to write: recalled ones, then the longest overdue. The drill does not show them."""
        now = self.now()
        rows = [row for row in self.store.due_cards(now.day) if row.card.startswith(EXERCISE)]
        known = [row for row in rows if row.card.removeprefix(EXERCISE) in self.bank.exercises]
        urgent = [row for row in known if is_due(row, now) or (row.state == NEW and row.priority)]
        ready = sorted(urgent, key=lambda row: (row.due, row.card))
        return [self._due_card(row) for row in ready]

    # answering

    def _row(self, name: str) -> CardRow:
        return self.store.card(name) or CardRow(name)

    def outcomes(self, row: CardRow, now: Moment, up_to: Rating = Rating.EASY) -> dict[Rating, Outcome]:
        """What each rating would make of a card now."""
        question = self._question(row.card)
        retention = (
            self.settings.retention_for(question.file) if question else self.settings.desired_retention
        )
        return self._fold.scheduler.outcomes(
            memory_of(row),
            now.day,
            card=row.card,
            repetition=row.reps,
            retention=retention,
            most=self.settings.max_interval_days,
            steps=has_steps(row.card),
            cap=next_cap(row),
            up_to=up_to,
        )

    def previews(self, card_id: str) -> dict[Rating, Preview]:
        """What each button promises; exactly this is scheduled."""
        now = self.now()
        row = self._row(self.resolve(card_id))
        found = {}
        for rating, outcome in self.outcomes(row, now).items():
            interval = timedelta(seconds=outcome.interval)
            due = as_datetime(self._fold.due_after(now, outcome.interval)[0])
            found[rating] = Preview(rating, due, interval, interval_text(interval))
        return found

    def seed(self, card_id: str) -> int:
        """The seed for values and shuffles of the card's coming repetition."""
        name = self.resolve(card_id)
        return fuzz.seed_of(name, self._row(name).reps, "values")

    def draft_answer(
        self,
        name: str,
        rating: int,
        now: Moment,
        *,
        kind: str = ANSWER,
        seconds: float = 0.0,
        data: Mapping[str, Any] | None = None,
        row: CardRow | None = None,
        **rest: Any,
    ) -> Draft:
        """The event of a review, with the interval that the button promised."""
        question = self._question(name)
        given = Rating(rating)
        interval = self.outcomes(row or self._row(name), now, given)[given].interval
        return Draft(
            kind,
            now,
            card=name,
            content=question.content_hash if question else "",
            rating=int(rating),
            ms=round(max(0.0, seconds) * 1000),
            model=self._fold.scheduler.version,
            interval=interval,
            data=data or None,
            **rest,
        )
