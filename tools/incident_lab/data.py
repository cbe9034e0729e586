"""The data of the lab in 32 dimensions (ten Gaussian blobs or a linear target), its faults, and the sampler.

The random numbers are drawn in a fixed order. A new draw in between would change every stored reading.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tools.incident_lab.setups import Setup

CLASSES = 10
FEATURES = 32
IGNORED = -100
TARGET_NOISE = 0.1


@dataclass(slots=True)
class Data:
    """Training and validation points, and the training points as the evaluation code sees them.

    Inputs have shape (N, 32). Targets have shape (N,): class numbers 0 to 9, or floats in a regression.
    ``again_x`` and ``again_y`` are the training points on the evaluation path.
    """

    x: Tensor
    y: Tensor
    valid_x: Tensor
    valid_y: Tensor
    again_x: Tensor
    again_y: Tensor


def make_data(setup: Setup) -> Data:
    """Sample the points of ``setup`` from its seed and plant the faults of its pipeline."""
    draw = torch.Generator().manual_seed(1000 + setup.seed)
    return _regression(setup, draw) if setup.task == "regression" else _blobs(setup, draw)


def _blobs(setup: Setup, draw: torch.Generator) -> Data:
    centres = setup.spread * torch.randn(CLASSES, FEATURES, generator=draw)
    x, y = _points(setup.train, centres, draw)
    valid_x, valid_y = _points(setup.valid, centres, draw)
    if setup.labels == "random":
        y = torch.randint(0, CLASSES, y.shape, generator=draw)
        valid_y = torch.randint(0, CLASSES, valid_y.shape, generator=draw)
    if setup.leak:
        valid_x, valid_y = x[: setup.valid].clone(), y[: setup.valid].clone()
    again_y = y.clone()
    if setup.labels == "shifted":
        y = (y + 1) % CLASSES
    if setup.labels == "noisy":
        wrong = torch.rand(y.shape, generator=draw) < 0.6
        y = torch.where(wrong, torch.randint(0, CLASSES, y.shape, generator=draw), y)
        again_y = y.clone()
    if setup.duplicates:
        x[1::2], y[1::2] = x[0::2], (y[0::2] + 1) % CLASSES
        again_y = y.clone()
    x, valid_x = _scaled(setup, x), _scaled(setup, valid_x)
    again_x = x.clone()
    if setup.standardise != "none":
        mean, std = x.mean(0), x.std(0)
        x = (x - mean) / std
        if setup.standardise == "both":
            valid_x, again_x = (valid_x - mean) / std, (again_x - mean) / std
    if setup.ignored:
        y = torch.where(torch.rand(y.shape, generator=draw) < setup.ignored, IGNORED, y)
    if setup.nan_row:
        x[int(torch.randint(0, setup.train, (1,), generator=draw)), 3] = float("nan")
        again_x = x.clone()
    if setup.sort == "train":
        order = torch.argsort(y, stable=True)
        x, y, again_x, again_y = x[order], y[order], again_x[order], again_y[order]
    if setup.sort == "valid":
        order = torch.argsort(valid_y, stable=True)
        valid_x, valid_y = valid_x[order], valid_y[order]
        order = torch.argsort(again_y, stable=True)
        again_x, again_y = again_x[order], again_y[order]
    return Data(x, y, valid_x, valid_y, again_x, again_y)


def _points(count: int, centres: Tensor, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    y = torch.randint(0, CLASSES, (count,), generator=draw)
    return centres[y] + torch.randn(count, FEATURES, generator=draw), y


def _regression(setup: Setup, draw: torch.Generator) -> Data:
    """Sample a linear target with a little noise. Training targets have mean 0 and variance 1."""
    weights = torch.randn(FEATURES, generator=draw) / math.sqrt(FEATURES)

    def points(count: int) -> tuple[Tensor, Tensor]:
        x = torch.randn(count, FEATURES, generator=draw)
        return x, x @ weights + TARGET_NOISE * torch.randn(count, generator=draw)

    (x, y), (valid_x, valid_y) = points(setup.train), points(setup.valid)
    mean, std = y.mean(), y.std(correction=0)
    y, valid_y = (y - mean) / std, (valid_y - mean) / std
    return Data(x, y, valid_x, valid_y, x.clone(), y.clone())


def _scaled(setup: Setup, x: Tensor) -> Tensor:
    x = x * setup.input_scale
    if setup.loud_column:
        x[:, 0] = 1000 * x[:, 0] + 500
    return x


class Sampler:
    """Yields batches of indices, epoch after epoch. Its state can be saved and restored."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.draw = torch.Generator().manual_seed(2000 + setup.seed)
        if setup.sampler == "unseeded":
            self.draw.seed()
        self.order = torch.empty(0, dtype=torch.long)
        self.at = 0

    def next(self) -> Tensor:
        """Return the indices of the next batch, of shape (B,). A new epoch begins with a new order."""
        if self.at + self.setup.batch > len(self.order):
            count = self.setup.train
            if self.setup.sort == "train":
                self.order = torch.arange(count)
            elif self.setup.sampler == "global":
                self.order = torch.randperm(count)
            elif self.setup.duplicates:  # keep a row and its twin in one batch
                pairs = 2 * torch.randperm(count // 2, generator=self.draw)
                self.order = torch.stack([pairs, pairs + 1], 1).flatten()
            else:
                self.order = torch.randperm(count, generator=self.draw)
            self.at = 0
        batch = self.order[self.at : self.at + self.setup.batch]
        self.at += self.setup.batch
        return batch

    def state(self) -> dict[str, Any]:
        """Return the state that `restore` needs."""
        return {"draw": self.draw.get_state(), "order": self.order.clone(), "at": self.at}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved `state`."""
        self.draw.set_state(state["draw"])
        self.order, self.at = state["order"].clone(), state["at"]
