# fails: 6
# message: kept
import torch
from torch import Tensor, nn


def magnitude_masks(model: nn.Module, sparsity: float) -> dict[str, Tensor]:
    """Bool masks by parameter name, True = keep, for a share `sparsity` of removed weights over all layers."""
    if not 0 <= sparsity < 1:
        raise ValueError("sparsity must lie in [0, 1)")
    weights = {
        f"{name}.weight" if name else "weight": module.weight.detach()
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear | nn.Conv2d)
    }
    if not weights:
        return {}
    flat = torch.cat([weight.abs().flatten() for weight in weights.values()])
    keep = torch.ones(flat.numel(), dtype=torch.bool, device=flat.device)
    keep[flat.argsort()[: round(sparsity * flat.numel())]] = False
    parts = keep.split([weight.numel() for weight in weights.values()])
    return {name: part.view(weights[name].shape).clone() for name, part in zip(weights, parts, strict=True)}


def apply_masks(model: nn.Module, masks: dict[str, Tensor]) -> None:
    """Set removed weights to 0, in place."""
    with torch.no_grad():
        for name, mask in masks.items():
            model.get_parameter(name).masked_fill_(~mask, 0.0)


def prune_neurons(fc1: nn.Linear, fc2: nn.Linear, keep: int) -> tuple[nn.Linear, nn.Linear]:
    """Two smaller layers with the `keep` hidden neurons of the highest score."""
    if fc1.out_features != fc2.in_features:
        raise ValueError("the layers do not fit together")
    if not 1 <= keep <= fc1.out_features:
        raise ValueError("keep must lie between 1 and the number of hidden neurons")
    with torch.no_grad():
        scores = fc1.weight.norm(dim=1) * fc2.weight.norm(dim=0)
        index = scores.topk(keep, largest=False).indices.sort().values
        bias = None if fc1.bias is None else fc1.bias[index]
        return _linear(fc1.weight[index], bias), _linear(fc2.weight[:, index], fc2.bias)


def _linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    layer = nn.Linear(
        weight.shape[1], weight.shape[0], bias is not None, device=weight.device, dtype=weight.dtype
    )
    layer.weight.copy_(weight)
    if bias is not None:
        layer.bias.copy_(bias)
    return layer
