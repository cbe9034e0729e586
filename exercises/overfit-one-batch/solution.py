"""Can this model memorise one batch?

Key: everything happens to a deep copy inside fork_rng, so the test leaves no trace; and each step decides in a
fixed order (non-finite, no graph, below the threshold, no gradient), because each reason has another cause.
"""

import copy
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)


def overfit_one_batch(
    model: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    loss_fn: Callable[[Tensor, Tensor], Tensor],
    *,
    steps: int = 200,
    lr: float = 1e-2,
    threshold: float = 0.05,
) -> dict:
    """Train a copy of ``model`` on the batch and report "passed", "reason", "losses" and "idle"."""
    if steps < 1:
        raise ValueError("steps must be at least 1")
    trial = copy.deepcopy(model).train()
    for module in trial.modules():
        if isinstance(module, DROPOUTS):
            module.eval()
    trainable = {name: p for name, p in trial.named_parameters() if p.requires_grad}
    idle = list(trainable)
    losses: list[float] = []
    optimizer = torch.optim.Adam(trainable.values(), lr=lr) if trainable else None

    def run() -> str:
        for step in range(steps):
            trial.zero_grad()
            loss = loss_fn(trial(inputs.detach().clone()), targets.detach().clone())
            losses.append(loss.item())
            if not math.isfinite(losses[-1]):
                return "nonfinite"
            if not loss.requires_grad:
                return "no_gradient"
            loss.backward()
            idle[:] = [n for n in idle if trainable[n].grad is None or not trainable[n].grad.any()]
            if losses[-1] < threshold:
                return "ok"
            if step == 0 and len(idle) == len(trainable):
                return "no_gradient"
            optimizer.step()
        return "stuck"

    with torch.random.fork_rng():
        reason = run()
    return {"passed": reason == "ok", "reason": reason, "losses": losses, "idle": idle}
