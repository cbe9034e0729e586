# fails: 12
# message: (T, B)
import torch
import torch.nn.functional as F


def sequence_logprobs(logits, labels):
    if logits.dim() != 3:
        raise ValueError("logits must be (B, T, V)")
    if labels.numel() != logits.shape[0] * logits.shape[1]:
        raise ValueError("labels must be (B, T)")
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    logp = F.log_softmax(logits[:, :-1], dim=-1)
    target = labels[:, 1:]
    mask = target != -100
    safe = target.masked_fill(~mask, 0)
    picked = logp.gather(2, safe.unsqueeze(2)).squeeze(2)
    return torch.where(mask, picked, torch.zeros_like(picked)).sum(1)


def dpo_loss(policy_chosen, policy_rejected, ref_chosen, ref_rejected, beta=0.1, label_smoothing=0.0):
    if beta <= 0:
        raise ValueError("beta must be positive")
    if not 0 <= label_smoothing < 0.5:
        raise ValueError("label_smoothing must be in [0, 0.5)")
    inputs = (policy_chosen, policy_rejected, ref_chosen, ref_rejected)
    if any(t.dim() != 1 or t.shape != policy_chosen.shape for t in inputs):
        raise ValueError("inputs must be (B,)")
    chosen = policy_chosen - ref_chosen.detach()
    rejected = policy_rejected - ref_rejected.detach()
    h = beta * (chosen - rejected)
    e = label_smoothing
    loss = (-(1 - e) * F.logsigmoid(h) - e * F.logsigmoid(-h)).mean()
    chosen_rewards = (beta * chosen).detach()
    rejected_rewards = (beta * rejected).detach()
    accuracy = (chosen_rewards > rejected_rewards).float().mean()
    return loss, chosen_rewards, rejected_rewards, accuracy
