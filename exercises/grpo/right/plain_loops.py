import math

import torch


def group_advantages(rewards, group_size, scale=True, eps=1e-4):
    if group_size < 2 or len(rewards) % group_size:
        raise ValueError("group_size")
    values = rewards.tolist()
    out = []
    for start in range(0, len(values), group_size):
        group = values[start : start + group_size]
        mean = sum(group) / group_size
        var = sum((r - mean) ** 2 for r in group) / (group_size - 1)
        for r in group:
            out.append((r - mean) / (math.sqrt(var) + eps) if scale else r - mean)
    return torch.tensor(out, dtype=rewards.dtype, device=rewards.device)


def token_logprobs(logits, tokens):
    rows = []
    for b in range(tokens.shape[0]):
        row = []
        for t in range(tokens.shape[1] - 1):
            row.append(torch.log_softmax(logits[b, t], 0)[tokens[b, t + 1]])
        rows.append(torch.stack(row))
    return torch.stack(rows)


def completion_mask(prompt_lengths, lengths, T):
    mask = torch.zeros(len(lengths), T - 1, dtype=torch.bool, device=lengths.device)
    for b, (p, n) in enumerate(zip(prompt_lengths.tolist(), lengths.tolist())):
        mask[b, p - 1 : n - 1] = True
    return mask


def kl_k3(logprobs, ref_logprobs):
    return torch.expm1(ref_logprobs - logprobs) + logprobs - ref_logprobs


def grpo_loss(logprobs, old_logprobs, advantages, mask, *, clip_eps=0.2, ref_logprobs=None, beta=0.0,
              aggregation="sequence", max_length=None):  # fmt: skip
    if mask.dtype != torch.bool:
        raise ValueError("mask")
    for x in (logprobs, old_logprobs, ref_logprobs):
        if x is not None and x.shape != mask.shape:
            raise ValueError("shape")
    if tuple(advantages.shape) != (len(mask),):
        raise ValueError("advantages")
    if clip_eps <= 0 or beta < 0 or (beta > 0 and ref_logprobs is None):
        raise ValueError("clip_eps or beta")
    if aggregation not in {"sequence", "token", "constant"}:
        raise ValueError("aggregation")
    if aggregation == "constant" and (max_length is None or max_length < 1):
        raise ValueError("max_length")
    zero = 0.0 * logprobs[mask].sum()
    total, count, means = zero, 0, []
    for b in range(mask.shape[0]):
        row, n = zero, 0
        gain = advantages[b].item()
        for t in range(mask.shape[1]):
            if not mask[b, t]:
                continue
            ratio = torch.exp(logprobs[b, t] - old_logprobs[b, t].item())
            limited = min(max(ratio.item(), 1 - clip_eps), 1 + clip_eps)
            cost = -ratio * gain if ratio.item() * gain <= limited * gain else -limited * gain
            if beta > 0:
                cost = cost + beta * kl_k3(logprobs[b, t], ref_logprobs[b, t].detach())
            row, n = row + cost, n + 1
        means.append(row / n if n else row)
        total, count = total + row, count + n
    if aggregation == "sequence":
        return sum(means) / len(means)
    return total / max(count, 1) if aggregation == "token" else total / (len(mask) * max_length)
