"""Grades submissions: code in, a verdict out. ``docs/judge.md`` describes the processes involved.

This is the public API. Its parts are imported on first use, so importing the package itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quizapp.judge.client.one_shot import grade
    from quizapp.judge.client.warm import JudgeClient
    from quizapp.judge.verdict import Verdict

__all__ = ["JudgeClient", "Verdict", "grade"]

_PLACES = {"JudgeClient": "client.warm", "Verdict": "verdict", "grade": "client.one_shot"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
