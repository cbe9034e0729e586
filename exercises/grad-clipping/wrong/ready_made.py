# fails: 10
# message: Write the clipping yourself
import torch
from torch.nn.utils import clip_grad


def clip_grad_norm(parameters, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm")
    return clip_grad.clip_grad_norm_(parameters, max_norm)


def clip_grad_value(parameters, clip_value):
    if clip_value <= 0:
        raise ValueError("clip_value")
    torch.nn.utils.clip_grad_value_(parameters, clip_value)
