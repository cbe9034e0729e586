"""A run through the stages of one exercise: what is shown, what a grade reveals, what it broke.

Pure: the caller grades, keeps the time, and stores ``grades``, from which everything else follows. The user's
own runs are stored by `quizapp.practice.stage_files`; a coding round stores one with its interview::

    run = StagedRun(exercise.stages)                       # or leading_stages(exercise.stages, minutes)
    verdict = grade(exercise, source, stages=run.shown)    # the tests of the stages shown so far
    outcome = run.record(verdict, seconds)                 # seconds on the clock of the run
    if outcome.revealed:                                   # green: the next brief
        show(outcome.revealed.brief)
    stored = run.grades                                    # StagedRun(stages, stored) goes on from here
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from quizapp.bank.model import Stage
from quizapp.judge.verdict import Verdict


class StageGrade(msgspec.Struct, frozen=True):
    """One grade of a run, as it is stored.

    ``seconds`` is the time on the run's clock, ``shown`` the number of stages shown when it was graded, and
    ``held`` names those of them that held. ``judged`` is False if there was no evidence, as after a syntax
    error.
    """

    seconds: float
    shown: int
    held: tuple[str, ...]
    judged: bool = True


@dataclass(frozen=True, slots=True)
class StageOutcome:
    """What one grade means for the run.

    ``failing`` names the stages shown that do not hold, in order, and ``broken_again`` those of them that an
    earlier grade saw hold. ``revealed`` is the stage that a green grade reveals; None at the end of the run
    and after a red grade.
    """

    held: tuple[str, ...]
    failing: tuple[str, ...]
    broken_again: tuple[str, ...]
    revealed: Stage | None
    finished: bool

    @property
    def green(self) -> bool:
        """Whether every stage shown held."""
        return not self.failing


@dataclass(slots=True)
class StagedRun:
    """The stages asked for, in order, and the grades so far, oldest first.

    The first stage is shown from the start. A grade in which all stages shown hold reveals the next one.
    """

    stages: tuple[Stage, ...]
    grades: list[StageGrade] = field(default_factory=list)

    @property
    def shown(self) -> int:
        """How many leading stages are shown; the number to grade with."""
        return min(1 + self._greens(self.grades), len(self.stages))

    @property
    def shown_stages(self) -> tuple[Stage, ...]:
        """The stages shown so far."""
        return self.stages[: self.shown]

    @property
    def current(self) -> Stage:
        """The newest stage shown."""
        return self.stages[self.shown - 1]

    @property
    def finished(self) -> bool:
        """Whether a grade saw all stages hold."""
        return self._greens(self.grades) >= len(self.stages)

    @property
    def core_held(self) -> bool:
        """Whether a grade saw all core stages hold."""
        return self._greens(self.grades) >= sum(stage.is_core for stage in self.stages)

    @property
    def minutes(self) -> int:
        """The minutes of all stages asked for."""
        return sum(stage.minutes for stage in self.stages)

    @property
    def revealed_at(self) -> float:
        """When the current stage was revealed, in seconds on the run's clock."""
        greens = [grade.seconds for number, grade in enumerate(self.grades) if self._is_green(number)]
        return greens[self.shown - 2] if self.shown > 1 else 0.0

    @property
    def counted_behaviours(self) -> frozenset[int]:
        """The behaviors that a mark counts: those of the core, and of ``robust`` once it is shown."""
        shown = self.shown_stages
        return frozenset(
            number for stage in self.stages if stage.is_core or stage in shown for number in stage.behaviours
        )

    def record(self, verdict: Verdict, seconds: float) -> StageOutcome:
        """Append a grade of the stages shown, made ``seconds`` after the start, and say what it means."""
        held = tuple(stage.name for stage in verdict.stages if stage.passed)
        self.grades.append(StageGrade(seconds, self.shown, held, judged=bool(verdict.tests)))
        return self.outcome(len(self.grades) - 1)

    def outcome(self, number: int = -1) -> StageOutcome:
        """What a grade meant when it was made; by default the last one. Raises `IndexError` without one."""
        grade = self.grades[number]
        before = self.grades[: number % len(self.grades)]
        greens = self._greens(before)
        shown = self.stages[: greens + 1]
        failing = tuple(stage.name for stage in shown if stage.name not in grade.held)
        # Without evidence nothing is known about the stages that held.
        seen = {name for earlier in before for name in earlier.held} if grade.judged else set()
        is_end = greens + 1 >= len(self.stages)
        return StageOutcome(
            held=tuple(stage.name for stage in shown if stage.name in grade.held),
            failing=failing,
            broken_again=tuple(name for name in failing if name in seen),
            revealed=None if failing or is_end else self.stages[greens + 1],
            finished=is_end and not failing,
        )

    def red_grades(self) -> dict[str, int]:
        """By stage, how many grades failed while it was the newest one shown."""
        reds = dict.fromkeys((stage.name for stage in self.stages), 0)
        for number in range(len(self.grades)):
            if self.outcome(number).failing:
                reds[self.stages[min(self._greens(self.grades[:number]), len(self.stages) - 1)].name] += 1
        return reds

    @property
    def repeated_reds(self) -> int:
        """The red grades that cost: all but the first of each stage."""
        return sum(max(0, count - 1) for count in self.red_grades().values())

    def _is_green(self, number: int) -> bool:
        return self._greens(self.grades[: number + 1]) > self._greens(self.grades[:number])

    def _greens(self, grades: Iterable[StageGrade]) -> int:
        """How many stages were passed one after the other: each with all before it."""
        greens = 0
        for grade in grades:
            shown = self.stages[: greens + 1]
            if greens < len(self.stages) and all(stage.name in grade.held for stage in shown):
                greens += 1
        return greens


def leading_stages(stages: Sequence[Stage], minutes: float) -> tuple[Stage, ...]:
    """The longest run of leading stages whose minutes fit; empty if even the first does not."""
    fitting: list[Stage] = []
    for stage in stages:
        minutes -= stage.minutes
        if minutes < 0:
            break
        fitting.append(stage)
    return tuple(fitting)


def outcome_sentence(outcome: StageOutcome) -> str:
    """What a grade means for the run, in one line for the learner."""
    if outcome.finished:
        return "All stages hold."
    if outcome.revealed is not None:
        following = _quoted(outcome.revealed.name)
        return f"{_names(outcome.held)} {_verb(outcome.held, 'hold')}. Next: stage {following}."
    broken = outcome.broken_again
    sentences = [f"{_names(broken)} held before and {_verb(broken, 'be')} broken again."] if broken else []
    rest = tuple(name for name in outcome.failing if name not in broken)
    if rest:
        sentences.append(f"{_names(rest)} {_verb(rest, 'do')} not hold yet.")
    return " ".join(sentences)


def _names(names: Sequence[str]) -> str:
    *first, last = names
    listed = f"{', '.join(map(_quoted, first))} and {_quoted(last)}" if first else _quoted(last)
    return f"{'Stages' if first else 'Stage'} {listed}"


def _quoted(name: str) -> str:
    """A name in quotes: without them "stage temperature and top-k" would read like two stages."""
    return f'"{name}"'


def _verb(names: Sequence[str], verb: str) -> str:
    one, many = {"hold": ("holds", "hold"), "be": ("is", "are"), "do": ("does", "do")}[verb]
    return one if len(names) == 1 else many
