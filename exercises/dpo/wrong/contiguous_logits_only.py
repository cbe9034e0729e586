# fails: 13
# message: need not be contiguous
import torch
import torch.nn.functional as F


def sequence_logprobs(logits, labels):
    if logits.dim() != 3 or labels.shape != logits.shape[:2]:
        raise ValueError("shapes")
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    scores, target = logits[:, :-1], labels[:, 1:]
    keep = target != -100
    safe = target.masked_fill(~keep, 0)
    logp = (
        torch.log_softmax(logits.view(-1, logits.shape[-1]), -1)
        .view(logits.shape)[:, :-1]
        .gather(-1, safe.unsqueeze(-1))
        .squeeze(-1)
    )
    return logp.masked_fill(~keep, 0.0).sum(-1)


def dpo_loss(policy_chosen, policy_rejected, ref_chosen, ref_rejected, beta=0.1, label_smoothing=0.0):
    if not beta > 0 or not 0 <= label_smoothing < 0.5:
        raise ValueError("beta/label_smoothing")
    four = (policy_chosen, policy_rejected, ref_chosen, ref_rejected)
    if any(t.dim() != 1 or t.shape != policy_chosen.shape for t in four):
        raise ValueError("shapes")
    a = beta * (policy_chosen - ref_chosen.detach())
    b = beta * (policy_rejected - ref_rejected.detach())
    h = a - b
    loss = (F.softplus(-h) * (1 - label_smoothing) + F.softplus(h) * label_smoothing).mean()
    a, b = a.detach(), b.detach()
    return loss, a, b, (a > b).to(loss.dtype).mean()
