import torch
from torch import Tensor, nn


def sequence_logprobs(logits: Tensor, labels: Tensor) -> Tensor:
    if logits.ndim != 3:
        raise ValueError("logits must have three dimensions")
    if labels.shape != logits.shape[:-1]:
        raise ValueError("labels must match the logits")
    batch, length, vocab = logits.shape
    wide = logits if logits.dtype == torch.float64 else logits.to(torch.float32)
    nll = nn.functional.cross_entropy(
        wide[:, :-1].reshape(-1, vocab), labels[:, 1:].reshape(-1), ignore_index=-100, reduction="none"
    )
    return -nll.view(batch, length - 1).sum(-1)


def dpo_loss(policy_chosen, policy_rejected, ref_chosen, ref_rejected, beta=0.1, label_smoothing=0.0):
    if not beta > 0:
        raise ValueError("beta")
    if label_smoothing < 0 or label_smoothing >= 0.5:
        raise ValueError("label_smoothing")
    shapes = {tuple(t.shape) for t in (policy_chosen, policy_rejected, ref_chosen, ref_rejected)}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        raise ValueError("shapes")
    with torch.no_grad():
        chosen_rewards = (policy_chosen - ref_chosen) * beta
        rejected_rewards = (policy_rejected - ref_rejected) * beta
        accuracy = torch.mean((chosen_rewards > rejected_rewards).float())
        reference = ref_chosen - ref_rejected
    h = beta * (policy_chosen - policy_rejected - reference)
    # Binary cross-entropy with a soft label is the smoothed loss, and it is stable.
    soft = torch.full_like(h, 1.0 - label_smoothing)
    loss = nn.functional.binary_cross_entropy_with_logits(h, soft)
    return loss, chosen_rewards, rejected_rewards, accuracy
