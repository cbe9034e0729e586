"""Checks an exercise: starter fails, solutions pass, every wrong one fails where it says; over several seeds.

``python -m quizapp.judge.matrix FOLDER... [--seeds N] [--only NAME]`` prints what it finds.
"""

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from quizapp.bank.exercises import load_exercise
from quizapp.bank.model import Exercise
from quizapp.judge.assets import load_probes, load_tests
from quizapp.judge.draw import Draw
from quizapp.judge.forbidden import first_use
from quizapp.judge.hidden import Observe, run_test
from quizapp.judge.run import Run, run_submission, warm
from quizapp.judge.verdict import TestResult


@dataclass
class Report:
    """What the check of one exercise found; ``faults`` is empty for a good one."""

    slug: str
    faults: list[str] = field(default_factory=list)
    behaviours: int = 0
    tests: int = 0
    wrong: int = 0
    killed: int = 0
    right: int = 0
    passed: int = 0
    named: int = 0
    seconds: float = 0.0


class Matrix:
    """One exercise with its probes and hidden tests loaded, ready to judge submissions."""

    def __init__(self, exercise: Exercise):
        self.exercise = exercise
        self.probes: ModuleType = load_probes(exercise)
        self.tests: list[Callable[[Observe], None]] = load_tests(exercise)

    def judge(self, source: bytes, seed: int) -> tuple[Run, list[TestResult]]:
        """Run one submission under one seed."""
        given = self.probes.inputs(Draw(seed))
        run = run_submission(
            self.exercise, self.probes, source, given, seed=seed, timeout=self.exercise.timeout
        )
        if run.status:
            return run, []
        observe = Observe(given, run.values, run.errors, self.exercise.module, "cpu")
        results = [run_test(test, observe) for test in self.tests]
        for rule in self.exercise.forbidden:
            use = first_use(source.decode("utf-8-sig"), rule.names)
            message = f"{rule.says} ({use[0]}, line {use[1]})" if use else ""
            results.append(TestResult("not_allowed", rule.behaviour, use is None, message))
        return run, results


def header(source: str, key: str) -> str:
    """The value of a ``# key: value`` line at the top of a wrong solution."""
    match = re.search(rf"^# {key}: (.+)$", source, re.MULTILINE)
    return match[1].strip() if match else ""


def check(folder: Path, seeds: int = 3, only: str = "") -> Report:
    """Check the exercise in ``folder`` over ``seeds`` seeds."""
    exercise, faults = load_exercise(folder)
    report = Report(folder.name, [str(fault) for fault in faults])
    if exercise is None:
        return report
    matrix = Matrix(exercise)
    report.behaviours, report.tests = len(exercise.behaviours), len(matrix.tests)
    tripped: set[str] = set()
    for path, kind in submissions(folder):
        if only in path.name:
            for seed in range(seeds):
                begin = time.perf_counter()
                run, results = matrix.judge(path.read_bytes(), 1000 + 7919 * seed)
                if kind == "solution":
                    report.seconds = max(report.seconds, time.perf_counter() - begin)
                tripped |= {result.name for result in results if not result.passed}
                report.faults += _faults(path, kind, run, results, first=seed == 0, report=report)
    if not only:
        _coverage(report, exercise, matrix, tripped)
    return report


def submissions(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every shipped submission of an exercise with its kind."""
    yield folder / "starter.py", "starter"
    yield folder / "solution.py", "solution"
    for kind in ("right", "wrong"):
        for path in sorted((folder / kind).glob("*.py")):
            yield path, kind


def _faults(
    path: Path, kind: str, run: Run, results: list[TestResult], *, first: bool, report: Report
) -> Iterator[str]:
    failed = [result for result in results if not result.passed]
    name = f"{path.parent.name}/{path.name}"
    good = not run.status and not failed
    if kind in ("solution", "right"):
        report.right += first
        report.passed += first and good
        if not good:
            lines = run.problem or "; ".join(f"({r.behaviour}) {r.name}: {r.message}" for r in failed)
            yield f"{name} should pass: {run.status or 'failed'}: {lines}"
    elif kind == "starter":
        if good:
            yield f"{name} should fail, but passes"
    else:
        yield from _wrong(path, name, run, failed, first=first, report=report)


def _wrong(
    path: Path, name: str, run: Run, failed: list[TestResult], *, first: bool, report: Report
) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    numbers = {int(n) for n in re.findall(r"\d+", header(source, "fails"))}
    expected = header(source, "message")
    report.wrong += first
    if not numbers:
        yield f"{name} lacks the line '# fails: N' that names the behaviour it must fail"
    hit = [r for r in failed if r.behaviour in numbers] or ([None] if run.status else [])
    if not hit:
        rest = ", ".join(f"({r.behaviour}) {r.name}" for r in failed) or "nothing"
        yield f"{name} should fail behaviour {sorted(numbers)}; it fails {rest}"
        return
    report.killed += first
    texts = [run.problem] if run.status else [r.message for r in failed if r.behaviour in numbers]
    if not expected or any(expected.lower() in text.lower() for text in texts):
        report.named += first
    else:
        yield f"{name}: no message holds {expected!r}; it says: {' | '.join(texts)}"


def _coverage(report: Report, exercise: Exercise, matrix: Matrix, tripped: set[str]) -> None:
    tested = {getattr(test, "behaviour", 0) for test in matrix.tests}
    tested |= {rule.behaviour for rule in exercise.forbidden}
    for number in sorted(set(exercise.behaviours) - tested):
        report.faults.append(f"behaviour {number} is checked by no hidden test")
    for test in matrix.tests:
        name = test.__name__.removeprefix("test_")
        if name not in tripped:
            report.faults.append(f"hidden test {name} is tripped by no wrong solution and not by the starter")
    if report.wrong < 8:
        report.faults.append(f"has {report.wrong} wrong solutions; at least 8 are needed")
    if report.right < 4:
        report.faults.append(f"has {report.right - 1} right solutions; at least 3 are needed")


def main() -> int:
    """Check the named folders; 1 if any has a fault."""
    parser = argparse.ArgumentParser(description="Check exercise folders.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="only submissions whose file name holds this")
    options = parser.parse_args()
    warm()
    bad = 0
    for folder in options.folders:
        report = check(folder.resolve(), options.seeds, options.only)
        sys.stdout.write(
            f"{report.slug}: {report.behaviours} behaviours, {report.tests} tests, wrong {report.killed}/{report.wrong}, "
            f"right {report.passed}/{report.right}, message names the mistake {report.named}/{report.wrong}, "
            f"{report.seconds:.2f} s\n"
        )
        for fault in report.faults:
            sys.stdout.write(f"  {fault}\n")
        bad += bool(report.faults)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
