import torch
from torch import Tensor, nn


@torch.no_grad()
def magnitude_masks(model: nn.Module, sparsity: float) -> dict[str, Tensor]:
    """A threshold, with the surplus of equal ones given back."""
    if not (sparsity >= 0.0 and sparsity < 1.0):
        raise ValueError(f"sparsity {sparsity} is outside [0, 1)")
    owners = {id(m.weight) for m in model.modules() if isinstance(m, nn.Linear) or isinstance(m, nn.Conv2d)}
    weights = [(name, p) for name, p in model.named_parameters() if id(p) in owners]
    total = sum(p.numel() for _, p in weights)
    count = round(sparsity * total)
    masks = {name: torch.ones_like(p, dtype=torch.bool) for name, p in weights}
    if count == 0:
        return masks
    threshold = torch.cat([p.abs().reshape(-1) for _, p in weights]).kthvalue(count).values
    surplus = -count
    for name, p in weights:
        masks[name] = p.abs() > threshold
        surplus += int((~masks[name]).sum())
    for name, p in weights:
        if surplus > 0:
            equal = (p.abs() == threshold).reshape(-1).nonzero()[:surplus, 0]
            masks[name].view(-1)[equal] = True
            surplus -= len(equal)
    return masks


@torch.no_grad()
def apply_masks(model: nn.Module, masks: dict[str, Tensor]) -> None:
    for name, p in model.named_parameters():
        if name in masks:
            p.copy_(torch.where(masks[name], p, torch.zeros_like(p)))


def prune_neurons(fc1: nn.Linear, fc2: nn.Linear, keep: int) -> tuple[nn.Linear, nn.Linear]:
    n = fc1.out_features
    if n != fc2.in_features:
        raise ValueError("fc1 and fc2 do not fit")
    if keep not in range(1, n + 1):
        raise ValueError("keep is out of range")
    score = torch.linalg.vector_norm(fc1.weight, dim=1) * torch.linalg.vector_norm(fc2.weight, dim=0)
    alive = torch.zeros(n, dtype=torch.bool, device=score.device)
    alive[score.argsort(descending=True)[:keep]] = True
    out1 = nn.Linear(fc1.in_features, keep, bias=fc1.bias is not None).to(fc1.weight)
    out2 = nn.Linear(keep, fc2.out_features, bias=fc2.bias is not None).to(fc2.weight)
    state1 = {k: v[alive] for k, v in fc1.state_dict().items()}
    state2 = {k: v[:, alive] if k == "weight" else v for k, v in fc2.state_dict().items()}
    out1.load_state_dict(state1)
    out2.load_state_dict(state2)
    return out1, out2
