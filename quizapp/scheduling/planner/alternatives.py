"""What would reach the target if the plan does not: more minutes, or fewer topics or levels."""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from quizapp.scheduling.planner.deck import PlanDeck
from quizapp.scheduling.planner.policy_search import ALL, SHORT_DAYS, PolicySearch
from quizapp.scheduling.planner.simulate import PlanDay, Policy

TIME, DROP, ACCEPT = "time", "drop", "accept"
STEP_MINUTES = 5
MOST_MINUTES = 480  # a day
MOST_LEFT_OUT = 0.5  # of the weight; an interview asks about more than what is left then


class Alternative(NamedTuple):
    """Something to change so that the target is reached, and its price.

    ``minutes`` are those to add to each study day, ``topics`` and ``levels`` what to leave out and ``cost``
    its share of the weight; ``recall`` is what is reached then, of what remains. ``reaches``
    tells whether that is the target.
    """

    kind: str
    recall: float
    reaches: bool
    minutes: int = 0
    topics: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    cost: float = 0.0


def find_alternatives(
    search: PolicySearch, policy: Policy, recall: float, target: float
) -> tuple[Alternative, ...]:
    """More time, less material, or a lower target; each is simulated with policies near the one chosen."""
    return (
        _more_time(search, policy, target),
        _less_matter(search, policy, target),
        Alternative(ACCEPT, recall, reaches=False),
    )


def _near(policy: Policy, days: Sequence[PlanDay]) -> list[Policy]:
    """Policies worth trying in place of one; where the time is short, with new cards in the taper too."""
    lates = {policy.late, len(days) <= SHORT_DAYS}
    policies = [policy]
    for retention, share, late in product((0.85, 0.92), (0.0, 0.9), sorted(lates)):
        policies.append(policy._replace(retention=retention, share=share, pace=ALL, late=late))
    return policies


def _recall(search: PolicySearch, policy: Policy, days: Sequence[PlanDay], deck: PlanDeck) -> float:
    """The best recall among policies near one, over other days or another deck."""
    other = search.over(deck, days)
    return max(other.run(near, 0).value for near in _near(policy, days))


def _more_time(search: PolicySearch, policy: Policy, target: float) -> Alternative:
    """The fewest minutes a day more that reach the target."""

    def tried(minutes: int) -> float:
        days = [
            day._replace(seconds=day.seconds + 60 * (minutes / 2 if day.last else minutes))
            if day.seconds > 0
            else day
            for day in search.days
        ]
        return _recall(search, policy, days, search.deck)

    most = MOST_MINUTES - max((round(day.seconds / 60) for day in search.days), default=0)
    low, high = 0, max(0, most // STEP_MINUTES)
    best = tried(high * STEP_MINUTES)
    if best < target:
        return Alternative(TIME, best, reaches=False, minutes=high * STEP_MINUTES)
    while high - low > 1:
        middle = (low + high) // 2
        reached = tried(middle * STEP_MINUTES)
        if reached >= target:
            high, best = middle, reached
        else:
            low = middle
    return Alternative(TIME, best, reaches=True, minutes=high * STEP_MINUTES)


def _less_matter(search: PolicySearch, policy: Policy, target: float) -> Alternative:
    """The hard questions, or the fewest topics of least weight, without which the rest reaches the target."""
    deck = search.deck
    total = sum(deck.weight) or 1.0

    def tried(keep: list[int]) -> Alternative:
        reached = _recall(search, policy, search.days, deck.only(keep))
        cost = 1 - sum(deck.weight[card] for card in keep) / total
        return Alternative(DROP, reached, reached >= target, cost=cost)

    easier = [card for card, level in enumerate(deck.levels) if level != "hard"]
    if 0 < len(easier) < len(deck.levels):
        way = tried(easier)
        if way.reaches and way.cost <= MOST_LEFT_OUT:
            return way._replace(levels=("hard",))
    topics = _least_first(deck, search.run(policy, 0).chances)

    def without(number: int) -> Alternative:
        out = frozenset(topics[:number])
        keep = [card for card, topic in enumerate(deck.topics) if topic not in out]
        way = tried(keep)
        return way._replace(topics=tuple(topics[:number]), reaches=way.reaches and number > 0)

    low, high = 0, _most_topics(deck, topics)
    best = without(high)
    while best.reaches and high - low > 1:
        middle = (low + high) // 2
        way = without(middle)
        if way.reaches:
            high, best = middle, way
        else:
            low = middle
    return best


def _most_topics(deck: PlanDeck, topics: Sequence[str]) -> int:
    """How many of the first ``topics`` hold at most the share of the weight that may be left out."""
    number, left_out, total = 0, 0.0, sum(deck.weight)
    for topic in topics[:-1]:
        left_out += sum(
            weight for weight, of_card in zip(deck.weight, deck.topics, strict=True) if of_card == topic
        )
        if left_out > MOST_LEFT_OUT * total:
            break
        number += 1
    return number


def _least_first(deck: PlanDeck, chances: Sequence[float]) -> list[str]:
    """The topics by the weight of a card, the least first; of equal ones the least likely recalled first."""
    ranked = []
    for topic in dict.fromkeys(deck.topics):
        cards = [card for card, of_card in enumerate(deck.topics) if of_card == topic]
        weight = sum(deck.weight[card] for card in cards) / len(cards)
        recall = sum(chances[card] for card in cards) / len(cards)
        ranked.append((round(weight, 2), recall, topic))
    return [topic for _, _, topic in sorted(ranked)]
