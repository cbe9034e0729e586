"""Faults to find in otherwise right code: the solution of an exercise with the edits of several mutants.

Debugging rounds use this directly; `quizapp.practice.debug_files` keeps the user's own runs::

    program, verdict = plant_and_grade(exercise, 4, seed, grade=lambda source: grade(exercise, source))
    show(program.source, outcome_of(program.faults, verdict).open)      # behaviors only, no messages
    ...
    outcome = outcome_of(program.faults, verdict_on_the_edited_source)
"""

import ast
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge.authoring.mutants import (
    MUTANTS,
    EditError,
    MutantEdit,
    WrongSubmission,
    apply_edits,
    wrong_submissions,
)
from quizapp.judge.verdict import Verdict
from quizapp.util.text import plural

DEFAULT_FAULTS = 4
_ATTEMPTS = 6
"""How many combinations are graded until one is found in which every fault shows."""


class PlantedFault(msgspec.Struct, frozen=True):
    """One fault: the name of its mutant, the behavior that it breaks, and its consequence in a sentence."""

    mutant: str
    behaviour: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class FaultyProgram:
    """The solution with faults, in the order of their behaviors. ``wanted`` is how many were asked for."""

    source: str
    faults: tuple[PlantedFault, ...]
    wanted: int

    @property
    def shortfall(self) -> str:
        """A sentence if there are fewer faults than asked for; else empty."""
        if len(self.faults) >= self.wanted:
            return ""
        return f"Only {plural(len(self.faults), 'fault')} of the {self.wanted} asked for fit together here."


@dataclass(frozen=True, slots=True)
class DebugOutcome:
    """What a grade shows of the faults: the behaviors of those found and of those that are still open.

    ``other`` are behaviors that fail and belong to no fault: consequences of an open one, or newly broken.
    """

    found: tuple[int, ...]
    open: tuple[int, ...]
    other: tuple[int, ...]
    passed: bool


def outcome_of(faults: Sequence[PlantedFault], verdict: Verdict) -> DebugOutcome:
    """What a verdict on the edited program shows. A fault is found if all tests of its behavior hold."""
    tested = {test.behaviour for test in verdict.tests}
    failing = {test.behaviour for test in verdict.tests if not test.passed}
    planted = [fault.behaviour for fault in faults]
    return DebugOutcome(
        found=tuple(number for number in planted if number in tested - failing),
        open=tuple(number for number in planted if number not in tested - failing),
        other=tuple(sorted(failing - set(planted))),
        passed=verdict.passed,
    )


def debug_sentence(outcome: DebugOutcome) -> str:
    """What a grade shows of the faults, in one line for the learner."""
    count = len(outcome.found) + len(outcome.open)
    found = f"{len(outcome.found)} of {plural(count, 'fault')} found"
    if outcome.passed:
        return f"{found}, and every hidden test holds."
    if not outcome.open:
        return f"{found}, but other behaviors fail now."
    return f"{found}."


def faulty_programs(exercise: Exercise, count: int, seed: int) -> Iterator[FaultyProgram]:
    """Combinations of up to ``count`` compatible faults, in an order that follows from ``seed``.

    Compatible mutants break different core behaviors, their edits do not overlap, and together they are still
    valid Python. Raises `QuizError` at the first one if the exercise has no mutant that suits.
    """
    solution, candidates = exercise.solution, _candidates(exercise)
    # A text as seed: it is hashed the same way everywhere, and no exercise repeats the choices of another.
    chance = random.Random(f"{exercise.slug} {seed}")  # noqa: S311 - a choice that must repeat, not a secret
    while True:
        chance.shuffle(candidates)
        yield _combined(solution, candidates, count)


def plant_faults(exercise: Exercise, count: int = DEFAULT_FAULTS, seed: int = 0) -> FaultyProgram:
    """The first combination for ``seed``, not graded. Raises `QuizError` without a mutant that suits.

    Drawing a paper asks for the same program several times, so the last ones are kept.
    """
    files = (exercise.folder / MUTANTS, exercise.folder / "solution.py")
    stamps = tuple(path.stat().st_mtime_ns for path in files if path.is_file())
    key = (exercise.slug, exercise.folder, exercise.stages, count, seed, stamps)
    if key not in _PLANTED:
        while len(_PLANTED) >= _MOST_PLANTED:
            del _PLANTED[next(iter(_PLANTED))]
        _PLANTED[key] = next(faulty_programs(exercise, count, seed))
    return _PLANTED[key]


_PLANTED: dict[tuple[object, ...], FaultyProgram] = {}
_MOST_PLANTED = 16


def plant_and_grade(
    exercise: Exercise, count: int, seed: int, grade: Callable[[bytes], Verdict]
) -> tuple[FaultyProgram, Verdict]:
    """A faulty program and its first verdict, in which every fault shows.

    Each mutant is found alone, but one may hide another, or stop the whole program. Such combinations are
    passed over; if there are only such, the best one is returned, without the faults that do not show.
    Raises `QuizError`.
    """
    graded: list[tuple[FaultyProgram, Verdict]] = []
    for program in islice(faulty_programs(exercise, count, seed), _ATTEMPTS):
        verdict = grade(program.source.encode())
        shown = _showing(program, verdict)
        graded.append((shown, verdict))
        if len(shown.faults) == len(program.faults) and verdict.tests:
            break
    program, verdict = max(graded, key=lambda pair: (bool(pair[1].tests), len(pair[0].faults)))
    if not verdict.tests:
        raise QuizError(f"the code with faults cannot be graded ({verdict.error}); try another --seed")
    if not program.faults:
        raise QuizError(f"the faults planted into {exercise.slug} do not show; try another --seed")
    return program, verdict


def _showing(program: FaultyProgram, verdict: Verdict) -> FaultyProgram:
    still_open = outcome_of(program.faults, verdict).open
    shown = tuple(fault for fault in program.faults if fault.behaviour in still_open)
    return FaultyProgram(program.source, shown, program.wanted)


def _candidates(exercise: Exercise) -> list[WrongSubmission]:
    """The mutants that break exactly one core behavior, in the order of their names. Raises `QuizError`."""
    mutants, faults = wrong_submissions(exercise.folder, compare=False)
    core = {number for stage in exercise.stages if stage.is_core for number in stage.behaviours}
    # A file in wrong/ is another program, which cannot be combined.
    edited = [mutant for mutant in mutants if mutant.edits]
    candidates = [mutant for mutant in edited if len(mutant.breaks) == 1 and mutant.breaks[0] in core]
    if candidates:
        return candidates
    if faults:
        raise QuizError(f"{exercise.slug} has no mutant whose edits fit ({faults[0]}); correct it")
    raise QuizError(f"{exercise.slug} has no mutants to make faults from; choose another exercise")


def _combined(solution: str, candidates: Sequence[WrongSubmission], count: int) -> FaultyProgram:
    chosen: list[WrongSubmission] = []
    edits: list[MutantEdit] = []
    source = solution
    for mutant in candidates:
        if len(chosen) == count:
            break
        if any(mutant.breaks == other.breaks for other in chosen):
            continue
        try:
            together = apply_edits(solution, [*edits, *mutant.edits])
            ast.parse(together)
        except (EditError, SyntaxError):
            continue
        chosen.append(mutant)
        edits += mutant.edits
        source = together
    chosen.sort(key=lambda mutant: mutant.breaks)
    faults = tuple(PlantedFault(mutant.name, mutant.breaks[0], mutant.why) for mutant in chosen)
    return FaultyProgram(source, faults, count)
