"""The computed claims of content/questions/transformers.yaml."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor


def test_merging_heads_needs_the_transpose() -> None:
    """attention-shapes, attention-shapes-merge-line"""
    torch.manual_seed(0)
    B, s, h, d_h = 2, 5, 3, 4
    x = torch.randn(B, s, h * d_h)
    heads = x.view(B, s, h, d_h).transpose(1, 2)
    assert torch.equal(heads.transpose(1, 2).reshape(B, s, h * d_h), x)
    assert not torch.equal(heads.reshape(B, s, h * d_h), x)
    assert not torch.equal(heads.permute(2, 0, 1, 3).reshape(B, s, h * d_h), x)


def test_unscaled_scores_saturate_the_softmax() -> None:
    """attention-scale, attention-scale-unscaled-start"""
    torch.manual_seed(0)
    scores = torch.randn(2000, 128) @ torch.randn(1024, 128).T
    for scale, weight, keys in ((1.0, 0.8, 2), (128**-0.5, 0.016, 620)):
        p = (scores * scale).softmax(-1)
        entropy = -(p * p.clamp_min(1e-30).log()).sum(-1)
        assert p.amax(-1).mean().item() == pytest.approx(weight, rel=0.1)
        assert entropy.exp().mean().item() == pytest.approx(keys, rel=0.15)


def test_fully_masked_row() -> None:
    """attention-fully-masked-row and its variants"""
    torch.manual_seed(0)
    allowed = torch.ones(4, 4, dtype=torch.bool)
    allowed[1] = False
    additive = torch.zeros(4, 4).masked_fill(~allowed, -math.inf)
    q, k, v = (torch.randn(1, 1, 4, 8, requires_grad=True) for _ in range(3))
    for mask in (allowed, additive):
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        assert torch.equal(out[0, 0, 1], torch.zeros(8))
        assert not any(g.isnan().any() for g in torch.autograd.grad(out.sum(), (q, k, v)))
    weights = torch.nan_to_num((q @ k.mT + additive).softmax(-1))
    dq, dk, dv = torch.autograd.grad((weights @ v).sum(), (q, k, v))
    assert dq[0, 0].isnan().any(-1).tolist() == [False, True, False, False]
    assert dk.isnan().any(-1).all()
    assert not dv.isnan().any()
    lowest = torch.tensor(torch.finfo(torch.float32).min)
    assert lowest + lowest == -math.inf


def test_backward_of_attention() -> None:
    """attention-backward"""
    torch.manual_seed(0)
    q, k, v = (torch.randn(6, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    d_out, c = torch.randn(6, 4, dtype=torch.float64), 0.5
    p = (c * q @ k.T).softmax(-1)
    out = p @ v
    d_p = d_out @ v.T
    row = (p * d_p).sum(-1, keepdim=True)
    assert torch.allclose(row, (d_out * out).sum(-1, keepdim=True))
    d_s = p * (d_p - row)
    assert torch.allclose(d_s.sum(-1), torch.zeros(6, dtype=torch.float64))
    for got, want in zip(
        (c * d_s @ k, c * d_s.T @ q, p.T @ d_out), torch.autograd.grad(out, (q, k, v), d_out), strict=True
    ):
        assert torch.allclose(got, want)


def test_online_softmax_is_exact() -> None:
    """online-softmax"""
    torch.manual_seed(0)
    z, v = torch.randn(12, dtype=torch.float64) * 5, torch.randn(12, 3, dtype=torch.float64)
    top, total, out = torch.tensor(-math.inf), torch.tensor(0.0), torch.zeros(3, dtype=torch.float64)
    for block, values in zip(z.view(3, 4), v.view(3, 4, 3), strict=True):
        higher = torch.maximum(top, block.max())
        out = out * (top - higher).exp() + (block - higher).exp() @ values
        total = total * (top - higher).exp() + (block - higher).exp().sum()
        top = higher
    assert torch.allclose(out / total, z.softmax(0) @ v)


def test_rounding_of_scores_and_sums() -> None:
    """attention-softmax-precision"""
    total = torch.tensor(0.0, dtype=torch.bfloat16)
    for _ in range(300):
        total = total + 1
    assert total == 256
    assert torch.tensor([257.0, 259.0]).bfloat16().tolist() == [256, 260]
    assert math.exp(0.0625) - 1 == pytest.approx(0.064, abs=0.001)


def rotate(x: Tensor, position: int, interleaved: bool) -> Tensor:
    d = x.shape[-1]
    angle = position * 10000 ** (-torch.arange(d // 2, dtype=torch.float64) * 2 / d)
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    turned = (a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos())
    return torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)


@pytest.mark.parametrize("interleaved", [True, False])
def test_rope_depends_on_the_difference(interleaved: bool) -> None:
    """rope-relative-position"""
    torch.manual_seed(0)
    q, k = torch.randn(2, 16, dtype=torch.float64)
    score = rotate(q, 3, interleaved) @ rotate(k, 10, interleaved)
    assert torch.allclose(score, rotate(q, 1003, interleaved) @ rotate(k, 1010, interleaved))
    assert rotate(q, 7, interleaved).norm().item() == pytest.approx(q.norm().item())


def test_rope_layouts_differ_by_a_permutation() -> None:
    """scenario-rope-layout-mismatch, scenario-rope-layout-mismatch-row-index"""
    torch.manual_seed(0)
    x, d = torch.randn(16, dtype=torch.float64), 16
    moved = torch.empty_like(x)
    for j in range(d):
        moved[j // 2 + (j % 2) * d // 2] = x[j]
    expected = torch.empty_like(x)
    turned = rotate(x, 5, interleaved=True)
    for j in range(d):
        expected[j // 2 + (j % 2) * d // 2] = turned[j]
    assert torch.allclose(rotate(moved, 5, interleaved=False), expected)


def test_is_causal_is_aligned_to_the_top_left() -> None:
    """scenario-cache-mismatch-is-causal"""
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 50, 8), torch.randn(1, 1, 50, 8)
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(out, v[:, :, :1])


@pytest.mark.parametrize(("r", "p"), [(0.5, 0.9), (0.7, 0.95), (0.9, 0.9)])
def test_top_p_keeps_the_crossing_token(r: float, p: float) -> None:
    """sampling-filters-top-p-count"""
    probabilities = torch.tensor([(1 - r) * r**i for i in range(200)], dtype=torch.float64)
    before = probabilities.cumsum(0) - probabilities
    assert int((before < p).sum()) == math.ceil(math.log(1 - p) / math.log(r))


def test_multinomial_takes_weights() -> None:
    """sampling-filters-multinomial-logits"""
    torch.manual_seed(0)
    draws = torch.multinomial(torch.tensor([1.0, 3.0]), 20000, replacement=True)
    assert draws.float().mean().item() == pytest.approx(0.75, abs=0.02)
    with pytest.raises(RuntimeError):
        torch.multinomial(torch.tensor([1.0, -1.0]), 1)


def test_parameter_counts_of_known_models() -> None:
    """decoder-parameter-count"""

    def llama(f: int, V: int, h_kv: int) -> int:
        d, layers, h = 4096, 32, 32
        layer = 2 * d * d + 2 * d * d * h_kv // h + 3 * d * f
        return 2 * V * d + layers * layer + (2 * layers + 1) * d

    assert llama(11008, 32000, 32) / 1e9 == pytest.approx(6.74, abs=0.005)
    assert llama(14336, 128256, 8) / 1e9 == pytest.approx(8.03, abs=0.005)
    blocks, table = 12 * 12 * 768**2, 50257 * 768
    assert blocks / 1e6 == pytest.approx(84.9, abs=0.05)
    assert table / 1e6 == pytest.approx(38.6, abs=0.05)


def test_first_loss() -> None:
    """transformer-initialization and its variants"""
    torch.manual_seed(0)
    states = F.rms_norm(torch.randn(4096, 768), (768,))
    targets = torch.randint(5000, (4096,))
    for std in (0.02, 0.04):
        logits = states @ (std * torch.randn(5000, 768)).T
        expected = math.log(5000) + 768 * std**2 / 2
        assert F.cross_entropy(logits, targets).item() == pytest.approx(expected, abs=0.06)
    assert math.log(50257) == pytest.approx(10.825, abs=0.001)


def test_soft_cap_and_flops() -> None:
    """attention-logit-growth-soft-cap-gradient, when-6nd-fails"""
    s = torch.tensor(50.0, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(30 * torch.tanh(s / 30), s)
    assert grad.item() == pytest.approx(1 - math.tanh(50 / 30) ** 2)
    weights = 6 * (8.03e9 - 128256 * 4096) / 1e9
    attention = 12 * 32 * 4096 * 8192 / 1e9
    assert weights == pytest.approx(45, abs=0.1)
    assert attention == pytest.approx(12.9, abs=0.05)
    assert attention / weights == pytest.approx(0.29, abs=0.005)
