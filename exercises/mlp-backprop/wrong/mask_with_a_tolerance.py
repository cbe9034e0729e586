# fails: 5
# message: however little above zero
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
    d1 = d2 @ W2.T * (Z1 > 1e-6)
    return {"X": d1 @ W1.T, "W1": X.T @ d1, "b1": d1.sum(0), "W2": A1.T @ d2, "b2": d2.sum(0)}


@torch.no_grad()
def gradient_check(f, x, eps=1e-6):
    g = torch.zeros(x.numel(), dtype=torch.float64, device=x.device)
    for k in range(x.numel()):
        e = torch.zeros(x.numel(), dtype=x.dtype, device=x.device)
        e[k] = eps
        e = e.reshape(x.shape)
        g[k] = (float(f(x + e)) - float(f(x - e))) / (2 * eps)
    return g.reshape(x.shape)
