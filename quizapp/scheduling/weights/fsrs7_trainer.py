"""A small batched trainer for FSRS-7 weights. It imports torch.

All cards advance together through padded tables, and both memory traces through one table of
[2, cards], slow above fast. The formulas are those of `quizapp.scheduling.models.fsrs7`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from quizapp.scheduling.models.fsrs7 import DIFFICULTY, FAST, FAST_SHARE, SLOW, STABILITY
from quizapp.scheduling.models.model import FSRS_7_BOUNDS, FSRS_7_WEIGHTS
from quizapp.scheduling.weights.review_history import History
from quizapp.scheduling.weights.trainer import LONGEST, Ranges, minimize

EPOCHS = 30
WARM_EPOCHS = 18
"""Epochs from weights that were fitted before, and for a long log: a second or two for 20,000 reviews."""
LONG_LOG = 5000  # reviews
RATE = 0.25  # of a usual change, see _SPREAD
PULL = 0.3333
"""How strongly weights are held near the published ones, against the noise of few reviews (fsrs-rs)."""
OLDEST = 0.25
"""How much the oldest review counts; the weight rises with the cube of the review's place (fsrs-rs)."""
# The spread of each weight among the users of the public benchmark (fsrs-rs, training_v7.rs at 4009817). The
# four initial stabilities are free there; here they are held too, because a learner's log is shorter.
_SPREAD = (
    0.1, 1.5, 2.5, 7.0, 0.523, 0.2528, 0.4329,
    0.2966, 0.2139, 0.2889, 0.1862, 0.175, 0.3812, 0.3013, 0.9104,
    0.3234, 0.2448, 0.3273, 0.1842, 0.1735, 0.4608, 0.311, 0.864,
    0.0418, 0.2596, 0.0798, 0.0682, 0.1282, 0.1397, 0.1407, 0.1489, 0.2, 0.15, 0.15,
)  # fmt: skip
_EDGE = 1e-5
_DECAY = (0.01, 0.95)


class Tables(NamedTuple):
    """Padded histories, each [cards, steps]: days passed, ratings, weights of reviews (0: none)."""

    days: Tensor
    ratings: Tensor
    weight: Tensor


def tables(histories: Sequence[History]) -> Tables:
    """The tables of the histories with more than one review."""
    rows = [history[:LONGEST] for history in histories if len(history) > 1]
    width = max((len(row) for row in rows), default=1)
    filler = [0.0]
    days = [[step.days for step in row] + filler * (width - len(row)) for row in rows]
    ratings = [[float(step.rating) for step in row] + [3.0] * (width - len(row)) for row in rows]
    weight = [
        [OLDEST + (1 - OLDEST) * step.age**3 for step in row] + filler * (width - len(row)) for row in rows
    ]
    return Tables(torch.tensor(days), torch.tensor(ratings), torch.tensor(weight))


def predictions(w: Tensor, days: Tensor, ratings: Tensor) -> Tensor:
    """The retrievability before each review from the second on, [cards, steps - 1]."""
    slow = w[ratings[:, 0].long() - 1]
    stability = torch.stack((slow, FAST_SHARE * slow)).clamp(*STABILITY)
    difficulty = (w[4] - torch.exp(w[5] * (ratings[:, 0] - 1)) + 1).clamp(*DIFFICULTY)
    both = torch.stack((w[SLOW : SLOW + 8], w[FAST : FAST + 8]), 1).unsqueeze(2)  # [8, 2, 1]
    easiest = 0.01 * (w[4] - torch.exp(w[5] * 3) + 1)
    slow_decay = -w[24].clamp(*_DECAY)
    slow_factor = w[26] ** (1 / slow_decay) - 1
    growth = torch.exp(both[0] - 1.5)
    chances = []
    for step in range(1, days.shape[1]):
        elapsed, rating = days[:, step], ratings[:, step]
        logs = stability.log()
        hardness = difficulty - 5
        fast_decay = -(w[23] * torch.exp((w[33] - 0.3) * logs[1])).clamp(*_DECAY)
        fast_factor = torch.exp((w[25].log() / fast_decay).clamp(max=60.0)) - 1
        fast_recall = torch.exp(fast_decay * torch.log1p(fast_factor * elapsed / stability[1]))
        slow_rate = slow_factor * torch.exp(hardness * (w[32] - 0.3)) * elapsed / stability[0]
        slow_recall = torch.exp(slow_decay * torch.log1p(slow_rate))
        fast_weight = w[27] * torch.exp(-w[29] * logs[1])
        slow_weight = w[28] * torch.exp(w[30] * logs[0] + hardness * (w[31] - 0.5))
        mean = (fast_weight * fast_recall + slow_weight * slow_recall) / (fast_weight + slow_weight)
        chance = mean * (1 - 2 * _EDGE) + _EDGE
        chances.append(chance)
        stability = _next_stability(both, growth, stability, logs, difficulty, (chance, fast_recall), rating)
        change = -w[6] * (rating - 3) * torch.where(rating == 1, chance + 0.1, 1.0)
        difficulty = (easiest + 0.99 * (difficulty + (10 - difficulty) / 9 * change)).clamp(*DIFFICULTY)
    return torch.stack(chances, 1)


def _next_stability(
    both: Tensor,
    growth: Tensor,
    stability: Tensor,
    logs: Tensor,
    difficulty: Tensor,
    recalls: tuple[Tensor, Tensor],
    rating: Tensor,
) -> Tensor:
    """Both stabilities after a review, [2, cards]; ``recalls`` are those of the mix and of the fast trace."""
    _, fade, surprise, lapse, lapse_power, lapse_surprise, hard, easy = both
    forgotten = 1 - torch.stack(recalls)
    lapsed = lapse * ((stability + 1) ** lapse_power - 1) * torch.exp(forgotten * lapse_surprise)
    lapsed = torch.minimum(stability, lapsed)
    extra = torch.where(rating == 2, hard, torch.where(rating == 4, easy, 1.0))
    gain = growth * (11 - difficulty) * torch.exp(-fade * logs) * torch.expm1(forgotten * surprise) * extra
    recalled = torch.maximum(lapsed, stability * (1 + gain))
    capped = torch.stack((lapsed[0], torch.minimum(lapsed[1], FAST_SHARE * lapsed[0])))
    return torch.where(rating == 1, capped, recalled).clamp(*STABILITY)


def train(histories: Sequence[History], start: Sequence[float] = FSRS_7_WEIGHTS) -> list[float]:
    """Weights of FSRS-7 that predict the reviews best, held near the published ones inside their bounds.

    ``start`` are the weights to begin with.
    """
    if all(len(history) < 2 for history in histories):
        return list(start)
    table = tables(histories)
    weight = table.weight[:, 1:]
    recalled = (table.ratings[:, 1:] > 1).float()
    home, bounds = torch.tensor(FSRS_7_WEIGHTS), torch.tensor(FSRS_7_BOUNDS)
    ranges = Ranges(home, torch.tensor(_SPREAD), bounds[:, 0], bounds[:, 1])
    reviews = weight.count_nonzero()

    def loss_of(shift: Tensor) -> Tensor:
        chance = predictions(_ordered(home + shift * ranges.scale), table.days, table.ratings)
        losses = torch.nn.functional.binary_cross_entropy(
            chance.clamp(1e-4, 1 - 1e-4), recalled, reduction="none"
        )
        return (losses * weight).sum() / weight.sum() + PULL * shift.square().sum() / reviews

    warm = tuple(start) != FSRS_7_WEIGHTS or int(reviews) > LONG_LOG
    epochs = WARM_EPOCHS if warm else EPOCHS
    found = minimize(loss_of, torch.tensor(start), ranges, epochs=epochs, rate=RATE)
    final = [round(value, 4) for value in _ordered(torch.tensor(found)).tolist()]
    return [min(max(value, low), high) for value, (low, high) in zip(final, FSRS_7_BOUNDS, strict=True)]


def _ordered(w: Tensor) -> Tensor:
    """The weights with initial stabilities that do not fall with the rating, and the bases in order."""
    firsts = torch.cummax(w[:4], 0).values
    return torch.cat((firsts, w[4:26], torch.maximum(w[25:26], w[26:27]), w[27:]))
