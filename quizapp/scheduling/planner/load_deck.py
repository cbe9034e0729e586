"""Reads the deck of a plan from the learner's schedule."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from quizapp.bank.model import Bank, Question
from quizapp.scheduling.cards import EXERCISE, NEW, REVIEW, CardRow, ReviewRow
from quizapp.scheduling.planner.deck import AnswerHabits, ExerciseTask, PlanDeck
from quizapp.scheduling.planner.fsrs_math import UNSEEN, plan_formulas, plan_memory

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study

PATH, TOPICS, TRACK = "path", "topics", "track"
SECONDS = 40.0  # for an answer, until there are times of the learner's
_SECONDS_RANGE = (5.0, 180.0)
_TIMES_PRIOR = 20
# The shares of ratings with which fsrs-rs 6 simulates. They count as much as _RATINGS_PRIOR answers of the
# learner, so that a few answers do not decide alone.
_FIRST = (0.24, 0.094, 0.495, 0.171)
_LATER = (0.224, 0.631, 0.145)
_RATINGS_PRIOR = 50
_RECENT_DAYS = 120
_OWN = ("drill", "script", "mcp")


class StudyWeights(NamedTuple):
    """How much each card and exercise counts. ``topics`` lists the topics, the weightiest first.

    ``code_share`` is the part of the time, and of each card's weight, that belongs to its exercise.
    """

    cards: Mapping[str, float]
    exercises: Mapping[str, float]
    topics: Sequence[str] = ()
    code_share: float = 0.0


def load_deck(study: "Study", weights: StudyWeights, track: str = "") -> PlanDeck:
    """The learner's cards and exercises as they stand now.

    Suspended cards are left out, and topics and levels that the settings leave out.
    """
    bank, today = study.bank, study.now().day
    rows = {row.card: row for row in study.store.tables.cards()}
    cards = [
        question
        for question in bank.questions.values()
        if not ((row := rows.get(question.id)) and row.suspended)
    ]
    answer_habits = habits(study.store.tables.reviews(since=today - _RECENT_DAYS), bank)
    card_rows = [rows.get(question.id) or CardRow(question.id) for question in cards]
    index = {question.id: number for number, question in enumerate(cards)}
    relatives = _relatives(cards, index)
    touched = study.store.tables.reviewed(today)
    deck = PlanDeck(
        names=[question.id for question in cards],
        topics=[question.topic for question in cards],
        levels=[question.level for question in cards],
        exercises=[question.exercise for question in cards],
        weight=[weights.cards.get(question.id, 1.0) for question in cards],
        seconds=[answer_habits.seconds.get(question.kind, SECONDS) for question in cards],
        memory=[plan_memory(row) for row in card_rows],
        last=[row.last_day - today if row.state else 0 for row in card_rows],
        due=[_due(row, today) for row in card_rows],
        relatives=relatives,
        retention=[_fixed_retention(study, question) for question in cards],
        away=_away(card_rows, relatives, {index[name] for name, *_ in touched if name in index}, today),
        introduced=sum(
            1 for name, state, source in touched if state == NEW and name in index and source in _OWN
        ),
        orders=_orders(study, cards, index, weights, track),
        tasks=_tasks(study, rows, weights, today),
        formulas=plan_formulas(study.scheduler.model),
        habits=answer_habits,
        longest=study.settings.max_interval_days,
    )
    left_out = set(study.settings.plan.leave_out)
    if not left_out:
        return deck
    # An exercise keeps the share of its weight that its remaining cards have.
    return deck.only([number for number, one in enumerate(cards) if not left_out & {one.topic, one.level}])


def _due(row: CardRow, today: int) -> int:
    """Days until a card can come: a card in its steps today, a buried card after its day."""
    due = row.due_day - today if row.state == REVIEW else 0
    return max(due, row.buried + 1 - today, 0)


def _fixed_retention(study: "Study", question: Question) -> float:
    settings = study.settings
    retention = settings.retention_for(question.file) if settings.retention else 0.0
    return retention if retention != settings.desired_retention else 0.0


def _relatives(cards: Sequence[Question], index: Mapping[str, int]) -> list[list[int]]:
    """For each card its siblings, parent and variants."""
    families = defaultdict(list)
    for number, question in enumerate(cards):
        families[question.parent or question.id].append(number)
    relatives: list[set[int]] = [set() for _ in cards]
    for members in families.values():
        for number in members:
            relatives[number].update(members)
    for number, question in enumerate(cards):
        for name in question.siblings:
            if name in index:
                relatives[number].add(index[name])
                relatives[index[name]].add(number)
    return [sorted(near - {number}) for number, near in enumerate(relatives)]


def _away(
    rows: Sequence[CardRow], relatives: Sequence[Sequence[int]], touched: set[int], today: int
) -> frozenset[int]:
    """The cards that cannot come today: buried, or relatives of what was answered."""
    buried = {number for number, row in enumerate(rows) if row.buried >= today}
    return frozenset(buried | ({other for number in touched for other in relatives[number]} - touched))


def _orders(
    study: "Study", cards: Sequence[Question], index: Mapping[str, int], weights: StudyWeights, track: str
) -> dict[str, list[int]]:
    """The orders in which new cards can come: as in the drill, a track first, topic by topic."""

    def complete(names: Sequence[str]) -> list[int]:
        given = dict.fromkeys(index[name] for name in names if name in index)
        return [*given, *(number for number in range(len(cards)) if number not in given)]

    orders = {PATH: complete(study.introductions())}
    if track and track in study.bank.paths:
        orders[TRACK] = complete(study.introductions((track,)))
    if weights.topics:
        rank = {topic: place for place, topic in enumerate(weights.topics)}
        orders[TOPICS] = sorted(orders[PATH], key=lambda number: rank.get(cards[number].topic, len(rank)))
    return orders


def _tasks(
    study: "Study", rows: Mapping[str, CardRow], weights: StudyWeights, today: int
) -> list[ExerciseTask]:
    states = study.exercise_states()
    tasks = []
    for slug, exercise in study.bank.exercises.items():
        row = rows.get(EXERCISE + slug) or CardRow(EXERCISE + slug)
        weight = weights.exercises.get(slug, 0.0)
        if row.suspended or weight <= 0:
            continue
        rated = row.state != NEW
        tasks.append(
            ExerciseTask(
                slug,
                max(1, exercise.minutes),
                weight,
                plan_memory(row) if rated else UNSEEN,
                row.last_day - today if rated else 0,
                max(0, row.due_day - today) if rated else 0,
                states[slug].passed_at is not None,
            )
        )
    return tasks


def habits(reviews: Sequence[ReviewRow], bank: Bank) -> AnswerHabits:
    """How the learner answers, from recent drills; with few of them, close to the average learner."""
    first, later = [0.0] * 4, [0.0] * 3
    times: dict[str, list[float]] = defaultdict(list)
    for review in reviews:
        question = bank.questions.get(review.card)
        if question is None or review.source not in _OWN:
            continue
        if review.ms > 0:
            times[question.kind].append(min(max(review.ms / 1000, _SECONDS_RANGE[0]), _SECONDS_RANGE[1]))
        if review.state == NEW:
            first[review.rating - 1] += 1
        elif review.state == REVIEW and review.elapsed > 0 and review.rating > 1:
            later[review.rating - 2] += 1
    everything = [seconds for of_kind in times.values() for seconds in of_kind]
    mean = (sum(everything) + _TIMES_PRIOR * SECONDS) / (len(everything) + _TIMES_PRIOR)
    kinds = {question.kind for question in bank.questions.values()}
    again, hard, good, easy = _shares(first, _FIRST)
    weak, fair, strong = _shares(later, _LATER)
    return AnswerHabits(
        (again, hard, good, easy),
        (weak, fair, strong),
        {
            kind: (sum(times[kind]) + _TIMES_PRIOR * mean) / (len(times[kind]) + _TIMES_PRIOR)
            for kind in sorted(kinds)
        },
    )


def _shares(counts: Sequence[float], prior: Sequence[float]) -> list[float]:
    total = sum(counts) + _RATINGS_PRIOR
    return [(count + _RATINGS_PRIOR * share) / total for count, share in zip(counts, prior, strict=True)]
