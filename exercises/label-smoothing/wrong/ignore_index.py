# fails: 8
# message: nothing is ignored
import math

import torch


def check_eps(eps):
    if not 0 <= eps < 1:
        raise ValueError("eps must be in [0, 1)")


def smooth_targets(targets, num_classes, eps=0.1):
    check_eps(eps)
    if num_classes < 2:
        raise ValueError("num_classes")
    if ((targets < 0) | (targets >= num_classes)).any():
        raise ValueError("targets out of range")
    out = torch.full(
        (len(targets), num_classes), eps / num_classes, dtype=torch.float32, device=targets.device
    )
    out[torch.arange(len(targets), device=targets.device), targets] = 1 - eps + eps / num_classes
    return out


def smoothed_cross_entropy(logits, targets, eps=0.1):
    check_eps(eps)
    n, c = logits.shape
    if len(targets) != n:
        raise ValueError("lengths differ")
    keep = targets != -100
    logits, targets = logits[keep], targets[keep]
    if ((targets < 0) | (targets >= c)).any():
        raise ValueError("targets out of range")
    logp = torch.log_softmax(logits, dim=1)
    hard = logp.gather(1, targets[:, None]).squeeze(1)
    uniform = logp.mean(dim=1)
    return -((1 - eps) * hard + eps * uniform).mean()


def loss_floor(num_classes, eps=0.1):
    check_eps(eps)
    if num_classes < 2:
        raise ValueError("num_classes")
    if eps == 0:
        return 0.0
    low = eps / num_classes
    high = 1 - eps + low
    return -high * math.log(high) - (num_classes - 1) * low * math.log(low)
