"""Simulates the days until the interview: what is reviewed, forgotten, introduced and coded."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from quizapp.scheduling.planner.deck import PlanDeck
from quizapp.scheduling.planner.exercise_work import ExerciseWork
from quizapp.scheduling.planner.fsrs_math import STEP_DAYS, PlanMemory
from quizapp.scheduling.planner.random_draws import FIRST_DAYS, SAMPLES, uniform_samples

NEW_ANSWERS = 2  # what a new card usually takes on its first day
SURE = 0.9  # chance of recall from which a card is not reviewed on the last day


class Policy(NamedTuple):
    """How the days are spent.

    Desired ``retention``, ``pace`` (new cards a day at most), ``order`` of the new cards, ``share`` of the
    minutes for cards that is kept for new ones while there are any, ``ahead`` (a last pass: in the taper,
    cards that are not due come too, the least known first), ``late`` (new cards in the taper as well).
    """

    retention: float
    pace: int
    order: str
    share: float = 0.0
    ahead: bool = False
    late: bool = False


class PlanDay(NamedTuple):
    """A day: seconds for cards and code, whether it is in the taper, whether it is the last one."""

    seconds: float
    taper: bool = False
    last: bool = False


@dataclass(slots=True)
class DayWork:
    """What a simulated day held; ``code`` are (slug, seconds, finished), ``topics`` those of new cards."""

    reviews: int = 0
    new: int = 0
    seconds: float = 0.0
    code: list[tuple[str, float, bool]] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=dict)


class SimulationRun(NamedTuple):
    """The outcome of one simulation on the day of the interview.

    ``value`` is the weighted mean chance of recall over questions and exercises, ``spread`` the variance of
    the share recalled given the chances; ``questions`` and ``code`` are the means over either. ``seen`` is
    the share of the cards, ``written`` the number of exercises that ever passed, ``chances`` those of cards.
    """

    value: float
    spread: float
    questions: float
    code: float
    seen: float
    written: int
    chances: Sequence[float]
    days: Sequence[DayWork]


def taper_of(days: int) -> int:
    """The number of last days without new cards: a tenth of all, at least two."""
    return max(2, ceil(0.1 * days))


def simulate(
    deck: PlanDeck, days: Sequence[PlanDay], policy: Policy, seed: int, code_share: float = 0.0
) -> SimulationRun:
    """The run of the days under a policy and a seed; equal arguments give equal runs.

    ``code_share`` is the part of each day that belongs to exercises. No day takes more than its seconds,
    but for the rest of the card that is open when they end.
    """
    run = _Simulation(deck, days, policy, seed)
    luck = uniform_samples(seed, len(deck.names) + len(deck.tasks))
    coding = ExerciseWork(deck, luck, code_share, policy.retention, len(days))
    done = [run.day(number, coding) for number in range(len(days))]
    return run.result(coding, done)


class _Simulation:
    """The state of the cards while the days go by."""

    def __init__(self, deck: PlanDeck, days: Sequence[PlanDay], policy: Policy, seed: int) -> None:
        self.deck, self.days, self.policy = deck, days, policy
        self.samples = uniform_samples(seed, len(deck.names) + len(deck.tasks))
        self.memory = list(deck.memory)
        self.last_seen = list(deck.last)
        self.repetitions = [0] * len(deck.names)
        self.retention = [fixed or policy.retention for fixed in deck.retention]
        # the day on which a relative came
        self.away = [0 if card in deck.away else -1 for card in range(len(deck.names))]
        self.due_on = list(deck.due)
        self.due: list[list[int]] = [[] for _ in days]
        for card in sorted(range(len(deck.names)), key=lambda card: (deck.due[card], deck.names[card])):
            if deck.memory[card] and deck.due[card] < len(days):
                self.due[deck.due[card]].append(card)
        self.fresh = [card for card in deck.orders[policy.order] if not deck.memory[card]]
        self.waiting: list[int] = []
        self.quickest = min(deck.seconds, default=0.0)

    def day(self, today: int, coding: ExerciseWork) -> DayWork:
        """One day: code, then reviews, new cards, what is left of the reviews, code again."""
        day, policy, done = self.days[today], self.policy, DayWork()
        # a last pass may have put off what was due
        candidates = dict.fromkeys((*self.waiting, *self.due[today]))
        self.waiting = [card for card in candidates if self.due_on[card] <= today]
        if day.seconds <= 0:
            return done
        coding.begin(today, day.seconds, day.last, done)
        room = day.seconds
        new = bool(self.fresh) and (policy.late or not day.taper)
        kept = policy.share * (room - done.seconds) if new else 0.0
        self.waiting = self._review(self.waiting, today, room - kept, done)
        if new:
            self._introduce(today, room, done)
            self.waiting = self._review(self.waiting, today, room, done)
        if policy.ahead and day.taper:
            self._review(self._least_known(today), today, room, done)
        coding.end(today, room - done.seconds, day.last, done)
        return done

    def _review(self, cards: Sequence[int], today: int, room: float, done: DayWork) -> list[int]:
        """Review cards while there is room; those that must wait."""
        deck, away, memories = self.deck, self.away, self.memory
        after, recall = deck.formulas.after, deck.formulas.recall
        hard, good = deck.habits.later[0], deck.habits.later[0] + deck.habits.later[1]
        late: list[int] = []
        last, used = self.days[today].last, done.seconds
        for place, card in enumerate(cards):
            cost = deck.seconds[card]
            if used + self.quickest > room:
                late += cards[place:]
                break
            if used + cost > room or away[card] == today:
                late.append(card)
                continue
            elapsed = today - self.last_seen[card]
            chance = recall(memories[card], elapsed)
            if last and chance >= SURE:
                continue
            luck = self.samples[card][self.repetitions[card] % SAMPLES]
            self.repetitions[card] += 1
            used += cost
            if luck < chance:
                luck /= chance
                rating = 2 if luck < hard else 3 if luck < good else 4
                memory = after(memories[card], elapsed, rating)
            else:
                memory = after(memories[card], elapsed, 1)
                # The relearning step on the same day, answered Good.
                memory = after(memory, STEP_DAYS, 3)
                used += cost
            done.reviews += 1
            self._keep(card, memory, today)
        done.seconds = used
        return late

    def _keep(self, card: int, memory: PlanMemory, today: int) -> None:
        """Note a card's memory and when it comes again; its relatives stay away today."""
        self.memory[card] = memory
        self.last_seen[card] = today
        ideal = self.deck.formulas.interval(memory, self.retention[card])
        days = min(max(int(ideal + 0.5), 1), self.deck.longest)
        self.due_on[card] = today + days
        if today + days < len(self.due):
            self.due[today + days].append(card)
        for other in self.deck.relatives[card]:
            self.away[other] = today

    def _introduce(self, today: int, room: float, done: DayWork) -> None:
        """New cards in the order of the policy, up to its pace."""
        deck, kept = self.deck, []
        pace = self.policy.pace - (deck.introduced if today == 0 else 0)
        for place, card in enumerate(self.fresh):
            if done.new >= pace or done.seconds + NEW_ANSWERS * deck.seconds[card] > room:
                kept += self.fresh[place:]
                break
            if self.away[card] == today:
                kept.append(card)
                continue
            memory, answers = deck.first_days[int(self.samples[card][0] * FIRST_DAYS)]
            self.repetitions[card] = 1
            self._keep(card, memory, today)
            done.new += 1
            done.seconds += answers * deck.seconds[card]
            topic = deck.topics[card]
            done.topics[topic] = done.topics.get(topic, 0) + 1
        self.fresh = kept

    def _least_known(self, today: int) -> list[int]:
        """The cards not seen today, the least likely to be recalled on the day of the interview first."""
        recall, end = self.deck.formulas.recall, len(self.days)
        by_chance = [
            (recall(memory, end - self.last_seen[card]), card)
            for card, memory in enumerate(self.memory)
            if memory and self.last_seen[card] < today
        ]
        return [card for _, card in sorted(by_chance)]

    def result(self, coding: ExerciseWork, done: Sequence[DayWork]) -> SimulationRun:
        """The figures for the day of the interview."""
        recall, end, deck = self.deck.formulas.recall, len(self.days), self.deck
        chances = [recall(memory, end - met) for memory, met in zip(self.memory, self.last_seen, strict=True)]
        weight, recalled, variance = _tally(deck.weight, chances)
        code_weight, code, code_variance = _tally([task.weight for task in deck.tasks], coding.chances())
        seen = sum(1 for memory in self.memory if memory)
        total = (weight + code_weight) or 1.0
        return SimulationRun(
            value=(recalled + code) / total,
            spread=(variance + code_variance) / total**2,
            questions=recalled / (weight or 1.0),
            code=code / (code_weight or 1.0),
            seen=seen / (len(chances) or 1),
            written=coding.written,
            chances=chances,
            days=done,
        )


def _tally(weight: Sequence[float], chances: Sequence[float]) -> tuple[float, float, float]:
    """Sum of the weights, of weight times chance, and the variance of what is recalled."""
    pairs = list(zip(weight, chances, strict=True))
    return (
        sum(weight),
        sum(share * chance for share, chance in pairs),
        sum(share * share * chance * (1 - chance) for share, chance in pairs),
    )
