# fails: 9
# message: unknown reduction
import torch


def log_softmax(logits, dim=-1):
    m = logits.max(dim=dim, keepdim=True).values
    z = logits - m
    return z - torch.log(torch.exp(z).sum(dim=dim, keepdim=True))


def cross_entropy(logits, targets, reduction="mean", ignore_index=-100):
    reduction = str(reduction).lower()
    if reduction not in ("mean", "sum", "none"):
        raise ValueError("reduction")
    if targets.shape != logits.shape[:-1]:
        raise ValueError("shape")
    C = logits.shape[-1]
    keep = targets != ignore_index
    if bool((keep & ((targets < 0) | (targets >= C))).any()):
        raise ValueError("target out of range")
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    lp = log_softmax(logits)
    safe = torch.where(keep, targets, torch.zeros_like(targets))
    loss = -lp.gather(-1, safe.unsqueeze(-1)).squeeze(-1)
    loss = torch.where(keep, loss, torch.zeros_like(loss))
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    return loss.sum() / keep.sum().clamp(min=1)
