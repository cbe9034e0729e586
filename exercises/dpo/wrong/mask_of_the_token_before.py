# fails: 2
# message: said by that label
"""Direct Preference Optimization (Rafailov et al., 2023)."""

from typing import Tuple

import torch
import torch.nn.functional as F
from torch import Tensor


def sequence_logprobs(logits: Tensor, labels: Tensor) -> Tensor:
    if logits.dim() != 3:
        raise ValueError(f"Expected 3D logits (B, T, V), got {logits.dim()}D")
    if labels.dim() != 2 or logits.shape[:-1] != labels.shape:
        raise ValueError(f"Labels shape {labels.shape} doesn't match logits {logits.shape[:-1]}")
    batch_size, seq_len, _ = logits.shape

    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.to(torch.float32)

    if seq_len < 2:
        return logits.sum(dim=(1, 2)) * 0.0

    shift_logits = logits[:, :-1, :]
    shift_labels = labels[:, 1:].clone()
    loss_mask = labels[:, :-1] != -100
    shift_labels = shift_labels.clamp(min=0)

    log_probs = F.log_softmax(shift_logits, dim=-1)
    per_token = torch.gather(log_probs, dim=2, index=shift_labels.unsqueeze(2)).squeeze(2)
    return (per_token * loss_mask).sum(dim=-1)


def dpo_loss(
    policy_chosen: Tensor,
    policy_rejected: Tensor,
    ref_chosen: Tensor,
    ref_rejected: Tensor,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    if beta <= 0:
        raise ValueError(f"beta must be positive, got {beta}")
    if not (0.0 <= label_smoothing < 0.5):
        raise ValueError(f"label_smoothing must be in [0, 0.5), got {label_smoothing}")
    shapes = [t.shape for t in (policy_chosen, policy_rejected, ref_chosen, ref_rejected)]
    if not all(s == shapes[0] for s in shapes):
        raise ValueError(f"All inputs must have the same shape, got {shapes}")
    if len(shapes[0]) != 1:
        raise ValueError("Inputs must be 1-dimensional (B,)")

    ref_chosen = ref_chosen.detach()
    ref_rejected = ref_rejected.detach()

    pi_logratios = policy_chosen - policy_rejected
    ref_logratios = ref_chosen - ref_rejected
    logits = pi_logratios - ref_logratios

    losses = (
        -F.logsigmoid(beta * logits) * (1 - label_smoothing) - F.logsigmoid(-beta * logits) * label_smoothing
    )
    loss = losses.mean()

    chosen_rewards = (beta * (policy_chosen - ref_chosen)).detach()
    rejected_rewards = (beta * (policy_rejected - ref_rejected)).detach()
    reward_accuracy = (chosen_rewards > rejected_rewards).float().mean()

    return loss, chosen_rewards, rejected_rewards, reward_accuracy
