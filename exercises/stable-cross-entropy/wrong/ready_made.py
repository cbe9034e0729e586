# fails: 10
# message: yourself
import torch
import torch.nn.functional as F


def log_softmax(logits, dim=-1):
    return F.log_softmax(logits, dim)


def cross_entropy(logits, targets, reduction="mean", ignore_index=-100):
    return F.cross_entropy(logits, targets, reduction=reduction, ignore_index=ignore_index)
