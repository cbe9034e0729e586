import torch
from torch import Tensor


class Running:
    """Numerator, denominator and maximum, as FlashAttention keeps them."""

    def __init__(self, top: Tensor, total: Tensor, numerator: Tensor):
        self.top, self.total, self.numerator = top, total, numerator

    @classmethod
    def of_scores(cls, scores: Tensor, v: Tensor):
        top = scores.max(-1)[0].detach()
        top = top.masked_fill(torch.isneginf(top), 0)
        p = torch.exp(scores - top.unsqueeze(-1))
        return cls(top, p.sum(-1), p @ v)

    @classmethod
    def of_result(cls, out: Tensor, lse: Tensor):
        top = lse.detach().masked_fill(torch.isneginf(lse), 0)
        total = torch.exp(lse - top)
        return cls(top, total, out * total.unsqueeze(-1))

    def plus(self, other):
        a = torch.where(self.total.detach() > 0, self.top, torch.finfo(self.top.dtype).min)
        b = torch.where(other.total.detach() > 0, other.top, torch.finfo(other.top.dtype).min)
        top = torch.maximum(a, b)
        x, y = torch.exp(a - top), torch.exp(b - top)
        return Running(
            top,
            x * self.total + y * other.total,
            x.unsqueeze(-1) * self.numerator + y.unsqueeze(-1) * other.numerator,
        )

    def result(self):
        empty = self.total == 0
        total = self.total.masked_fill(empty, 1)
        lse = (self.top + torch.log(total)).masked_fill(empty, float("-inf"))
        return self.numerator / total.unsqueeze(-1), lse


def _block(q, k, v, causal, q_start, k_start):
    if q.dtype.itemsize == 2:
        q, k, v = q.float(), k.float(), v.float()
    scores = q.matmul(k.transpose(2, 3)).div(q.shape[3] ** 0.5)
    if causal:
        i = torch.arange(q.shape[2], device=q.device)[:, None] + q_start
        j = torch.arange(k.shape[2], device=q.device)[None, :] + k_start
        scores = scores + torch.zeros_like(scores).masked_fill(j > i, float("-inf"))
    return Running.of_scores(scores, v)


def block_attention(q, k, v, *, causal=False, q_start=0, k_start=0):
    return _block(q, k, v, causal, q_start, k_start).result()


def merge(out_a, lse_a, out_b, lse_b):
    return Running.of_result(out_a, lse_a).plus(Running.of_result(out_b, lse_b)).result()


def ring_attention(q, kv_blocks, *, causal=False, q_start=0):
    running = None
    for k_start, k, v in kv_blocks:
        part = _block(q, k, v, causal, q_start, k_start)
        running = part if running is None else running.plus(part)
    if running is None:
        raise ValueError("kv_blocks is empty")
    return running.result()[0].to(q.dtype)
