# fails: 5
import torch


def _check(param: torch.Tensor, grad: torch.Tensor, lr: float, eps: float, *decays: float) -> None:
    if grad.shape != param.shape:
        raise ValueError(
            f"gradient of shape {tuple(grad.shape)} for a parameter of shape {tuple(param.shape)}"
        )
    if lr < 0 or eps < 0:
        raise ValueError("lr and eps must not be negative")
    if not all(0 <= decay < 1 for decay in decays):
        raise ValueError("decay rates lie in [0, 1)")


@torch.no_grad()
def adagrad_step(
    param: torch.Tensor, grad: torch.Tensor, state: dict, lr: float = 1e-2, eps: float = 1e-10
) -> tuple[torch.Tensor, dict]:
    """One step of Adagrad; returns the new parameter and the new state."""
    _check(param, grad, lr, eps)
    total = state.get("sum", torch.zeros_like(param)) + grad**2
    return param - lr * grad / (total.sqrt() + eps), {"sum": total}


@torch.no_grad()
def rmsprop_step(
    param: torch.Tensor,
    grad: torch.Tensor,
    state: dict,
    lr: float = 1e-2,
    alpha: float = 0.99,
    eps: float = 1e-8,
) -> tuple[torch.Tensor, dict]:
    """One step of RMSprop; returns the new parameter and the new state."""
    _check(param, grad, lr, eps, alpha)
    square = alpha * state.get("square", torch.zeros_like(param)) + (1 - alpha) * grad**2
    return param - lr * grad / (square.sqrt() + eps), {"square": square}


@torch.no_grad()
def adam_step(
    param: torch.Tensor,
    grad: torch.Tensor,
    state: dict,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
) -> tuple[torch.Tensor, dict]:
    """One step of Adam; returns the new parameter and the new state."""
    beta1, beta2 = betas
    _check(param, grad, lr, eps, beta1, beta2)
    count = state.get("t", torch.zeros((), dtype=torch.float64))
    count += 1
    t = int(count)
    m = beta1 * state.get("m", torch.zeros_like(param)) + (1 - beta1) * grad
    v = beta2 * state.get("v", torch.zeros_like(param)) + (1 - beta2) * grad**2
    m_hat = m / (1 - beta1**t)
    v_hat = v / (1 - beta2**t)
    return param - lr * m_hat / (v_hat.sqrt() + eps), {"t": count, "m": m, "v": v}
