import torch


def _row(logits, labels):
    total = logits.new_zeros(())
    for t in range(1, len(labels)):
        y = int(labels[t])
        if y != -100:
            z = logits[t - 1]
            total = total + z[y] - torch.logsumexp(z, 0)
    return total


def sequence_logprobs(logits, labels):
    if logits.ndim != 3 or tuple(labels.shape) != tuple(logits.shape[:2]):
        raise ValueError("logits (B, T, V), labels (B, T)")
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.to(torch.float32)
    # slow but plain; log p = z_y - logsumexp z
    return torch.stack([_row(a, b) for a, b in zip(logits, labels)])


class _PairLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, e):
        ctx.save_for_backward(h)
        ctx.e = e
        zero = torch.zeros_like(h)
        return ((1 - e) * torch.logaddexp(zero, -h) + e * torch.logaddexp(zero, h)).mean()

    @staticmethod
    def backward(ctx, g):
        (h,) = ctx.saved_tensors
        return g * (ctx.e * torch.sigmoid(h) - (1 - ctx.e) * torch.sigmoid(-h)) / h.numel(), None


def dpo_loss(policy_chosen, policy_rejected, ref_chosen, ref_rejected, beta=0.1, label_smoothing=0.0):
    if not beta > 0:
        raise ValueError("beta")
    if not 0 <= label_smoothing < 0.5:
        raise ValueError("label_smoothing")
    four = [policy_chosen, policy_rejected, ref_chosen, ref_rejected]
    if any(t.ndim != 1 or t.shape != policy_chosen.shape for t in four):
        raise ValueError("shape")
    policy = torch.stack(four[:2])
    ref = torch.stack(four[2:]).detach()
    rewards = beta * (policy - ref)
    loss = _PairLoss.apply(rewards[0] - rewards[1], label_smoothing)
    c, r = rewards.detach().unbind()
    return loss, c, r, torch.tensor((c > r).double().mean().item(), dtype=c.dtype, device=c.device)
