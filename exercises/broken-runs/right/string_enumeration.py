"""Diagnose a training run from its log."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any


class Cause(str, Enum):
    """The six answers."""

    HEALTHY = "healthy"
    LABEL_PERMUTE = "label_permute"
    HUGE_LR = "huge_lr"
    MISSING_ZERO_GRAD = "missing_zero_grad"
    LOSS_SUM = "loss_sum"
    AMP = "amp_no_scaling"


@dataclass(frozen=True)
class Thresholds:
    """All numbers in one place."""

    minimum: int = 20
    early: int = 11
    summed: float = 3.0
    underflow: float = 0.15
    blown_up: float = 9.0
    growth: float = 2.0
    chance: float = 0.85


class Run:
    """Features of a log."""

    def __init__(self, log: Sequence[dict[str, Any]], limits: Thresholds) -> None:
        self.log = tuple(dict(row) for row in log)
        self.limits = limits

    @cached_property
    def relative_losses(self) -> list[float]:
        """Losses in units of the loss of guessing."""
        return [float(row["loss"]) / math.log(row["num_classes"]) for row in self.log]

    @cached_property
    def relative_norms(self) -> list[float]:
        first = float(self.log[0]["grad_norm"])
        return [float(row["grad_norm"]) / first if first else math.inf for row in self.log]

    def is_summed(self) -> bool:
        first = self.relative_losses[0]
        return not math.isfinite(first) or first > self.limits.summed

    def underflows(self) -> bool:
        return self.log[0]["grad_zero_fraction"] > self.limits.underflow

    def explodes(self) -> bool:
        early = self.relative_losses[: self.limits.early]
        return any(not math.isfinite(x) or x > self.limits.blown_up for x in early)

    def piles_up(self) -> bool:
        window = [x for x in self.relative_norms[4:7] if math.isfinite(x)]
        return not window or statistics.median(window) > self.limits.growth

    def at_chance(self) -> bool:
        finite = [x for x in self.relative_losses[-10:] if math.isfinite(x)]
        return not finite or statistics.fmean(finite) > self.limits.chance


RULES: tuple[tuple[Callable[[Run], bool], Cause], ...] = (
    (Run.is_summed, Cause.LOSS_SUM),
    (Run.underflows, Cause.AMP),
    (Run.explodes, Cause.HUGE_LR),
    (Run.piles_up, Cause.MISSING_ZERO_GRAD),
    (Run.at_chance, Cause.LABEL_PERMUTE),
)


def diagnose(log: list[dict], limits: Thresholds = Thresholds()) -> str:
    """Name the cause.

    Raises:
        ValueError: for too short a log.
    """
    if log is None or len(log) < limits.minimum:
        raise ValueError(f"a log of at least {limits.minimum} batches is needed")
    run = Run(log, limits)
    return next((cause for rule, cause in RULES if rule(run)), Cause.HEALTHY)
