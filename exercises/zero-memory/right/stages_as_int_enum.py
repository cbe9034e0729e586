"""Memory of model states under ZeRO."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Union

Number = Union[int, float]


class Stage(enum.IntEnum):
    PLAIN = 0
    OPTIMIZER = 1
    GRADIENTS = 2
    PARAMETERS = 3


def _exact(name: str, value: Number) -> Fraction:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} must be finite")
    exact = Fraction(value)
    if exact < 0:
        raise ValueError(f"{name} must not be negative, got {value}")
    return exact


@dataclass(frozen=True)
class _Cost:
    params: Fraction
    grads: Fraction
    optim: Fraction

    @classmethod
    def of(cls, param_bytes: Number, grad_bytes: Number, optim_bytes: Number) -> _Cost:
        return cls(
            _exact("param_bytes", param_bytes),
            _exact("grad_bytes", grad_bytes),
            _exact("optim_bytes", optim_bytes),
        )

    def per_parameter(self, world_size: int, stage: int) -> Fraction:
        if world_size < 1:
            raise ValueError(f"world_size {world_size}: at least one rank is needed")
        try:
            stage = Stage(stage)
        except ValueError:
            raise ValueError(f"ZeRO has the stages 0 to 3, not {stage}") from None
        shares: Final = (
            (self.optim, Stage.OPTIMIZER),
            (self.grads, Stage.GRADIENTS),
            (self.params, Stage.PARAMETERS),
        )
        return sum((cost / (world_size if stage >= since else 1) for cost, since in shares), Fraction(0))


def model_state_bytes(
    params: int,
    world_size: int,
    stage: int,
    *,
    param_bytes: float = 2,
    grad_bytes: float = 2,
    optim_bytes: float = 12,
) -> float:
    cost = _Cost.of(param_bytes, grad_bytes, optim_bytes)
    return float(_exact("params", params) * cost.per_parameter(world_size, stage))


def lowest_stage_that_fits(
    params: int,
    world_size: int,
    gpu_bytes: float,
    activation_bytes: float = 0,
    *,
    param_bytes: float = 2,
    grad_bytes: float = 2,
    optim_bytes: float = 12,
) -> int | None:
    cost = _Cost.of(param_bytes, grad_bytes, optim_bytes)
    count = _exact("params", params)
    room = _exact("gpu_bytes", gpu_bytes) - _exact("activation_bytes", activation_bytes)
    fits = (s for s in Stage if count * cost.per_parameter(world_size, s) <= room)
    return next(fits, None)


def max_params(
    gpu_bytes: float,
    world_size: int,
    stage: int,
    activation_bytes: float = 0,
    *,
    param_bytes: float = 2,
    grad_bytes: float = 2,
    optim_bytes: float = 12,
) -> int:
    per = _Cost.of(param_bytes, grad_bytes, optim_bytes).per_parameter(world_size, stage)
    room = _exact("gpu_bytes", gpu_bytes) - _exact("activation_bytes", activation_bytes)
    if per == 0:
        raise ValueError("at least one of the sizes per parameter must be positive")
    return max(0, math.floor(room / per))
