"""A small batched trainer for FSRS-6 weights, and what it shares with that of FSRS-7. It imports torch.

All cards advance together through padded tables of [cards, steps], so that an epoch is a few dozen
tensor operations per step for any number of cards. The formulas are those of FSRS-6 as in the
``fsrs`` package, which walks review by review instead and takes 28 s for 10,000 reviews.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from quizapp.scheduling.models.fsrs6 import STABILITY
from quizapp.scheduling.models.model import FSRS_6_WEIGHTS
from quizapp.scheduling.weights.review_history import History

EPOCHS = 80
WARM_EPOCHS = 30
"""Epochs from weights that were fitted before."""
RATE = 0.03
PULL = 0.02  # how strongly weights are held near the defaults, against the noise of few reviews
LONGEST = 64  # steps; later reviews of a card say little about the weights


def tables(histories: Sequence[History]) -> tuple[Tensor, Tensor, Tensor]:
    """Elapsed days, ratings and a mask of the reviews that exist, each [cards, steps]."""
    rows = [history[:LONGEST] for history in histories if len(history) > 1]
    width = max((len(row) for row in rows), default=1)
    elapsed = torch.zeros(len(rows), width)
    ratings = torch.full((len(rows), width), 3.0)
    mask = torch.zeros(len(rows), width, dtype=torch.bool)
    for index, row in enumerate(rows):
        elapsed[index, : len(row)] = torch.tensor([float(step.elapsed) for step in row])
        ratings[index, : len(row)] = torch.tensor([float(step.rating) for step in row])
        mask[index, : len(row)] = True
    return elapsed, ratings, mask


def predictions(weights: Tensor, elapsed: Tensor, ratings: Tensor) -> Tensor:
    """The retrievability before each review from the second on, [cards, steps - 1]."""
    decay = -weights[20]
    factor = 0.9 ** (1 / decay) - 1
    stability = weights[ratings[:, 0].long() - 1]
    difficulty = (weights[4] - torch.exp(weights[5] * (ratings[:, 0] - 1)) + 1).clamp(1, 10)
    chances = []
    for step in range(1, elapsed.shape[1]):
        days, rating = elapsed[:, step], ratings[:, step]
        chance = (1 + factor * days / stability) ** decay
        chances.append(chance)
        stability = _next_stability(weights, stability, difficulty, chance, rating, days)
        difficulty = _next_difficulty(weights, difficulty, rating)
    return torch.stack(chances, 1)


def _next_difficulty(weights: Tensor, difficulty: Tensor, rating: Tensor) -> Tensor:
    easiest = weights[4] - torch.exp(weights[5] * 3) + 1
    moved = difficulty - weights[6] * (rating - 3) * (10 - difficulty) / 9
    return (weights[7] * easiest + (1 - weights[7]) * moved).clamp(1, 10)


def _next_stability(
    weights: Tensor, stability: Tensor, difficulty: Tensor, chance: Tensor, rating: Tensor, days: Tensor
) -> Tensor:
    w = weights
    growth = torch.exp(w[17] * (rating - 3 + w[18])) * stability ** -w[19]
    same_day = stability * torch.where(rating >= 2, growth.clamp(min=1), growth)
    penalty = torch.where(rating == 2, w[15], torch.ones_like(stability))
    bonus = torch.where(rating == 4, w[16], torch.ones_like(stability))
    gain = torch.exp(w[8]) * (11 - difficulty) * stability ** -w[9] * (torch.exp((1 - chance) * w[10]) - 1)
    recalled = stability * (1 + gain * penalty * bonus)
    forgotten = torch.minimum(
        w[11] * difficulty ** -w[12] * ((stability + 1) ** w[13] - 1) * torch.exp((1 - chance) * w[14]),
        stability / torch.exp(w[17] * w[18]),
    )
    later = torch.where(rating == 1, forgotten, recalled)
    return torch.where(days < 1, same_day, later).clamp(*STABILITY)


class Ranges(NamedTuple):
    """What holds the weights: where they are pulled to, how strongly each may move, and their bounds.

    Each tensor has one entry per weight. ``scale`` is the size of a usual change, so that one learning rate
    fits weights of any size.
    """

    home: Tensor
    scale: Tensor
    low: Tensor
    high: Tensor


def minimize(
    loss_of: Callable[[Tensor], Tensor], start: Tensor, ranges: Ranges, *, epochs: int, rate: float
) -> list[float]:
    """The weights with the least loss, found by Adam from ``start`` within the bounds."""
    home, scale, low, high = ranges
    shift = ((start - home) / scale).requires_grad_()
    optimizer = torch.optim.Adam([shift], lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        optimizer.zero_grad()
        loss_of(shift).backward()
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            shift.copy_(((home + shift * scale).clamp(low, high) - home) / scale)
    return [float(value) for value in (home + shift.detach() * scale).clamp(low, high)]


def train(histories: Sequence[History], start: Sequence[float] = FSRS_6_WEIGHTS) -> list[float]:
    """Weights of FSRS-6 that predict the reviews best, held near the defaults and inside their bounds.

    ``start`` are the weights to begin with.
    """
    from fsrs.scheduler import LOWER_BOUNDS_PARAMETERS, UPPER_BOUNDS_PARAMETERS

    elapsed, ratings, mask = tables(histories)
    counted = mask[:, 1:] & (elapsed[:, 1:] > 0)
    if not counted.any():
        return list(start)
    recalled = (ratings[:, 1:] > 1).float()
    home = torch.tensor(FSRS_6_WEIGHTS)
    low, high = torch.tensor(LOWER_BOUNDS_PARAMETERS), torch.tensor(UPPER_BOUNDS_PARAMETERS)
    ranges = Ranges(home, home.abs().clamp(min=0.05), low, high)

    def loss_of(shift: Tensor) -> Tensor:
        chance = predictions(home + shift * ranges.scale, elapsed, ratings).clamp(1e-6, 1 - 1e-6)
        losses = torch.nn.functional.binary_cross_entropy(chance, recalled, reduction="none")
        return losses[counted].mean() + PULL * shift.square().mean()

    epochs = EPOCHS if tuple(start) == FSRS_6_WEIGHTS else WARM_EPOCHS
    found = minimize(loss_of, torch.tensor(start), ranges, epochs=epochs, rate=RATE)
    # Rounding must not leave the bounds, some of which have more than four decimal places.
    return [
        min(max(round(v, 4), lo), hi) for v, lo, hi in zip(found, low.tolist(), high.tolist(), strict=True)
    ]
