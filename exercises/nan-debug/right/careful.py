import torch
from torch import nn


class _Distance(torch.autograd.Function):
    @staticmethod
    def forward(ctx, difference):
        norm = difference.norm(dim=-1)
        ctx.save_for_backward(difference, norm)
        return norm

    @staticmethod
    def backward(ctx, grad):
        difference, norm = ctx.saved_tensors
        safe = norm.masked_fill(norm == 0, 1.0).unsqueeze(-1)
        return grad.unsqueeze(-1) * difference / safe


def log_softmax(logits):
    top = logits.amax(dim=-1, keepdim=True)
    shifted = logits - top
    return shifted - torch.log(torch.sum(torch.exp(shifted), dim=-1, keepdim=True))


def binary_cross_entropy(logits, targets):
    return nn.BCEWithLogitsLoss(reduction="sum")(logits, targets) / logits.numel()


def masked_mean(values, mask):
    if not mask.any():
        return values.masked_fill(~mask, 0).sum()
    return torch.masked_select(values, mask).mean()


def standardize(x, eps=1e-5):
    variance, mean = torch.var_mean(x, dim=0, correction=0)
    return (x - mean) / (variance + eps) ** 0.5


def distance(a, b):
    return _Distance.apply(a - b)


def train_step(model, optimizer, scaler, inputs, targets, max_norm=1.0, ignore_index=-100):
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = None
    mask = targets.ne(ignore_index)
    log_probs = log_softmax(model(inputs))
    picked = log_probs.gather(-1, (targets * mask).unsqueeze(-1)).squeeze(-1)
    loss = masked_mean(-picked, mask)
    if bool(loss.isnan() | loss.isinf()):
        return None
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm, error_if_nonfinite=False)
    scaler.step(optimizer)
    scaler.update()
    return None if bool(~torch.isfinite(norm)) else loss.item()
