"""Measures the checkpoint of the classifier of sensors on readings that its training script never saw.

Nothing here comes from the script: model and data are defined once more, so that a script which changes
either is measured against what it should have been. The measure knows which rank reads which shards, and so
sees from the tensors alone whether the model learned from all of them.
"""

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from quizapp.judge.testing.checkpoint import Checkpoint

FEATURES = 48
KINDS = 16
SHARDS = 8
SENSORS = 32
READINGS = 8
RANKS = 2
TRAINING, VALIDATION, HELD_OUT = 0, 1, 2


def measure(checkpoint: Checkpoint, seed: int, options: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of the model that was trained with ``seed``.

    - ``held_out_loss``: mean cross-entropy on new readings of all sensors.
    - ``rank_gap``: the largest absolute difference between that loss on the shards of a rank and the mean.
    - ``worst_shard``: that loss on the shard where it is highest.
    - ``reported_gap``: how far the validation loss that the script reports is from the one measured here.
      It is infinite if the script reports none.

    The option ``noise`` has the standard deviations of the readings, by shard, and ``hidden`` the widths of
    the hidden layers. Raises `ModelChanged` if the checkpoint does not hold this model.
    """
    model = build_model(options.get("hidden", (256, 256)))
    checkpoint.require(model.state_dict())
    model.load_state_dict(dict(checkpoint.tensors))
    noise = options.get("noise", (0.3,) * SHARDS)
    by_shard = [shard_loss(model, seed, index, HELD_OUT, noise) for index in range(SHARDS)]
    by_rank = [mean(by_shard[rank::RANKS]) for rank in range(RANKS)]
    valid_loss = mean(shard_loss(model, seed, index, VALIDATION, noise) for index in range(SHARDS))
    return {
        "held_out_loss": mean(by_shard),
        "rank_gap": max(abs(loss - mean(by_shard)) for loss in by_rank),
        "worst_shard": max(by_shard),
        "reported_gap": abs(checkpoint.report.get("valid_loss", math.inf) - valid_loss),
    }


def build_model(hidden: Iterable[int]) -> nn.Sequential:
    """Return an MLP with ReLU between its layers, named as in the script."""
    shapes = pairwise([FEATURES, *hidden, KINDS])
    return nn.Sequential(*[part for shape in shapes for part in (nn.Linear(*shape), nn.ReLU())][:-1])


@torch.no_grad()
def shard_loss(model: nn.Module, seed: int, index: int, salt: int, noise: Iterable[float]) -> float:
    """Return the mean cross-entropy on readings of a shard's sensors; other salts give other readings."""
    inputs, kinds = shard(seed, index, salt, list(noise)[index])
    return nn.functional.cross_entropy(model(inputs), kinds).item()


def shard(seed: int, index: int, salt: int, noise: float) -> tuple[Tensor, Tensor]:
    """Return inputs (256, 48) and kinds (256,) of a shard, as the script makes them."""
    draw = torch.Generator().manual_seed(1000 * seed + index)
    signals = torch.randn(SENSORS, FEATURES, generator=draw).repeat_interleave(READINGS, 0)
    kinds = torch.randint(KINDS, (SENSORS,), generator=draw).repeat_interleave(READINGS)
    draw.manual_seed(1000 * seed + 100 * (salt + 1) + index)
    return signals + noise * torch.randn(signals.shape, generator=draw), kinds


def mean(values: Iterable[float]) -> float:
    """Return the mean of some numbers."""
    numbers = list(values)
    return sum(numbers) / len(numbers)
