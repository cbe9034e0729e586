# fails: 8
# message: does not give the same bits back
from typing import NamedTuple
import torch
from torch import Tensor


class Tape(NamedTuple):
    X: Tensor
    W1: Tensor
    W2: Tensor
    on: Tensor
    hidden: Tensor
    delta: Tensor


@torch.no_grad()
def forward(X, y, W1, b1, W2, b2):
    if X.shape[0] != y.shape[0]:
        raise ValueError("batch")
    if X.shape[1] != W1.shape[0] or W1.shape[1] != W2.shape[0]:
        raise ValueError("inner")
    if y.numel() and (int(y.min()) < 0 or int(y.max()) >= W2.shape[1]):
        raise ValueError("label")
    n = len(X)
    pre = torch.einsum("bd,dh->bh", X, W1) + b1
    on = pre > 0
    hidden = pre * on
    logits = torch.einsum("bh,hc->bc", hidden, W2) + b2
    logits = logits - logits.max(1, keepdim=True).values
    e = torch.exp(logits)
    total = e.sum(1, keepdim=True)
    picked = torch.arange(n, device=X.device)
    loss = (total.log().squeeze(1) - logits[picked, y]).sum() / n
    delta = e / total
    delta[picked, y] -= 1
    return loss, Tape(X.detach().clone(), W1.detach().clone(), W2.detach().clone(), on, hidden, delta / n)


@torch.no_grad()
def backward(cache):
    g = cache.delta
    gh = torch.where(cache.on, torch.einsum("bc,hc->bh", g, cache.W2), torch.zeros_like(cache.hidden))
    return {
        "X": torch.einsum("bh,dh->bd", gh, cache.W1),
        "W1": torch.einsum("bd,bh->dh", cache.X, gh),
        "b1": torch.einsum("bh->h", gh),
        "W2": torch.einsum("bh,bc->hc", cache.hidden, g),
        "b2": torch.einsum("bc->c", g),
    }


def gradient_check(f, x, eps=1e-6):
    base = x.detach()
    grad = torch.zeros_like(base)
    flat, out = base.reshape(-1), grad.view(-1)
    with torch.no_grad():
        for i in range(flat.numel()):
            keep = flat[i].item()
            flat[i] = keep + eps
            up = float(f(base.clone()))
            flat[i] = keep - eps
            down = float(f(base.clone()))
            flat[i] += eps
            out[i] = (up - down) / (2 * eps)
    return grad
