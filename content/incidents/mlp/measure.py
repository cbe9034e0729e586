"""Measures the checkpoint of an MLP on points that its training script never saw.

Nothing here comes from the script: the model and the data are defined once more, so that a script which
changes either is measured against what it should have been.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from quizapp.judge.testing.checkpoint import Checkpoint, ModelChanged

FEATURES = 32
CLASSES = 10
VALID_POINTS = 512
TEST_POINTS = 2048


def measure(checkpoint: Checkpoint, seed: int, options: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of the model that was trained with ``seed``.

    - ``test_loss`` and ``test_accuracy``: on 2048 new points of the same blobs.
    - ``reported_gap``: how far the validation loss that the script reports is from the one measured here.
      It is infinite if the script reports none.

    The options are the settings that an incident's healthy script changes: ``hidden`` (widths of the hidden
    layers), ``spread`` (of the class centers) and ``train`` (number of training points). Raises
    `ModelChanged` if the checkpoint does not hold this model.
    """
    model = Net(options)
    load(model, checkpoint.tensors)
    (valid_x, valid_y), (test_x, test_y) = make_data(seed, options)
    with torch.no_grad():
        valid_loss = cross_entropy(model(valid_x), valid_y).item()
        logits = model(test_x)
    gap = abs(checkpoint.report.get("valid_loss", math.inf) - valid_loss)
    return {
        "test_loss": cross_entropy(logits, test_y).item(),
        "test_accuracy": (logits.argmax(1) == test_y).float().mean().item(),
        "reported_gap": gap,
    }


class Net(nn.Module):
    """The model of the script, ready for evaluation."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__()
        widths = [FEATURES, *options.get("hidden", (64, 64))]
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.head = nn.Linear(widths[-1], CLASSES)
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs (B, 32) to logits (B, 10)."""
        for layer in self.hidden:
            x = torch.relu(layer(x))
        logits: Tensor = self.head(x)
        return logits


def load(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Load the tensors of a checkpoint. Raises `ModelChanged` if they are not those of ``model``."""
    expected = model.state_dict()
    for name, tensor in expected.items():
        if name not in tensors:
            raise ModelChanged(f"The checkpoint lacks '{name}', which the model of this run has.")
        if tensors[name].shape != tensor.shape or tensors[name].dtype != tensor.dtype:
            raise ModelChanged(f"In the checkpoint, '{name}' is {_kind(tensors[name])}, not {_kind(tensor)}.")
    if extra := sorted(tensors.keys() - expected.keys()):
        raise ModelChanged(f"The checkpoint holds '{extra[0]}', which the model of this run lacks.")
    model.load_state_dict(dict(tensors))


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"


def make_data(seed: int, options: Mapping[str, Any]) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Return the script's validation points with their labels, and test points with theirs."""
    draw = torch.Generator().manual_seed(1000 + seed)
    centers = options.get("spread", 1.0) * torch.randn(CLASSES, FEATURES, generator=draw)
    make_points(options.get("train", 1024), centers, draw)  # the script's training points come first
    return (
        make_points(VALID_POINTS, centers, draw),
        make_points(TEST_POINTS, centers, torch.Generator().manual_seed(9000 + seed)),
    )


def make_points(count: int, centers: Tensor, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return ``count`` points (N, 32) around random centers, with the numbers (N,) of their centers."""
    y = torch.randint(0, CLASSES, (count,), generator=draw)
    return centers[y] + torch.randn(count, FEATURES, generator=draw), y
