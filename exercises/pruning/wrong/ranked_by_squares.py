# fails: 11
# message: their squares are 0
import torch
from torch import nn


def magnitude_masks(model, sparsity):
    if not 0 <= sparsity < 1:
        raise ValueError("sparsity")
    weights = {}
    for name, module in model.named_modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            weights[f"{name}.weight" if name else "weight"] = module.weight
    if not weights:
        return {}
    flat = torch.cat([w.detach().pow(2).reshape(-1) for w in weights.values()])
    total = flat.numel()
    k = round(sparsity * total)
    keep = torch.ones(total, dtype=torch.bool, device=flat.device)
    order = torch.argsort(flat, stable=True)
    keep[order[:k]] = False
    masks = {}
    at = 0
    for name, w in weights.items():
        masks[name] = keep[at : at + w.numel()].view(w.shape).clone()
        at += w.numel()
    return masks


def apply_masks(model, masks):
    params = dict(model.named_parameters())
    with torch.no_grad():
        for name, mask in masks.items():
            params[name].masked_fill_(~mask, 0)


def prune_neurons(fc1, fc2, keep):
    hidden = fc1.out_features
    if fc2.in_features != hidden:
        raise ValueError("layers do not fit")
    if not 1 <= keep <= hidden:
        raise ValueError("keep")
    with torch.no_grad():
        score = fc1.weight.norm(dim=1) * fc2.weight.norm(dim=0)
        idx = score.topk(keep).indices.sort().values
        new1 = nn.Linear(
            fc1.in_features, keep, bias=fc1.bias is not None, device=fc1.weight.device, dtype=fc1.weight.dtype
        )
        new2 = nn.Linear(
            keep,
            fc2.out_features,
            bias=fc2.bias is not None,
            device=fc2.weight.device,
            dtype=fc2.weight.dtype,
        )
        new1.weight.copy_(fc1.weight[idx])
        new2.weight.copy_(fc2.weight[:, idx])
        if fc1.bias is not None:
            new1.bias.copy_(fc1.bias[idx])
        if fc2.bias is not None:
            new2.bias.copy_(fc2.bias)
    return new1, new2
