"""The computed claims of content/questions/compression.yaml."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn


def soft_gradient(z_s: Tensor, z_t: Tensor, t: float) -> Tensor:
    z = z_s.clone().requires_grad_()
    F.kl_div(F.log_softmax(z / t, -1), F.softmax(z_t / t, -1), reduction="batchmean").backward()
    assert z.grad is not None
    return z.grad


def logits() -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(0)
    z_s, z_t = torch.randn(2, 1, 10, generator=g, dtype=torch.float64)
    return z_s - z_s.mean(), z_t - z_t.mean()


def test_tempered_softmax() -> None:
    """distillation-temperature-loss, -tempered-probability"""
    z = torch.tensor([4.0, 2.0, 1.0])
    assert torch.softmax(z, 0).tolist() == pytest.approx([0.844, 0.114, 0.042], abs=5e-4)
    assert torch.softmax(z / 4, 0).tolist() == pytest.approx([0.481, 0.292, 0.227], abs=5e-4)
    assert torch.softmax(z / 1e4, 0).tolist() == pytest.approx([1 / 3] * 3, abs=1e-3)


def test_soft_gradient_is_q_minus_p_over_t_and_shrinks_as_one_over_t_squared() -> None:
    """distillation-temperature-loss"""
    z_s, z_t = logits()
    for t in (1.0, 2.0, 4.0):
        want = (torch.softmax(z_s / t, -1) - torch.softmax(z_t / t, -1)) / t
        assert torch.allclose(soft_gradient(z_s, z_t, t), want)
    limit = (z_s - z_t) / 10
    assert torch.allclose(soft_gradient(z_s, z_t, 1000.0) * 1000**2, limit, atol=5e-3)
    scaled = [soft_gradient(z_s, z_t, t).norm().item() * t**2 for t in (4.0, 8.0, 16.0)]
    assert max(scaled) / min(scaled) < 1.3


def test_kl_div_calling_conventions() -> None:
    """distillation-temperature-loss, -torch-call, -soft-term"""
    s, t = torch.randn(4, 10), torch.randn(4, 10)
    p, q = F.softmax(t, -1), F.softmax(s, -1)
    true = (p * (p.log() - q.log())).sum(-1).mean()
    right = F.kl_div(F.log_softmax(s, -1), p, reduction="batchmean")
    assert torch.allclose(right, true, atol=1e-6)
    mean = (p * (p.log() - q.log())).mean()
    assert torch.allclose(mean * 10, true, atol=1e-6)
    swapped = F.kl_div(p, F.log_softmax(s, -1), reduction="batchmean")
    assert not torch.allclose(swapped, true)
    two = F.kl_div(torch.tensor([[0.6, 0.4]]).log(), torch.tensor([[0.9, 0.1]]), reduction="batchmean")
    assert 16 * two.item() == pytest.approx(3.6206, abs=1e-3)


def test_zeroed_weights_come_back_under_momentum() -> None:
    """pruning-structured-unstructured, pruning-structured-unstructured-momentum-revives"""
    w = nn.Parameter(torch.tensor([1.0, 1.0]))
    opt = torch.optim.SGD([w], lr=0.1, momentum=0.9, weight_decay=0.1)
    w.grad = torch.ones(2)
    opt.step()
    mask = torch.tensor([0.0, 1.0])
    w.data *= mask
    w.grad = torch.ones(2) * mask
    opt.step()
    assert w[0] != 0
    plain = nn.Parameter(torch.zeros(1))
    sgd = torch.optim.SGD([plain], lr=0.1, weight_decay=0.1)
    plain.grad = torch.zeros(1)
    sgd.step()
    assert plain.item() == 0


def test_channel_pruning_multiplies_and_tickets_shrink_geometrically() -> None:
    """pruning-structured-unstructured-channel-flops, lottery-ticket, lottery-ticket-remaining-weights"""
    full, half = nn.Conv2d(8, 16, 3, bias=False), nn.Conv2d(4, 8, 3, bias=False)
    assert half.weight.numel() / full.weight.numel() == 0.25
    w = torch.randn(100_000)
    for _ in range(10):
        keep = w.abs().argsort(descending=True)[: round(len(w) * 0.8)]
        w = w[keep]
    assert len(w) / 100_000 == pytest.approx(0.107, abs=5e-4)
    assert pytest.approx(0.328, abs=5e-4) == 0.8**5


def test_rounding_error_of_int8() -> None:
    """quantization-ptq-vs-qat: at most s/2, variance about s²/12"""
    g = torch.Generator().manual_seed(0)
    x = torch.rand(200_000, generator=g) * 2 - 1
    s = x.abs().max() / 127
    q = torch.round(x / s)
    assert q.abs().max() == 127
    error = x - q * s
    assert error.abs().max() <= s / 2 * 1.001
    assert (error.var() / (s**2 / 12)).item() == pytest.approx(1, abs=0.02)


def test_int8_codes_and_zero_points() -> None:
    """quantization-ptq-vs-qat-int8-code, quantization-ptq-vs-qat-zero-point"""
    for m, x, code in ((6.35, 1.23, 25), (12.7, -0.86, -9), (3.175, 2.94, 118)):
        got = torch.fake_quantize_per_tensor_affine(torch.tensor([x]), m / 127, 0, -127, 127)
        assert got.item() == pytest.approx(code * m / 127, rel=1e-5)
    assert pytest.approx(0.05) == 6.35 / 127
    for lo, hi in ((-1.0, 3.0), (-2.0, 1.7), (-0.5, 4.2)):
        s = (hi - lo) / 255
        z = round(-lo / s)
        ends = torch.fake_quantize_per_tensor_affine(torch.tensor([lo, 0.0, hi]), s, z, 0, 255)
        assert ends[1] == 0
        assert torch.allclose(ends, torch.tensor([lo, 0.0, hi]), atol=s)


def test_round_has_no_gradient_and_clipping_can_help() -> None:
    """quantization-ptq-vs-qat"""
    x = torch.tensor([0.3, 1.7], requires_grad=True)
    torch.round(x).sum().backward()
    assert x.grad is not None
    assert (x.grad == 0).all()
    g = torch.Generator().manual_seed(0)
    w = torch.randn(4096, generator=g)
    w[0] = 20.0

    def squared_error(limit: float) -> float:
        s = limit / 7
        return (w - torch.clamp(torch.round(w / s), -7, 7) * s).square().mean().item()

    assert min(squared_error(c) for c in (4.0, 6.0, 10.0)) < squared_error(20.0)


def test_per_channel_beats_per_tensor() -> None:
    """quantization-ptq-vs-qat"""
    g = torch.Generator().manual_seed(0)
    w = torch.randn(16, 64, generator=g) * torch.logspace(-2, 0, 16)[:, None]
    one, many = w.abs().max() / 127, w.abs().amax(1, keepdim=True) / 127
    errors = [(w - torch.round(w / s) * s).square().mean().item() for s in (one, many)]
    assert errors[1] < errors[0] / 2


def test_memory_of_four_bit_models() -> None:
    """four-bit-llm-memory, four-bit-llm-memory-group-scales"""
    blocks = torch.zeros(1000, 128)
    codes = blocks.numel() * 4 / 8
    scale = torch.zeros(1000, dtype=torch.float16)
    zero = torch.zeros(1000, dtype=torch.int16)
    per_weight = (codes + scale.nbytes) / blocks.numel()
    assert 70 * per_weight == pytest.approx(36.1, abs=0.05)
    assert 70 * (codes + scale.nbytes + zero.nbytes) / blocks.numel() == pytest.approx(37.2, abs=0.05)
    assert (7 * 2, 7 * 1, 7 * 0.5, 70 * 2, 70 * 0.5) == (14, 7, 3.5, 140, 35)


NF4 = [
    -1.0, -0.6961928, -0.5250731, -0.3949175, -0.2844414, -0.1847734, -0.0910500, 0.0,
    0.0795803, 0.1609302, 0.2461123, 0.3379152, 0.4407098, 0.5626170, 0.7229568, 1.0,
]  # fmt: skip


def test_nf4_levels() -> None:
    """nf4-double-quantization, nf4-double-quantization-exact-level: levels from normal quantiles"""
    offset = 0.9677083
    normal = torch.distributions.Normal(0.0, 1.0)
    positive = normal.icdf(torch.linspace(offset, 0.5, 9)[:-1])
    negative = -normal.icdf(torch.linspace(offset, 0.5, 8)[:-1])
    levels = torch.cat([positive, torch.zeros(1), negative])
    levels = (levels / levels.max()).sort().values
    assert levels.tolist() == pytest.approx(NF4, abs=1e-4)
    assert {0.0, 1.0, -1.0} <= set(NF4)
    assert not {0.5, -0.5, 0.25} & set(NF4)


def blockwise_error(w: Tensor, levels: Tensor) -> float:
    blocks = w.view(-1, 64)
    scale = blocks.abs().amax(1, keepdim=True)
    nearest = ((blocks / scale)[..., None] - levels).abs().argmin(-1)
    return (blocks - levels[nearest] * scale).square().mean().item()


def test_nf4_beats_uniform_int4_on_gaussian_weights() -> None:
    """nf4-double-quantization"""
    g = torch.Generator().manual_seed(0)
    w = torch.randn(64 * 500, generator=g)
    assert blockwise_error(w, torch.tensor(NF4)) < blockwise_error(w, torch.arange(-7, 8) / 7)
    spoilt = w.clone()
    spoilt[0] = 50.0
    nf4 = torch.tensor(NF4)
    assert blockwise_error(spoilt[:64], nf4) > 5 * blockwise_error(w[:64], nf4)
    assert blockwise_error(spoilt[64:], nf4) == blockwise_error(w[64:], nf4)


def test_bits_of_double_quantisation() -> None:
    """nf4-double-quantization, -block-bits, -double-bits, -double-saving"""
    n = 64 * 256 * 4
    plain = n * 4 + n // 64 * 32
    double = n * 4 + n // 64 * 8 + n // 64 // 256 * 32
    assert plain / n == 4.5
    assert double / n == pytest.approx(4.127, abs=5e-4)
    assert double / n - 4 == pytest.approx(0.127, abs=5e-4)
    assert 16 / (double / n) == pytest.approx(3.88, abs=5e-3)
    assert double / n / 8 == pytest.approx(0.516, abs=5e-4)
    assert plain / n / 8 == 0.5625
    assert 65 * (plain - double) / n / 8 == pytest.approx(3.03, abs=0.01)
    assert math.isclose((plain - double) / n, 0.373, abs_tol=5e-4)
