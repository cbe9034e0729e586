import torch


def log_softmax(logits, dim=-1):
    """float64 inside; log of the sum through log1p of the others' share."""
    x = logits.double()
    top, where = x.max(dim=dim, keepdim=True)
    e = torch.exp(x - top)
    others = e.sum(dim=dim, keepdim=True) - torch.exp(x.gather(dim, where) - top)
    return (x - top - torch.log1p(others)).to(logits.dtype)


def cross_entropy(logits, targets, reduction="mean", ignore_index=-100):
    finish = {"mean": lambda t, n: t.sum() / max(n, 1), "sum": lambda t, n: t.sum(), "none": lambda t, n: t}
    if reduction not in finish:
        raise ValueError(f"reduction={reduction}")
    if targets.shape != logits.shape[:-1]:
        raise ValueError("targets must have the leading shape of logits")
    classes = logits.shape[-1]
    out_dtype = torch.float64 if logits.dtype == torch.float64 else torch.float32
    flat, t = logits.reshape(-1, classes), targets.reshape(-1)
    rows = torch.nonzero(t != ignore_index).squeeze(1)
    chosen = t[rows]
    if ((chosen < 0) | (chosen >= classes)).any():
        raise ValueError("target out of range")
    lp = log_softmax(flat[rows].double(), 1)
    losses = torch.zeros(t.shape, dtype=torch.float64, device=logits.device)
    losses = losses.index_put((rows,), -lp[torch.arange(len(rows), device=t.device), chosen])
    return finish[reduction](losses.reshape(targets.shape), len(rows)).to(out_dtype)
