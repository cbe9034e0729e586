"""Measures the checkpoint of an MLP on points that its training script never saw.

Nothing here comes from the script: the model and the data are defined once more, so that a script which
changes either is measured against what it should have been.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from quizapp.judge.testing.checkpoint import Checkpoint

FEATURES = 32
CLASSES = 10
VALID_POINTS = 512
TEST_POINTS = 2048


@dataclass
class Points:
    """Inputs (N, 32) and labels (N,)."""

    x: Tensor
    y: Tensor


def measure(checkpoint: Checkpoint, seed: int, options: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of the model that was trained with ``seed``.

    - ``test_loss`` and ``test_accuracy``: on 2048 new points of the same blobs.
    - ``train_loss``: on the points that the script should have trained on.
    - ``reported_gap``: how far the validation loss that the script reports is from the one measured here.
      It is infinite if the script reports none.

    The options are the settings that an incident's healthy script changes:

    - ``hidden``: the widths of the hidden layers. ``norm``: ``layer`` for a layer norm after each of them; a
      checkpoint with batch norm is measured with that instead.
    - ``spread`` of the class centers, ``train`` for the number of training points, ``scale`` as a factor of
      all inputs, and ``random_labels``.
    - ``inputs``: what a right script may feed the model: ``plain`` points, ``standardized`` ones, or points
      with only the first feature standardized (``first-standardized``). The form counts whose validation loss
      is closest to the reported one.
    - ``any_dtype``: weights of another precision are measured in float32.

    Raises `ModelChanged` if the checkpoint does not hold this model.
    """
    if options.get("any_dtype"):
        checkpoint = replace(checkpoint, tensors={k: v.float() for k, v in checkpoint.tensors.items()})
    model = Net(options, batch_norm="norms.0.running_mean" in checkpoint.tensors)
    checkpoint.require(model.state_dict())
    model.load_state_dict(dict(checkpoint.tensors))
    train, valid, test = make_data(seed, options)
    forms = [prepare(form, train.x) for form in options.get("inputs", ["plain"])]
    scores = [
        {
            "test_loss": loss(model, form(test)),
            "test_accuracy": accuracy(model, form(test)),
            "train_loss": loss(model, form(train)),
            "reported_gap": abs(checkpoint.report.get("valid_loss", math.inf) - loss(model, form(valid))),
        }
        for form in forms
    ]
    return min(scores, key=lambda score: score["reported_gap"])


class Net(nn.Module):
    """The model of the script, ready for evaluation."""

    def __init__(self, options: Mapping[str, Any], *, batch_norm: bool) -> None:
        super().__init__()
        widths = [FEATURES, *options.get("hidden", (64, 64))]
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.head = nn.Linear(widths[-1], CLASSES)
        if "norm" in options:
            norm = nn.BatchNorm1d if batch_norm else nn.LayerNorm
            self.norms = nn.ModuleList(norm(width) for width in widths[1:])
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs (B, 32) to logits (B, 10)."""
        for number, layer in enumerate(self.hidden):
            x = layer(x)
            x = torch.relu(self.norms[number](x) if hasattr(self, "norms") else x)
        logits: Tensor = self.head(x)
        return logits


@torch.no_grad()
def loss(model: nn.Module, points: Points) -> float:
    """Return the mean cross-entropy."""
    return cross_entropy(model(points.x), points.y).item()


@torch.no_grad()
def accuracy(model: nn.Module, points: Points) -> float:
    """Return the share of points whose largest logit is that of their label."""
    logits: Tensor = model(points.x)
    return (logits.argmax(1) == points.y).float().mean().item()


def make_data(seed: int, options: Mapping[str, Any]) -> tuple[Points, Points, Points]:
    """Return the script's training and validation points as they should be, and test points."""
    draw = torch.Generator().manual_seed(1000 + seed)
    centers = options.get("spread", 1.0) * torch.randn(CLASSES, FEATURES, generator=draw)
    train = make_points(options.get("train", 1024), centers, draw)
    valid = make_points(VALID_POINTS, centers, draw)
    test = make_points(TEST_POINTS, centers, torch.Generator().manual_seed(9000 + seed))
    for points in (train, valid, test):
        points.x *= options.get("scale", 1.0)
        if options.get("random_labels"):
            points.y = torch.randint(0, CLASSES, points.y.shape, generator=draw)
    return train, valid, test


def make_points(count: int, centers: Tensor, draw: torch.Generator) -> Points:
    """Return ``count`` points around random centers, with the numbers of their centers."""
    y = torch.randint(0, CLASSES, (count,), generator=draw)
    return Points(centers[y] + torch.randn(count, FEATURES, generator=draw), y)


def prepare(form: str, train_x: Tensor) -> Callable[[Points], Points]:
    """Return what turns points into inputs of the given form, by the statistics of the training points."""
    mean, std = train_x.mean(0), train_x.std(0)
    if form == "plain":
        mean, std = torch.zeros(FEATURES), torch.ones(FEATURES)
    elif form == "first-standardized":
        mean[1:], std[1:] = 0.0, 1.0
    return lambda points: Points((points.x - mean) / std, points.y)
