# fails: 12
# message: which takes 12.5 to 12
import torch
from torch import nn


def magnitude_masks(model, sparsity):
    if not 0 <= sparsity < 1:
        raise ValueError("sparsity")
    ws = {}
    for name, m in model.named_modules():
        if isinstance(m, (nn.Linear, nn.Conv2d)):
            ws[(name + "." if name else "") + "weight"] = m.weight
    if not ws:
        return {}
    flat = torch.cat([w.detach().abs().reshape(-1).double() for w in ws.values()])
    k = int(sparsity * flat.numel() + 0.5)
    keep = torch.ones(flat.numel(), dtype=torch.bool, device=flat.device)
    keep[torch.argsort(flat)[:k]] = False
    out = {}
    i = 0
    for n, w in ws.items():
        out[n] = keep[i : i + w.numel()].reshape(w.shape).clone()
        i += w.numel()
    return out


def apply_masks(model, masks):
    params = dict(model.named_parameters())
    with torch.no_grad():
        for n, mask in masks.items():
            params[n][~mask] = 0.0


def prune_neurons(fc1, fc2, keep):
    if fc1.out_features != fc2.in_features:
        raise ValueError("layers do not fit")
    if keep < 1 or keep > fc1.out_features:
        raise ValueError("keep")
    score = fc1.weight.detach().norm(dim=1) * fc2.weight.detach().norm(dim=0)
    idx = score.topk(keep).indices.sort().values
    a = nn.Linear(
        fc1.in_features, keep, bias=fc1.bias is not None, device=fc1.weight.device, dtype=fc1.weight.dtype
    )
    b = nn.Linear(
        keep, fc2.out_features, bias=fc2.bias is not None, device=fc2.weight.device, dtype=fc2.weight.dtype
    )
    with torch.no_grad():
        a.weight.copy_(fc1.weight[idx])
        if fc1.bias is not None:
            a.bias.copy_(fc1.bias[idx])
        b.weight.copy_(fc2.weight[:, idx])
        if fc2.bias is not None:
            b.bias.copy_(fc2.bias)
    return a, b
