"""The answers of one drill, for the bar at its head and the summary at its end."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from quizapp.bank.model import Bank
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.views import CardFilter, DayRest, RecordedReview
from quizapp.tui.rendering.card_text import PreparedCard
from quizapp.util.text import duration, percent, plural

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study

MORE = 10
"""Cards beyond the daily limit that one key brings."""
_NAMED = 5  # ids of cards that are kept apart, before the others are only counted


@dataclass(frozen=True, slots=True)
class _Answered:
    card: str
    topic: str
    exercise: str
    answered: RecordedReview
    typed: str


class DrillSession:
    """The answers of one drill in order; an undo removes the last answer to its card."""

    def __init__(self, started: float) -> None:
        self.started = started
        self.fitted = 0
        """Answers that the memory model was fitted to."""
        self._done: list[_Answered] = []

    @property
    def done(self) -> int:
        """Answers that stand."""
        return len(self._done)

    @property
    def right(self) -> int:
        """Answers not rated Again."""
        return sum(item.answered.rating != Rating.AGAIN for item in self._done)

    def add(self, card: PreparedCard, answered: RecordedReview, typed: str = "") -> None:
        """One more answer, with the words that were typed for it."""
        exercise = card.question.exercise
        self._done.append(_Answered(card.id, card.topic, exercise, answered, typed))

    def undo(self, card_id: str) -> str:
        """Forget the last answer to a card; return the words that were typed for it."""
        for index in range(len(self._done) - 1, -1, -1):
            if self._done[index].card == card_id:
                return self._done.pop(index).typed
        return ""

    def is_over(self, limit: int | None) -> bool:
        """Whether so many cards were answered."""
        return limit is not None and self.done >= limit

    def left(self, study: "Study", flt: CardFilter, limit: int | None) -> tuple[int, ...]:
        """How many new cards, cards in learning and reviews are left; with a ``limit`` how many answers."""
        counts = study.counts(flt)
        if limit is not None and (left := max(0, limit - self.done)) < counts.total:
            return (left,)
        return counts.new, counts.learning, counts.due

    @staticmethod
    def about(study: "Study", card: PreparedCard) -> tuple[str, ...]:
        """Words about the card on the screen."""
        topic = study.bank.topics.get(card.topic)
        flagged = ("flagged",) if study.card(card.id).flagged else ()
        return (*flagged, topic.name if topic else card.topic, card.level, card.state)

    def end_text(self, study: "Study", clock: float, rest: DayRest, flt: CardFilter, *, left: int = 0) -> str:
        """The text at the end, as Markdown: the summary, why no card follows, and how to go on.

        ``left`` is the number of cards of today that only the limit of the session holds back.
        """
        parts = self._summary(study.clock.now(), clock, study.bank) if self.done else []
        heading = "### Go on" if self.done else "## Nothing is left"
        if left:
            reason = f"The limit of this session, {plural(self.done, 'card')}, is reached."
            ways = [f"- `enter` goes on: {plural(left, 'card')} left today."]
        else:
            reason, ways = _reason(rest, flt), list(_ways_on(rest))
        parts.append("\n\n".join([heading, reason, "\n".join(ways)]).rstrip())
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


def _reason(rest: DayRest, flt: CardFilter) -> str:
    """Why no card is shown."""
    if not rest.cards:
        return "No question matches this selection."
    if rest.suspended == rest.cards:
        what = "The card is" if rest.cards == 1 else f"All {rest.cards} cards are"
        return f"{what} suspended; `/` finds them, and `s` there resumes them."
    if rest.reviews or rest.new:
        return "Your daily limit is reached."
    if rest.apart:
        return "All that is left is related to cards that came today."
    return "You are done with this selection." if flt != CardFilter() else "You are done for today."


def _ways_on(rest: DayRest) -> Iterator[str]:
    """A line of Markdown for each way to go on."""
    if rest.reviews:
        yield f"- `enter` shows {MORE} more: {plural(rest.reviews, 'due card')} over your daily limit."
    elif rest.new:
        yield f"- `enter` shows {MORE} more: {plural(rest.new, 'card')} that you have not seen."
    if rest.ahead:
        yield f"- `a` studies ahead: {plural(rest.ahead, 'card')} due within a week."
    if rest.apart:
        named = ", ".join(f"`{name}`" for name in rest.apart[:_NAMED])
        others = f" and {len(rest.apart) - _NAMED} more" if len(rest.apart) > _NAMED else ""
        yield f"- `r` shows cards that wait until tomorrow because related ones came today: {named}{others}."
