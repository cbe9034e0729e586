"""What the outcome of an item does to the schedule."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quizapp.bank.model import Bank
from quizapp.interview.session.question import CUT, INCIDENT, InterviewQuestion
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.recorder import MockReview

SURE = 75
CAPS = (1, 7)


@dataclass(frozen=True, slots=True)
class ScheduleEffect:
    """A review, or the card first in tomorrow's queue; ``why`` in words."""

    why: str
    rating: Rating | None = None
    caps: tuple[int, ...] = ()


def outcome(item: InterviewQuestion, mark: int, marking: Mapping[str, Any]) -> ScheduleEffect:
    """The effect of one item; without a rating there is no review."""
    if not item.reached or item.state in {"lost", "abandoned", "unreached"}:
        later = "" if item.kind == INCIDENT else ", first in tomorrow's queue"
        return ScheduleEffect(f"not reached, abandoned or lost: no review{later}")
    if item.kind == "coding":
        return _coding(item, mark)
    sure_and_wrong = item.confidence is not None and item.confidence >= SURE and mark < 50
    caps = CAPS if sure_and_wrong else ()
    if item.state == CUT:
        return ScheduleEffect("cut at 150 % of its time", Rating.AGAIN, caps)
    if mark < 50:
        why = "sure and wrong: asked again soon, twice" if sure_and_wrong else "below 50"
        return ScheduleEffect(why, Rating.AGAIN, caps)
    if any(p["weight"] == 3 and not p["held"] for p in marking.get("points", ())):
        return ScheduleEffect("a must point is missing", Rating.AGAIN)
    if any(m["stated"] for m in marking.get("misconceptions", ())):
        return ScheduleEffect("a misconception was stated", Rating.AGAIN)
    late = item.used_ms > 1000 * item.budget
    if mark < 70 or item.hints or late:
        why = "over its time" if late else "with a hint" if item.hints else "from 50 to 69"
        return ScheduleEffect(why, Rating.HARD)
    quick = 2 * item.used_ms <= 1000 * item.budget
    if mark >= 90 and quick and item.confidence is not None and item.confidence >= SURE:
        return ScheduleEffect("at least 90, sure, in half the time", Rating.EASY)
    return ScheduleEffect("at least 70, in time", Rating.GOOD)


def _coding(item: InterviewQuestion, mark: int) -> ScheduleEffect:
    passed = bool(item.submissions) and bool(item.submissions[-1]["verdict"].get("passed"))
    if not passed:
        caps = CAPS if item.confidence is not None and item.confidence >= SURE and mark < 50 else ()
        return ScheduleEffect("not passed", Rating.AGAIN, caps)
    if item.used_ms <= 1000 * item.budget and len(item.submissions) <= 2:
        return ScheduleEffect("passed in time with at most two submissions", Rating.GOOD)
    return ScheduleEffect("passed late or after more than two submissions", Rating.HARD)


def review_of(item: InterviewQuestion, found: ScheduleEffect, marking: Mapping[str, Any]) -> MockReview:
    """The review of an outcome with a rating."""
    assert found.rating is not None
    ticks = tuple(index for index, point in enumerate(marking.get("points", ())) if point["held"])
    return MockReview(
        item.card,
        found.rating,
        found.rating,
        item.used_ms / 1000,
        item.hints,
        ticks,
        item.seed,
        item.confidence,
        found.caps,
        "incident" if item.kind == INCIDENT else "mock",
    )


def linked(
    item: InterviewQuestion, mark: int, marking: Mapping[str, Any], bank: Bank, asked: frozenset[str]
) -> list[str]:
    """Cards that come tomorrow with it.

    For a missed follow-up a sibling, variant or ground of the question; for an incident below 50 the exercise
    that practises it.
    """
    if item.kind == INCIDENT:
        card = f"exercise:{item.exercise}"
        return [card] if mark < 50 and item.exercise in bank.exercises and card not in asked else []
    missed = sum(1 for probe in marking.get("probes", ()) if probe["asked"] and not probe["held"])
    question = bank.questions.get(bank.resolve(item.card))
    if not missed or question is None:
        return []
    children = [other.id for other in bank.questions.values() if other.parent == question.id]
    near = [*question.siblings, *children, *question.requires]
    known = [bank.resolve(name) for name in near]
    return [name for name in known if name in bank.questions and name not in asked][:missed]
