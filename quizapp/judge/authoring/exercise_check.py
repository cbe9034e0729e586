"""Checks an exercise: starter fails, solutions pass, every wrong one fails where it says; over several seeds.

``python -m quizapp.judge.authoring.exercise_check FOLDER... [--seeds N] [--only NAME] [--jobs N] [--tier T]``
prints a row for each exercise and below it what it found.
"""

import argparse
import math
import os
import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from quizapp import paths
from quizapp.judge.sandbox.launch import clean_environment
from quizapp.judge.sandbox.tiers import best, describe
from quizapp.judge.verdict import TestResult

if TYPE_CHECKING:
    from quizapp.bank.model import Exercise
    from quizapp.judge.server.evidence import RunEvidence, SeededRun
    from quizapp.judge.server.exercise_files import LoadedExercise


@dataclass
class ExerciseReport:
    """What the check of one exercise found; ``faults`` is empty for a good one.

    ``right`` counts the solution too. ``seconds`` is the median of the solution's runs, one at a time, the
    judge's share (some 50 ms) included; a grade makes two. ``runs`` are those of right submissions over all
    seeds, ``flaked`` those of them that failed.
    """

    slug: str
    faults: list[str] = field(default_factory=list)
    behaviours: int = 0
    tests: int = 0
    wrong: int = 0
    killed: int = 0
    right: int = 0
    passed: int = 0
    named: int = 0
    runs: int = 0
    flaked: int = 0
    seconds: float = 0.0

    def row(self) -> str:
        """The exercise's row of the table, under `HEADING`."""
        cells = [f"{self.killed}/{self.wrong}", f"{self.passed}/{self.right}", f"{self.named}/{self.wrong}"]
        counts = f"{self.behaviours:10d}  {self.tests:5d}  {cells[0]:>6}  {cells[1]:>6}  {cells[2]:>6}"
        return f"{self.slug:<24}  {counts}  {self.seconds:7.2f}  {self.flaked}/{self.runs}"


HEADING = f"{'exercise':<24}  behaviours  tests   wrong   right   named  seconds  flaked"


class ExerciseChecker:
    """A judge in this process, for submissions that ship with an exercise: one run per seed.

    Make it before this process starts a thread: it forks.
    """

    def __init__(self, tier: str | None = None) -> None:
        # Before torch is imported: with more threads, forking would not be safe.
        os.environ.update(
            {k: v for k, v in clean_environment().items() if k not in os.environ or v in ("", "1")}
        )
        reports = describe(paths.cache())
        from quizapp.judge.server.worker_pool import WorkerPool
        from quizapp.judge.worker.preload import warm

        warm()
        self._pool = WorkerPool(best(reports, tier).name)
        from quizapp.judge.server.grader import GradingEngine

        self.engine = GradingEngine(self._pool, reports)

    def observe(self, folder: Path, path: Path, seed: int) -> "SeededRun":
        """One run of the submission at ``path`` under one seed, with its evidence and tests."""
        from quizapp.judge.protocol import GradeOrder

        return self.engine.judge_once(GradeOrder(folder, path.read_bytes(), str(path), device="cpu"), seed)

    def judge(self, folder: Path, path: Path, seed: int) -> "tuple[RunEvidence, list[TestResult]]":
        """Run one submission under one seed; evidence and tests."""
        track = self.observe(folder, path, seed)
        return track.evidence, track.tests

    def close(self) -> None:
        """End the processes behind it."""
        self._pool.close()


def header(source: str, key: str) -> str:
    """The value of a ``# key: value`` line at the top of a wrong solution."""
    match = re.search(rf"^# {key}: (.+)$", source, re.MULTILINE)
    return match[1].strip() if match else ""


@dataclass(frozen=True)
class CheckPlan:
    """How much to judge: ``seeds`` for each submission, for the solution ``flakes`` if that is more.

    ``only`` names a part of the file names; ``sample`` is the share of the submissions.
    """

    seeds: int = 3
    flakes: int = 0
    only: str = ""
    sample: float | None = None
    jobs: int = 2

    def seeds_of(self, kind: str) -> list[int]:
        """The seeds for a submission of this kind."""
        count = max(self.seeds, self.flakes) if kind == "solution" else self.seeds
        return [1000 + 7919 * n for n in range(count)]


def check(checker: ExerciseChecker, folder: Path, plan: CheckPlan) -> ExerciseReport:
    """Check the exercise in ``folder``."""
    from quizapp.bank.parse_exercise import load_exercise
    from quizapp.judge.server.exercise_files import load_exercise_code

    exercise, faults = load_exercise(folder)
    report = ExerciseReport(folder.name, [str(fault) for fault in faults])
    if exercise is None:
        return report
    assets = load_exercise_code(folder)
    report.behaviours, report.tests = len(exercise.behaviours), len(assets.tests)
    report.seconds = _compute(checker, folder)
    tripped: set[str] = set()
    todo = _chosen([found for found in submissions(folder) if plan.only in found[0].name], plan.sample)
    runs = [(path, kind, seed) for path, kind in todo for seed in plan.seeds_of(kind)]
    with ThreadPoolExecutor(plan.jobs) as pool:
        done = pool.map(lambda each: checker.judge(folder, each[0], each[2]), runs)
        seen: set[Path] = set()
        for (path, kind, seed), (run, results) in zip(runs, done, strict=True):
            tripped |= {result.name for result in results if not result.passed}
            report.faults += _faults(path, kind, seed, run, results, first=path not in seen, report=report)
            seen.add(path)
    if not plan.only and plan.sample is None:
        _coverage(report, exercise, assets, tripped)
    return report


def _compute(checker: ExerciseChecker, folder: Path) -> float:
    """Seconds of one run of the solution, with nothing beside it: the median of three."""
    seconds = []
    for _ in range(4):  # the first one also loads the exercise
        begin = time.perf_counter()
        checker.judge(folder, folder / "solution.py", 1000)
        seconds.append(time.perf_counter() - begin)
    return median(seconds[1:])


def _chosen(found: list[tuple[Path, str]], sample: float | None) -> list[tuple[Path, str]]:
    if sample is None:
        return found
    count = max(1, math.ceil(len(found) * min(sample, 1.0)))
    return random.Random(len(found)).sample(found, count)  # noqa: S311 - a choice, no secret


def submissions(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every shipped submission of an exercise with its kind."""
    yield folder / "starter.py", "starter"
    yield folder / "solution.py", "solution"
    for kind in ("right", "wrong"):
        for path in sorted((folder / kind).glob("*.py")):
            yield path, kind


def _faults(
    path: Path,
    kind: str,
    seed: int,
    run: "RunEvidence",
    results: list[TestResult],
    *,
    first: bool,
    report: ExerciseReport,
) -> Iterator[str]:
    failed = [result for result in results if not result.passed]
    name = f"{path.parent.name}/{path.name}"
    good = not run.status and not failed
    if kind in ("solution", "right"):
        report.right += first
        report.passed += first and good
        report.runs += 1
        report.flaked += not good
        if not good:
            lines = run.problem or "; ".join(f"({r.behaviour}) {r.name}: {r.message}" for r in failed)
            yield f"{name} should pass: {run.status or 'failed'}: {lines} [seed {seed}]"
    elif kind == "starter":
        if good:
            yield f"{name} should fail, but passes"
    else:
        yield from _wrong(path, name, run, failed, first=first, report=report)


def _wrong(
    path: Path,
    name: str,
    run: "RunEvidence",
    failed: list[TestResult],
    *,
    first: bool,
    report: ExerciseReport,
) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    numbers = {int(n) for n in re.findall(r"\d+", header(source, "fails"))}
    expected = header(source, "message")
    report.wrong += first
    if not numbers:
        yield f"{name} lacks the line '# fails: N' that names the behaviour it must fail"
    if not run.status and not any(r.behaviour in numbers for r in failed):
        rest = ", ".join(f"({r.behaviour}) {r.name}" for r in failed) or "nothing"
        yield f"{name} should fail behaviour {sorted(numbers)}; it fails {rest}"
        return
    report.killed += first
    texts = [run.problem] if run.status else [r.message for r in failed if r.behaviour in numbers]
    if not expected or any(expected.lower() in text.lower() for text in texts):
        report.named += first
    else:
        yield f"{name}: no message holds {expected!r}; it says: {' | '.join(texts)}"


def _coverage(
    report: ExerciseReport, exercise: "Exercise", assets: "LoadedExercise", tripped: set[str]
) -> None:
    tested = {getattr(test, "behaviour", 0) for test in assets.tests}
    tested |= {rule.behaviour for rule in exercise.forbidden}
    for number in sorted(set(exercise.behaviours) - tested):
        report.faults.append(f"behaviour {number} is checked by no hidden test")
    for test in assets.tests:
        name = test.__name__.removeprefix("test_")
        if name not in tripped:
            report.faults.append(f"hidden test {name} is tripped by no wrong solution and not by the starter")
    if report.wrong < 8:
        report.faults.append(f"has {report.wrong} wrong solutions; at least 8 are needed")
    if report.right < 4:
        report.faults.append(f"has {report.right - 1} right solutions; at least 3 are needed")


def check_folders(folders: Sequence[Path], plan: CheckPlan, tier: str | None = None) -> int:
    """Check exercise folders, print what is found; 1 if any has a fault, else 0."""
    checker = ExerciseChecker(tier)
    bad = 0
    try:
        sys.stdout.write(f"{HEADING}\n")
        for folder in folders:
            report = check(checker, folder.resolve(), plan)
            sys.stdout.write(f"{report.row()}\n" + "".join(f"  {fault}\n" for fault in report.faults))
            sys.stdout.flush()
            bad += bool(report.faults)
    finally:
        checker.close()
    return 1 if bad else 0


def main() -> int:
    """Check the named folders; 1 if any has a fault."""
    parser = argparse.ArgumentParser(description="Check exercise folders.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--flakes", type=int, default=0, help="seeds for the solution, if more")
    parser.add_argument("--only", default="", help="only submissions whose file name holds this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--tier", choices=("T0", "T1", "T2", "T3"), help="force a lower isolation tier")
    options = parser.parse_args()
    plan = CheckPlan(options.seeds, options.flakes, options.only, jobs=options.jobs)
    return check_folders(options.folders, plan, options.tier)


if __name__ == "__main__":
    sys.exit(main())
