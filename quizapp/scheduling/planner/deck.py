"""The learner's cards and exercises in the form that the simulation reads: columns, days from today."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from quizapp.scheduling.planner.fsrs_math import UNSEEN, PlanFormulas, PlanMemory
from quizapp.scheduling.planner.random_draws import sample_first_days


@dataclass(frozen=True)
class AnswerHabits:
    """How the learner answers.

    ``first`` are the shares of Again, Hard, Good, Easy on a card never seen; ``later`` are those of Hard,
    Good, Easy among the right answers. ``seconds`` is the time for one answer by kind of question.
    """

    first: tuple[float, float, float, float]
    later: tuple[float, float, float]
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class ExerciseTask:
    """An exercise: its weight, how long it takes, and its memory.

    ``last`` and ``due`` are days from today. ``passed`` tells whether the learner's code has ever passed.
    """

    slug: str
    minutes: int
    weight: float
    memory: PlanMemory = UNSEEN
    last: int = 0
    due: int = 0
    passed: bool = False


@dataclass(frozen=True)
class PlanDeck:
    """The cards, one entry in each column per card.

    ``last`` and ``due`` are days from today, ``relatives`` the cards that may not come on the same day,
    ``retention`` the desired retention that the learner set for a deck folder (0.0: up to the plan).
    ``away`` are the cards that cannot come today, ``introduced`` counts those already introduced today.
    ``orders`` holds the orders of the new cards by name.
    """

    names: Sequence[str]
    topics: Sequence[str]
    levels: Sequence[str]
    exercises: Sequence[str]
    weight: Sequence[float]
    seconds: Sequence[float]
    memory: Sequence[PlanMemory]
    last: Sequence[int]
    due: Sequence[int]
    relatives: Sequence[Sequence[int]]
    retention: Sequence[float]
    away: frozenset[int]
    introduced: int
    orders: Mapping[str, Sequence[int]]
    tasks: Sequence[ExerciseTask]
    formulas: PlanFormulas
    habits: AnswerHabits
    longest: int = 36500

    @cached_property
    def first_days(self) -> list[tuple[PlanMemory, int]]:
        """Samples of what the first day makes of a new card: (memory, answers)."""
        return sample_first_days(self.formulas, self.habits.first)

    @property
    def unseen(self) -> int:
        """How many cards were never seen."""
        return sum(1 for memory in self.memory if not memory)

    def only(self, keep: Sequence[int]) -> "PlanDeck":
        """The deck without the other cards; an exercise keeps the share of its weight that its cards have."""
        place = {old: new for new, old in enumerate(keep)}
        totals: dict[str, float] = defaultdict(float)
        kept: dict[str, float] = defaultdict(float)
        for card, (slug, weight) in enumerate(zip(self.exercises, self.weight, strict=True)):
            totals[slug] += weight
            if card in place:
                kept[slug] += weight
        return PlanDeck(
            names=[self.names[i] for i in keep],
            topics=[self.topics[i] for i in keep],
            levels=[self.levels[i] for i in keep],
            exercises=[self.exercises[i] for i in keep],
            weight=[self.weight[i] for i in keep],
            seconds=[self.seconds[i] for i in keep],
            memory=[self.memory[i] for i in keep],
            last=[self.last[i] for i in keep],
            due=[self.due[i] for i in keep],
            relatives=[[place[j] for j in self.relatives[i] if j in place] for i in keep],
            retention=[self.retention[i] for i in keep],
            away=frozenset(place[i] for i in self.away if i in place),
            introduced=self.introduced,
            orders={name: [place[i] for i in row if i in place] for name, row in self.orders.items()},
            tasks=[
                replace(task, weight=task.weight * kept[task.slug] / totals[task.slug])
                for task in self.tasks
                if kept[task.slug] > 0
            ],
            formulas=self.formulas,
            habits=self.habits,
            longest=self.longest,
        )
