import torch
from torch import Tensor
from torch.nn.functional import log_softmax, logsigmoid


def sequence_logprobs(logits: Tensor, labels: Tensor) -> Tensor:
    if logits.dim() != 3 or labels.size() != logits.size()[:2]:
        raise ValueError("shapes do not fit")
    dtype = torch.promote_types(logits.dtype, torch.float32)
    rows, columns = (labels[:, 1:] != -100).nonzero(as_tuple=True)
    picked = log_softmax(logits[rows, columns], dim=-1, dtype=dtype)
    scores = picked[torch.arange(len(rows), device=logits.device), labels[rows, columns + 1]]
    out = torch.zeros(len(logits), dtype=dtype, device=logits.device)
    return out.index_add(0, rows, scores)


def dpo_loss(
    policy_chosen: Tensor,
    policy_rejected: Tensor,
    ref_chosen: Tensor,
    ref_rejected: Tensor,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    tensors = [policy_chosen, policy_rejected, ref_chosen.detach(), ref_rejected.detach()]
    if any(t.dim() != 1 for t in tensors) or len({t.numel() for t in tensors}) > 1:
        raise ValueError("four vectors of one length are needed")
    if beta <= 0 or label_smoothing < 0 or label_smoothing >= 0.5:
        raise ValueError("beta or label_smoothing out of range")
    pc, pr, rc, rr = tensors
    chosen, rejected = beta * (pc - rc), beta * (pr - rr)
    h = chosen - rejected
    loss = -logsigmoid(h).mean() + label_smoothing * h.mean()
    wins = (h.detach() > 0).to(h.dtype)
    return loss, chosen.detach(), rejected.detach(), wins.mean()
