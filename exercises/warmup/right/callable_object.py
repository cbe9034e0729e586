import dataclasses

import numpy as np
import torch


class ScheduleError(ValueError):
    pass


@dataclasses.dataclass
class WarmupCosine:
    warmup: int
    total: int
    low: float

    def __post_init__(self):
        if self.warmup < 0 or self.total <= self.warmup or not (0.0 <= self.low <= 1.0):
            raise ScheduleError("bad schedule")

    def __call__(self, step):
        if step < 0:
            raise ScheduleError("bad step")
        ramp = step / max(1, self.warmup)
        progress = np.clip((step - self.warmup) / (self.total - self.warmup), 0, 1)
        cosine = self.low + 0.5 * (1 - self.low) * (1 + np.cos(np.pi * progress))
        return ramp if step < self.warmup else cosine


class Scheduler(torch.optim.lr_scheduler.LambdaLR):
    pass


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, min_ratio: float = 0.0) -> float:
    return WarmupCosine(warmup_steps, total_steps, min_ratio)(step)


def make_scheduler(optimizer, warmup_steps, total_steps, min_ratio=0.0):
    shape = WarmupCosine(warmup_steps, total_steps, min_ratio)
    return Scheduler(optimizer, [shape for _ in optimizer.param_groups])
