"""One margin h per pair, the difference of its two rewards, decides loss, gradient and accuracy.

Memory: log-softmax keeps one (B, T - 1, V) tensor for the backward pass, about as many elements as the logits.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def sequence_logprobs(logits: Tensor, labels: Tensor) -> Tensor:
    """Sum of the log-probabilities of the labels that are not -100; (B, T, V), (B, T) -> (B,)."""
    if logits.dim() != 3 or labels.shape != logits.shape[:2]:
        raise ValueError("logits must be (B, T, V) and labels (B, T)")
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    targets = labels[:, 1:]
    counted = targets != -100
    log_probs = logits[:, :-1].log_softmax(dim=-1)
    picked = log_probs.gather(2, targets.masked_fill(~counted, 0).unsqueeze(2)).squeeze(2)
    return picked.masked_fill(~counted, 0.0).sum(dim=1)


def dpo_loss(
    policy_chosen: Tensor,
    policy_rejected: Tensor,
    ref_chosen: Tensor,
    ref_rejected: Tensor,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(loss, chosen_rewards, rejected_rewards, accuracy) from sequence log-probabilities of shape (B,)."""
    inputs = (policy_chosen, policy_rejected, ref_chosen, ref_rejected)
    if policy_chosen.dim() != 1 or any(t.shape != policy_chosen.shape for t in inputs):
        raise ValueError("the four inputs must have one shape (B,)")
    if beta <= 0 or not 0 <= label_smoothing < 0.5:
        raise ValueError("beta must be positive and label_smoothing in [0, 0.5)")
    chosen = beta * (policy_chosen - ref_chosen.detach())
    rejected = beta * (policy_rejected - ref_rejected.detach())
    h = chosen - rejected
    loss = -(1 - label_smoothing) * F.logsigmoid(h) - label_smoothing * F.logsigmoid(-h)
    accuracy = (chosen > rejected).to(h.dtype).mean()
    return loss.mean(), chosen.detach(), rejected.detach(), accuracy.detach()
