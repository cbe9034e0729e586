"""Checks an exercise by running every submission that ships with it, under several seeds.

The starter must fail. The solution and the right submissions must pass. Every wrong submission must fail the
behavior that it claims to break.

``python -m quizapp.judge.authoring.exercise_check FOLDER... [--seeds N] [--only NAME] [--jobs N] [--tier T]``
prints one row per exercise, followed by its faults.
"""

import argparse
import math
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from quizapp import paths
from quizapp.judge.authoring.mutants import MUTANTS, wrong_submission_faults, wrong_submissions
from quizapp.judge.sandbox.launch import clean_environment
from quizapp.judge.sandbox.tiers import best, describe
from quizapp.judge.verdict import TestResult
from quizapp.util.installation import require_torch

if TYPE_CHECKING:
    from quizapp.bank.model import Exercise
    from quizapp.judge.server.examiner import RunResult
    from quizapp.judge.server.exercise_files import LoadedExercise
    from quizapp.judge.server.feedback import RunFailure
    from quizapp.judge.server.grader import GradedRun


@dataclass
class ExerciseReport:
    """The result of checking one exercise; ``faults`` is empty for a good one.

    Of the ``wrong`` submissions, ``killed`` failed the behavior that they break, and ``named`` got the
    feedback that their author expects. Of the ``right`` ones, which include the solution, ``passed`` passed.
    Of all ``runs`` of right submissions, ``flaked`` failed. ``seconds`` is the median of three runs of the
    solution and includes about 50 ms of the judge's own; a grade makes two such runs.
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
        """The exercise's row in the table whose first line is `HEADING`."""
        cells = [f"{self.killed}/{self.wrong}", f"{self.passed}/{self.right}", f"{self.named}/{self.wrong}"]
        counts = f"{self.behaviours:10d}  {self.tests:5d}  {cells[0]:>6}  {cells[1]:>6}  {cells[2]:>6}"
        return f"{self.slug:<24}  {counts}  {self.seconds:7.2f}  {self.flaked}/{self.runs}"


HEADING = f"{'exercise':<24}  behaviours  tests   wrong   right   named  seconds  flaked"


class SubmissionKind(StrEnum):
    """The role of a submission that ships with an exercise."""

    STARTER = "starter"
    SOLUTION = "solution"
    RIGHT = "right"
    WRONG = "wrong"


@dataclass(frozen=True)
class ShippedSubmission:
    """A submission that ships with an exercise.

    ``label`` tells an author where it is. Only a wrong submission has ``breaks``, the numbers of behaviors,
    and ``says``, a part of the expected feedback.
    """

    kind: SubmissionKind
    name: str
    label: str
    source: str
    breaks: tuple[int, ...] = ()
    says: str = ""

    @property
    def should_pass(self) -> bool:
        """Whether it solves the exercise."""
        return self.kind in (SubmissionKind.SOLUTION, SubmissionKind.RIGHT)


def shipped_submissions(folder: Path) -> list[ShippedSubmission]:
    """Every submission that ships with the exercise in ``folder``, whether a file or an edited solution."""
    paths_of = [
        (SubmissionKind.STARTER, folder / "starter.py"),
        (SubmissionKind.SOLUTION, folder / "solution.py"),
        *((SubmissionKind.RIGHT, path) for path in sorted((folder / "right").glob("*.py"))),
    ]
    shipped = [
        ShippedSubmission(
            kind, path.stem, f"{path.parent.name}/{path.name}", path.read_text(encoding="utf-8")
        )
        for kind, path in paths_of
    ]
    for wrong in wrong_submissions(folder)[0]:
        name = wrong.name
        label = f"{MUTANTS}:{wrong.line} {name}" if wrong.edits else f"wrong/{name}.py"
        shipped.append(
            ShippedSubmission(SubmissionKind.WRONG, name, label, wrong.source, wrong.breaks, wrong.says)
        )
    return shipped


@dataclass(frozen=True)
class CheckPlan:
    """How much to run: ``seeds`` runs per submission, or ``flakes`` runs of the solution if that is more.

    Only submissions whose name contains ``only`` are run, and only the fraction ``sample`` of those.
    """

    seeds: int = 3
    flakes: int = 0
    only: str = ""
    sample: float | None = None
    jobs: int = 2

    @property
    def whole(self) -> bool:
        """Whether every submission is run."""
        return not self.only and self.sample is None

    def runs(self, shipped: Sequence[ShippedSubmission]) -> Iterator[tuple[ShippedSubmission, int]]:
        """Pairs of a submission and a seed to run it with."""
        picked = [each for each in shipped if self.only in each.name]
        if self.sample is not None:
            count = max(1, math.ceil(len(picked) * min(self.sample, 1.0)))
            picked = random.Random(len(picked)).sample(picked, count)  # noqa: S311 - not a secret
        for each in picked:
            solution = each.kind is SubmissionKind.SOLUTION
            for n in range(max(self.seeds, self.flakes) if solution else self.seeds):
                yield each, 1000 + 7919 * n


class ExerciseChecker:
    """A judge in this process that runs an exercise's submissions, once per seed.

    It forks, so create it before this process starts a thread. Raises `PartMissing` without torch.
    """

    def __init__(self, tier: str | None = None) -> None:
        require_torch("Checking exercises")
        # This must precede the import of torch, whose thread pools would make forking unsafe.
        os.environ.update(
            {k: v for k, v in clean_environment().items() if k not in os.environ or v in ("", "1")}
        )
        reports = describe(paths.cache())
        from quizapp.judge.server.workers.worker_pool import WorkerPool
        from quizapp.judge.worker.preload import warm

        warm()
        self._pool = WorkerPool(best(reports, tier).name)
        from quizapp.judge.server.grader import GradingEngine

        self.engine = GradingEngine(self._pool, reports)

    def observe(self, folder: Path, source: str, seed: int) -> "RunResult":
        """Run a submission once under one seed, and return what the tests say."""
        return self.run(folder, source, seed).outcome()

    def run(self, folder: Path, source: str, seed: int) -> "GradedRun":
        """Run a submission once under one seed, and test it."""
        from quizapp.judge.protocol.orders import GradeOrder

        order = GradeOrder(folder, source.encode(), "submission.py", device="cpu")
        return self.engine.judge_once(order, seed)

    def check(self, folder: Path, plan: CheckPlan) -> ExerciseReport:
        """Run the submissions of the exercise in ``folder`` and report what is wrong with it."""
        from quizapp.bank.parse_exercise import load_exercise
        from quizapp.judge.server.exercise_files import load_exercise_code

        exercise, faults = load_exercise(folder)
        report = ExerciseReport(folder.name, [str(fault) for fault in faults])
        if exercise is None:
            return report
        report.faults += [str(fault) for fault in wrong_submission_faults(exercise)]
        code = load_exercise_code(folder)
        report.behaviours, report.tests = len(exercise.behaviours), len(code.tests)
        report.seconds = self._seconds(folder)
        failed_tests: set[str] = set()
        runs = list(plan.runs(shipped_submissions(folder)))
        with ThreadPoolExecutor(plan.jobs) as pool:
            done = pool.map(lambda each: self.observe(folder, each[0].source, each[1]), runs)
            previous: ShippedSubmission | None = None
            for (submission, seed), run in zip(runs, done, strict=True):
                failed_tests |= {result.name for result in run.tests if not result.passed}
                report.faults += _run_faults(submission, seed, run, report, first=submission is not previous)
                previous = submission
        if plan.whole:
            report.faults += _coverage_faults(report, exercise, code, failed_tests)
        return report

    def _seconds(self, folder: Path) -> float:
        solution = (folder / "solution.py").read_text(encoding="utf-8")
        seconds = []
        for _ in range(4):  # the first run also loads the exercise
            begin = time.perf_counter()
            self.observe(folder, solution, 1000)
            seconds.append(time.perf_counter() - begin)
        return median(seconds[1:])

    def close(self) -> None:
        """End the judge's processes."""
        self.engine.close()
        self._pool.close()


def _run_faults(
    submission: ShippedSubmission, seed: int, run: "RunResult", report: ExerciseReport, *, first: bool
) -> Iterator[str]:
    """Count one run in ``report`` and yield its faults. ``first`` is true for a submission's first run."""
    failed = [result for result in run.tests if not result.passed]
    if submission.kind is SubmissionKind.WRONG:
        yield from _wrong_faults(submission, run.failure, failed, report, first=first)
    elif submission.should_pass:
        report.right += first
        report.passed += first and run.passed
        report.runs += 1
        report.flaked += not run.passed
        if not run.passed:
            messages = "; ".join(f"({r.behaviour}) {r.name}: {r.message}" for r in failed)
            problem = f"{run.failure.status}: {run.failure.text}" if run.failure else f"failed: {messages}"
            yield f"{submission.label} should pass: {problem} [seed {seed}]"
    elif run.passed:
        yield f"{submission.label} should fail, but passes"


def _wrong_faults(
    submission: ShippedSubmission,
    failure: "RunFailure | None",
    failed: list[TestResult],
    report: ExerciseReport,
    *,
    first: bool,
) -> Iterator[str]:
    report.wrong += first
    breaks, label = submission.breaks, submission.label
    if not breaks:
        yield f"{label} does not say which behavior it breaks; begin it with the line '# fails: N'"
    expected = [result for result in failed if result.behaviour in breaks]
    if failure is None and not expected:
        others = ", ".join(f"({r.behaviour}) {r.name}" for r in failed) or "nothing"
        yield f"{label} should fail behavior {sorted(breaks)}; it fails {others}"
        return
    report.killed += first
    messages = [failure.text] if failure else [result.message for result in expected]
    if any(submission.says.lower() in message.lower() for message in messages):
        report.named += first
    else:
        yield f"{label}: no message contains {submission.says!r}; it says: {' | '.join(messages)}"


def _coverage_faults(
    report: ExerciseReport, exercise: "Exercise", code: "LoadedExercise", failed_tests: set[str]
) -> Iterator[str]:
    from quizapp.judge.server.test_runner import behaviour_of

    tested = {behaviour_of(test) for test in code.tests}
    tested |= {rule.behaviour for rule in exercise.forbidden}
    for number in sorted(set(exercise.behaviours) - tested):
        yield f"behavior {number} is checked by no hidden test"
    for test in code.tests:
        name = test.__name__.removeprefix("test_")
        if name not in failed_tests:
            yield f"hidden test {name} fails for no wrong submission and not for the starter"
    if report.right < 4:
        yield f"has {report.right - 1} right submissions; at least 3 are needed"


def check_folders(folders: Sequence[Path], plan: CheckPlan, tier: str | None = None) -> int:
    """Check exercise folders and print a row and the faults of each. Returns 1 if any has a fault, else 0."""
    checker = ExerciseChecker(tier)
    bad = 0
    try:
        sys.stdout.write(f"{HEADING}\n")
        for folder in folders:
            report = checker.check(folder.resolve(), plan)
            sys.stdout.write(f"{report.row()}\n" + "".join(f"  {fault}\n" for fault in report.faults))
            sys.stdout.flush()
            bad += bool(report.faults)
    finally:
        checker.close()
    return 1 if bad else 0


def main() -> int:
    """Check the folders named on the command line. Returns 1 if any has a fault, else 0."""
    parser = argparse.ArgumentParser(description="Check exercise folders.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=3, help="seeds for each submission")
    parser.add_argument("--flakes", type=int, default=0, help="seeds for the solution, if more")
    parser.add_argument("--only", default="", help="only submissions whose name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--tier", choices=("T0", "T1", "T2", "T3"), help="force a lower isolation tier")
    options = parser.parse_args()
    plan = CheckPlan(options.seeds, options.flakes, options.only, jobs=options.jobs)
    return check_folders(options.folders, plan, options.tier)


if __name__ == "__main__":
    sys.exit(main())
