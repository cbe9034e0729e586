"""The trusted judge: fresh inputs in, evidence back from workers, a verdict out."""

import platform
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import torch

import quizapp
from quizapp.bank.exercises import load_exercise
from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge.assets import load_probes, load_tests
from quizapp.judge.draw import Draw
from quizapp.judge.forbidden import first_use
from quizapp.judge.hidden import Observe, run_test
from quizapp.judge.run import Run, run_submission
from quizapp.judge.verdict import FAILED, PASSED, TestResult, Verdict


@dataclass(frozen=True)
class Order:
    """What a client asks for: grade ``source`` (its name for the verdict is ``file``)."""

    folder: Path
    source: bytes
    file: str
    device: str = "auto"
    timeout: float | None = None
    seed: int | None = None
    tier: str | None = None


@dataclass(frozen=True)
class Assets:
    """An exercise with its probes and hidden tests loaded."""

    exercise: Exercise
    probes: ModuleType
    tests: tuple[Callable[[Observe], None], ...]


def load_assets(folder: Path) -> Assets:
    """Load the exercise in ``folder``; a broken one is a `QuizError`."""
    exercise, faults = load_exercise(folder)
    if exercise is None:
        raise QuizError(str(faults[0]))
    return Assets(exercise, load_probes(exercise), tuple(load_tests(exercise)))


class Engine:
    """Grades submissions, one at a time."""

    def grade(self, order: Order) -> Verdict:
        """The verdict on one submission."""
        begin = time.monotonic()
        assets = load_assets(order.folder)
        exercise = assets.exercise
        seed = random.SystemRandom().getrandbits(31) if order.seed is None else order.seed
        limit = exercise.timeout if order.timeout is None else order.timeout
        run = Run()
        tests: list[TestResult] = []
        for each in (seed, seed ^ 0x5DEECE66D):
            given = assets.probes.inputs(Draw(each))
            run = run_submission(exercise, assets.probes, order.source, given, seed=each, timeout=limit)
            observe = Observe(given, run.values, run.errors, exercise.module, "cpu")
            tests = [] if run.status else [run_test(test, observe) for test in assets.tests]
            if run.status or not all(test.passed for test in tests):
                break
        if not run.status:
            tests += not_allowed(exercise, order.source)
        good = not run.status and all(test.passed for test in tests)
        return Verdict(
            exercise.slug,
            order.file,
            "cpu",
            run.status or (PASSED if good else FAILED),
            tuple(tests),
            time.monotonic() - begin,
            seed,
            "T1",
            run.problem or None,
            versions=versions(order.source),
        )


def not_allowed(exercise: Exercise, source: bytes) -> list[TestResult]:
    """One result for each rule on forbidden names."""
    results = []
    for rule in exercise.forbidden:
        use = first_use(source.decode("utf-8-sig"), rule.names)
        message = f"{rule.says} ({use[0]}, line {use[1]})" if use else ""
        results.append(TestResult("not_allowed", rule.behaviour, use is None, message))
    return results


def versions(source: bytes) -> dict[str, str]:
    """What a verdict rests on: hash of the source, versions of the engine, torch and Python."""
    return {
        "source": sha256(source).hexdigest(),
        "engine": quizapp.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
