# fails: 0
# message: Write the schedule yourself
import math

from torch.optim import lr_scheduler


def warmup_cosine(step, warmup_steps, total_steps, min_ratio=0.0):
    if step < 0 or warmup_steps < 0 or total_steps <= warmup_steps or not 0 <= min_ratio <= 1:
        raise ValueError("bad arguments")
    if step < warmup_steps:
        return step / warmup_steps
    progress = min(1.0, (step - warmup_steps) / (total_steps - warmup_steps))
    return min_ratio + (1 - min_ratio) * (1 + math.cos(math.pi * progress)) / 2


def make_scheduler(optimizer, warmup_steps, total_steps, min_ratio=0.0):
    warmup_cosine(0, warmup_steps, total_steps, min_ratio)
    ramp = lr_scheduler.LinearLR(optimizer, 1e-9, total_iters=max(1, warmup_steps))
    decay = lr_scheduler.CosineAnnealingLR(optimizer, total_steps - warmup_steps)
    return lr_scheduler.SequentialLR(optimizer, [ramp, decay], [warmup_steps])
