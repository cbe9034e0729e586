"""Which mutants of an exercise suit a code review, and in which of its correct programs.

A mutant suits a program if it says why its fault matters, touches at most `MOST_LINES` lines, fits the
program exactly once, and leaves it valid Python that still runs. Only a judge can tell whether code still
runs and whether a variant breaks where the solution does. The file ``review.yaml`` therefore records, for
each mutant, the programs in which it does; ``python -m tools.review_pairs`` writes it. An exercise without
that file shows the mutants that suit its solution as far as one can tell without running them.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from quizapp.bank.model import Exercise, Fault
from quizapp.bank.yaml_loader import LINE, read_yaml
from quizapp.interview.code_review.shown_code import strip_docstrings, touched_lines
from quizapp.judge.authoring.mutants import EditError, WrongSubmission, apply_edits, wrong_submissions

PAIRS = "review.yaml"
SOLUTION = "solution"
MOST_LINES = 5


@dataclass(frozen=True)
class ReviewProgram:
    """A correct program of an exercise, and the mutants that a review may plant unless `misfit` objects.

    ``name`` is ``solution``, or the name of a file in ``right/``.
    """

    name: str
    source: str
    mutants: tuple[WrongSubmission, ...]


def review_programs(exercise: Exercise) -> list[ReviewProgram]:
    """The correct programs of an exercise, the solution first, each with the mutants that suit it."""
    return _programs(exercise.folder, _stamp(exercise.folder))


@lru_cache(maxsize=128)
def _programs(folder: Path, _stamp: tuple[tuple[str, int, int], ...]) -> list[ReviewProgram]:
    mutants = [
        mutant for mutant in wrong_submissions(folder, compare=False)[0] if mutant.edits and mutant.why
    ]
    pairs, _ = _read_pairs(folder)
    # Checking every mutant for a misfit takes a second or two, so that is left to whoever picks one.
    return [
        ReviewProgram(
            name,
            source,
            tuple(
                mutant
                for mutant in mutants
                if (name == SOLUTION if pairs is None else name in pairs.get(mutant.name, ()))
            ),
        )
        for name, source in correct_programs(folder).items()
    ]


def _stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    files = [folder / "mutants.yaml", folder / PAIRS, folder / "solution.py"]
    files += sorted((folder / "right").glob("*.py"))
    return tuple((str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in files if p.is_file())


def correct_programs(folder: Path) -> dict[str, str]:
    """The sources of the solution and of the programs in ``right/``, by name, the solution first."""
    files = [folder / "solution.py", *sorted((folder / "right").glob("*.py"))]
    return {path.stem: path.read_text(encoding="utf-8") for path in files}


def misfit(mutant: WrongSubmission, source: str) -> str:
    """Why a review cannot plant ``mutant`` in the program ``source``; empty if nothing speaks against it."""
    return (
        edit_misfit(mutant, source) if mutant.why else "it has no 'why', the sentence that the reveal shows"
    )


def edit_misfit(mutant: WrongSubmission, source: str) -> str:
    """Why the edits of ``mutant`` do not suit the program ``source``; empty if they do."""
    if not mutant.edits:
        return "it is a whole program, not an edit"
    try:
        edited = strip_docstrings(apply_edits(source, mutant.edits))
        ast.parse(edited)
    except (EditError, SyntaxError) as error:
        return f"its edits do not fit: {error}"
    lines = touched_lines(strip_docstrings(source), edited)
    if not lines:
        return "it changes nothing that the review shows"
    return f"it touches {lines} lines, more than {MOST_LINES}" if lines > MOST_LINES else ""


def pair_faults(exercise: Exercise) -> list[Fault]:
    """Find what is wrong with the recorded pairs of an exercise, without running any."""
    pairs, faults = _read_pairs(exercise.folder)
    if pairs is None:
        return faults
    path = str(exercise.folder / PAIRS)
    mutants = {mutant.name: mutant for mutant in wrong_submissions(exercise.folder, compare=False)[0]}
    programs = correct_programs(exercise.folder)
    for name, chosen in pairs.items():
        for program in chosen:
            if name not in mutants:
                problem = f"there is no mutant {name!r}"
            elif program not in programs:
                problem = f"mutant {name!r} names the program {program!r}, which does not exist"
            elif program != SOLUTION and (reason := _unfit(mutants[name], programs[program])):
                problem = f"mutant {name!r} does not suit {program}: {reason}"
            else:
                continue
            faults.append(Fault(path, 1, f"{problem}; run 'python -m tools.review_pairs {exercise.slug}'"))
    return faults


def _unfit(mutant: WrongSubmission, source: str) -> str:
    # The check of the content runs this for thousands of pairs, so it leaves the lengths to `edit_misfit`.
    try:
        apply_edits(source, mutant.edits)
    except EditError as error:
        return f"its edits do not fit: {error}"
    return ""


def _read_pairs(folder: Path) -> tuple[Mapping[str, Sequence[str]] | None, list[Fault]]:
    """The programs that each mutant suits, by the mutant's name; None if nothing is recorded."""
    path = folder / PAIRS
    if not path.is_file():
        return None, []
    data, fault = read_yaml(path)
    if fault is not None:
        return {}, [fault]
    if not isinstance(data, dict):
        return {}, [Fault(str(path), 1, "must map names of mutants to lists of programs")]
    pairs = {str(name): value for name, value in data.items() if name != LINE}
    for name, value in pairs.items():
        if not isinstance(value, list) or not all(isinstance(program, str) for program in value):
            return {}, [Fault(str(path), 1, f"{name!r} must be a list of programs, such as [solution]")]
    return pairs, []
