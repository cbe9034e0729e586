from math import cos, pi

from torch.optim.lr_scheduler import LambdaLR


def curve(warmup, total, floor):
    if warmup < 0 or total <= warmup or floor < 0 or floor > 1:
        raise ValueError(f"no schedule with {warmup=}, {total=}, {floor=}")

    def at(step):
        if step < 0:
            raise ValueError(step)
        if step < warmup:
            return float(step) / warmup
        if step >= total:
            return float(floor)
        return floor + (1.0 - floor) * cos(pi * (step - warmup) / (total - warmup) / 2) ** 2

    return at


def warmup_cosine(step, warmup_steps, total_steps, min_ratio=0.0):
    return curve(warmup_steps, total_steps, min_ratio)(step)


def make_scheduler(optimizer, warmup_steps, total_steps, min_ratio=0.0):
    return LambdaLR(optimizer, lr_lambda=curve(warmup_steps, total_steps, min_ratio))
