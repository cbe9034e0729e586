"""Old name of `quizapp.judge.testing.ranks`, for probes that users wrote against it."""

from quizapp.judge.testing.ranks import (
    DTYPES,
    NAMES,
    SAME_SIZE,
    SINGLE,
    Board,
    OutOfStep,
    calls,
    first_and_last,
    together,
    watch,
)

__all__ = [
    "DTYPES",
    "NAMES",
    "SAME_SIZE",
    "SINGLE",
    "Board",
    "OutOfStep",
    "calls",
    "first_and_last",
    "together",
    "watch",
]
