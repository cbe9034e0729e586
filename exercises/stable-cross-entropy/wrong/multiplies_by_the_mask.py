# fails: 5
# message: ignored
import torch


def log_softmax(logits, dim=-1):
    shifted = logits - logits.max(dim=dim, keepdim=True).values.detach()
    return shifted - shifted.exp().sum(dim=dim, keepdim=True).log()


def cross_entropy(logits, targets, reduction="mean", ignore_index=-100):
    if reduction not in ("mean", "sum", "none"):
        raise ValueError("reduction")
    if targets.shape != logits.shape[:-1]:
        raise ValueError("shape")
    keep = targets != ignore_index
    C = logits.shape[-1]
    if (keep & ((targets < 0) | (targets >= C))).any():
        raise ValueError("target out of range")
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    logp = log_softmax(logits, dim=-1)
    safe = targets.masked_fill(~keep, 0)
    loss = -logp.gather(-1, safe.unsqueeze(-1)).squeeze(-1)
    loss = loss * keep
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    return loss.sum() / keep.sum().clamp(min=1)
