"""Weighs questions and exercises for a study plan by role, level and the gaps that interviews showed."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from quizapp.bank.model import Bank
from quizapp.interview.archive import done
from quizapp.interview.blueprint import Blueprint, Role
from quizapp.interview.history import HALF_LIFE_DAYS
from quizapp.interview.report.model import Report
from quizapp.scheduling.planner.load_deck import StudyWeights
from quizapp.scheduling.planner.plan import PlanInputs, plan_inputs

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study

OTHER_TOPICS = 0.25  # weight of a topic that the role does not name, relative to the role's mean topic
LAST = 0.25  # weight per card of the exercise that is introduced last, relative to the first one's
POOL = 2.0  # factor for an exercise in the role's coding pool
_LENGTH = 45  # minutes of the interview whose coding phase sets the share of code
_STRONG = 15  # an answer this many marks above the pass mark is strong and shows no gap
_SETTLED = 3  # with this many questions a gap counts half (shrinkage n / (n + 3))


def plan_weights(
    bank: Bank,
    blueprint: Blueprint,
    role: str | None,
    reports: Sequence[Report],
    now: datetime,
) -> StudyWeights:
    """Weigh every card and exercise. A card weighs role x level x (1 + gap of its topic).

    The role factor is the topic's weight over the mean of the role's topics. The level factor is planned
    seconds over those of a medium question, the weighting that marks use. All exercises together weigh as
    much as all cards, times the odds of coding against other time in a 45-minute interview. Each has the
    share of its own cards, times a factor that falls from 1 to `LAST` in the order of introduction, because
    many cards about a calculator do not make interviewers ask for its code. ``reports`` are finished mock
    interviews. Raises ``UnknownName`` for the role.
    """
    chosen = blueprint.role(role) if role else None
    gap = gaps(reports, chosen or min(blueprint.roles.values(), key=lambda role: role.pass_mark), now)
    topics = {topic: _role_weight(chosen, topic) * (1 + gap.get(topic, 0.0)) for topic in bank.topics}
    nominal = blueprint.format.times.other
    cards = {
        question.id: topics.get(question.topic, 1.0) * nominal[question.level] / nominal["medium"]
        for question in bank.questions.values()
    }
    share = _code_share(blueprint, [chosen] if chosen else list(blueprint.roles.values()))
    exercises = _exercise_weights(bank, cards, share / (1 - share))
    for slug in chosen.coding_pool if chosen else ():
        if slug in exercises:
            exercises[slug] *= POOL
    differ = len(set(topics.values())) > 1
    order = sorted(topics, key=lambda topic: -topics[topic]) if differ else []
    return StudyWeights(cards, exercises, order, share)


def inputs_to_interview(
    study: "Study", blueprint: Blueprint, until: date, *, minutes: int | None = None, role: str = ""
) -> PlanInputs | None:
    """What a plan to an interview follows from; None without cards. Raises ``UnknownName`` for the role."""
    weights = plan_weights(study.bank, blueprint, role or None, done(study), study.clock.now())
    return plan_inputs(study, until, weights, minutes=minutes, track=role)


def _exercise_weights(bank: Bank, cards: Mapping[str, float], odds: float) -> dict[str, float]:
    """Weigh each exercise by its ``cards`` and its place in the order of introduction."""
    own = dict.fromkeys(bank.exercises, 0.0)
    for question in bank.questions.values():
        if question.exercise in own:
            own[question.exercise] += cards[question.id] * odds
    fall = (1 - LAST) / max(1, len(own) - 1)
    placed = {slug: weight * (1 - fall * place) for place, (slug, weight) in enumerate(own.items())}
    scale = sum(own.values()) / (sum(placed.values()) or 1.0)
    return {slug: weight * scale for slug, weight in placed.items()}


def _role_weight(role: Role | None, topic: str) -> float:
    if role is None:
        return 1.0
    mean = sum(role.topic_weights.values()) / len(role.topic_weights)
    return role.topic_weights.get(topic, OTHER_TOPICS * mean) / mean


def _code_share(blueprint: Blueprint, roles: Sequence[Role]) -> float:
    """The mean over ``roles`` of the coding phase's share of the time for questions."""
    shares = []
    for role in roles:
        seconds = blueprint.plan(role.name, _LENGTH).seconds
        asked = sum(seconds.values()) - seconds["brief"] - seconds["reserve"]
        shares.append(seconds["coding"] / asked)
    return sum(shares) / len(shares)


def gaps(reports: Sequence[Report], role: Role, now: datetime) -> dict[str, float]:
    """Per topic, how far the mean mark falls short of a strong answer (0 = no gap, 1 = nothing known).

    Marks are weighted by planned time, and the weight halves every 14 days. The gap of a topic with n
    questions is multiplied by n / (n + 3), so that a few questions cannot claim a large gap.
    """
    strong = min(100, role.pass_mark + _STRONG)
    sums: dict[str, list[float]] = {}
    for report in reports:
        age = max(0.0, (now - report.started_at).total_seconds() / 86_400)
        fresh = 0.5 ** (age / HALF_LIFE_DAYS)
        for question in report.reached:
            row = sums.setdefault(question.asked.topic, [0.0, 0.0, 0.0])
            weight = fresh * question.asked.planned
            row[0] += weight * question.marks.total
            row[1] += weight
            row[2] += 1
    shares = {}
    for topic, (marks, weight, number) in sums.items():
        if weight > 0:
            missing = max(0.0, 1 - marks / weight / strong)
            shares[topic] = missing * number / (number + _SETTLED)
    return shares
