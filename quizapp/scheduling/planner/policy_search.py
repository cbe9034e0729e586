"""The policy that gives the most by simulation, out of a small family."""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import ceil
from typing import NamedTuple

from quizapp.scheduling.planner.deck import PlanDeck
from quizapp.scheduling.planner.load_deck import PATH
from quizapp.scheduling.planner.simulate import PlanDay, Policy, SimulationRun, simulate

ALL = 9999
LATE_GAIN = 0.005  # what new cards in the taper must bring
HABIT_GAIN = 0.004  # what another order or retention than the learner's must bring
PASS_GAIN = 0.005  # what a last pass must bring: the drill does not show cards that are not due
FRESH_SEED = 1000  # from here on seeds that no search has used
_ANSWERS = 800_000  # simulated in one search; about three seconds
_DAY = 8  # what a day costs beside its answers, in answers
SHORT_DAYS = 20
_RETENTIONS = ((0.70, 0.80, 0.85, 0.90, 0.94), (0.80, 0.85, 0.90), (0.85, 0.90))
_FINALISTS = (6, 4, 2)


class PolicyChoice(NamedTuple):
    """The policy chosen and that of the settings, each with runs under seeds that the search did not use."""

    policy: Policy
    runs: Sequence[SimulationRun]
    usual: Policy
    usual_runs: Sequence[SimulationRun]

    @property
    def gain(self) -> float:
        """How much more is recalled than under the settings."""
        return mean(self.runs) - mean(self.usual_runs)


def mean(runs: Sequence[SimulationRun]) -> float:
    """The mean value of runs."""
    return sum(run.value for run in runs) / len(runs)


class PolicySearch:
    """Simulates a deck over days. ``tick`` is called after each run, for a line of progress."""

    def __init__(
        self,
        deck: PlanDeck,
        days: Sequence[PlanDay],
        code_share: float,
        tick: Callable[[], None] = lambda: None,
        effort: int | None = None,
    ) -> None:
        self.deck, self.days, self._code_share, self._tick = deck, days, code_share, tick
        self._known: dict[tuple[Policy, int], SimulationRun] = {}
        self.effort = self._effort() if effort is None else effort

    def _effort(self) -> int:
        """How much can be tried at the price of one run: 0 the whole family, 2 the smallest part."""
        run = self.run(Policy(0.9, ALL, PATH, 0.9), 0)
        answers = sum(done.reviews + 2 * done.new for done in run.days)
        runs = _ANSWERS / (1 + answers + len(self.deck.names) // 2 + _DAY * len(self.days))
        return 0 if runs >= 160 else 1 if runs >= 60 else 2

    def over(self, deck: PlanDeck, days: Sequence[PlanDay]) -> "PolicySearch":
        """The same search over another deck or other days."""
        return PolicySearch(deck, days, self._code_share, self._tick, self.effort)

    def run(self, policy: Policy, seed: int) -> SimulationRun:
        """One run, simulated once."""
        key = (policy, seed)
        if key not in self._known:
            self._known[key] = simulate(self.deck, self.days, policy, seed, self._code_share)
            self._tick()
        return self._known[key]

    def value(self, policy: Policy, seeds: int) -> float:
        """The mean value over the first seeds."""
        return mean([self.run(policy, seed) for seed in range(seeds)])

    def best(self, policies: Iterable[Policy], seeds: int, number: int = 1) -> list[Policy]:
        """The best policies, the best first; of equal ones the first given."""
        return sorted(dict.fromkeys(policies), key=lambda policy: -self.value(policy, seeds))[:number]

    def choose(self, usual: Policy) -> PolicyChoice:
        """The best of the family, the policy of the settings (``usual``) among it.

        Another order, a last pass or new cards in the taper must bring enough to be worth it.
        """
        seeds = (3, 2, 1)[self.effort]
        best = self._champion(usual, seeds)
        late = best._replace(late=True)
        if self.deck.unseen and len(self.days) <= SHORT_DAYS:  # the taper is much of the time: look again
            late = self._champion(usual._replace(late=True), seeds)
        best = self._try(best, [late], seeds, LATE_GAIN)
        count = (16, 10, 6)[self.effort]
        runs, plain = self.fresh(best, count), self.fresh(usual, count)
        # The search may have been lucky with its seeds; under fresh ones the present settings may win.
        if mean(runs) < mean(plain):
            return PolicyChoice(usual, plain, usual, plain)
        return PolicyChoice(best, runs, usual, plain)

    def _champion(self, usual: Policy, seeds: int) -> Policy:
        """The best of the family that agrees with ``usual`` on new cards in the taper."""
        finalists = self.best([usual, *self.grid(usual)], 1, _FINALISTS[self.effort])
        orders = [policy._replace(order=order) for policy in finalists[:2] for order in self.deck.orders]
        (best,) = self.best([*finalists, usual], seeds)
        best = self._try(best, orders, seeds, HABIT_GAIN)
        best = self._try(best._replace(retention=usual.retention), [best], seeds, HABIT_GAIN)
        return self._try(best, [best._replace(ahead=True)], seeds, PASS_GAIN)

    def _try(self, best: Policy, others: Sequence[Policy], seeds: int, least: float) -> Policy:
        (other,) = self.best([best, *others], seeds)
        return other if self.value(other, seeds) > self.value(best, seeds) + least else best

    def fresh(self, policy: Policy, number: int) -> list[SimulationRun]:
        """Runs under seeds that the search does not use."""
        return [self.run(policy, FRESH_SEED + seed) for seed in range(number)]

    def grid(self, usual: Policy) -> list[Policy]:
        """Retentions times paces; without new cards the pace does not matter."""
        retentions = dict.fromkeys((*_RETENTIONS[self.effort], usual.retention))
        if not self.deck.unseen:
            return [usual._replace(retention=retention) for retention in retentions]
        open_days = sum(1 for day in self.days if day.seconds > 0 and (usual.late or not day.taper)) or 1
        even = max(1, ceil(self.deck.unseen / open_days))
        paces = [
            [(0.0, usual.pace), (0.0, even), (0.0, ALL), *product((0.5, 0.9), (even, 2 * even, ALL))],
            [(0.0, usual.pace), (0.0, ALL), (0.5, 2 * even), (0.9, even), (0.9, ALL)],
            [(0.0, usual.pace), (0.9, even), (0.9, ALL)],
        ][self.effort]
        return [
            usual._replace(retention=retention, pace=pace, share=share)
            for retention, (share, pace) in product(retentions, paces)
        ]
