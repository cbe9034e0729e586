"""Judges the planner by strangers: learners whose memory or habits differ from what the plan assumes.

A plan is made for a part of the shipped bank under FSRS-6 or FSRS-7 with published weights. Then a simulated
learner follows it to the day of the interview, and also each fixed policy that the planner could choose.
The planning model decides which card comes when; the learner's own memory decides what is recalled. Learners
have the memory of the planning model or of the other one, fail some recalls whatever their memory says, skip
days without notice, or rate themselves wrongly (only the schedule sees the wrong rating).

For each scenario, the JSON has the expected recall on the day of the interview under the chosen policy and
under each of the others. The three that were best are compared with the chosen one under seeds that did not
pick them, since the best of many looks better than it is. Coverage is how often the share recalled on the day
lies in the 80 % interval of the plan. The plan is followed to the end, not made anew each morning.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import product
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Any, NamedTuple

from quizapp.bank.loader import load_bank
from quizapp.interview.blueprint import load_blueprint
from quizapp.interview.topic_weights import plan_weights
from quizapp.scheduling.models.model import MemoryModel, ModelName
from quizapp.scheduling.planner.calendar import calendar
from quizapp.scheduling.planner.deck import PlanDeck
from quizapp.scheduling.planner.fsrs_math import STEP_DAYS, UNSEEN, PlanFormulas, PlanMemory, plan_formulas
from quizapp.scheduling.planner.load_deck import PATH, load_deck
from quizapp.scheduling.planner.plan import StudyPlan, make_plan
from quizapp.scheduling.planner.policy_search import SHORT_DAYS, PolicySearch
from quizapp.scheduling.planner.random_draws import (
    FIRST_DAYS,
    SAMPLES,
    sample_first_days,
    uniform_samples,
)
from quizapp.scheduling.planner.simulate import NEW_ANSWERS, SURE, PlanDay, Policy, simulate
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.store import Store

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
TODAY = date(2026, 3, 2)
ROLE = "research-engineer"
USUAL = Policy(0.9, 20, PATH)
DAYS = (7, 21, 42)
MINUTES = (10, 30)
# No seed of a plan comes near these. The first pick the best policy, the others compare it with the chosen.
PICKING_SEED, COMPARING_SEED, HABIT_SEED = 50_000, 60_000, 1_000_000
FINALISTS = 3
NEAR = 0.01


class Learner(NamedTuple):
    """How a learner differs from what the plan assumes.

    ``other`` tells whether the memory is that of the model that did not plan. The rest are shares: recalls
    that fail although the memory would hold (``lapses``), days without study (``busy``), forgotten cards
    rated Good (``flattered``), and recalled cards rated Again or Hard, either alike often (``doubted``).
    """

    other: bool = False
    lapses: float = 0.0
    busy: float = 0.0
    flattered: float = 0.0
    doubted: float = 0.0


LEARNERS = {
    "as planned": Learner(),
    "other model": Learner(other=True),
    "lapses": Learner(lapses=0.1),
    "busy days": Learner(busy=0.2),
    "wrong ratings": Learner(flattered=0.3, doubted=0.2),
    "all of these": Learner(other=True, lapses=0.1, busy=0.2, flattered=0.3, doubted=0.2),
}


class CardMemory(NamedTuple):
    """A card as the schedule believes it to be remembered, and as the learner remembers it."""

    believed: PlanMemory = UNSEEN
    true: PlanMemory = UNSEEN


class InterviewDay(NamedTuple):
    """Weighted shares of the questions: the expected recall, and what one interview found recalled."""

    expected: float
    recalled: float


@dataclass(frozen=True)
class Course:
    """What stays the same whatever the policy: the deck with the planning model, the days, the learner.

    ``first_days`` pairs what the same first answers make of a card under both models: (memory, answers).
    """

    deck: PlanDeck
    days: Sequence[PlanDay]
    learner: Learner
    memory: PlanFormulas
    first_days: Sequence[tuple[CardMemory, int]]

    @classmethod
    def of(cls, deck: PlanDeck, days: Sequence[PlanDay], learner: Learner, memory: PlanFormulas) -> "Course":
        """The course of a learner with a memory."""
        true = sample_first_days(memory, deck.habits.first)
        pairs = zip(deck.first_days, true, strict=True)
        first_days = [(CardMemory(believed, actual), answers) for (believed, answers), (actual, _) in pairs]
        return cls(deck, days, learner, memory, first_days)

    def follow(self, policy: Policy, seed: int) -> InterviewDay:
        """The outcome for a learner who follows a policy; equal arguments give equal outcomes."""
        return _Follower(self, policy, seed).outcome()


class _Follower:
    """The days of one learner, by the rules of `quizapp.scheduling.planner.simulate`.

    Those simulate one memory that both decides intervals and answers, so they are repeated here with two.
    For a learner as planned, both must give the same (`disagreement`).
    """

    def __init__(self, course: Course, policy: Policy, seed: int) -> None:
        self.course, self.policy = course, policy
        self.deck, cards = course.deck, len(course.deck.names)
        self.rng = Random(HABIT_SEED + seed)
        self.days = [
            day._replace(seconds=0.0) if self.rng.random() < course.learner.busy else day
            for day in course.days
        ]
        self.luck = uniform_samples(seed, cards)
        self.misrating = uniform_samples(HABIT_SEED + seed, cards)
        self.cards = [CardMemory()] * cards
        self.last_seen, self.repetitions = [0] * cards, [0] * cards
        self.due_on, self.away_on = [0] * cards, [-1] * cards
        self.due: list[list[int]] = [[] for _ in self.days]
        self.waiting: list[int] = []
        self.fresh = list(self.deck.orders[policy.order])
        self.today, self.used = 0, 0.0

    def outcome(self) -> InterviewDay:
        """Live through the days, then sit the interview."""
        for today in range(len(self.days)):
            self._day(today)
        recall, end, weight = self.course.memory.recall, len(self.days), self.deck.weight
        kept = 1 - self.course.learner.lapses
        chances = [
            kept * recall(card.true, end - seen)
            for card, seen in zip(self.cards, self.last_seen, strict=True)
        ]
        marks = list(zip(weight, chances, strict=True))
        return InterviewDay(
            expected=sum(share * chance for share, chance in marks) / sum(weight),
            recalled=sum(share for share, chance in marks if self.rng.random() < chance) / sum(weight),
        )

    def _day(self, today: int) -> None:
        self.today = today
        day, policy = self.days[today], self.policy
        candidates = dict.fromkeys((*self.waiting, *self.due[self.today]))
        self.waiting = [card for card in candidates if self.due_on[card] <= self.today]
        self.used = 0.0
        if day.seconds <= 0:
            return
        new = bool(self.fresh) and (policy.late or not day.taper)
        self.waiting = self._review(self.waiting, day.seconds * (1 - policy.share * new))
        if new:
            self._introduce(day.seconds)
            self.waiting = self._review(self.waiting, day.seconds)
        if policy.ahead and day.taper:
            self._review(self._least_known(), day.seconds)

    def _review(self, cards: Sequence[int], room: float) -> list[int]:
        """Review cards while there is room; those that must wait."""
        late = []
        for card in cards:
            cost = self.deck.seconds[card]
            if self.used + cost > room or self.away_on[card] == self.today:
                late.append(card)
                continue
            elapsed = self.today - self.last_seen[card]
            believed = self.deck.formulas.recall(self.cards[card].believed, elapsed)
            if self.days[self.today].last and believed >= SURE:
                continue
            self.used += cost
            actual, reported = self._answer(card, elapsed)
            memory = self._after(self.cards[card], elapsed, actual, reported)
            if reported == 1:  # the relearning step on the same day
                memory = self._after(memory, STEP_DAYS, 3, 3)
                self.used += cost
            self._keep(card, memory)
        return late

    def _answer(self, card: int, elapsed: float) -> tuple[int, int]:
        """The rating that the learner's memory deserves, and the one that the learner gives."""
        repetition = self.repetitions[card] % SAMPLES
        luck, misrating = self.luck[card][repetition], self.misrating[card][repetition]
        self.repetitions[card] += 1
        learner = self.course.learner
        chance = (1 - learner.lapses) * self.course.memory.recall(self.cards[card].true, elapsed)
        if luck >= chance:
            return 1, 3 if misrating < learner.flattered else 1
        hard, good, _ = self.deck.habits.later
        actual = 2 if luck / chance < hard else 3 if luck / chance < hard + good else 4
        if misrating < learner.doubted:
            return actual, 1 if misrating < learner.doubted / 2 else 2
        return actual, actual

    def _after(self, card: CardMemory, elapsed: float, actual: int, reported: int) -> CardMemory:
        return CardMemory(
            self.deck.formulas.after(card.believed, elapsed, reported),
            self.course.memory.after(card.true, elapsed, actual),
        )

    def _keep(self, card: int, memory: CardMemory) -> None:
        """Note a card's memory and when it comes again; its relatives stay away today."""
        self.cards[card], self.last_seen[card] = memory, self.today
        ideal = self.deck.formulas.interval(memory.believed, self.policy.retention)
        due = self.today + min(max(int(ideal + 0.5), 1), self.deck.longest)
        self.due_on[card] = due
        if due < len(self.due):
            self.due[due].append(card)
        for other in self.deck.relatives[card]:
            self.away_on[other] = self.today

    def _introduce(self, room: float) -> None:
        """New cards in the order of the policy, up to its pace."""
        introduced, kept = 0, []
        for place, card in enumerate(self.fresh):
            cost = self.deck.seconds[card]
            if introduced >= self.policy.pace or self.used + NEW_ANSWERS * cost > room:
                kept += self.fresh[place:]
                break
            if self.away_on[card] == self.today:
                kept.append(card)
                continue
            memory, answers = self.course.first_days[int(self.luck[card][0] * FIRST_DAYS)]
            self.repetitions[card] = 1
            self._keep(card, memory)
            introduced += 1
            self.used += answers * cost
        self.fresh = kept

    def _least_known(self) -> list[int]:
        """The cards not seen today, the one believed least likely to be recalled on the day first."""
        recall, end = self.deck.formulas.recall, len(self.days)
        believed = [
            (recall(memory.believed, end - self.last_seen[card]), card)
            for card, memory in enumerate(self.cards)
            if memory.believed and self.last_seen[card] < self.today
        ]
        return [card for _, card in sorted(believed)]


@dataclass(frozen=True)
class Planned:
    """A plan with what it follows from, and the policies that compete with the chosen one."""

    name: ModelName
    deck: PlanDeck
    days: Sequence[PlanDay]
    plan: StudyPlan
    policies: Sequence[Policy]

    @classmethod
    def make(cls, deck: PlanDeck, name: ModelName, days: int, minutes: int) -> "Planned":
        """Plan so many days of so many minutes under the published weights of a model."""
        deck = replace(deck, formulas=plan_formulas(MemoryModel.default(name)))
        until = TODAY + timedelta(days=days)
        slots = calendar(TODAY, until, lambda _: minutes)
        # A target that every plan reaches spares the search for alternatives.
        plan = make_plan(deck, slots, until, USUAL, target=0.0, code_share=0.0)
        open_days = [slot.day for slot in slots]
        search, chosen = PolicySearch(deck, open_days, 0.0), plan.policy
        variants = product(deck.orders, (False, True), (False, True))
        policies = [
            chosen,
            *(chosen._replace(order=order, late=late, ahead=ahead) for order, late, ahead in variants),
        ]
        # The search tries other orders on its finalists alone; here every policy has the chosen order, too.
        in_taper = (False, True) if days <= SHORT_DAYS else (False,)
        for order, late in product((USUAL.order, chosen.order), in_taper):
            policies += search.grid(USUAL._replace(order=order, late=late))
        return cls(name, deck, open_days, plan, tuple(dict.fromkeys(policies)))

    def course(self, learner: Learner) -> Course:
        """The course of a learner who follows this plan."""
        (other,) = set(ModelName) - {self.name}
        name = other if learner.other else self.name
        return Course.of(self.deck, self.days, learner, plan_formulas(MemoryModel.default(name)))


def judge(planned: Planned, learner: str, picking: int, comparing: int) -> dict[str, Any]:
    """One scenario: every policy under some seeds, then the best few and the chosen one under others."""
    course, plan = planned.course(LEARNERS[learner]), planned.plan
    recall = {
        policy: mean(course.follow(policy, PICKING_SEED + seed).expected for seed in range(picking))
        for policy in planned.policies
    }
    finalists = sorted(recall, key=lambda policy: -recall[policy])[:FINALISTS]
    ends = {
        policy: [course.follow(policy, COMPARING_SEED + seed) for seed in range(comparing)]
        for policy in dict.fromkeys((plan.policy, USUAL, *finalists))
    }
    expected = {policy: mean(day.expected for day in days) for policy, days in ends.items()}
    best = max(expected, key=lambda policy: expected[policy])
    within = [plan.low <= day.recalled <= plan.high for day in ends[plan.policy]]
    return {
        "days": len(planned.days),
        "minutes": planned.plan.days[0].calendar_day.minutes,
        "model": planned.name,
        "learner": learner,
        "forecast": [round(figure, 4) for figure in (plan.low, plan.recall, plan.high)],
        "chosen": round(expected[plan.policy], 4),
        "usual": round(expected[USUAL], 4),
        "best": round(expected[best], 4),
        "regret": round(expected[best] - expected[plan.policy], 4),
        "covered": round(mean(within), 4),
        "policy": plan.policy._asdict(),
        "best_policy": best._asdict(),
        "policies": [{**policy._asdict(), "recall": round(value, 4)} for policy, value in recall.items()],
    }


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How the chosen policies did over some scenarios."""
    regrets = [row["regret"] for row in rows]
    return {
        "scenarios": len(rows),
        "best": sum(regret == 0 for regret in regrets),
        "within_1_point": sum(regret <= NEAR for regret in regrets),
        "median_regret": round(median(regrets), 4),
        "worst_regret": max(regrets),
        "mean_gain_over_usual": round(mean(row["chosen"] - row["usual"] for row in rows), 4),
        "worse_than_usual": sum(row["chosen"] < row["usual"] for row in rows),
        "chosen_minus_forecast": round(mean(row["chosen"] - row["forecast"][1] for row in rows), 4),
        "coverage": round(mean(row["covered"] for row in rows), 4),
    }


def disagreement(planned: Planned) -> float:
    """The most by which the planner's simulation and this one differ for a learner as planned."""
    course = planned.course(Learner())
    return max(
        abs(
            simulate(planned.deck, planned.days, policy, PICKING_SEED).value
            - course.follow(policy, PICKING_SEED).expected
        )
        for policy in planned.policies[::4]
    )


def shipped_deck(cards: int) -> PlanDeck:
    """Some cards of the shipped bank, none of them seen, without exercises."""
    bank = load_bank()
    with (
        tempfile.TemporaryDirectory() as folder,
        Study(bank, Store.open(Path(folder) / "quizapp.db"), clock=FixedClock(NOW)) as study,
    ):
        deck = load_deck(study, plan_weights(bank, load_blueprint(), ROLE, [], NOW), ROLE)
    numbers = range(len(deck.names))
    return replace(deck.only(sorted(Random(1).sample(numbers, min(cards, len(numbers))))), tasks=())


def main() -> int:
    """Judge and print. Return 1 if this simulation does not agree with the planner's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cards", type=int, default=400)
    parser.add_argument("--picking", type=int, default=2, help="seeds for every policy (default 2)")
    parser.add_argument("--comparing", type=int, default=20, help="seeds for the best policies (default 20)")
    options = parser.parse_args()
    start = time.process_time()
    deck = shipped_deck(options.cards)
    rows, differences = [], []
    for name, days, minutes in product(ModelName, DAYS, MINUTES):
        planned = Planned.make(deck, name, days, minutes)
        differences.append(disagreement(planned))
        rows += [judge(planned, learner, options.picking, options.comparing) for learner in LEARNERS]
    groups = {
        f"{learner}, planned with {name}": [
            row for row in rows if row["learner"] == learner and row["model"] == name
        ]
        for learner, name in product(LEARNERS, ModelName)
    }
    result = {
        "cards": len(deck.names),
        "cpu_seconds": round(time.process_time() - start, 1),
        "disagreement": max(differences),
        "summary": summary(rows),
        "summaries": {title: summary(group) for title, group in groups.items()},
        "scenarios": rows,
    }
    print(json.dumps(result, indent=1))
    return int(max(differences) > 1e-9)


if __name__ == "__main__":
    sys.exit(main())
