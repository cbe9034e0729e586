import torch
from torch import Tensor


def log_sum_exp(x: Tensor, dim: int) -> Tensor:
    top, _ = torch.max(x, dim=dim, keepdim=True)
    return top + torch.log(torch.sum(torch.exp(x - top), dim=dim, keepdim=True))


def log_softmax(logits: Tensor, dim: int = -1) -> Tensor:
    return logits - log_sum_exp(logits, dim)


def cross_entropy(
    logits: Tensor, targets: Tensor, reduction: str = "mean", ignore_index: int = -100
) -> Tensor:
    reducers = {"mean": lambda losses: losses.sum() / max(1, len(losses)), "sum": torch.sum, "none": None}
    if reduction not in reducers:
        raise ValueError(reduction)
    if tuple(targets.shape) != tuple(logits.shape[:-1]):
        raise ValueError("shape")
    C = logits.shape[-1]
    rows = logits.reshape(-1, C)
    wide = rows if rows.dtype == torch.float64 else rows.to(torch.float32)
    flat = targets.reshape(-1)
    keep = torch.nonzero(flat != ignore_index).squeeze(1)
    labels = flat[keep]
    if labels.numel() and not (0 <= int(labels.min()) and int(labels.max()) < C):
        raise ValueError("target out of range")
    kept = wide[keep]
    losses = log_sum_exp(kept, 1).squeeze(1) - kept[torch.arange(len(keep), device=kept.device), labels]
    if reduction == "none":
        return (
            torch.zeros(flat.shape, dtype=wide.dtype, device=wide.device)
            .index_put((keep,), losses)
            .view(targets.shape)
        )
    return reducers[reduction](losses)
