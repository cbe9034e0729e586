"""The facade of the schedule, which commands, screens and the exchange of logs use."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from quizapp.bank.model import Bank
from quizapp.scheduling import exercises, next_step, statistics
from quizapp.scheduling.cards import EXERCISE, CardRow, Rating
from quizapp.scheduling.events import Event, EventType, Moment
from quizapp.scheduling.models.fuzz import seed_of
from quizapp.scheduling.models.model import forced_model
from quizapp.scheduling.models.scheduler import Scheduler
from quizapp.scheduling.recorder import ActRecorder, Evidence, MockReview, PassedCode
from quizapp.scheduling.reducer import CardReducer, memory_of
from quizapp.scheduling.study_day import Clock, StudyTime, SystemClock
from quizapp.scheduling.views import (
    CardFacts,
    CardFilter,
    DueCard,
    ExerciseState,
    QueueCounts,
    RatingPreview,
    RecordedReview,
    StageTask,
    StudyStatistics,
    TopicProgress,
    UndoneAct,
)
from quizapp.settings.model import Settings, load_settings
from quizapp.store.documents import MockDocument, MockState, Submission
from quizapp.store.event_log import Store

if TYPE_CHECKING:
    from quizapp.scheduling.weights.fit import FitResult

NO_FILTER = CardFilter()
DEFAULTS = Settings()
SYSTEM_CLOCK = SystemClock()


class Study:
    """A learner's schedule over a bank. A change is on disk when its method returns.

    ``store`` and ``reducer`` are for the schedule and for tests; ``queue`` is the work of today.
    """

    def __init__(
        self, bank: Bank, store: Store, settings: Settings = DEFAULTS, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self.bank = bank
        self.store = store
        self.settings = settings
        self.clock = clock
        self._time = StudyTime(clock, settings.rollover_hour)
        self.reducer = CardReducer(settings.rollover_hour, forced_model(settings.memory_model))
        store.attach(self.reducer)
        self.queue = next_step.TodaysCards(bank, store, settings, self._time)
        self._recorder = ActRecorder(bank, store, settings, self.reducer, self._time)
        self._recorder.follow_aliases()

    @classmethod
    def open(cls, bank: Bank | None = None) -> Self:
        """Open the user's schedule, with their settings, database and decks. Raises ``QuizError``."""
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

    def with_settings(self, settings: Settings) -> "Study":
        """The same schedule under other settings, to use instead of this one. Skipped cards stay skipped."""
        study = Study(self.bank, self.store, settings, self.clock)
        study.queue.left_out |= self.queue.left_out
        return study

    def close(self) -> None:
        """Close the database."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler with the current weights."""
        return self.reducer.scheduler

    @property
    def model(self) -> str:
        """Name and version of the current memory model."""
        return self.scheduler.version

    def now(self) -> Moment:
        """The current time in the log's form."""
        return self._time.now()

    def today(self) -> date:
        """The current study day."""
        return date.fromordinal(self.now().day)

    def resolve(self, card_id: str) -> str:
        """The current id of a card. Raises ``UnknownName``, which suggests close ids."""
        return self._recorder.resolve(card_id)

    def _row(self, card_id: str) -> CardRow:
        return self._recorder.row(self.resolve(card_id))

    def counts(self, flt: CardFilter = NO_FILTER) -> QueueCounts:
        """Count what waits today; the minutes are estimated from recent answering times."""
        return self.queue.counts(flt)

    def due(self, flt: CardFilter = NO_FILTER, limit: int | None = None) -> list[DueCard]:
        """Due cards first, then new ones within the day's limit, in the order of the drill."""
        return self.queue.due(flt, limit)

    def next_card(self, flt: CardFilter = NO_FILTER, after: Collection[str] = ()) -> DueCard | None:
        """The card to show now, leaving out the ids in ``after``; None when the day is done."""
        return self.queue.next_card(flt, after)

    def leave_out(self, card_id: str) -> bool:
        """Skip a card that cannot be shown until the program ends. False if it was skipped already."""
        # Nothing is logged, because a fault in a deck says nothing about what the learner remembers.
        return self.queue.leave_out(self.resolve(card_id))

    def introductions(self, tracks: tuple[str, ...] | None = None) -> list[str]:
        """All cards that can be introduced, in the drill's order; ``tracks`` replaces the setting."""
        return self.queue.introductions(tracks)

    def due_exercises(self) -> list[DueCard]:
        """The exercises to write: recalled new ones first, then by due date. The drill shows none of them."""
        return self.queue.due_exercises()

    def stage_tasks(self) -> list[StageTask]:
        """The stages that passes left open, from the study day after the pass, in the bank's order."""
        return exercises.stage_tasks(self._recorder)

    def next_exercise(self) -> str | None:
        """The slug of the exercise to write next; None if none is left."""
        return next_step.next_exercise(self)

    def due_ids(self) -> set[str]:
        """The ids of all cards that wait for a review, exercises and incidents among them."""
        return self.queue.due_ids()

    def previews(self, card_id: str) -> dict[Rating, RatingPreview]:
        """The due date that each rating button promises; exactly this is scheduled."""
        return self._recorder.previews(self._row(card_id))

    def seed(self, card_id: str) -> int:
        """The seed of values and shuffles for the card's next repetition."""
        row = self._row(card_id)
        return seed_of(row.card, row.reps, "values")

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
        as_shown: bool = False,
    ) -> RecordedReview:
        """Record a review. Raises ``UnknownName``.

        ``proposed`` is the rating that the program proposed, ``ticks`` the indices of the ticked key points,
        ``seed`` that of the values shown, ``confidence`` a percentage, ``typed`` the learner's words. With
        ``as_shown`` it raises ``AnsweredElsewhere`` if ``seed`` is not that of the coming repetition.
        """
        name = self.resolve(card_id)
        now = self.now()
        queue = self.queue.queue_at(now)
        evidence = Evidence(seconds, proposed, hints, ticks, seed, confidence, source)
        before, event = self._recorder.answer(name, rating, now, evidence, typed, as_shown=as_shown)
        row = self.store.latest(name)
        queue.answered(before.state, row, source)
        return self._recorder.recorded(event, before.lapses, row)

    def undo(self) -> UndoneAct | None:
        """Undo the last action (answer, bury, flag, verdict, mock, ...); None if there is none."""
        self.queue.outdated()
        return self._recorder.undo()

    def redo(self) -> UndoneAct | None:
        """Redo what the last undo took back; None if there is none or something was done since."""
        self.queue.outdated()
        return self._recorder.redo()

    def bury(self, card_id: str) -> None:
        """Hide a card until the next study day."""
        self._act(EventType.BURY, card_id)

    def suspend(self, card_id: str) -> None:
        """Hide a card until it is unsuspended."""
        self._act(EventType.SUSPEND, card_id)

    def unsuspend(self, card_id: str) -> None:
        """Show a suspended card again."""
        self._act(EventType.UNSUSPEND, card_id)

    def flag(self, card_id: str) -> None:
        """Mark a card for a closer look."""
        self._act(EventType.FLAG, card_id)

    def unflag(self, card_id: str) -> None:
        """Remove the mark."""
        self._act(EventType.UNFLAG, card_id)

    def changed(self, card_id: str) -> bool:
        """Whether the question differs from the one last reviewed or acknowledged."""
        row = self._row(card_id)
        question = self.bank.questions.get(row.card)
        return bool(question and row.reps and row.content and row.content != question.content_hash)

    def _act(self, kind: EventType, card_id: str, content: str = "", **data: object) -> None:
        self._recorder.act(kind, card_id, content, data or None)
        self.queue.outdated()

    def acknowledge(self, card_id: str, treat_as_new: bool = False) -> None:
        """Record that a change was seen; ``treat_as_new`` starts the card again and keeps its history."""
        question = self.bank.questions.get(self.resolve(card_id))
        content = question.content_hash if question else ""
        self._act(EventType.EDIT_SEEN, card_id, content, treat_as_new=treat_as_new)

    def alternative(self, card_id: str) -> str | None:
        """A card of another kind on the same subject, for a leech: a variant, the parent or a sibling."""
        return next_step.alternative(self.bank, self.resolve(card_id))

    def record_verdict(
        self,
        slug: str,
        verdict: Mapping[str, object],
        *,
        source_text: str,
        asked: bool = True,
        hints: int = 0,
        opened_solution: bool = False,
        seconds: float = 0.0,
        found_faults: Sequence[str] = (),
        source: str = "",
    ) -> RecordedReview | None:
        """Store a submission and schedule the exercise by its verdict; return the review if there was one.

        ``asked`` is False for a save that nobody asked to grade. ``hints`` and ``seconds`` count since the
        exercise was opened. ``found_faults`` names mutants in code to debug. ``source`` replaces the usual
        one. A pass is rated by effort, an opened solution Again. Anything else is only stored.
        """
        self.queue.outdated()
        facts = exercises.SubmissionFacts(asked, hints, opened_solution, seconds, tuple(found_faults), source)
        return exercises.record(self._recorder, slug, verdict, source_text, facts)

    def rerate(self, review: RecordedReview, rating: Rating) -> RecordedReview:
        """Give the last grade of an exercise another rating. Raises `QuizError` if it is not the last."""
        self.queue.outdated()
        return exercises.rerate(self._recorder, review.event, rating)

    def record_code_review(
        self, slug: str, document: Mapping[str, object], outcome: exercises.CodeReviewOutcome
    ) -> RecordedReview | None:
        """Store a code review and schedule the next one of that exercise; return the review if it was due."""
        self.queue.outdated()
        return exercises.record_code_review(self._recorder, slug, document, outcome)

    def exercise_state(self, slug: str) -> ExerciseState:
        """The progress of an exercise. Raises ``UnknownName``."""
        self.resolve(EXERCISE + slug)
        return exercises.states(self._recorder, [slug])[slug]

    def exercise_states(self) -> dict[str, ExerciseState]:
        """The progress of all exercises by slug."""
        return exercises.states(self._recorder, self.bank.exercises)

    def submissions(self, slug: str) -> list[Submission]:
        """All submissions for an exercise, oldest first."""
        return self.store.documents.submissions(slug)

    def save_mock(
        self, document: Mapping[str, object], *, mock_id: str = "", sitting: str = "", done: bool = False
    ) -> str:
        """Save a mock interview (a JSON document) without scheduling anything; return its id.

        ``done`` replaces the report of a finished interview. Otherwise raises ``TakenOver`` if the interview
        is finished or belongs to another ``sitting``.
        """
        state = MockState.DONE if done else MockState.RUNNING
        return self.store.documents.save_mock(
            document, self.now().time, mock_id=mock_id, sitting=sitting, state=state
        )

    def mock(self, mock_id: str) -> MockDocument | None:
        """A saved mock interview."""
        return self.store.documents.mock(mock_id)

    def mocks(self, state: str = "") -> list[MockDocument]:
        """Saved mock interviews, newest first; ``state`` is running, done or undone."""
        return self.store.documents.mocks(state)

    def record_mock(
        self,
        document: Mapping[str, object],
        reviews: Iterable[MockReview] = (),
        *,
        recalls: Iterable[str] = (),
        mock_id: str = "",
        sitting: str = "",
        passes: Iterable[PassedCode] = (),
        code_reviews: Iterable[exercises.InterviewCodeReview] = (),
    ) -> tuple[str, list[RecordedReview]]:
        """Finish a mock interview in one transaction, so that one undo takes back marks and reviews.

        ``recalls`` are cards that come first tomorrow without a review (not reached, follow-up missed),
        ``passes`` is code that passes its exercise. Returns the id of the interview and the reviews. Raises
        ``UnknownName``, ``QuizError`` for two reviews of one card, and ``TakenOver`` if it is finished or
        continues in another window.
        """
        self.queue.outdated()
        more = partial(exercises.interview_review_drafts, self._recorder, list(code_reviews))
        return self._recorder.interview(
            document, list(reviews), list(recalls), mock_id, sitting, list(passes), more
        )

    def discard_mock(self, mock_id: str) -> None:
        """Remove a running interview without a trace."""
        self.store.documents.discard_mock(mock_id)

    def card(self, card_id: str) -> CardFacts:
        """State, memory and history of one card. Raises ``UnknownName``."""
        return statistics.card_facts(self, self._row(card_id))

    def cards(self) -> list[CardRow]:
        """The rows of all cards in the log, by id."""
        return self.store.tables.cards()

    def recall_of(self, row: CardRow, now: Moment) -> float:
        """The retrievability of a row."""
        memory = memory_of(row)
        return self.scheduler.retrievability(memory, self.scheduler.elapsed(memory, now.day, now.time))

    def topics(self) -> list[TopicProgress]:
        """Progress by topic, in the order of the bank."""
        return statistics.topics(self)

    def stats(self, forecast_days: int = 30) -> StudyStatistics:
        """Statistics over all reviews that were not undone."""
        return statistics.compute(self, forecast_days)

    def is_leech(self, row: CardRow) -> bool:
        """Whether a card has lapsed too often."""
        return row.lapses >= self.settings.leech_lapses

    @property
    def device(self) -> str:
        """The id under which this database writes events."""
        return self.store.log.devices[-1]

    def events(self) -> list[Event]:
        """All events of the log in the order of arrival."""
        return self.store.log.all()

    def standing_answers(self) -> list[Event]:
        """The answers that were not undone, in order."""
        return self.store.log.standing(EventType.ANSWER)

    def documents(self) -> list[Submission | MockDocument]:
        """All submissions and all finished interviews, oldest first."""
        return self.store.documents.all()

    def merge(
        self, events: Iterable[Event], documents: Iterable[Submission | MockDocument]
    ) -> tuple[int, int]:
        """Merge another device's log; return how many events and documents were new."""
        self.queue.outdated()
        with self.store.transaction():
            return self.store.merge(events), self.store.documents.merge(documents)

    @property
    def maintaining(self) -> bool:
        """Whether the background backup or check is still running."""
        return self.store.maintenance.busy

    @property
    def warning(self) -> str:
        """What the background backup or check found wrong, as a sentence; empty if nothing."""
        return self.store.maintenance.warning

    def fit_weights(self, *, least: int = 400) -> "FitResult":
        """Fit the weights to the learner's own reviews, and adopt them if they predict better.

        Needs ``least`` reviews on later days, and takes seconds. Promised due dates stay as they are.
        """
        from quizapp.scheduling.weights import fit

        self.queue.outdated()
        return fit.fit(self, least=least)

    def reset_weights(self) -> None:
        """Restore the default weights of the memory model in use."""
        from quizapp.scheduling.weights import fit

        fit.reset(self)
        self.queue.outdated()
