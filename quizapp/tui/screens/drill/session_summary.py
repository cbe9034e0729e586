"""The answers of one drill, for the bar at its head and the summary at its end."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from quizapp.bank.model import Bank
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.views import CardFilter, RecordedReview
from quizapp.tui.rendering.card_text import PreparedCard
from quizapp.util.text import duration, percent, plural

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study


@dataclass(frozen=True, slots=True)
class _Answered:
    card: str
    topic: str
    exercise: str
    answered: RecordedReview


class DrillSession:
    """The answers of one drill in order; an undo removes the last answer to its card."""

    def __init__(self, started: float) -> None:
        self.started = started
        self._done: list[_Answered] = []

    @property
    def done(self) -> int:
        """Answers that stand."""
        return len(self._done)

    @property
    def right(self) -> int:
        """Answers not rated Again."""
        return sum(item.answered.rating != Rating.AGAIN for item in self._done)

    def add(self, card: PreparedCard, answered: RecordedReview) -> None:
        """One more answer."""
        exercise = card.question.exercise
        self._done.append(_Answered(card.id, card.topic, exercise, answered))

    def undo(self, card_id: str) -> None:
        """Forget the last answer to a card."""
        for index in range(len(self._done) - 1, -1, -1):
            if self._done[index].card == card_id:
                del self._done[index]
                return

    def ahead(
        self, study: "Study", flt: CardFilter, limit: int | None, card: PreparedCard
    ) -> tuple[int, tuple[str, ...]]:
        """How many cards are left, up to ``limit`` answers, and words about the card on the screen."""
        left = study.counts(flt).total
        if limit is not None:
            left = min(left, max(0, limit - self.done))
        topic = study.bank.topics.get(card.topic)
        flagged = ("flagged",) if study.card(card.id).flagged else ()
        return left, (*flagged, topic.name if topic else card.topic, card.level, card.state)

    def end_text(self, study: "Study", clock: float) -> str:
        """The text at the end, as Markdown: the summary or that nothing was due, and the next due date."""
        parts = ["## Nothing is due\n\nNo card is waiting here now."]
        if self.done:
            parts = self._summary(study.clock.now(), clock, study.bank)
        today = study.today()
        later = [(day, cards) for day, cards in study.stats(14).forecast if day > today and cards]
        if later:
            day, cards = later[0]
            name = "Tomorrow" if (day - today).days == 1 else f"In {(day - today).days} days"
            parts.append(f"{name}: {plural(cards, 'card')}.")
        return "\n\n".join(parts)

    def _summary(self, now: datetime, clock: float, bank: Bank) -> list[str]:
        """The ratings, when cards come back, weak topics, and the next step."""
        share = self.right / max(1, self.done)
        parts = [
            f"## {plural(self.done, 'card')} in {duration(clock - self.started)}",
            f"{percent(share)} recalled: {self._ratings()}.",
            "### Comes back\n\n" + self._comes_back(now),
        ]
        weak = self._weak(bank)
        if weak:
            parts.append("### Weak today\n\n" + "\n".join(f"- {line}" for line in weak))
        step = self._next_step(bank)
        if step:
            parts.append("### Next\n\n" + step)
        return parts

    def _ratings(self) -> str:
        counts = Counter(item.answered.rating for item in self._done)
        return ", ".join(f"{counts[rating]} {rating.label}" for rating in Rating if counts[rating])

    def _comes_back(self, now: datetime) -> str:
        last = {item.card: item.answered.due for item in self._done}
        days = Counter(
            max(0, (due.astimezone().date() - now.astimezone().date()).days) for due in last.values()
        )
        names = {0: "today", 1: "tomorrow"}
        lines = [
            f"- {plural(days[day], 'card')} {names.get(day, f'in {day} days')}" for day in sorted(days)[:5]
        ]
        later = sum(days[day] for day in sorted(days)[5:])
        return "\n".join([*lines, *([f"- {plural(later, 'card')} later"] if later else [])])

    def _weak(self, bank: Bank) -> list[str]:
        again = Counter(item.topic for item in self._done if item.answered.rating == Rating.AGAIN)
        total = Counter(item.topic for item in self._done)
        return [
            f"{_name(bank, topic)}: {count} of {total[topic]} not recalled"
            for topic, count in again.most_common(3)
        ]

    def _next_step(self, bank: Bank) -> str:
        missed = Counter(
            item.exercise for item in self._done
            if item.answered.rating == Rating.AGAIN and item.exercise in bank.exercises
        )  # fmt: skip
        if not missed:
            return ""
        exercise = bank.exercises[missed.most_common(1)[0][0]]
        return (
            f"Write the code behind what was missed: **{exercise.title}**, about {exercise.minutes} minutes."
        )


def _name(bank: Bank, topic: str) -> str:
    return bank.topics[topic].name if topic in bank.topics else topic
