"""Writes the learner's actions to the log: answers, undo and redo, marks on cards, finished interviews."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from quizapp.bank.model import Bank
from quizapp.errors import AnsweredElsewhere, QuizError, UnknownName
from quizapp.scheduling.cards import CODE_REVIEW, EXERCISE, INCIDENT, STATE_NAMES, CardRow, Rating
from quizapp.scheduling.events import Draft, Event, EventType, Moment, new_id
from quizapp.scheduling.models.fuzz import seed_of
from quizapp.scheduling.models.model import Memory
from quizapp.scheduling.models.scheduler import RatingOutcome
from quizapp.scheduling.reducer import CardReducer, memory_of
from quizapp.scheduling.study_day import StudyTime, as_datetime, interval_text
from quizapp.scheduling.views import RatingPreview, RecordedReview, UndoneAct
from quizapp.settings.model import Settings
from quizapp.store.documents import MockState
from quizapp.store.event_log import Store
from quizapp.util.suggest import did_you_mean

_MOST_SHOWN = 64  # more cards than any screen shows at once


class PassedCode(NamedTuple):
    """Code of an interview that passes its exercise: the verdict as it is stored, and the source."""

    slug: str
    verdict: Mapping[str, object]
    source: str


class MockReview(NamedTuple):
    """A review that a mock interview makes of a card.

    ``caps`` are the longest intervals in days for the reviews that follow (confident and wrong: 1, 7).
    ``source`` is mock or incident; the other fields are those of ``Study.answer``.
    """

    card: str
    rating: Rating
    proposed: Rating | None = None
    seconds: float = 0.0
    hints: int = 0
    ticks: tuple[int, ...] = ()
    seed: int | None = None
    confidence: int | None = None
    caps: tuple[int, ...] = ()
    source: str = "mock"


class Evidence(NamedTuple):
    """How a review went; the fields are those of ``Study.answer``."""

    seconds: float = 0.0
    proposed: Rating | int | None = None
    hints: int = 0
    ticks: Sequence[int] = ()
    seed: int | None = None
    confidence: int | None = None
    source: str = ""


class ActRecorder:
    """Appends an event for every action; the event is on disk when the method returns."""

    def __init__(
        self, bank: Bank, store: Store, settings: Settings, reducer: CardReducer, time: StudyTime
    ) -> None:
        self.bank = bank
        self.store = store
        self.time = time
        self._settings = settings
        self._reducer = reducer
        self._shown: dict[tuple[str, int, Memory, str, str, int], dict[Rating, int]] = {}

    def follow_aliases(self) -> None:
        """Log a rename for every question whose history is stored under an old id."""
        gone = [old for old in self.bank.aliases if old not in self.bank.questions]
        old_names = self.store.tables.existing(gone) if gone else []
        if old_names:
            now = self.time.now()
            self.store.append(
                *(Draft(EventType.RENAME, now, card=self.bank.resolve(old), target=old) for old in old_names)
            )

    def resolve(self, card_id: str) -> str:
        """The current id of a card. Raises ``UnknownName``, which suggests close ids."""
        name = self.bank.resolve(card_id)
        if name in self.bank.questions or (name.startswith(INCIDENT) and name != INCIDENT):
            return name
        slug = name.removeprefix(EXERCISE).removeprefix(CODE_REVIEW)
        if slug != name and slug in self.bank.exercises:
            return name
        names = [*self.bank.questions, *(EXERCISE + slug for slug in self.bank.exercises)]
        hint = did_you_mean(name, names, "'quizapp questions' lists them")
        raise UnknownName(f"there is no question '{card_id}'; {hint}")

    def row(self, name: str) -> CardRow:
        """The card with that id; a new card if the log does not mention it."""
        return self.store.tables.card(name) or CardRow(name)

    # what a rating would do

    def outcomes(self, row: CardRow, now: Moment, up_to: Rating = Rating.EASY) -> dict[Rating, RatingOutcome]:
        """The effect that each rating up to ``up_to`` would have on a card now."""
        question = self.bank.questions.get(row.card)
        settings = self._settings
        retention = settings.retention_for(question.file) if question else settings.desired_retention
        return self._reducer.outcomes(row, now, retention, settings.max_interval_days, up_to)

    def previews(self, row: CardRow) -> dict[Rating, RatingPreview]:
        """The due date that each rating button promises; exactly this is scheduled."""
        now = self.time.now()
        if len(self._shown) >= _MOST_SHOWN:
            self._shown.clear()
        promise = self._shown.setdefault(
            self._situation(row, now),
            {rating: outcome.interval for rating, outcome in self.outcomes(row, now).items()},
        )
        previews = {}
        for rating, seconds in promise.items():
            interval = timedelta(seconds=seconds)
            due = as_datetime(self._reducer.due_after(now, seconds)[0])
            previews[rating] = RatingPreview(rating, due, interval, interval_text(interval))
        return previews

    def _situation(self, row: CardRow, now: Moment) -> tuple[str, int, Memory, str, str, int]:
        """What the buttons of a card depend on, except for the time that passes while the card is open."""
        return row.card, row.reps, memory_of(row), row.caps, self._reducer.scheduler.version, now.day

    def _promised(self, row: CardRow, rating: Rating, now: Moment) -> int:
        """The seconds that a rating's button shows, or would show if the card were on screen."""
        # FSRS-7 counts the seconds, so a longer look at the answer could change an interval that was shown.
        shown = self._shown.get(self._situation(row, now))
        return shown[rating] if shown else self.outcomes(row, now, rating)[rating].interval

    def draft_review(
        self,
        row: CardRow,
        rating: int,
        now: Moment,
        evidence: Evidence,
        *,
        kind: EventType = EventType.ANSWER,
        parent: str = "",
        data: Mapping[str, object] | None = None,
    ) -> Draft:
        """The event of a review of ``row``, with the interval that the button promised."""
        question = self.bank.questions.get(row.card)
        given = Rating(rating)
        return Draft(
            kind,
            now,
            card=row.card,
            content=question.content_hash if question else "",
            proposed=int(evidence.proposed) if evidence.proposed is not None else None,
            rating=int(rating),
            ms=round(max(0.0, evidence.seconds) * 1000),
            hints=evidence.hints,
            ticks=evidence.ticks,
            seed=evidence.seed,
            confidence=evidence.confidence,
            source=evidence.source,
            parent=parent,
            model=self._reducer.scheduler.version,
            interval=self._promised(row, given, now),
            data=data or None,
        )

    def recorded(
        self, event: Event, lapses_before: int, row: CardRow, submissions: int = 0
    ) -> RecordedReview:
        """Describe a review that was just written, for the screen; ``row`` is the card after it."""
        assert event.rating is not None
        interval = timedelta(seconds=row.interval)
        leech = lapses_before < self._settings.leech_lapses <= row.lapses
        return RecordedReview(
            event.id,
            row.card,
            Rating(event.rating),
            as_datetime(row.due),
            interval,
            interval_text(interval),
            STATE_NAMES[row.state],
            leech,
            submissions,
            event.hints,
        )

    # acts

    def answer(
        self,
        name: str,
        rating: Rating | int,
        now: Moment,
        evidence: Evidence,
        typed: str,
        *,
        as_shown: bool = False,
    ) -> tuple[CardRow, Event]:
        """Append a review; returns the card as it was before, and the event. See ``Study.answer``."""
        data = {"typed": typed} if typed else None
        with self.store.transaction():
            before = self.row(name)
            if as_shown and evidence.seed != seed_of(before.card, before.reps, "values"):
                raise AnsweredElsewhere(
                    "This card was answered in another window meanwhile; that answer stands, not this one."
                )
            (event,) = self.store.append(self.draft_review(before, rating, now, evidence, data=data))
        return before, event

    def act(
        self, kind: EventType, card_id: str, content: str = "", data: Mapping[str, object] | None = None
    ) -> None:
        """Append an event that marks a card: bury, suspend, flag or the like."""
        name = self.resolve(card_id)
        self.store.append(Draft(kind, self.time.now(), card=name, content=content, data=data))

    def undo(self) -> UndoneAct | None:
        """Undo the last action that was not undone yet; None without one."""
        with self.store.transaction():
            act = self.store.log.last_act()
            if act:
                self.store.append(Draft(EventType.UNDO, self.time.now(), target=act.id))
        return _undone(act)

    def redo(self) -> UndoneAct | None:
        """Undo the last undo, unless something was done since; None if there is nothing to redo."""
        with self.store.transaction():
            undo = self.store.log.last_undo()
            if undo:
                self.store.append(Draft(EventType.UNDO, self.time.now(), target=undo.id))
        return _undone(self.store.log.find(undo.target)) if undo else None

    def interview(
        self,
        document: Mapping[str, object],
        reviews: Sequence[MockReview],
        recalls: Sequence[str],
        mock_id: str,
        sitting: str = "",
        passes: Sequence[PassedCode] = (),
        more: Callable[[str], Iterable[Draft]] = lambda _: (),
    ) -> tuple[str, list[RecordedReview]]:
        """Store a finished interview with its mark, reviews and recalls; see ``Study.record_mock``.

        ``more`` makes further events behind the mark, whose id it gets.
        """
        now = self.time.now()
        names = [self.resolve(review.card) for review in reviews]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise QuizError(f"A mock interview makes one review of a card, not two of {min(twice)}.")
        parent = new_id()
        with self.store.transaction():
            saved = self.store.documents.save_mock(
                document, now.time, mock_id=mock_id, state=MockState.DONE, event=parent, sitting=sitting
            )
            rows = {name: self.row(name) for name in names}
            drafts = [Draft(EventType.MOCK_MARK, now, id=parent, source="mock", data={"mock": saved})]
            drafts += [
                self._interview_review(rows[name], review, now, parent)
                for name, review in zip(names, reviews, strict=True)
            ]
            later = dict.fromkeys(name for name in map(self.resolve, recalls) if name not in rows)
            drafts += [
                Draft(EventType.RECALL, now, card=name, source="mock", parent=parent) for name in later
            ]
            drafts += more(parent)
            events = self.store.append(*drafts)
            for slug, verdict, source in passes:
                # The mark is the event behind it, so that one undo takes back the pass too.
                self.store.documents.add_submission(slug, now.time, verdict, source, parent)
        made = [event for event in events if event.rating is not None and event.card in rows]
        return saved, [self.recorded(event, rows[event.card].lapses, self.row(event.card)) for event in made]

    def _interview_review(self, row: CardRow, review: MockReview, now: Moment, parent: str) -> Draft:
        return self.draft_review(
            row,
            review.rating,
            now,
            Evidence(
                review.seconds,
                review.proposed,
                review.hints,
                review.ticks,
                review.seed,
                review.confidence,
                review.source,
            ),
            parent=parent,
            data={"caps": list(review.caps)} if review.caps else None,
        )


def _undone(event: Event | None) -> UndoneAct | None:
    if event is None:
        return None
    rating = Rating(event.rating) if event.rating else None
    return UndoneAct(event.id, event.type, event.card, rating)
