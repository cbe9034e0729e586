import math

import torch


def _validated(eps, classes=2):
    if not (0 <= eps and eps < 1) or classes < 2:
        raise ValueError("eps in [0, 1), at least two classes")
    return eps


def smooth_targets(targets, num_classes, eps=0.1):
    _validated(eps, num_classes)
    classes = torch.arange(num_classes, device=targets.device)
    hit = targets[:, None] == classes[None, :]
    if not bool(hit.any(dim=1).all()):
        raise ValueError("a target is outside the classes")
    return torch.where(hit, 1 - eps + eps / num_classes, eps / num_classes).float()


def smoothed_cross_entropy(logits, targets, eps=0.1):
    _validated(eps)
    n, k = logits.shape
    if targets.shape != (n,):
        raise ValueError("one target per row")
    if any(not 0 <= t < k for t in targets.tolist()):
        raise ValueError("no such class")
    # log-sum-exp minus the expected logit, with each row centred first.
    centred = logits - logits.max(dim=1, keepdim=True).values.detach()
    expected = (1 - eps) * centred[torch.arange(n, device=logits.device), targets] + eps * centred.mean(1)
    return (torch.logsumexp(centred, dim=1) - expected).mean()


def loss_floor(num_classes, eps=0.1):
    _validated(eps, num_classes)
    p = [1 - eps + eps / num_classes] + [eps / num_classes] * (num_classes - 1)
    return math.fsum(-q * math.log(q) for q in p if q > 0) + 0.0
