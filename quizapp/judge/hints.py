"""Which hint comes next: three steps, tied to the behaviours that fail."""

from collections.abc import Sequence

from quizapp.bank.model import Exercise
from quizapp.judge.verdict import Verdict


def failing(verdict: Verdict | None) -> set[int]:
    """The behaviours that a verdict found wanting."""
    return set() if verdict is None else {test.behaviour for test in verdict.tests if not test.passed}


def hints(exercise: Exercise, verdict: Verdict | None = None) -> list[str]:
    """All hints in the order in which to show them: first those that help with what fails.

    Within each group they keep their order, from a nudge to nearly the answer. A hint without behaviours
    helps with all.
    """
    wanted = failing(verdict)

    def helps(behaviours: Sequence[int]) -> bool:
        return not behaviours or not wanted or bool(wanted & set(behaviours))

    ordered = sorted(exercise.hints, key=lambda hint: not helps(hint.behaviours))
    return [hint.text for hint in ordered]
