"""The facade of the schedule: what commands and screens ask and tell."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from quizapp.bank.model import Bank, Question
from quizapp.errors import UnknownName
from quizapp.memory import exercises, fuzz, mock, stats
from quizapp.memory.days import Clock, SystemClock, as_datetime, interval_text, moment
from quizapp.memory.facts import (
    Answered,
    CardFacts,
    Counts,
    DueCard,
    ExerciseState,
    Filter,
    Preview,
    Stats,
    TopicProgress,
    Undone,
)
from quizapp.memory.fold import EXERCISE, CardFold, has_steps, memory_of, next_cap
from quizapp.memory.mock import MockReview
from quizapp.memory.queue import Queue, is_due
from quizapp.memory.rating import Rating
from quizapp.memory.scheduler import Outcome
from quizapp.memory.settings import Settings, load_settings
from quizapp.store.documents import MockDocument, Submission
from quizapp.store.events import (
    ANSWER,
    BURY,
    EDIT_SEEN,
    FLAG,
    RENAME,
    SUSPEND,
    UNDO,
    UNFLAG,
    UNSUSPEND,
    Draft,
    Event,
    Moment,
)
from quizapp.store.rows import STATE_NAMES, CardRow
from quizapp.store.store import Store

if TYPE_CHECKING:
    from quizapp.memory.fit import Fitted

_NO_FILTER = Filter()


class Study:
    """A learner's schedule over a bank. What a method reports as done is on disk."""

    def __init__(self, bank: Bank, store: Store, settings: Settings = Settings(), clock: Clock = SystemClock()):  # noqa: B008
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
                from quizapp.bank.load import load_bank

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
            self.store.append(
                *(Draft(RENAME, now, card=self.bank.resolve(old), target=old) for old in known)
            )

    # time and names

    def now(self) -> Moment:
        """The present as the log writes it."""
        return moment(self.clock.now(), self.settings.rollover_hour)

    def today(self) -> date:
        """The present study day."""
        return date.fromordinal(self.now().day)

    def resolve(self, card_id: str) -> str:
        """The present id of a question or exercise card. Raises ``UnknownName`` with close ones."""
        name = self.bank.resolve(card_id)
        if name in self.bank.questions:
            return name
        slug = name.removeprefix(EXERCISE)
        if slug != name and slug in self.bank.exercises:
            return name
        from difflib import get_close_matches

        close = get_close_matches(name, [*self.bank.questions, *(EXERCISE + s for s in self.bank.exercises)], 3)
        hint = f"do you mean {' or '.join(close)}?" if close else "`quizapp questions` lists them."
        raise UnknownName(f"There is no question {card_id!r}: {hint}")

    def _question(self, name: str) -> Question | None:
        return self.bank.questions.get(name)

    # queue

    def _fresh_queue(self, now: Moment) -> Queue:
        version = self.store.db.data_version()
        if version != self._seen_version or now.day != self._queue.day:
            self._queue.load(now.day)
            self._seen_version = version
        return self._queue

    def _stale(self) -> None:
        self._seen_version = -1

    def counts(self, flt: Filter = _NO_FILTER) -> Counts:
        """What waits today; the minutes are estimated from recent answering times."""
        queue = self._fresh_queue(self.now())
        due, new, learning = len(queue.reviews(flt)), len(queue.new(flt)), len(queue.learning(flt))
        seconds = min(max(self.store.typical_seconds() or 40.0, 5.0), 180.0)
        # a new card comes back twice through its learning steps
        return Counts(due, new, learning, round(seconds * (due + learning + 2 * new) / 60))

    def due(self, flt: Filter = _NO_FILTER, limit: int | None = None) -> list[DueCard]:
        """Due cards first, then new ones within the day's limit, in the order of the drill."""
        queue = self._fresh_queue(self.now())
        rows = [*queue.learning(flt), *queue.reviews(flt), *queue.new(flt)]
        return [self._due_card(row) for row in rows[:limit]]

    def next_card(self, flt: Filter = _NO_FILTER, after: Collection[str] = ()) -> DueCard | None:
        """The card to show now, leaving out the ids in ``after``; None when the day is done."""
        now = self.now()
        row = self._fresh_queue(now).upcoming(flt, now.time, after)
        return self._due_card(row) if row else None

    def _due_card(self, row: CardRow) -> DueCard:
        due = as_datetime(row.due) if row.state else None
        question = self._question(row.card)
        if question is None:
            exercise = self.bank.exercises[row.card.removeprefix(EXERCISE)]
            return DueCard(row.card, "exercise", exercise.level, exercise.topic, due, STATE_NAMES[row.state])
        return DueCard(row.card, question.kind, question.level, question.topic, due, STATE_NAMES[row.state])

    def due_exercises(self) -> list[DueCard]:
        """The exercises to write again, longest overdue first; they are not part of the drill's queue."""
        now = self.now()
        rows = [row for row in self.store.due_cards(now.day) if row.card.startswith(EXERCISE)]
        known = [row for row in rows if row.card.removeprefix(EXERCISE) in self.bank.exercises]
        return [self._due_card(row) for row in known if is_due(row, now)]

    # answering

    def _row(self, name: str) -> CardRow:
        return self.store.card(name) or CardRow(name)

    def outcomes(self, row: CardRow, now: Moment) -> dict[Rating, Outcome]:
        """What each rating would make of a card now."""
        question = self._question(row.card)
        retention = self.settings.retention_for(question.file) if question else self.settings.desired_retention
        return self._fold.scheduler.outcomes(
            memory_of(row),
            now.day,
            card=row.card,
            repetition=row.reps,
            retention=retention,
            most=self.settings.max_interval_days,
            steps=has_steps(row.card),
            cap=next_cap(row),
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
        type: str = ANSWER,
        seconds: float = 0.0,
        data: Mapping[str, Any] | None = None,
        **rest: Any,
    ) -> Draft:
        """The event of a review, with the interval that the button promised."""
        question = self._question(name)
        interval = self.outcomes(self._row(name), now)[Rating(rating)].interval
        return Draft(
            type,
            now,
            card=name,
            content=question.content_hash if question else "",
            rating=int(rating),
            ms=round(max(0.0, seconds) * 1000),
            model=self._fold.scheduler.model.version,
            interval=interval,
            data=data or None,
            **rest,
        )

    def answer(
        self,
        card_id: str,
        rating: Rating | int,
        *,
        proposed: Rating | int | None = None,
        seconds: float = 0.0,
        hints: int = 0,
        ticks: Sequence[int] = (),
        seed: int | None = None,
        confidence: int | None = None,
        typed: str = "",
        source: str = "drill",
    ) -> Answered:
        """Record a review; it is on disk when this returns.

        ``proposed`` is the program's own rating, ``ticks`` the indices of key points ticked, ``seed`` that
        of the values shown, ``confidence`` in percent, ``typed`` the learner's own words.
        """
        name = self.resolve(card_id)
        now = self.now()
        queue = self._fresh_queue(now)
        with self.store.transaction():
            before = self._row(name)
            draft = self.draft_answer(
                name,
                rating,
                now,
                seconds=seconds,
                proposed=int(proposed) if proposed is not None else None,
                hints=hints,
                ticks=ticks,
                seed=seed,
                confidence=confidence,
                source=source,
                data={"typed": typed} if typed else None,
            )
            (event,) = self.store.append(draft)
        row = self._row(name)
        queue.answered(before.state, row, source)
        return self._answered(event, before.lapses, row)

    def _answered(self, event: Event, lapses_before: int, row: CardRow) -> Answered:
        assert event.rating is not None
        interval = timedelta(seconds=row.interval)
        limit = self.settings.leech_lapses
        return Answered(
            event.id,
            row.card,
            Rating(event.rating),
            as_datetime(row.due),
            interval,
            interval_text(interval),
            STATE_NAMES[row.state],
            lapses_before < limit <= row.lapses,
        )

    def undo(self) -> Undone | None:
        """Take back the last act that stands (answer, bury, flag, verdict, mock, ...); None if there is none."""
        with self.store.transaction():
            act = self.store.last_act()
            if act:
                self.store.append(Draft(UNDO, self.now(), target=act.id))
        self._stale()
        return _undone(act)

    def redo(self) -> Undone | None:
        """Bring back what the last undo took; None where there is none or something was done since."""
        with self.store.transaction():
            undo = self.store.last_undo()
            if undo:
                self.store.append(Draft(UNDO, self.now(), target=undo.id))
        self._stale()
        return _undone(self.store.event(undo.target)) if undo else None

    def _act(self, type: str, card_id: str, **rest: Any) -> None:
        name = self.resolve(card_id)
        self.store.append(Draft(type, self.now(), card=name, **rest))
        self._stale()

    def bury(self, card_id: str) -> None:
        """Hide a card until the next study day."""
        self._act(BURY, card_id)

    def suspend(self, card_id: str) -> None:
        """Hide a card until it is unsuspended."""
        self._act(SUSPEND, card_id)

    def unsuspend(self, card_id: str) -> None:
        """Show a suspended card again."""
        self._act(UNSUSPEND, card_id)

    def flag(self, card_id: str) -> None:
        """Mark a card for a closer look."""
        self._act(FLAG, card_id)

    def unflag(self, card_id: str) -> None:
        """Take the mark away."""
        self._act(UNFLAG, card_id)

    # changed questions and leeches

    def changed(self, card_id: str) -> bool:
        """Whether the question differs from the one last reviewed or acknowledged."""
        name = self.resolve(card_id)
        question, row = self._question(name), self._row(name)
        return bool(question and row.reps and row.content and row.content != question.content_hash)

    def acknowledge(self, card_id: str, treat_as_new: bool = False) -> None:
        """Note that a change was seen; ``treat_as_new`` starts the card again and keeps its history."""
        question = self._question(self.resolve(card_id))
        content = question.content_hash if question else ""
        self._act(EDIT_SEEN, card_id, content=content, data={"treat_as_new": treat_as_new})

    def alternative(self, card_id: str) -> str | None:
        """Another kind of card on the same matter, for a leech: a variant, its parent or a sibling."""
        question = self._question(self.resolve(card_id))
        if question is None:
            return None
        family = question.parent or question.id
        for other in self.bank.questions.values():
            related = family in {other.parent, other.id} or other.id in question.siblings
            if related and other.kind != question.kind:
                return other.id
        return None

    # exercises and mock interviews

    def record_verdict(
        self,
        slug: str,
        verdict: Mapping[str, Any],
        *,
        source_text: str,
        submissions: int = 1,
        hints: int = 0,
        opened_solution: bool = False,
        seconds: float = 0.0,
    ) -> Answered | None:
        """Keep a submission and let its verdict schedule the exercise; the review if it was one.

        ``submissions``, ``hints`` and ``seconds`` count since the exercise was taken up. Passed: rated by
        effort, and its questions that are due soon wait until tomorrow. Solution opened: Again, and its
        questions come tomorrow. Not passed: kept, not rated. Passing once more before it is due is kept only.
        """
        found = exercises.record(
            self, slug, verdict, source_text, submissions, hints, opened_solution, seconds
        )
        self._stale()
        return self._answered(found[0], found[1], self._row(EXERCISE + slug)) if found else None

    def exercise_state(self, slug: str) -> ExerciseState:
        """How far an exercise is. Raises ``UnknownName``."""
        self.resolve(EXERCISE + slug)
        return exercises.states(self, [slug])[slug]

    def exercise_states(self) -> dict[str, ExerciseState]:
        """The states of all exercises by slug."""
        return exercises.states(self, self.bank.exercises)

    def submissions(self, slug: str) -> list[Submission]:
        """All submissions for an exercise, oldest first."""
        return self.store.documents.submissions(slug)

    def save_mock(self, session: Mapping[str, Any] | str, *, id: str = "") -> str:
        """Autosave a running mock interview (a JSON document); its id."""
        document = json.loads(session) if isinstance(session, str) else session
        return self.store.documents.save_mock(document, self.now().time, id=id)

    def mock(self, id: str) -> MockDocument | None:
        """A saved mock interview."""
        return self.store.documents.mock(id)

    def mocks(self, state: str = "") -> list[MockDocument]:
        """Saved mock interviews, newest first; ``state`` is running, done or undone."""
        return self.store.documents.mocks(state)

    def record_mock(
        self,
        session: Mapping[str, Any] | str,
        reviews: Iterable[MockReview] = (),
        *,
        recalls: Iterable[str] = (),
        id: str = "",
    ) -> tuple[str, list[Answered]]:
        """Finish a mock interview: document, mark and reviews in one transaction; one undo removes all.

        ``recalls`` are cards that come first tomorrow without a review (not reached, follow-up missed).
        Returns the id of the interview and the reviews. Raises ``UnknownName``, ``QuizError`` for two
        reviews of one card.
        """
        document = json.loads(session) if isinstance(session, str) else session
        mock_id, made = mock.record(self, document, list(reviews), list(recalls), id)
        self._stale()
        return mock_id, [
            self._answered(event, lapses, self._row(event.card)) for event, lapses in made
        ]

    # facts for screens

    def card(self, card_id: str) -> CardFacts:
        """All about one card. Raises ``UnknownName``."""
        name = self.resolve(card_id)
        return stats.card_facts(self, self._row(name))

    def retrievability(self, card_id: str) -> float | None:
        """The chance of recalling a card now; None before its first review."""
        row = self._row(self.resolve(card_id))
        return self.recall_of(row, self.now().day) if row.state else None

    def recall_of(self, row: CardRow, day: int) -> float:
        """The retrievability of a row on a study day."""
        return self._fold.scheduler.retrievability(row.stability, day - row.last_day)

    def topics(self) -> list[TopicProgress]:
        """Progress by topic, in the order of the bank."""
        return stats.topics(self)

    def stats(self, forecast_days: int = 30) -> Stats:
        """Figures over all reviews that stand."""
        return stats.compute(self, forecast_days)

    def streak(self) -> int:
        """Study days in a row with a review, up to today or yesterday."""
        return stats.streak(self.store.study_days(), self.now().day)

    def calendar(self, days: int) -> list[tuple[date, int]]:
        """(date, reviews) of the last ``days`` study days, oldest first, today last."""
        return stats.calendar(self.store.study_days(), self.now().day, days)

    def is_leech(self, row: CardRow) -> bool:
        """Whether a card has lapsed too often."""
        return row.lapses >= self.settings.leech_lapses

    @property
    def model(self) -> str:
        """Name and version of the memory model in force."""
        return self._fold.scheduler.model.version

    @property
    def warning(self) -> str:
        """A sentence about the backup or check in the background, if something was wrong."""
        return self.store.warning

    def fit_weights(self, *, least: int = 400) -> "Fitted":
        """Fit the weights to the learner's own reviews and take them if they predict better.

        Imports torch (or ``fsrs-rs-python`` where it is installed); never called by itself.
        """
        from quizapp.memory import fit

        found = fit.fit(self, least=least)
        self._stale()
        return found


def _undone(event: Event | None) -> Undone | None:
    if event is None:
        return None
    rating = Rating(event.rating) if event.rating else None
    return Undone(event.id, event.type, event.card, rating)
