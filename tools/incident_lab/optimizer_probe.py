"""Probes an optimizer with two weights of 2.0 whose gradients are nothing but zero-mean noise."""

import math

import torch

from tools.incident_lab.optimizers import Rates, make_optimizer
from tools.incident_lab.setups import Setup
from tools.incident_lab.training import TrainingRecord

START = 2.0
NOISE = (12.0, 0.4)  # standard deviations of the two gradients, 30 to 1


def probe(setup: Setup) -> TrainingRecord:
    """Run ``setup.epochs`` steps of the optimizer on the two weights, without data, model or loss."""
    torch.set_num_threads(1)
    draw = torch.Generator().manual_seed(4000 + setup.seed)
    weights = torch.full((2,), START, requires_grad=True)
    optimizer = make_optimizer(setup, [weights])
    rates = Rates(setup, optimizer)
    record = TrainingRecord(weight_norm=(START * math.sqrt(2), 0.0))
    for _ in range(setup.epochs):
        weights.grad = torch.tensor(NOISE) * torch.randn(2, generator=draw)
        record.norms.append(float(weights.grad.norm()))
        record.first_norms.append(record.norms[-1])
        record.rates.append(float(optimizer.param_groups[0]["lr"]))
        before = weights.detach().clone()
        optimizer.step()
        rates.after_step(epoch_over=False)
        record.ratios.append(float((weights.detach() - before).norm() / before.norm()))
        record.weights.append((float(weights[0].detach()), float(weights[1].detach())))
    record.weight_norm = (record.weight_norm[0], float(weights.detach().norm()))
    return record
