import torch
from torch import Tensor, einsum
from torch.nn.functional import one_hot

DIVISORS = {
    "sequence": lambda m, L: m.sum(-1, keepdim=True).clamp(min=1) * m.size(0),
    "token": lambda m, L: m.sum().clamp(min=1),
    "constant": lambda m, L: m.new_tensor(m.size(0) * L),
}


def group_advantages(rewards: Tensor, group_size: int, scale: bool = True, eps: float = 1e-4) -> Tensor:
    if group_size < 2:
        raise ValueError("a group has at least two completions")
    if rewards.size(0) % group_size != 0:
        raise ValueError("incomplete group")
    out = torch.empty_like(rewards)
    for source, target in zip(rewards.split(group_size), out.split(group_size)):
        target.copy_((source - source.mean()) / (source.std() + eps if scale else 1.0))
    return out


def token_logprobs(logits: Tensor, tokens: Tensor) -> Tensor:
    hot = one_hot(tokens[:, 1:], logits.size(-1)).to(logits.dtype)
    return einsum("btv,btv->bt", torch.log_softmax(logits[:, :-1], -1), hot)


def completion_mask(prompt_lengths: Tensor, lengths: Tensor, T: int) -> Tensor:
    out = torch.zeros(lengths.size(0), T + 1, dtype=torch.int64, device=lengths.device)
    one = torch.ones_like(lengths)[:, None]
    out.scatter_add_(1, prompt_lengths[:, None], one)
    out.scatter_add_(1, lengths[:, None], -one)
    return out.cumsum(1)[:, 1:T] == 1


def kl_k3(logprobs: Tensor, ref_logprobs: Tensor) -> Tensor:
    return (ref_logprobs - logprobs).exp() - (ref_logprobs - logprobs) - 1


def grpo_loss(logprobs, old_logprobs, advantages, mask, *, clip_eps=0.2, ref_logprobs=None, beta=0.0,
              aggregation="sequence", max_length=None):  # fmt: skip
    problems = {
        "clip_eps": clip_eps <= 0,
        "beta": beta < 0,
        "ref_logprobs": (ref_logprobs is None and beta > 0)
        or (ref_logprobs is not None and ref_logprobs.shape != mask.shape),
        "aggregation": aggregation not in DIVISORS,
        "max_length": aggregation == "constant" and (max_length or 0) < 1,
        "mask": mask.dtype != torch.bool,
        "logprobs": logprobs.shape != mask.shape,
        "old_logprobs": old_logprobs.shape != mask.shape,
        "advantages": advantages.shape != mask.shape[:1],
    }
    if bad := [name for name, wrong in problems.items() if wrong]:
        raise ValueError(", ".join(bad))
    with torch.no_grad():
        A = advantages.unsqueeze(1).expand(mask.shape)
        weight = mask / DIVISORS[aggregation](mask.to(logprobs.dtype), max_length)
        old = torch.where(mask, old_logprobs, 0.0)
        ref = torch.where(mask, ref_logprobs, 0.0) if beta > 0 else None
    new = torch.where(mask, logprobs, 0.0)
    ratio = torch.exp(new - old)
    floor = torch.full_like(ratio, 1 - clip_eps)
    ceiling = torch.full_like(ratio, 1 + clip_eps)
    gain = torch.where(A >= 0, torch.minimum(ratio, ceiling), torch.maximum(ratio, floor)) * A
    loss = -einsum("bt,bt->", weight, gain)
    if beta > 0:
        loss = loss + beta * einsum("bt,bt->", weight, kl_k3(new, ref))
    return loss
