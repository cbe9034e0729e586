"""Old name of `quizapp.judge.testing.checks`, for hidden tests that users wrote against it."""

from quizapp.judge.server.test_runner import run_test, run_tests
from quizapp.judge.testing.checks import (
    DEVICE_FACTOR,
    TOLERANCES,
    CodeRaised,
    Finding,
    Observe,
    Raised,
    alike,
    behaviour,
    close,
    describe,
    expect,
)

__all__ = [
    "DEVICE_FACTOR",
    "TOLERANCES",
    "CodeRaised",
    "Finding",
    "Observe",
    "Raised",
    "alike",
    "behaviour",
    "close",
    "describe",
    "expect",
    "run_test",
    "run_tests",
]
