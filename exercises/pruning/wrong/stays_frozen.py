# fails: 9
# message: even if the old ones were frozen
import math
import torch
from torch import Tensor, nn


def _targets(model):
    for name, p in model.named_parameters():
        owner, _, leaf = name.rpartition(".")
        if leaf == "weight" and isinstance(model.get_submodule(owner), (nn.Linear, nn.Conv2d)):
            yield name, p


def magnitude_masks(model, sparsity):
    if not 0 <= sparsity < 1:
        raise ValueError("sparsity")
    found = dict(_targets(model))
    if not found:
        return {}
    flat = torch.cat([p.detach().abs().double().reshape(-1) for p in found.values()])
    k = round(sparsity * flat.numel())
    keep = torch.ones(flat.numel(), dtype=torch.bool, device=flat.device)
    keep[flat.argsort()[:k]] = False
    parts = keep.split([p.numel() for p in found.values()])
    return {n: part.view(p.shape).clone() for (n, p), part in zip(found.items(), parts)}


def apply_masks(model, masks):
    params = dict(model.named_parameters())
    with torch.no_grad():
        for name, mask in masks.items():
            params[name].masked_fill_(mask.logical_not(), 0)


def prune_neurons(fc1, fc2, keep):
    hidden = fc1.out_features
    if fc2.in_features != hidden:
        raise ValueError("layers do not fit")
    if not 1 <= keep <= hidden:
        raise ValueError("keep")
    with torch.no_grad():
        score = fc1.weight.double().pow(2).sum(1) * fc2.weight.double().pow(2).sum(0)
        rank = score.argsort(descending=True)
        chosen = torch.zeros(hidden, dtype=torch.bool, device=score.device)
        chosen[rank[:keep]] = True
        made = []
        for old, w, b in (
            (fc1, fc1.weight[chosen], None if fc1.bias is None else fc1.bias[chosen]),
            (fc2, fc2.weight[:, chosen], fc2.bias),
        ):
            new = nn.Linear(w.shape[1], w.shape[0], bias=b is not None, device=w.device, dtype=w.dtype)
            new.weight.copy_(w)
            if b is not None:
                new.bias.copy_(b)
            new.requires_grad_(old.weight.requires_grad)
            made.append(new)
    return tuple(made)
