"""Rules that propose a rating from evidence. The learner confirms or overrules it."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from quizapp.bank.model import KeyPoint, musts
from quizapp.scheduling.cards import Rating
from quizapp.util.text import plural

SLOW = 1.5  # an answer beyond this multiple of its budget counts as slow
RECALL_SHARE = 0.6  # of the weight of all key points, from which an answer with all musts is Good
PARTLY_RIGHT = 0.6  # of a number, a choice, an order or gaps, from which an answer is Hard


class Proposal(NamedTuple):
    """A proposed rating with its reason in a few words."""

    rating: Rating
    reason: str


class Marked(Protocol):
    """The part of a mark that the rules need."""

    @property
    def right(self) -> float:
        """The share that was right, 0 to 1."""


def propose_recall(
    points: Sequence[KeyPoint],
    ticks: Collection[int],
    *,
    seconds: float = 0.0,
    budget: float = 0.0,
    unknown: bool = False,
) -> Proposal | None:
    """Rate a spoken or typed answer by the indices of the key points that were ticked.

    All musts and at least 60 % of the weight are Good, and every point within half the budget (seconds) is
    Easy. Any other tick is Hard. Without a tick nothing is proposed, since words that were not recognized may
    be right, unless the learner says that the answer was ``unknown``: that is Again.
    """
    if not ticks:
        return Proposal(Rating.Again, "you did not know it") if unknown else None
    total = sum(point.weight for point in points)
    got = sum(point.weight for index, point in enumerate(points) if index in ticks)
    count = sum(index in ticks for index in range(len(points)))
    shown = f"{count} of {len(points)} key points"
    required = musts(points)
    if any(point in required and index not in ticks for index, point in enumerate(points)):
        return Proposal(Rating.Hard, f"{shown}, an essential one is missing")
    if got < RECALL_SHARE * total:
        return Proposal(Rating.Hard, shown)
    if count == len(points) and budget and 0 < seconds <= budget / 2:
        return Proposal(Rating.Easy, f"{shown}, fast")
    return Proposal(Rating.Good, shown)


def propose_mark(mark: Marked, seconds: float = 0.0, hints: int = 0, *, budget: float = 0.0) -> Proposal:
    """Rate a machine-marked answer (numeric, choice, order, cloze) by correctness, hints and time.

    A fully right answer is Good, Easy within half the budget (seconds), and Hard with a hint or when slow.
    At least 60 % right is Hard, which is two gaps of three; anything less is Again.
    """
    if mark.right >= 1.0:
        return _by_effort("right", True, seconds, budget, hints)
    share = f"{100 * mark.right:.0f} % right"
    if mark.right >= PARTLY_RIGHT:
        return Proposal(Rating.Hard, share)
    return Proposal(Rating.Again, share if mark.right > 0 else "wrong")


def is_submission(*, passed: bool, asked: bool, source: str) -> bool:
    """Whether a graded file counts as a submission.

    It counts if the learner asked for the grade and the file parses, since a typing error is not an attempt.
    A mere save counts only if it passes, since most saves are halfway through a change.
    """
    return passed or (asked and _parses(source))


def _parses(source: str) -> bool:
    import ast  # 4 ms, only for a verdict
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning about an invalid escape would appear on the screen
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
    """Rate an exercise by its verdict; None as long as it has not passed.

    Opening the solution before a pass is Again. A pass within two submissions is Good, and Easy if it took
    one submission and half the budget (seconds). More submissions, hints or time make it Hard.
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


def propose_debugging(passed: bool) -> Proposal | None:
    """Rate code of somebody else in which every fault was found, so that all hidden tests hold.

    Finding faults is less than writing the code, so it is never more than Hard; failing is no reason to
    think that the learner could not write it, so it is nothing.
    """
    return Proposal(Rating.Hard, "found every fault") if passed else None


def propose_code_review(marks: int, confidence: int, seconds: float = 0.0, budget: float = 0.0) -> Proposal:
    """Rate a code review by its marks of 100.

    At least 90 marks are Easy if the learner was at least 75 % sure and needed at most half the budget
    (seconds); 70 are Good within the budget; 50 are Hard; anything less is Again.
    """
    share = f"{marks} of 100"
    if marks < 50:
        return Proposal(Rating.Again, share)
    if marks < 70:
        return Proposal(Rating.Hard, share)
    if budget and seconds > budget:
        return Proposal(Rating.Hard, f"{share}, beyond the time allowed")
    if marks >= 90 and confidence >= 75 and budget and 0 < seconds <= budget / 2:
        return Proposal(Rating.Easy, f"{share}, fast and sure")
    return Proposal(Rating.Good, share)


def _by_effort(what: str, full: bool, seconds: float, budget: float, hints: int) -> Proposal:
    if hints:
        return Proposal(Rating.Hard, f"{what}, with {plural(hints, 'hint')}")
    if budget and seconds > SLOW * budget:
        return Proposal(Rating.Hard, f"{what}, but slowly")
    if full and budget and 0 < seconds <= budget / 2:
        return Proposal(Rating.Easy, f"{what} and fast")
    return Proposal(Rating.Good, what)
