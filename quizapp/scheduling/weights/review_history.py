"""Review histories in the form that trainers and comparisons read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quizapp.scheduling.cards import NEW, ReviewRow

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """One review of a history: study days since the one before, rating, and whether it is trained on.

    ``days`` is the time that really passed since the review before, in days, and ``age`` the place of the
    review among all trained ones: 0 for the oldest, 1 for the newest.
    """

    elapsed: int
    rating: int
    trained: bool
    days: float
    age: float = 1.0


History = Sequence[HistoryStep]
"""The reviews of one card, oldest first."""


def split(reviews: Iterable[ReviewRow], cut: int) -> list[list[HistoryStep]]:
    """The histories of the cards; reviews from ``cut`` (UTC ms) on are kept from training."""
    rows = list(reviews)
    times = sorted(row.time for row in rows if row.time < cut)
    place = {time: number / max(1, len(times) - 1) for number, time in enumerate(times)}
    histories: dict[str, list[HistoryStep]] = {}
    last: dict[str, int] = {}
    done: list[list[HistoryStep]] = []
    for row in rows:
        if row.state == NEW:  # the first review, or one after "treat as new"
            if row.card in histories:
                done.append(histories[row.card])
            histories[row.card] = []
        passed = max(0, row.time - last.get(row.card, row.time)) / DAY_MS
        histories.setdefault(row.card, []).append(
            HistoryStep(row.elapsed, row.rating, row.time < cut, passed, place.get(row.time, 1.0))
        )
        last[row.card] = row.time
    return [*done, *histories.values()]


def trained_part(histories: Iterable[History]) -> list[list[HistoryStep]]:
    """The histories without the reviews that are kept from training."""
    return [[step for step in history if step.trained] for history in histories]
