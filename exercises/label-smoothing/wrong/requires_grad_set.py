# fails: 7
# message: set requires_grad
import math

import torch


def _check(eps, k, targets=None):
    if not 0 <= eps < 1:
        raise ValueError("eps in [0, 1)")
    if k < 2:
        raise ValueError("at least two classes")
    if targets is not None and ((targets < 0) | (targets >= k)).any():
        raise ValueError("targets in [0, K)")


def smooth_targets(targets, num_classes, eps=0.1):
    _check(eps, num_classes, targets)
    return torch.nn.functional.one_hot(targets, num_classes).float() * (1 - eps) + eps / num_classes


def smoothed_cross_entropy(logits, targets, eps=0.1):
    if len(logits) != len(targets):
        raise ValueError("logits and targets differ in length")
    _check(eps, logits.shape[1], targets)
    if logits.is_leaf:
        logits.requires_grad_()
    logp = logits.log_softmax(-1)
    hard = logp.gather(1, targets[:, None]).squeeze(1)
    return -((1 - eps) * hard + eps * logp.mean(-1)).mean()


def loss_floor(num_classes, eps=0.1):
    _check(eps, num_classes)
    rest = eps / num_classes
    top = 1 - eps + rest
    return -top * math.log(top) - ((num_classes - 1) * rest * math.log(rest) if eps else 0.0)
