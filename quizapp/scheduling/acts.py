"""What the learner does to cards: answers, undo and redo, bury, suspend, flag, acknowledge."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from quizapp.scheduling.cards import STATE_NAMES, CardRow
from quizapp.scheduling.core import StudyCore
from quizapp.scheduling.events import BURY, EDIT_SEEN, FLAG, SUSPEND, UNDO, UNFLAG, UNSUSPEND, Draft, Event
from quizapp.scheduling.rating import Rating
from quizapp.scheduling.study_day import as_datetime, interval_text
from quizapp.scheduling.views import Answered, Undone


class Acts(StudyCore):
    """Every act is an appended event, on disk when the method returns."""

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
                row=before,
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
            row = self.store.latest(name)
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
        """Take back the last act that stands (answer, bury, flag, verdict, mock, ...); None without one."""
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

    def _act(self, kind: str, card_id: str, **rest: Any) -> None:
        name = self.resolve(card_id)
        self.store.append(Draft(kind, self.now(), card=name, **rest))
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


def _undone(event: Event | None) -> Undone | None:
    if event is None:
        return None
    rating = Rating(event.rating) if event.rating else None
    return Undone(event.id, event.type, event.card, rating)
