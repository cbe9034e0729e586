import torch
import torch.nn.functional as F


def sequence_logprobs(logits, labels):
    if logits.dim() != 3 or tuple(labels.shape) != tuple(logits.shape[:-1]):
        raise ValueError("expected logits (B, T, V) and labels (B, T)")
    if logits.dtype in {torch.half, torch.bfloat16}:
        logits = logits.to(torch.float32)
    total = logits.new_zeros(logits.shape[0])
    for t in range(1, logits.shape[1]):
        target = labels[:, t]
        keep = target.ne(-100)
        step = logits[:, t - 1]
        index = torch.where(keep, target, torch.zeros_like(target))
        value = step.gather(-1, index[:, None])[:, 0] - torch.logsumexp(step, dim=-1)
        total = total + torch.where(keep, value, torch.zeros_like(value))
    return total


def dpo_loss(policy_chosen, policy_rejected, ref_chosen, ref_rejected, beta=0.1, label_smoothing=0.0):
    if beta <= 0:
        raise ValueError(f"beta must be positive, got {beta}")
    if not (0.0 <= label_smoothing < 0.5):
        raise ValueError(f"label_smoothing must lie in [0, 0.5), got {label_smoothing}")
    for other in (policy_rejected, ref_chosen, ref_rejected):
        if policy_chosen.ndim != 1 or other.shape != policy_chosen.shape:
            raise ValueError("sequence log-probabilities must share one shape (B,)")
    ref_chosen, ref_rejected = ref_chosen.detach(), ref_rejected.detach()
    chosen, rejected = policy_chosen - ref_chosen, policy_rejected - ref_rejected
    h = beta * (chosen - rejected)
    loss = ((1 - label_smoothing) * F.softplus(-h) + label_smoothing * F.softplus(h)).mean()
    rewards = beta * chosen.detach(), beta * rejected.detach()
    return (loss, *rewards, torch.gt(*rewards).double().mean().to(h.dtype))
