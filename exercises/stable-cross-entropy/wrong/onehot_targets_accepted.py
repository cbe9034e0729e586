# fails: 9
# message: targets whose shape
import torch


def log_softmax(logits, dim=-1):
    top = logits.detach().amax(dim, keepdim=True)
    z = logits - top
    return z - z.exp().sum(dim, keepdim=True).log()


def cross_entropy(logits, targets, reduction="mean", ignore_index=-100):
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"unknown reduction {reduction!r}")
    if targets.shape == logits.shape:
        targets = targets.argmax(-1)
    if targets.shape != logits.shape[:-1]:
        raise ValueError("shapes")
    C = logits.shape[-1]
    keep = targets != ignore_index
    if ((targets < 0) | (targets >= C))[keep].any():
        raise ValueError("target out of range")
    x = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    lp = log_softmax(x)
    idx = torch.where(keep, targets, torch.zeros_like(targets))
    nll = -lp.gather(-1, idx.unsqueeze(-1)).squeeze(-1)
    nll = torch.where(keep, nll, torch.zeros_like(nll))
    if reduction == "none":
        return nll
    if reduction == "sum":
        return nll.sum()
    return nll.sum() / keep.sum().clamp(min=1)
