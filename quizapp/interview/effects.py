"""Decides what the mark of a question does to the schedule: rating, caps, recalled cards, passed code."""

from collections.abc import Sequence
from dataclasses import dataclass

from quizapp.bank.model import Bank
from quizapp.interview.code_review.service import stored
from quizapp.interview.marking.model import Marking, ReviewMarking, WordsMarking
from quizapp.interview.report.model import Report
from quizapp.interview.scoring.review_terms import review_result
from quizapp.interview.session.question import (
    ABANDONED,
    CODING,
    CUT,
    DEBUG,
    INCIDENT,
    LOST,
    REVIEW,
    UNREACHED,
    InterviewQuestion,
)
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.exercises import CodeReviewOutcome, InterviewCodeReview, progress_of
from quizapp.scheduling.rating_rules import propose_code_review
from quizapp.scheduling.recorder import MockReview, PassedCode

SURE = 75
"""From this confidence on, in percent, a learner counts as sure."""
CAPS = (1, 7)
"""The longest intervals, in days, of the two reviews that follow a sure but wrong answer."""


@dataclass(frozen=True, slots=True)
class ScheduleEffect:
    """What happens to the card.

    Without a rating there is no review. ``caps`` are the longest intervals, in days, of the next reviews.
    ``why`` is for the report.
    """

    why: str
    rating: Rating | None = None
    caps: tuple[int, ...] = ()


def effect_of(item: InterviewQuestion, mark: int, marking: Marking) -> ScheduleEffect:
    """The effect of one question of an interview, given its mark from 0 to 100."""
    if item.practice or not item.reached or item.state in (LOST, ABANDONED, UNREACHED):
        later = "" if item.kind in (INCIDENT, REVIEW) else ", first in tomorrow's queue"
        why = "practice" if item.practice else "not reached, abandoned or lost"
        return ScheduleEffect(f"{why}: no review{later}")
    sure = item.confidence is not None and item.confidence >= SURE
    caps = CAPS if sure and mark < 50 else ()
    if item.kind in (CODING, REVIEW):
        return _effect_of_program(item, mark, caps)
    late = item.used_ms > 1000 * item.budget
    if item.state == CUT:
        return ScheduleEffect("cut at 150 % of its time", Rating.AGAIN, caps)
    if mark < 50:
        why = "sure, and below 50: asked again soon, twice" if caps else "below 50"
        return ScheduleEffect(why, Rating.AGAIN, caps)
    if isinstance(marking, WordsMarking):
        # Points of weight 3 are musts: without one the answer is wrong, however good the rest.
        if any(point.weight == 3 and not point.held for point in marking.points):
            return ScheduleEffect("an essential point is missing", Rating.AGAIN)
        if any(row.stated for row in marking.misconceptions):
            return ScheduleEffect("a misconception was stated", Rating.AGAIN)
    if mark < 70 or item.hints or late:
        why = "over its time" if late else "with a hint" if item.hints else "from 50 to 69"
        return ScheduleEffect(why, Rating.HARD)
    quick = 2 * item.used_ms <= 1000 * item.budget
    if mark >= 90 and quick and sure:
        return ScheduleEffect("at least 90, sure, in half the time", Rating.EASY)
    return ScheduleEffect("at least 70, in time", Rating.GOOD)


def _effect_of_program(item: InterviewQuestion, mark: int, caps: tuple[int, ...]) -> ScheduleEffect:
    if item.kind == REVIEW:
        return _effect_of_review(item, mark)
    return _effect_of_debugging(item) if item.slot == DEBUG else _effect_of_code(item, caps)


def _effect_of_code(item: InterviewQuestion, caps: tuple[int, ...]) -> ScheduleEffect:
    passed, tries = _core_of(item) if item.stages else _whole_of(item)
    if not passed:
        return ScheduleEffect("not passed", Rating.AGAIN, caps)
    if item.used_ms <= 1000 * item.budget and tries <= 2:
        return ScheduleEffect("passed in time with at most two submissions", Rating.GOOD)
    return ScheduleEffect("passed late or after more than two submissions", Rating.HARD)


def _whole_of(item: InterviewQuestion) -> tuple[bool, int]:
    """Whether the last submission passed, and how many there were."""
    return bool(item.submissions) and item.submissions[-1].passed, len(item.submissions)


def _core_of(item: InterviewQuestion) -> tuple[bool, int]:
    """Whether the core stages asked for hold in the last submission, and how many tries that took.

    Each stage needs a submission of its own, so only the red ones before the core held count as tries.
    ``robust`` lowers nothing.
    """
    run = item.staged_run
    core = {stage.name for stage in run.stages if stage.is_core}
    held = set(run.grades[-1].held) if run.grades else set()
    reds = run.red_grades()
    return core <= held, 1 + sum(reds[name] for name in core)


def _effect_of_debugging(item: InterviewQuestion) -> ScheduleEffect:
    # Somebody else's code, repaired, shows less than code of one's own, and never that it is unknown.
    if item.submissions and item.submissions[-1].passed:
        return ScheduleEffect("every fault found and all green", Rating.HARD)
    return ScheduleEffect("not all green: no review")


def _effect_of_review(item: InterviewQuestion, mark: int) -> ScheduleEffect:
    answer = item.review_answer
    proposal = propose_code_review(mark, answer.confidence or 0, answer.seconds, item.budget)
    return ScheduleEffect(f"a code review of {proposal.reason}", proposal.rating)


def review_of(item: InterviewQuestion, effect: ScheduleEffect, marking: Marking) -> MockReview:
    """Build the review for an effect that has a rating."""
    assert effect.rating is not None
    points = marking.points if isinstance(marking, WordsMarking) else ()
    return MockReview(
        item.card,
        effect.rating,
        effect.rating,
        item.used_ms / 1000,
        item.hints,
        tuple(index for index, point in enumerate(points) if point.held),
        item.seed,
        item.confidence,
        effect.caps,
        "incident" if item.kind == INCIDENT else "mock",
    )


def linked_cards(
    item: InterviewQuestion, mark: int, marking: Marking, bank: Bank, asked: Sequence[str]
) -> list[str]:
    """Return the related cards to ask tomorrow, without those that were ``asked`` in the interview.

    Each missed follow-up adds one sibling, variant or prerequisite of the question. An incident marked below
    50 adds the exercise that practices it.
    """
    if item.kind == INCIDENT:
        card = f"exercise:{item.exercise}"
        return [card] if mark < 50 and item.exercise in bank.exercises and card not in asked else []
    question = bank.questions.get(bank.resolve(item.card))
    if question is None or not isinstance(marking, WordsMarking):
        return []
    missed = sum(row.asked and not row.held for row in marking.follow_ups)
    variants = [other.id for other in bank.questions.values() if other.parent == question.id]
    near = [bank.resolve(name) for name in (*question.siblings, *variants, *question.requires)]
    return [name for name in near if name in bank.questions and name not in asked][:missed]


def passed_code(items: Sequence[InterviewQuestion], bank: Bank) -> list[PassedCode]:
    """The code that passes its exercise by itself; a repaired solution does not."""
    passes = []
    for item in items:
        exercise = bank.exercises.get(item.exercise)
        if item.kind != CODING or item.slot == DEBUG or not item.submissions or exercise is None:
            continue
        last = item.submissions[-1]
        progress = progress_of(last.verdict, exercise)
        if progress.passed:
            stored_verdict = {**last.verdict, "progress": progress._asdict()}
            passes.append(PassedCode(item.exercise, stored_verdict, last.source))
    return passes


def code_reviews(report: Report, interview_id: str) -> list[InterviewCodeReview]:
    """The code reviews of an interview that were answered, as the schedule stores them."""
    reviews = []
    for question in report.questions:
        item, marking = question.asked, question.marking
        rated = question.effect is not None and question.effect.rating is not None
        if not rated or not isinstance(marking, ReviewMarking):
            continue
        result = review_result(item, marking)
        result.id = f"{interview_id}-{item.number}"
        answer = result.answer
        outcome = CodeReviewOutcome(
            result.marks.total, answer.confidence or 0, answer.seconds, float(item.budget), item.seed
        )
        reviews.append(InterviewCodeReview(item.exercise, stored(result), outcome))
    return reviews
