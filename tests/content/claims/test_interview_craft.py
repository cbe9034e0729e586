"""The computed claims of content/questions/interview-craft.yaml."""

import torch
from torch import nn


def test_adam_moments_cost_eight_bytes_per_parameter() -> None:
    """answer-structure: 56 GB at 7 billion parameters"""
    w = nn.Parameter(torch.zeros(1000))
    opt = torch.optim.Adam([w])
    w.grad = torch.ones(1000)
    opt.step()
    moments = sum(opt.state[w][name].nbytes for name in ("exp_avg", "exp_avg_sq"))
    assert moments / w.numel() == 8
    assert 7 * moments / w.numel() == 56
