import torch


def log_softmax(logits, dim=-1):
    peak = logits.amax(dim=dim, keepdim=True)
    return (logits - peak) - torch.log((logits - peak).exp().sum(dim=dim, keepdim=True))


def cross_entropy(logits, targets, reduction="mean", ignore_index=-100):
    if reduction != "mean" and reduction != "sum" and reduction != "none":
        raise ValueError("reduction")
    if logits.dim() != targets.dim() + 1 or any(a != b for a, b in zip(logits.shape, targets.shape)):
        raise ValueError("shape of targets")
    valid = (targets >= 0) & (targets < logits.size(-1))
    ignore = targets == ignore_index
    if not bool((valid | ignore).all()):
        raise ValueError("target")
    x = logits.to(torch.promote_types(logits.dtype, torch.float32))
    log_p = log_softmax(x)
    classes = torch.arange(x.size(-1), device=x.device)
    hit = (classes == targets.unsqueeze(-1)) & ~ignore.unsqueeze(-1)
    per_position = -torch.where(hit, log_p, torch.zeros_like(log_p)).sum(-1)
    if reduction == "none":
        return per_position
    total = per_position.sum()
    if reduction == "sum":
        return total
    count = torch.numel(ignore) - torch.count_nonzero(ignore).item()
    if count == 0:
        return torch.zeros((), dtype=x.dtype, device=x.device)
    return total / count
