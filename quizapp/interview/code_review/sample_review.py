"""Makes a code review from a seed: which program, which faults, and how much time."""

import math
import random
from collections.abc import Sequence

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.interview.code_review.candidates import SOLUTION, ReviewProgram, misfit, review_programs
from quizapp.interview.code_review.model import CodeReview, ReviewFault
from quizapp.interview.code_review.shown_code import fault_lines, strip_docstrings
from quizapp.judge.authoring.mutants import EditError, WrongSubmission, apply_edits

CORRECT_SHARE = 0.13
"""The share of reviews that show correct code."""
FEWEST_MINUTES, MOST_MINUTES = 4, 12
_LINES_PER_MINUTE = 10
_FAULT_COUNTS = (1, 1, 1, 1, 1, 1, 2, 2, 2, 3)
_SOLUTION_SHARE = 0.6
_LINES_PER_FAULT = 20  # a short program with many faults would be noise, not plausible code


def sample_review(exercise: Exercise, seed: int) -> CodeReview:
    """The code review of ``exercise`` that follows from ``seed``.

    Raises `QuizError` if the exercise has no mutant that suits a review.
    """
    programs = review_programs(exercise)
    rng = random.Random(f"code review {exercise.slug} {seed}")  # noqa: S311 - not a secret
    correct = rng.random() < CORRECT_SHARE
    mutable = [program for program in programs if program.mutants]
    program = _pick_program(programs if correct and mutable else mutable, rng) if mutable else None
    mutants = [] if correct or program is None else _pick_mutants(program, rng)
    if program is None or not (correct or mutants):
        raise QuizError(
            f"{exercise.slug} has no mutant that suits a code review; "
            "choose another exercise, or give its mutants a 'why' and short edits."
        )
    original = strip_docstrings(program.source)
    shown = _planted(program.source, mutants)
    return CodeReview(
        exercise=exercise.slug,
        title=exercise.title,
        module=exercise.module,
        seed=seed,
        program=program.name,
        original=original,
        shown=shown,
        faults=tuple(_fault(program.source, mutant, mutants, original) for mutant in mutants),
        minutes=review_minutes(shown),
    )


def can_review(exercise: Exercise) -> bool:
    """Whether the exercise has mutants for a code review."""
    return any(program.mutants for program in review_programs(exercise))


def review_minutes(shown: str) -> int:
    """The time allowed for a review of this code, in minutes: by its length, from 4 to 12."""
    lines = sum(bool(line.strip()) for line in shown.splitlines())
    return min(MOST_MINUTES, max(FEWEST_MINUTES, math.ceil(lines / _LINES_PER_MINUTE)))


def _pick_program(programs: Sequence[ReviewProgram], rng: random.Random) -> ReviewProgram:
    variants = [program for program in programs if program.name != SOLUTION]
    solution = [program for program in programs if program.name == SOLUTION]
    if solution and (not variants or rng.random() < _SOLUTION_SHARE):
        return solution[0]
    return rng.choice(variants)


def _pick_mutants(program: ReviewProgram, rng: random.Random) -> list[WrongSubmission]:
    """One to three mutants that break different behaviors and touch different lines, by their names.

    The list is empty if none of the program's mutants suits a review.
    """
    original = strip_docstrings(program.source)
    most = max(1, len(original.splitlines()) // _LINES_PER_FAULT)
    count = min(rng.choice(_FAULT_COUNTS), most)
    chosen: list[WrongSubmission] = []
    for mutant in rng.sample(program.mutants, len(program.mutants)):
        if len(chosen) == count:
            break
        if not misfit(mutant, program.source) and _compatible(program.source, original, [*chosen, mutant]):
            chosen.append(mutant)
    return sorted(chosen, key=lambda mutant: mutant.name)


def _compatible(source: str, original: str, mutants: Sequence[WrongSubmission]) -> bool:
    """Whether the last of ``mutants`` can be planted beside the others."""
    *others, last = mutants
    if any(set(last.breaks) & set(other.breaks) for other in others):
        return False
    try:
        together = _planted(source, mutants)
        lines = [set(_lines_of(source, mutant, mutants, original)) for mutant in mutants]
    except (EditError, SyntaxError):
        return False
    return together != original and sum(map(len, lines)) == len(set().union(*lines)) and all(lines)


def _planted(source: str, mutants: Sequence[WrongSubmission]) -> str:
    """The code shown: ``source`` with all edits of the mutants, without docstrings."""
    return strip_docstrings(apply_edits(source, [edit for mutant in mutants for edit in mutant.edits]))


def _lines_of(
    source: str, mutant: WrongSubmission, mutants: Sequence[WrongSubmission], original: str
) -> tuple[int, ...]:
    others = [other for other in mutants if other is not mutant]
    return fault_lines(_planted(source, others) if others else original, _planted(source, mutants))


def _fault(
    source: str, mutant: WrongSubmission, mutants: Sequence[WrongSubmission], original: str
) -> ReviewFault:
    lines = _lines_of(source, mutant, mutants, original)
    return ReviewFault(mutant.name, mutant.breaks, mutant.why, lines, _planted(source, [mutant]))
