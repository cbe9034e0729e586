# fails: 11
# message: f never saw the steps
import torch


@torch.no_grad()
def forward(X, y, W1, b1, W2, b2):
    if len(X) != len(y) or X.shape[1] != W1.shape[0] or W1.shape[1] != W2.shape[0]:
        raise ValueError("shapes")
    if ((y < 0) | (y >= W2.shape[1])).any():
        raise ValueError("labels")
    Z1 = X @ W1 + b1
    A1 = Z1.clamp(min=0)
    L = (A1 @ W2 + b2).log_softmax(1)
    i = torch.arange(len(y), device=y.device)
    return -L[i, y].mean(), (X, y, W1, W2, Z1, A1, L, i)


@torch.no_grad()
def backward(cache):
    X, y, W1, W2, Z1, A1, L, i = cache
    d2 = L.exp()
    d2[i, y] -= 1
    d2 /= len(y)
    d1 = d2 @ W2.T * (Z1 > 0)
    return {"X": d1 @ W1.T, "W1": X.T @ d1, "b1": d1.sum(0), "W2": A1.T @ d2, "b2": d2.sum(0)}


@torch.no_grad()
def gradient_check(f, x, eps=1e-6):
    g = torch.zeros(x.shape, dtype=x.dtype)
    flat, out = x.reshape(-1), g.view(-1)
    for k in range(flat.numel()):
        old = flat[k].item()
        flat[k] = old + eps
        a = float(f(x))
        flat[k] = old - eps
        b = float(f(x))
        flat[k] = old
        out[k] = (a - b) / (2 * eps)
    return g
