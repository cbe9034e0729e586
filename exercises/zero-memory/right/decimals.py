from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Self


class Stage(enum.IntEnum):
    DDP = 0
    OPTIMIZER = 1
    GRADIENTS = 2
    PARAMETERS = 3

    @classmethod
    def parse(cls, value: int) -> Self:
        return cls(value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    param_bytes: float
    grad_bytes: float
    optim_bytes: float

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is negative")

    def times_world(self, world_size: int, stage: Stage) -> Decimal:
        """Bytes per parameter on one rank, times the world size: no division."""
        out = Decimal(0)
        for since, size in ((3, self.param_bytes), (2, self.grad_bytes), (1, self.optim_bytes)):
            out += Decimal(size) * (1 if stage >= since else world_size)
        return out


def _check(world_size: int, **values: float) -> None:
    if world_size < 1:
        raise ValueError(f"world_size={world_size}")
    for name, value in values.items():
        if value < 0:
            raise ValueError(f"{name}={value} is negative")


def model_state_bytes(
    params: int,
    world_size: int,
    stage: int,
    *,
    param_bytes: float = 2,
    grad_bytes: float = 2,
    optim_bytes: float = 12,
) -> float:
    _check(world_size, params=params)
    s = Stage.parse(stage)
    sizes = Sizes(param_bytes=param_bytes, grad_bytes=grad_bytes, optim_bytes=optim_bytes)
    shard = [world_size if s >= since else 1 for since in (3, 2, 1)]
    return math.fsum(
        params * b / w
        for b, w in zip((sizes.param_bytes, sizes.grad_bytes, sizes.optim_bytes), shard, strict=True)
    )


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
    _check(world_size, params=params, gpu_bytes=gpu_bytes, activation_bytes=activation_bytes)
    sizes = dict(param_bytes=param_bytes, grad_bytes=grad_bytes, optim_bytes=optim_bytes)
    return next(
        (
            int(s)
            for s in Stage
            if model_state_bytes(params, world_size, s, **sizes) <= gpu_bytes - activation_bytes
        ),
        None,
    )


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
    _check(world_size, gpu_bytes=gpu_bytes, activation_bytes=activation_bytes)
    per = Sizes(param_bytes=param_bytes, grad_bytes=grad_bytes, optim_bytes=optim_bytes).times_world(
        world_size, Stage.parse(stage)
    )
    if per == 0:
        raise ValueError("all bytes per parameter are 0")
    context = Context(prec=200, rounding=ROUND_FLOOR)
    free = context.multiply(
        context.subtract(Decimal(gpu_bytes), Decimal(activation_bytes)), Decimal(world_size)
    )
    return max(0, int(context.divide_int(free, per))) if free > 0 else 0
