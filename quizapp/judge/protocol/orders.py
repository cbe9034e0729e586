"""Orders that a client gives a judge: to grade a submission, or to run a learner's test."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge.sandbox.devices import check_name
from quizapp.judge.sandbox.tiers import TIERS
from quizapp.judge.submission import check_source, read_source
from quizapp.judge.verdict import Verdict, VerdictStatus


@dataclass(frozen=True)
class GradeOrder:
    """An order to grade ``source``, which the verdict calls ``file``, for the exercise in ``folder``.

    ``timeout`` is in seconds for one run (None: the exercise's own). ``seed`` reproduces a verdict. ``tier``
    forces a lower isolation. Without ``parallel``, the second seed runs after the first, which is better if
    many submissions are waiting. ``stages`` asks for the tests of that many leading stages only (at least
    one); None asks for all.
    """

    folder: Path
    source: bytes
    file: str
    device: str = "auto"
    timeout: float | None = None
    seed: int | None = None
    tier: str | None = None
    parallel: bool = (os.cpu_count() or 1) > 1
    stages: int | None = None

    @classmethod
    def create(
        cls,
        exercise: Exercise,
        source: Path | bytes,
        *,
        device: str = "auto",
        timeout: float | None = None,
        seed: int | None = None,
        tier: str | None = None,
        stages: int | None = None,
    ) -> Self:
        """Create the order for a file or its bytes. Raises `QuizError` if it cannot be graded."""
        check_options(device=device, timeout=timeout, seed=seed, tier=tier, stages=stages)
        if isinstance(source, bytes):
            code, file = check_source(source, exercise.module), exercise.module
        else:
            code, file = read_source(source), str(source)
        return cls(exercise.folder.absolute(), code, file, device, timeout, seed, tier, stages=stages)

    def one_by_one(self) -> Self:
        """A copy of this order that runs the second seed after the first."""
        return replace(self, parallel=False)

    def lost_verdict(self, exercise: Exercise) -> Verdict:
        """The verdict on code that killed the judge twice, which is possible only at isolation T0."""
        return Verdict(
            exercise=exercise.slug,
            file=self.file,
            device="cpu",
            status=VerdictStatus.ERROR,
            seed=self.seed or 0,
            tier=self.tier or "T0",
            error="The judge died twice while your code ran; code must not kill its parent.",
        )


def check_options(
    *,
    device: str = "auto",
    timeout: float | None = None,
    seed: int | None = None,
    tier: str | None = None,
    stages: int | None = None,
) -> None:
    """Raise `QuizError` if nothing can be graded with these options."""
    check_name(device)
    if timeout is not None and not 0 < timeout <= 3600:
        raise QuizError(f"A limit of {timeout:g} s makes no sense; give 0.1 to 3600.")
    if stages is not None and stages < 1:
        raise QuizError(f"{stages} stages make no sense; ask for at least one.")
    if tier is not None and tier not in TIERS:
        raise QuizError(f"{tier!r} is not an isolation tier; use {', '.join(TIERS)}.")
    if seed is not None and not -(2**63) <= seed < 2**63:
        raise QuizError(
            "A seed is an integer of at most 64 bits; to repeat a grade, copy it from the verdict."
        )


@dataclass(frozen=True)
class TestOrder:
    """An order to run a learner's ``test`` on each of ``programs``, sources of the exercise in ``folder``.

    Each program gets a new worker and ``seconds``. ``seed`` sets the random state before the test runs.
    """

    folder: Path
    test: str
    programs: tuple[str, ...]
    seed: int = 0
    seconds: float = 5.0
    tier: str | None = None
    __test__ = False  # otherwise pytest would collect this class
