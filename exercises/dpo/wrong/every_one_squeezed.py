# fails: 2
# message: two tokens
import torch
import torch.nn.functional as F


def sequence_logprobs(logits, labels):
    if logits.dim() != 3:
        raise ValueError("logits must be (B, T, V)")
    if labels.shape != logits.shape[:-1]:
        raise ValueError("labels must be (B, T)")
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    logits = logits[:, :-1]
    labels = labels[:, 1:]
    mask = labels != -100
    safe = labels.masked_fill(~mask, 0)
    logp = F.log_softmax(logits, dim=-1).gather(-1, safe.unsqueeze(-1)).squeeze()
    return torch.where(mask, logp, 0.0).sum(-1)


def dpo_loss(policy_chosen, policy_rejected, ref_chosen, ref_rejected, beta=0.1, label_smoothing=0.0):
    if not beta > 0:
        raise ValueError("beta must be positive")
    if not 0 <= label_smoothing < 0.5:
        raise ValueError("label_smoothing must lie in [0, 0.5)")
    inputs = (policy_chosen, policy_rejected, ref_chosen, ref_rejected)
    if policy_chosen.dim() != 1 or any(t.shape != policy_chosen.shape for t in inputs):
        raise ValueError("the inputs must all be (B,)")
    ref_chosen = ref_chosen.detach()
    ref_rejected = ref_rejected.detach()
    h = beta * ((policy_chosen - ref_chosen) - (policy_rejected - ref_rejected))
    e = label_smoothing
    loss = (-(1 - e) * F.logsigmoid(h) - e * F.logsigmoid(-h)).mean()
    chosen = (beta * (policy_chosen - ref_chosen)).detach()
    rejected = (beta * (policy_rejected - ref_rejected)).detach()
    accuracy = (chosen > rejected).to(h.dtype).mean()
    return loss, chosen, rejected, accuracy
