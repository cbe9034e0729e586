import torch


def forward(X, y, W1, b1, W2, b2):
    if X.shape[0] != y.shape[0] or X.shape[1] != W1.shape[0] or W1.shape[1] != W2.shape[0]:
        raise ValueError("shapes do not fit")
    if y.numel() and (int(y.min()) < 0 or int(y.max()) >= W2.shape[1]):
        raise ValueError("labels")
    with torch.inference_mode():
        total = X.new_zeros(())
        rows = []
        for x, label in zip(X, y.tolist()):
            z1 = x @ W1 + b1
            a1 = torch.maximum(z1, torch.zeros_like(z1))
            z2 = a1 @ W2 + b2
            peak = z2.max()
            log_norm = peak + (z2 - peak).exp().sum().log()
            total += log_norm - z2[label]
            rows.append((x, label, z1, a1, (z2 - log_norm).exp()))
        return total / len(rows), (rows, W1, W2)


def backward(cache):
    rows, W1, W2 = cache
    n = len(rows)
    with torch.inference_mode():
        out = {"X": [], "W1": 0, "b1": 0, "W2": 0, "b2": 0}
        for x, label, z1, a1, p in rows:
            d2 = p.clone()
            d2[label] = d2[label] - 1
            d1 = (W2 @ d2) * (z1 > 0).to(d2.dtype)
            out["W2"] = out["W2"] + torch.outer(a1, d2) / n
            out["b2"] = out["b2"] + d2 / n
            out["W1"] = out["W1"] + torch.outer(x, d1) / n
            out["b1"] = out["b1"] + d1 / n
            out["X"].append(W1 @ d1 / n)
        out["X"] = torch.stack(out["X"])
    return out


def gradient_check(f, x, eps=1e-6):
    base = x.clone().contiguous()
    grads = []
    for i in range(base.numel()):
        pair = []
        for sign in (1, -1):
            moved = base.clone()
            moved.view(-1)[i] += sign * eps
            pair.append(float(f(moved)))
        grads.append((pair[0] - pair[1]) / (2 * eps))
    return torch.tensor(grads, dtype=torch.float64, device=x.device).reshape(x.shape)
