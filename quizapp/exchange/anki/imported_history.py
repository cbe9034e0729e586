"""Turns the review log of a collection into events of the log, at their real times.

Every event has an id that follows from the card and the row, so that importing again adds nothing.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from typing import NamedTuple

from quizapp.scheduling.cards import ANKI
from quizapp.scheduling.events import Draft, Event, EventType, Moment
from quizapp.scheduling.study_day import DAY_S, moment
from quizapp.store.apkg.anki_rows import AnkiCard, AnkiQueue, AnkiReview, AnkiReviewKind

_EARLIEST = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp() * 1000)
_MOST_DAYS = 36_500
_MOST_MS = 24 * 3600 * 1000
_SAME_MS = 1000
"""Nobody answers a card twice within a second, so a nearer answer with the same rating is the same one.

Exported reviews carry the time of the answer, moved by some milliseconds if another had the same.
"""


@dataclass(slots=True)
class ImportedHistory:
    """The events of a collection, and how many rows of its review log became none.

    ``crammed`` are answers in filtered decks that do not reschedule, ``moved`` due dates set by hand, and
    ``impossible`` rows with a rating, a time, or an interval that cannot be.
    """

    events: list[Event] = field(default_factory=list)
    crammed: int = 0
    moved: int = 0
    impossible: int = 0


class KnownAnswers(NamedTuple):
    """The rated events of a card that the log holds already: (time in ms, rating), sorted."""

    answers: tuple[tuple[int, int], ...] = ()

    def holds(self, review: AnkiReview) -> bool:
        """Whether an answer in the log is this one."""
        start = bisect_left(self.answers, (review.id - _SAME_MS, 0))
        for time, rating in self.answers[start:]:
            if time > review.id + _SAME_MS:
                return False
            if rating == review.rating:
                return True
        return False


def import_history(
    cards: Iterable[tuple[str, AnkiCard]],
    reviews: Iterable[AnkiReview],
    known: Mapping[str, KnownAnswers],
    hidden: Mapping[EventType, frozenset[str]],
    *,
    now: int,
    rollover_hour: int,
) -> ImportedHistory:
    """The events for ``cards`` (pairs of our id and Anki's card).

    ``known`` are the answers in the log by card, ``hidden`` the cards that are suspended or flagged already.
    ``now`` is in ms since 1970: what is later comes from a wrong clock.
    """
    by_card: dict[int, list[AnkiReview]] = {}
    for review in reviews:
        by_card.setdefault(review.card, []).append(review)
    history = ImportedHistory()
    for name, card in cards:
        rows = sorted(by_card.get(card.id, ()), key=lambda review: review.id)
        builder = _CardHistory(name, history, now + DAY_S * 1000, rollover_hour)
        answers = known.get(name, KnownAnswers())
        history.events += builder.reviews(rows, answers)
        history.events += builder.states(card, hidden)
    return history


class _CardHistory:
    """Builds the events of one card."""

    def __init__(self, name: str, history: ImportedHistory, latest: int, rollover_hour: int) -> None:
        self._name = name
        self._history = history
        self._latest = latest
        self._rollover_hour = rollover_hour
        self._last = 0

    def reviews(self, rows: list[AnkiReview], known: KnownAnswers) -> Iterator[Event]:
        for place, row in enumerate(rows):
            if not _EARLIEST <= row.id <= self._latest:
                self._history.impossible += 1
                continue
            self._last = row.id
            if row.rating == 0:
                if row.kind == AnkiReviewKind.MANUAL and row.factor == 0:
                    yield self._reset(row)
                elif row.kind != AnkiReviewKind.RESCHEDULED:
                    self._history.moved += 1
            elif row.kind == AnkiReviewKind.FILTERED and row.factor == 0:
                self._history.crammed += 1
            elif not 1 <= row.rating <= 4 or not -_MOST_DAYS * DAY_S <= row.interval <= _MOST_DAYS:
                self._history.impossible += 1
            elif not known.holds(row):
                yield self._answer(row, _promised(rows, place))

    def states(self, card: AnkiCard, hidden: Mapping[EventType, frozenset[str]]) -> Iterator[Event]:
        """Suspension, burying, and flag, at the time when the card was last changed."""
        changed = card.modified * 1000
        time = min(max(changed if changed >= _EARLIEST else 0, self._last + 1, _EARLIEST), self._latest)
        wanted = {
            EventType.SUSPEND: card.queue == AnkiQueue.SUSPENDED,
            EventType.BURY: card.queue in {AnkiQueue.BURIED_BY_USER, AnkiQueue.BURIED_BY_SCHEDULER},
            EventType.FLAG: card.flags & 7 > 0,
        }
        # The three must not share a place in the order of events.
        for at, (kind, present) in enumerate(wanted.items(), time + 1):
            if present and self._name not in hidden.get(kind, ()):
                yield self._event(Draft(kind, self._moment(at), self._name, source=ANKI), kind, at)

    def _answer(self, row: AnkiReview, interval: int) -> Event:
        seconds = interval * DAY_S if interval > 0 else -interval
        draft = Draft(
            EventType.ANSWER,
            self._moment(row.id),
            self._name,
            rating=row.rating,
            ms=min(max(row.ms, 0), _MOST_MS),
            source=ANKI,
            interval=seconds,
        )
        return self._event(draft, EventType.ANSWER, row.id)

    def _reset(self, row: AnkiReview) -> Event:
        """A card that was reset in Anki begins anew and keeps its history, as after a changed question."""
        draft = Draft(
            EventType.EDIT_SEEN, self._moment(row.id), self._name, source=ANKI, data={"treat_as_new": True}
        )
        return self._event(draft, EventType.EDIT_SEEN, row.id)

    def _moment(self, time: int) -> Moment:
        local = datetime.fromtimestamp(time / 1000, UTC).astimezone()
        return moment(local, self._rollover_hour)._replace(time=time)

    def _event(self, draft: Draft, kind: EventType, time: int) -> Event:
        key = f"{ANKI} {self._name} {kind} {time}"
        identity = blake2b(key.encode(), digest_size=16).hexdigest()
        return draft._replace(id=identity).placed(0, ANKI, time, time)


def _promised(rows: list[AnkiReview], place: int) -> int:
    """The interval after a review. Anki's FSRS may have changed it later, in rows of their own."""
    interval = rows[place].interval
    for row in rows[place + 1 :]:
        if row.rating or row.kind != AnkiReviewKind.RESCHEDULED or not 0 < row.interval <= _MOST_DAYS:
            break
        interval = row.interval
    return interval
