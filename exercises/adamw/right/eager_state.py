from typing import Callable, Iterable

import torch
from torch import Tensor


class _Range(ValueError):
    pass


def _check(condition, text):
    if not condition:
        raise _Range(text)


class AdamW(torch.optim.Optimizer):
    """Makes the state at construction; the corrected first moment is folded into the step size."""

    def __init__(
        self,
        params: Iterable,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        _check(lr >= 0, "lr")
        _check(eps >= 0, "eps")
        _check(weight_decay >= 0, "weight_decay")
        _check(all(0 <= b < 1 for b in betas), "betas")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = {
                    "step": torch.tensor(0.0, dtype=torch.float64),
                    "first": torch.zeros_like(p, requires_grad=False),
                    "second": torch.zeros_like(p, requires_grad=False),
                }

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in filter(lambda p: p.grad is not None, group["params"]):
                self.one(
                    p, p.grad, self.state[p], **{k: group[k] for k in ("lr", "betas", "eps", "weight_decay")}
                )
        return loss

    @staticmethod
    def one(p, grad, state, lr, betas, eps, weight_decay):
        state["step"] = state["step"] + 1
        t = float(state["step"])
        for name, beta, value in (("first", betas[0], grad), ("second", betas[1], grad * grad)):
            state[name].add_((value - state[name]) * (1 - beta))
        root = (state["second"] / (1 - betas[1] ** t)) ** 0.5
        p -= lr * weight_decay * p
        p -= (lr / (1 - betas[0] ** t)) * state["first"] / (root + eps)
