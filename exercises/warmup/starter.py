"""Linear warmup followed by cosine decay."""

import torch


def warmup_cosine(
    step: int,
    warmup_steps: int,
    total_steps: int,
    min_ratio: float = 0.0,
) -> float:
    """The multiplier of the peak learning rate at ``step`` (counted from 0)."""
    raise NotImplementedError


def make_scheduler(
    optimizer: torch.optim.Optimizer,
    warmup_steps: int,
    total_steps: int,
    min_ratio: float = 0.0,
) -> torch.optim.lr_scheduler.LambdaLR:
    """A LambdaLR that applies `warmup_cosine` to an optimizer whose configured
    lr is the peak.
    """
    raise NotImplementedError
