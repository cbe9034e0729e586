"""Loss and gradients of a two-layer MLP, by hand.

Everything follows from dZ2 = (softmax - onehot) / B: the mean is accounted for once, there. Each further
gradient costs one matrix product (a bias only a sum), so the backward pass costs about twice the forward pass.
"""

from collections.abc import Callable
from typing import Any

import torch


@torch.no_grad()
def forward(
    X: torch.Tensor, y: torch.Tensor, W1: torch.Tensor, b1: torch.Tensor, W2: torch.Tensor, b2: torch.Tensor
) -> tuple[torch.Tensor, Any]:
    """The mean cross-entropy of relu(X @ W1 + b1) @ W2 + b2, and whatever `backward` needs."""
    if len(X) != len(y):
        raise ValueError("X and y differ in length")
    if X.shape[1] != W1.shape[0] or W1.shape[1] != W2.shape[0]:
        raise ValueError("an inner dimension does not fit")
    if ((y < 0) | (y >= W2.shape[1])).any():
        raise ValueError("a label lies outside [0, C)")
    Z1 = X @ W1 + b1
    A1 = Z1.clamp(min=0)
    Z2 = A1 @ W2 + b2
    shifted = Z2 - Z2.max(dim=1, keepdim=True).values
    log_probs = shifted - shifted.exp().sum(dim=1, keepdim=True).log()
    rows = torch.arange(len(y), device=X.device)
    loss = -log_probs[rows, y].mean()
    return loss, (X, y, W1, W2, Z1, A1, log_probs)


@torch.no_grad()
def backward(cache: Any) -> dict[str, torch.Tensor]:
    """The gradients of the loss by "X", "W1", "b1", "W2" and "b2"."""
    X, y, W1, W2, Z1, A1, log_probs = cache
    dZ2 = log_probs.exp()
    dZ2[torch.arange(len(y), device=X.device), y] -= 1
    dZ2 /= len(y)
    dA1 = dZ2 @ W2.T
    dZ1 = dA1 * (Z1 > 0)
    return {
        "X": dZ1 @ W1.T,
        "W1": X.T @ dZ1,
        "b1": dZ1.sum(dim=0),
        "W2": A1.T @ dZ2,
        "b2": dZ2.sum(dim=0),
    }


def gradient_check(
    f: Callable[[torch.Tensor], torch.Tensor | float], x: torch.Tensor, eps: float = 1e-6
) -> torch.Tensor:
    """The numerical gradient of the scalar function ``f`` at ``x``, by central differences."""
    flat = x.detach().clone().flatten()
    gradient = torch.zeros_like(flat)
    for i in range(flat.numel()):
        above, below = flat.clone(), flat.clone()
        above[i] += eps
        below[i] -= eps
        gradient[i] = (float(f(above.view(x.shape))) - float(f(below.view(x.shape)))) / (2 * eps)
    return gradient.view(x.shape)
