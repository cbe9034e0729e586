"""Records which mutants of an exercise suit a code review, and in which of its correct programs.

``python -m tools.review_pairs [exercises/SLUG...] [--jobs N] [--check]`` plants every mutant in the solution
and in each program of ``right/`` that its edits fit, runs the hidden tests once, and writes the pairs that
suit to ``review.yaml``. With ``--check`` it writes nothing and fails if a file is out of date.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quizapp import paths
from quizapp.interview.code_review.candidates import PAIRS, correct_programs, edit_misfit
from quizapp.interview.code_review.shown_code import strip_docstrings
from quizapp.judge.authoring.exercise_check import ExerciseChecker
from quizapp.judge.authoring.mutants import WrongSubmission, apply_edits, wrong_submissions
from quizapp.util.atomic import write_atomic

if TYPE_CHECKING:
    from quizapp.judge.server.examiner import RunResult

_SEED = 1000
_LEAST_VALUES = 0.5  # of what the correct program returns; code that returns less does not really run
_HEADING = (
    "# Which mutants a code review may plant in which program. Written by `python -m tools.review_pairs`.\n"
)


@dataclass(frozen=True)
class Pair:
    """A mutant that fits a correct program, by their names, and the program with its edits."""

    mutant: WrongSubmission
    program: str
    source: str


def fitting_pairs(folder: Path) -> Iterator[Pair]:
    """Yield every pair of a mutant and a correct program that the mutant's edits fit."""
    programs = correct_programs(folder)
    for mutant in wrong_submissions(folder)[0]:
        for name, source in programs.items():
            if not edit_misfit(mutant, source):
                yield Pair(mutant, name, strip_docstrings(apply_edits(source, mutant.edits)))


def suits(pair: Pair, run: "RunResult", values: int) -> bool:
    """Whether a run shows that the code still runs and is refused where it should be.

    ``values`` is how many values the correct program gives.
    """
    if run.failure is not None or run.values < _LEAST_VALUES * values:
        return False
    return any(result.behaviour in pair.mutant.breaks and not result.passed for result in run.tests)


def suiting_pairs(checker: ExerciseChecker, folder: Path, jobs: int) -> dict[str, list[str]]:
    """The programs that each mutant suits, by the mutant's name; mutants that suit none are left out."""
    values = {}
    for name, source in correct_programs(folder).items():
        run = checker.observe(folder, strip_docstrings(source), _SEED)
        if not run.passed:
            sys.stderr.write(f"{folder.name}: {name} fails without its docstrings\n")
        values[name] = run.values if run.passed else sys.maxsize
    pairs = list(fitting_pairs(folder))
    with ThreadPoolExecutor(jobs) as pool:
        runs = pool.map(lambda pair: checker.observe(folder, pair.source, _SEED), pairs)
        suiting: dict[str, list[str]] = {}
        for pair, run in zip(pairs, runs, strict=True):
            if suits(pair, run, values[pair.program]):
                suiting.setdefault(pair.mutant.name, []).append(pair.program)
    return suiting


def as_text(pairs: dict[str, list[str]]) -> str:
    """The content of ``review.yaml``."""
    return _HEADING + "".join(f"{name}: [{', '.join(programs)}]\n" for name, programs in pairs.items())


def main() -> int:
    """Write the file of each exercise that is named, or of all; 1 if ``--check`` finds one out of date."""
    parser = argparse.ArgumentParser(description="Record the mutants that suit code reviews.")
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is out of date")
    options = parser.parse_args()
    folders = options.folders or sorted(path.parent for path in paths.exercises().glob("*/mutants.yaml"))
    checker = ExerciseChecker()
    outdated = 0
    try:
        for folder in folders:
            pairs = suiting_pairs(checker, folder.resolve(), options.jobs)
            text = as_text(pairs)
            path = folder / PAIRS
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                outdated += 1
                if not options.check:
                    write_atomic(path, text)
            count = sum(map(len, pairs.values()))
            sys.stdout.write(f"{folder.name}: {len(pairs)} mutants in {count} pairs\n")
            sys.stdout.flush()
    finally:
        checker.close()
    return 1 if options.check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
