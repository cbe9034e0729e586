# fails: 4
# message: Your code raised TypeError
from collections.abc import Iterable

import torch


def gradients(parameters: torch.Tensor | Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """The gradients that exist."""
    if isinstance(parameters, torch.Tensor):
        parameters = [parameters]
    return [parameters[i].grad for i in range(len(parameters)) if parameters[i].grad is not None]


@torch.no_grad()
def clip_grad_norm(parameters: torch.Tensor | Iterable[torch.Tensor], max_norm: float) -> torch.Tensor:
    """Scale the gradients in place to a global L2 norm of at most ``max_norm``; return the norm before."""
    if max_norm <= 0:
        raise ValueError("max_norm must be positive")
    grads = gradients(parameters)
    if not grads:
        return torch.tensor(0.0)
    half = (torch.float16, torch.bfloat16)
    norms = [torch.linalg.vector_norm(g.float() if g.dtype in half else g) for g in grads]
    norm = torch.linalg.vector_norm(torch.stack(norms))
    if torch.isfinite(norm) and norm > max_norm:
        for grad in grads:
            grad.mul_(max_norm / norm)
    return norm


@torch.no_grad()
def clip_grad_value(parameters: torch.Tensor | Iterable[torch.Tensor], clip_value: float) -> None:
    """Limit every element of the gradients to [-clip_value, clip_value], in place."""
    if clip_value <= 0:
        raise ValueError("clip_value must be positive")
    for grad in gradients(parameters):
        grad.clamp_(-clip_value, clip_value)
