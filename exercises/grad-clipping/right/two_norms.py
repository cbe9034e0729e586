from typing import Iterable, Union

import torch

Parameters = Union[torch.Tensor, Iterable[torch.Tensor]]


def as_list(parameters: Parameters) -> list[torch.Tensor]:
    if isinstance(parameters, torch.Tensor):
        return [parameters]
    return list(parameters)


def clip_grad_norm(parameters: Parameters, max_norm: float) -> torch.Tensor:
    if max_norm <= 0:
        raise ValueError("max_norm must be greater than 0")
    params = [p for p in as_list(parameters) if p.grad is not None]
    if not params:
        return torch.tensor(0.0)
    low = {torch.float16, torch.bfloat16}
    with torch.no_grad():
        norms = []
        for p in params:
            dtype = torch.float32 if p.grad.dtype in low else p.grad.dtype
            norms.append(torch.linalg.vector_norm(p.grad, dtype=dtype))
        total = torch.stack(norms).norm(2)
        too_large = bool(torch.isfinite(total)) and bool(total > max_norm)
        if too_large:
            ratio = max_norm / total
            for p in params:
                p.grad *= ratio.to(p.grad.dtype)
    return total


def clip_grad_value(parameters: Parameters, clip_value: float) -> None:
    if clip_value <= 0:
        raise ValueError("clip_value must be greater than 0")
    with torch.no_grad():
        for p in as_list(parameters):
            if p.grad is None:
                continue
            torch.clip(p.grad, min=-clip_value, max=clip_value, out=p.grad)
