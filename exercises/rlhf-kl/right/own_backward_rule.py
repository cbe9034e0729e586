from __future__ import annotations

import warnings
from typing import NamedTuple

import torch
from torch import Tensor


class Estimates(NamedTuple):
    advantages: Tensor
    returns: Tensor


def _validate(mask: Tensor, **tensors: Tensor) -> None:
    if mask.dtype is not torch.bool:
        raise ValueError(f"mask is {mask.dtype}, expected torch.bool")
    bad = {n: tuple(t.shape) for n, t in tensors.items() if t.shape != mask.shape}
    if bad:
        raise ValueError(f"expected shape {tuple(mask.shape)}, got {bad}")


def _unit(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"{name}={value} is not in [0, 1]")


@torch.inference_mode()
def _rewards(lp, ref, scores, mask, kl_coef):
    kl = torch.where(mask, lp - ref, torch.zeros((), dtype=lp.dtype, device=lp.device))
    from_right = mask.long().flip(-1).cumsum(-1).flip(-1)
    last = mask & (from_right == 1)
    return kl.mul(-kl_coef).add(torch.where(last, scores.to(lp.dtype).unsqueeze(-1), 0)).to(lp.dtype)


def kl_rewards(
    logprobs: Tensor,
    ref_logprobs: Tensor,
    scores: Tensor,
    mask: Tensor,
    kl_coef: float = 0.1,
    *,
    verbose: bool = False,
) -> Tensor:
    _validate(mask, logprobs=logprobs, ref_logprobs=ref_logprobs)
    if kl_coef < 0:
        raise ValueError(f"kl_coef={kl_coef} is negative")
    if scores.shape != mask.shape[:1]:
        raise ValueError(f"scores has shape {tuple(scores.shape)}")
    if verbose and not mask.any(-1).all():
        warnings.warn("rows without response tokens", stacklevel=2)
    return _rewards(logprobs, ref_logprobs, scores, mask, kl_coef).clone()


@torch.no_grad()
def gae(rewards: Tensor, values: Tensor, mask: Tensor, gamma: float = 1.0, lam: float = 0.95) -> Estimates:
    _validate(mask, rewards=rewards, values=values)
    _unit(gamma=gamma, lam=lam)
    zero = values.new_zeros(mask.shape[0])
    nv = na = zero
    columns = []
    for r, v, m in zip(rewards.unbind(1)[::-1], values.unbind(1)[::-1], mask.unbind(1)[::-1]):
        a = r.to(values.dtype) + gamma * nv - v + gamma * lam * na
        na, nv = torch.where(m, a, na), torch.where(m, v, nv)
        columns.append(torch.where(m, a, zero))
    adv = torch.stack(columns[::-1], 1) if columns else torch.zeros_like(values)
    return Estimates(adv, torch.where(mask, adv + values, 0.0))


class _Surrogate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, lp, old, a, mask, eps):
        log_ratio = (lp - old).masked_fill(~mask, 0.0)
        a = a.masked_fill(~mask, 0.0)
        ratio = log_ratio.exp()
        clipped = ((a > 0) & (ratio > 1 + eps)) | ((a < 0) & (ratio < 1 - eps))
        n = mask.sum().clamp(min=1)
        ctx.save_for_backward(torch.where(clipped, 0.0, -ratio * a) / n)
        return -torch.where(clipped, ratio.clamp(1 - eps, 1 + eps) * a, ratio * a).sum() / n

    @staticmethod
    def backward(ctx, g):
        (grad,) = ctx.saved_tensors
        return g * grad, None, None, None, None


def ppo_loss(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, mask: Tensor, clip_eps: float = 0.2
) -> Tensor:
    _validate(mask, logprobs=logprobs, old_logprobs=old_logprobs, advantages=advantages)
    if not clip_eps > 0:
        raise ValueError(f"clip_eps={clip_eps}")
    return _Surrogate.apply(logprobs, old_logprobs.detach(), advantages.detach(), mask, clip_eps)
