import torch


def sequence_logprobs(logits, labels):
    if logits.ndim != 3 or tuple(labels.shape) != tuple(logits.shape[:-1]):
        raise ValueError("(B, T, V) and (B, T)")
    B, T, V = logits.shape
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    rows, cols = torch.nonzero(labels[:, 1:] != -100, as_tuple=True)
    picked = wide[rows, cols]
    values = picked[torch.arange(len(rows), device=logits.device), labels[rows, cols + 1]] - torch.logsumexp(
        picked, dim=-1
    )
    return wide.new_zeros(B).index_add(0, rows, values)


def dpo_loss(policy_chosen, policy_rejected, ref_chosen, ref_rejected, beta=0.1, label_smoothing=0.0):
    if beta <= 0:
        raise ValueError("beta")
    if label_smoothing < 0 or label_smoothing >= 0.5:
        raise ValueError("label_smoothing")
    shapes = {tuple(t.shape) for t in (policy_chosen, policy_rejected, ref_chosen, ref_rejected)}
    if len(shapes) != 1 or len(shapes.pop()) != 1:
        raise ValueError("(B,)")
    with torch.no_grad():
        rewards = [beta * (p - r) for p, r in ((policy_chosen, ref_chosen), (policy_rejected, ref_rejected))]
        accuracy = torch.gt(*rewards).float().mean()
        constant = ref_rejected - ref_chosen
    h = ((policy_chosen - policy_rejected) + constant) * beta
    # (1-e) softplus(-h) + e softplus(h) = softplus(-h) + e h
    zero = torch.zeros_like(h)
    per_pair = torch.logaddexp(zero, -h) + label_smoothing * h
    return per_pair.mean(), *rewards, accuracy
