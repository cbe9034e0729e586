"""Muon: orthogonalized momentum for weight matrices."""

import math
from collections.abc import Collection

import torch
from torch import Tensor, nn

A, B, C = 3.4445, -4.7750, 2.0315


def newton_schulz(g: Tensor, steps: int = 5, eps: float = 1e-7) -> Tensor:
    """(m, n) to (m, n): singular values near 1, singular vectors kept."""
    if g.dim() != 2:
        raise ValueError("a matrix is needed")
    x = g.float() if g.dtype in (torch.float16, torch.bfloat16) else g
    tall = g.size(0) > g.size(1)
    if tall:
        x = x.T  # the Gram matrix gets the smaller side
    x = x / (x.norm() + eps)
    for _ in range(steps):
        gram = x @ x.T
        x = A * x + (B * gram + C * gram @ gram) @ x
    if tall:
        x = x.T
    return x.to(g.dtype)


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalized; the buffer is state[p]["momentum_buffer"]."""

    def __init__(
        self,
        params,
        lr: float = 0.02,
        momentum: float = 0.95,
        nesterov: bool = True,
        weight_decay: float = 0.0,
        ns_steps: int = 5,
    ):
        if lr < 0:
            raise ValueError("lr must not be negative")
        if not 0 <= momentum < 1:
            raise ValueError("momentum must be in [0, 1)")
        if weight_decay < 0:
            raise ValueError("weight_decay must not be negative")
        if ns_steps < 1:
            raise ValueError("ns_steps must be at least 1")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "nesterov": nesterov,
            "weight_decay": weight_decay,
            "ns_steps": ns_steps,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            if any(p.dim() < 2 for p in group["params"]):
                raise ValueError("Muon is for parameters with 2 dimensions or more")

    @torch.no_grad()
    def step(self, closure=None):
        """One step; returns the loss of the closure, if there is one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update(p, group)
        return loss

    def _update(self, p: Tensor, group: dict) -> None:
        state = self.state[p]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(p)
        buffer = state["momentum_buffer"]
        buffer.lerp_(p.grad, 1 - group["momentum"])
        update = buffer
        if group["nesterov"]:
            update = p.grad.lerp(buffer, group["momentum"])
        update = update.reshape(p.size(0), -1)
        scale = math.sqrt(max(1.0, update.size(0) / update.size(1)))
        update = newton_schulz(update, group["ns_steps"])
        p.mul_(1 - group["lr"] * group["weight_decay"])
        p.add_(update.reshape(p.shape), alpha=-group["lr"] * scale)


def split_parameters(model: nn.Module, exclude: Collection[str] = ()) -> tuple[list, list]:
    """The parameters for Muon, and those for AdamW."""
    embedded = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    muon, adamw = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        excluded = any(part in exclude for part in name.split("."))
        if p.dim() >= 2 and id(p) not in embedded and not excluded:
            muon.append(p)
        else:
            adamw.append(p)
    return muon, adamw
