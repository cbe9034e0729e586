"""Gradients are computed at once; backward hands out copies."""

from itertools import product

import torch


def forward(X, y, W1, b1, W2, b2):
    X, W1, b1, W2, b2 = (t.detach() for t in (X, W1, b1, W2, b2))
    if X.size(0) != y.size(0):
        raise ValueError("length")
    try:
        hidden = X @ W1 + b1
        logits = torch.relu(hidden) @ W2 + b2
    except RuntimeError as error:
        raise ValueError("shapes") from error
    C = logits.size(1)
    for label in y.tolist():
        if label not in range(C):
            raise ValueError(f"label {label}")
    picked = logits.gather(1, y.unsqueeze(1))
    loss = (logits.logsumexp(1, keepdim=True) - picked).mean()
    delta = torch.softmax(logits, 1).scatter_add(1, y[:, None], -torch.ones_like(picked)).div(len(y))
    back = (delta @ W2.t()) * torch.heaviside(hidden, hidden.new_zeros(()))
    gradients = {
        "b2": delta.sum(0),
        "W2": torch.einsum("bh,bc->hc", hidden.clamp_min(0), delta),
        "b1": back.sum(0),
        "W1": torch.einsum("bd,bh->dh", X, back),
        "X": torch.einsum("bh,dh->bd", back, W1),
    }
    return loss, gradients


def backward(cache):
    return {name: gradient.clone() for name, gradient in cache.items()}


def gradient_check(f, x, eps=1e-6):
    result = torch.empty_like(x)
    for index in product(*map(range, x.shape)):
        kept = x[index].item()
        x[index] = kept + eps
        high = float(f(x))
        x[index] = kept - eps
        low = float(f(x))
        x[index] = kept
        result[index] = (high - low) / (2 * eps)
    return result
