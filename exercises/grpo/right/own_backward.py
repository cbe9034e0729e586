"""The gradient is written down instead of recorded."""

import torch


def _require(condition, text):
    if not condition:
        raise ValueError(text)


def group_advantages(rewards, group_size, scale=True, eps=1e-4):
    _require(group_size >= 2 and rewards.shape[0] % group_size == 0, "group_size")
    r = rewards.double().reshape(-1, group_size)
    var, mean = torch.var_mean(r, dim=-1, keepdim=True)
    out = (r - mean) / (var.sqrt() + eps) if scale else r - mean
    return out.to(rewards.dtype).flatten()


def token_logprobs(logits, tokens):
    picked = torch.take_along_dim(logits[:, :-1], tokens[:, 1:, None], dim=-1)[..., 0]
    return picked - torch.logsumexp(logits[:, :-1], dim=-1)


def completion_mask(prompt_lengths, lengths, T):
    after_prompt = torch.arange(1, T, device=lengths.device)[None, :] - prompt_lengths[:, None]
    return (after_prompt >= 0) & (after_prompt < (lengths - prompt_lengths)[:, None])


def kl_k3(logprobs, ref_logprobs):
    d = ref_logprobs - logprobs
    return torch.expm1(d) - d


class _Cost(torch.autograd.Function):
    @staticmethod
    def forward(ctx, new, old, ref, A, weight, mask, eps, beta):
        zero = torch.zeros((), dtype=torch.float64, device=new.device)
        log_ratio = torch.where(mask, new.double() - old.double(), zero)
        ratio = log_ratio.exp()
        A = A.double().unsqueeze(-1).expand_as(ratio)
        stopped = ((A > 0) & (ratio > 1 + eps)) | ((A < 0) & (ratio < 1 - eps))
        bound = torch.where(A > 0, 1 + eps, 1 - eps)
        cost = -torch.where(stopped, bound, ratio) * A
        slope = torch.where(stopped, zero, -ratio * A)
        if beta > 0:
            d = torch.where(mask, ref.double() - new.double(), zero)
            cost = cost + beta * (d.exp() - d - 1)
            slope = slope + beta * (1 - d.exp())
        ctx.save_for_backward(torch.where(mask, slope * weight, zero).to(new.dtype))
        return torch.where(mask, cost * weight, zero).sum().to(new.dtype)

    @staticmethod
    def backward(ctx, grad):
        (slope,) = ctx.saved_tensors
        return grad * slope, None, None, None, None, None, None, None


def grpo_loss(
    logprobs, old_logprobs, advantages, mask, *,
    clip_eps=0.2, ref_logprobs=None, beta=0.0, aggregation="sequence", max_length=None,
):  # fmt: skip
    _require(mask.dtype == torch.bool, "mask")
    _require(logprobs.shape == mask.shape == old_logprobs.shape, "shape")
    _require(advantages.shape == mask.shape[:1], "advantages")
    _require(clip_eps > 0 and beta >= 0, "clip_eps, beta")
    _require(beta == 0 or ref_logprobs is not None, "ref_logprobs")
    _require(ref_logprobs is None or ref_logprobs.shape == mask.shape, "ref_logprobs")
    B = mask.shape[0]
    match aggregation:
        case "sequence":
            weight = 1 / (mask.sum(1, keepdim=True).clamp(min=1) * B)
        case "token":
            weight = 1 / mask.sum().clamp(min=1)
        case "constant":
            _require(max_length is not None and max_length >= 1, "max_length")
            weight = torch.tensor(1 / (B * max_length), device=mask.device)
        case _:
            raise ValueError(aggregation)
    ref = logprobs if ref_logprobs is None else ref_logprobs
    fixed = (old_logprobs.detach(), ref.detach(), advantages.detach(), weight.double(), mask)
    return _Cost.apply(logprobs, *fixed, clip_eps, beta)
