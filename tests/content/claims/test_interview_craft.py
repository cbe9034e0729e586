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


def test_rubric_arithmetic() -> None:
    """broken-run-report, broken-run-report-score"""
    weights = {"reproducibility": 35, "diagnostics": 30, "fix": 20, "clarity": 15}
    assert sum(weights.values()) == 100
    earned = {"reproducibility": 30, "diagnostics": 20, "fix": 20, "clarity": 10}
    assert all(earned[part] <= full for part, full in weights.items())
    assert sum(earned.values()) == 80
    assert 0.8 * weights["reproducibility"] + 0.5 * weights["diagnostics"] + 20 + 15 == 78


def test_sixteen_bytes_of_mixed_precision_adamw() -> None:
    """interview-focus-by-role: weights, gradients, master copy and two moments"""
    half, full = torch.zeros(1, dtype=torch.bfloat16).nbytes, torch.zeros(1).nbytes
    assert half + half + full + full + full == 16
