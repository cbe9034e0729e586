"""From the evidence of a grade to what its verdict says."""

import platform
from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING

import torch

import quizapp
from quizapp.bank.model import Exercise
from quizapp.judge.server.evidence import memory_sentence
from quizapp.judge.server.name_rules import first_of, used_names
from quizapp.judge.testing.checks import Raised
from quizapp.judge.verdict import ERROR, FAILED, MEMORY, PASSED, TestResult
from quizapp.util.sanitize import escape_unprintable

if TYPE_CHECKING:
    from quizapp.judge.server.grader import SeededRun


def outcome(track: "SeededRun", exercise: Exercise) -> tuple[str, str]:
    """Status and error text of the run that decides."""
    if track.run.status:
        return track.run.status, track.run.problem
    if track.good:
        return PASSED, ""
    errors = [Raised(details, exercise.module) for details in track.run.errors.values()]
    hungry = next((error for error in errors if error.is_memory), None)
    if hungry is not None:
        return MEMORY, memory_sentence(hungry, exercise.module)
    if errors and not track.run.values and not errors[0].is_a("NotImplementedError"):
        return ERROR, f"Your code raised {errors[0]}."
    return FAILED, ""


def cleaned(tests: Iterable[TestResult]) -> Iterable[TestResult]:
    """The results with messages that a terminal shows as they are."""
    for test in tests:
        yield TestResult(
            test.name, test.behaviour, test.passed, escape_unprintable(test.message), test.seconds
        )


def not_allowed(exercise: Exercise, source: bytes) -> list[TestResult]:
    """One result for each rule on forbidden names."""
    if not exercise.forbidden:
        return []
    try:
        uses = list(used_names(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # Python could run it, for it was run; only such code gets here.
        text = "Your module is nested too deeply to look for what is not allowed."
        return [TestResult("not_allowed", rule.behaviour, False, text) for rule in exercise.forbidden]
    results = []
    for rule in exercise.forbidden:
        use = first_of(uses, rule.names)
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
