"""Ratings proposed from evidence, and what counts as evidence. The learner confirms or overrules them."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from quizapp.bank.model import KeyPoint
from quizapp.scheduling.cards import Rating
from quizapp.util.text import plural

SLOW = 1.5  # times the budget from which an answer counts as slow


class Proposal(NamedTuple):
    """A proposed rating and, in a few words, why."""

    rating: Rating
    reason: str


class Marked(Protocol):
    """The part of a mark that matters here: the share that was right, 0 to 1."""

    @property
    def right(self) -> float:
        """Share that was right."""


def propose_recall(
    points: Sequence[KeyPoint],
    ticks: Collection[int],
    *,
    seconds: float = 0.0,
    budget: float = 0.0,
    hints: int = 0,
    misconceptions: int = 0,
) -> Proposal:
    """Rate a spoken or typed answer by the key points ticked (their indices).

    Weighted share from 90 % Good, from 60 % Hard, else Again. A missed point of weight 3 or a stated
    misconception is Again; a hint or more than 1.5 times the budget (seconds) at most Hard; everything
    within half the budget Easy.
    """
    total = sum(point.weight for point in points)
    got = sum(point.weight for index, point in enumerate(points) if index in ticks)
    share = got / total if total else 0.0
    shown = f"{sum(index in ticks for index in range(len(points)))} of {len(points)} key points"
    if misconceptions:
        return Proposal(Rating.Again, f"{shown}, but something false was said")
    if any(point.weight >= 3 and index not in ticks for index, point in enumerate(points)):
        return Proposal(Rating.Again, f"{shown}, a must point is missing")
    if share < 0.6:
        return Proposal(Rating.Again, shown)
    if share < 0.9:
        return Proposal(Rating.Hard, shown)
    return _by_effort(shown, share >= 1.0, seconds, budget, hints)


def propose_mark(mark: Marked, seconds: float = 0.0, hints: int = 0, *, budget: float = 0.0) -> Proposal:
    """Rate a machine-marked answer (numeric, choice, order, cloze) by correctness, hints and time."""
    if mark.right >= 1.0:
        return _by_effort("right", True, seconds, budget, hints)
    share = f"{100 * mark.right:.0f} % right"
    if mark.right >= 0.7:
        return Proposal(Rating.Hard, share)
    return Proposal(Rating.Again, share if mark.right > 0 else "wrong")


def is_submission(*, passed: bool, asked: bool, source: str) -> bool:
    """Whether a graded file counts as a submission of the learner.

    It does where the learner asked for the grade, by key or command, and the file parses; a typing error
    is not an attempt. A save counts only if it passes: most saves are halfway through a change.
    """
    return passed or (asked and _parses(source))


def _parses(source: str) -> bool:
    import ast  # 4 ms, only for a verdict
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as an invalid escape, which would appear on the screen
            ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def propose_verdict(
    passed: bool,
    submissions: int,
    hints: int,
    opened_solution: bool,
    seconds: float = 0.0,
    budget: float = 0.0,
) -> Proposal | None:
    """Rate an exercise by its verdict; None where there is nothing to rate yet.

    The solution opened before a pass: Again. Passed with at most two submissions and no hint Good, at once
    and within half the budget (seconds) Easy, later or with hints Hard.
    """
    if opened_solution:
        return Proposal(Rating.Again, "the solution was opened")
    if not passed:
        return None
    if hints:
        return Proposal(Rating.Hard, f"passed with {plural(hints, 'hint')}")
    if submissions > 2:
        return Proposal(Rating.Hard, f"passed after {submissions} submissions")
    if budget and seconds > budget:
        return Proposal(Rating.Hard, "passed beyond the time planned")
    if submissions <= 1 and budget and 0 < seconds <= budget / 2:
        return Proposal(Rating.Easy, "passed at once, in half the time")
    return Proposal(Rating.Good, "passed at once" if submissions <= 1 else "passed at the second submission")


def _by_effort(what: str, full: bool, seconds: float, budget: float, hints: int) -> Proposal:
    if hints:
        return Proposal(Rating.Hard, f"{what}, with {plural(hints, 'hint')}")
    if budget and seconds > SLOW * budget:
        return Proposal(Rating.Hard, f"{what}, but slowly")
    if full and budget and 0 < seconds <= budget / 2:
        return Proposal(Rating.Easy, f"{what} and fast")
    return Proposal(Rating.Good, what)
