import copy

import torch
from torch import nn


def prunable(model):
    found = []
    for prefix, module in model.named_modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            found.append((".".join(filter(None, [prefix, "weight"])), module.weight))
    return found


def magnitude_masks(model, sparsity):
    if sparsity < 0 or sparsity >= 1:
        raise ValueError("sparsity")
    entries = []
    for place, (_, weight) in enumerate(prunable(model)):
        for position, value in enumerate(weight.detach().abs().flatten().tolist()):
            entries.append((value, place, position))
    entries.sort()
    removed = entries[: round(sparsity * len(entries))]
    masks = {}
    for place, (name, weight) in enumerate(prunable(model)):
        mask = torch.ones(weight.numel(), dtype=torch.bool)
        for _, layer, position in removed:
            if layer == place:
                mask[position] = False
        masks[name] = mask.reshape(weight.shape).to(weight.device)
    return masks


def apply_masks(model, masks):
    parameters = dict(model.named_parameters())
    for name, mask in masks.items():
        weight = parameters[name]
        weight.data[~mask] = 0


def prune_neurons(fc1, fc2, keep):
    hidden = fc1.weight.shape[0]
    if fc2.weight.shape[1] != hidden or keep < 1 or keep > hidden:
        raise ValueError("cannot prune")
    squares = (fc1.weight.detach() ** 2).sum(1) * (fc2.weight.detach() ** 2).sum(0)
    ranked = sorted(range(hidden), key=lambda i: float(squares[i]), reverse=True)
    index = sorted(ranked[:keep])
    small1, small2 = copy.deepcopy(fc1), copy.deepcopy(fc2)
    small1.weight = nn.Parameter(fc1.weight.detach()[index].clone())
    small1.out_features = keep
    if fc1.bias is not None:
        small1.bias = nn.Parameter(fc1.bias.detach()[index].clone())
    small2.weight = nn.Parameter(fc2.weight.detach()[:, index].clone())
    small2.in_features = keep
    return small1, small2
