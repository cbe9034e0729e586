"""Computed claims of content/questions/precision.yaml."""

import math
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

BF16, FP16 = torch.bfloat16, torch.float16


def test_format_limits() -> None:
    """fp16-vs-bf16, fp16-vs-bf16-largest-value, -epsilon-bits, -limits, float64-verify-mode."""
    for dtype, e_bits, m in ((FP16, 5, 10), (BF16, 8, 7)):
        info = torch.finfo(dtype)
        largest = (2 - 2.0**-m) * 2.0 ** (2 ** (e_bits - 1) - 1)
        assert info.max == pytest.approx(largest)
        assert math.ceil(math.log2(largest)) == 2 ** (e_bits - 1)
        assert info.eps == 2.0**-m
    assert torch.finfo(FP16).max == 65504
    assert torch.finfo(FP16).smallest_normal == 2.0**-14
    assert torch.finfo(BF16).smallest_normal == pytest.approx(1.18e-38, rel=0.01)
    order = [torch.float64, torch.float32, FP16, BF16]
    eps = [torch.finfo(d).eps for d in order]
    assert eps == sorted(eps)


def test_bf16_rounding_of_additions() -> None:
    """fp16-vs-bf16-tiny-increment, -count-stuck, fp32-master-weights-bf16-step, mixed-precision-training."""
    one = torch.tensor(1.0, dtype=BF16)
    results = {x: (one + torch.tensor(x, dtype=BF16)).item() for x in (0.001, 0.003, 0.004, -0.003)}
    assert results[0.001] == 1.0
    assert results[0.003] == 1.0
    assert results[0.004] == 1.0078125
    assert results[-0.003] == pytest.approx(0.996, abs=2e-4)
    assert (torch.tensor(256.0, dtype=BF16) + 1).item() == 256
    assert (torch.tensor(2048.0, dtype=FP16) + 1).item() == 2048
    assert (torch.tensor(1.0, dtype=FP16) + 0.001).item() == pytest.approx(1.00098, abs=1e-5)
    assert torch.isinf(torch.tensor(3e38, dtype=BF16) * 2)


def test_fp16_subnormals_and_zero() -> None:
    """loss-scaling, loss-scaling-smallest-kept, amp-without-scaler-smallest."""
    half = lambda v: torch.tensor(v, dtype=FP16).item()  # noqa: E731
    assert half(2.0**-24) == 2.0**-24
    assert half(2.9e-8) == 0.0
    assert half(3.0e-8) == 2.0**-24
    assert half(1e-7) == pytest.approx(1.19e-7, rel=0.01)
    scaled = torch.tensor(1e-8 * 1024, dtype=FP16)
    assert scaled.item() == pytest.approx(1.025e-5, rel=1e-3)
    assert scaled.float().item() / 1024 == pytest.approx(1.001e-8, rel=1e-3)


def test_smallest_power_of_two_scale() -> None:
    """loss-scaling-smallest-power: the result reaches the normal range and its half does not."""
    for g in (1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 2e-9, 1e-9):
        scale = 2 ** math.ceil(math.log2(2**-14 / g))
        assert g * scale >= 2**-14 > g * scale / 2


def _overflow(weight: nn.Parameter) -> torch.Tensor:
    return (weight * float("inf")).sum()


def test_gradscaler_defaults_and_backoff() -> None:
    """loss-scaling, loss-scale-trend, amp-step-order-notice-skip."""
    scaler = torch.amp.GradScaler("cpu")
    state = scaler.state_dict()
    assert (state["scale"], state["growth_factor"]) == (65536.0, 2.0)
    assert (state["backoff_factor"], state["growth_interval"]) == (0.5, 2000)
    w = nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(16):
        opt.zero_grad()
        scaler.scale(_overflow(w)).backward()
        assert scaler.step(opt) is None
        scaler.update()
    assert scaler.get_scale() == 1.0
    assert w.item() == 1.0


def test_scale_history_by_simulation() -> None:
    """loss-scaling-scale-history, loss-scaling-growth-time: an overflow restarts the clean streak."""
    for interval, a, o, c in ((3, 4, 2, 7), (4, 3, 1, 9), (2, 5, 3, 1)):
        scaler = torch.amp.GradScaler("cpu", init_scale=4096.0, growth_interval=interval)
        w = nn.Parameter(torch.ones(1))
        opt = torch.optim.SGD([w], lr=0.0)
        for bad in [False] * a + [True] * o + [False] * c:
            opt.zero_grad()
            scaler.scale(_overflow(w) if bad else w.sum() * 1e-6).backward()
            scaler.step(opt)
            scaler.update()
        assert scaler.get_scale() == 4096 * 2 ** (a // interval) * 0.5**o * 2 ** (c // interval)


def test_early_return_after_unscale() -> None:
    """safe-amp-step, safe-amp-step-early-return, amp-step-order."""
    w = nn.Parameter(torch.ones(2))
    opt = torch.optim.SGD([w], lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(_overflow(w)).backward()
    scaler.unscale_(opt)
    assert not torch.isfinite(nn.utils.clip_grad_norm_([w], 1.0))
    opt.zero_grad()
    scaler.scale(w.sum()).backward()
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(opt)
    assert scaler.get_scale() == 65536.0


def test_update_without_check_asserts() -> None:
    """safe-amp-step: update() needs at least one recorded inf check."""
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(torch.ones(1, requires_grad=True)).sum().backward()
    with pytest.raises(AssertionError, match="No inf checks"):
        scaler.update()


def test_step_unscales_by_itself() -> None:
    """amp-step-order: without unscale_ the update is still the true one."""
    w = nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([w], lr=0.5)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale((0.25 * w).sum()).backward()
    scaler.step(opt)
    assert w.item() == pytest.approx(1 - 0.5 * 0.25)


def test_clip_before_unscale_freezes_sgd_and_not_adam() -> None:
    """clip-before-unscale, clip-before-unscale-true-threshold."""
    moves: dict[tuple[str, bool], float] = {}
    for name, make in (("sgd", torch.optim.SGD), ("adam", torch.optim.Adam)):
        for early in (True, False):
            w = nn.Parameter(torch.ones(4))
            opt = make([w], lr=0.1)
            scaler = torch.amp.GradScaler("cpu")
            scaler.scale((w * torch.tensor([0.1, 0.2, 0.3, 0.4])).sum()).backward()
            if not early:
                scaler.unscale_(opt)
            nn.utils.clip_grad_norm_([w], 1.0)
            if early:
                scaler.unscale_(opt)
                assert w.grad is not None
                assert w.grad.norm().item() == pytest.approx(1 / 65536, rel=1e-4)
            scaler.step(opt)
            moves[name, early] = (w.detach() - 1).norm().item()
    assert moves["sgd", True] < 1e-4 * moves["sgd", False]
    assert moves["adam", True] == pytest.approx(moves["adam", False], rel=0.01)
    assert pytest.approx(0.55, abs=0.005) == 36000 / 65536


def test_adam_state_in_16_bit() -> None:
    """fp32-master-weights, fp32-master-weights-tiny-epsilon."""
    sq = lambda g: (torch.tensor(g, dtype=FP16) ** 2).item()  # noqa: E731
    assert sq(1.7e-4) == 0.0
    assert sq(1.8e-4) > 0.0
    assert torch.tensor(1e-8, dtype=FP16).item() == 0.0
    v = torch.tensor(1.0, dtype=BF16)
    for _ in range(100):
        v.mul_(0.999)
    assert v.item() == 1.0


def test_lost_update_threshold() -> None:
    """fp32-master-weights-lost-update: half a step is lost, slightly more is not."""
    for dtype, m in ((BF16, 7), (FP16, 10)):
        for w in (0.25, 0.5, 1.0, 2.0):
            half = w * 2.0 ** -(m + 1)
            weight = torch.tensor(w, dtype=dtype)
            assert (weight + torch.tensor(half, dtype=dtype)).item() == w
            assert (weight + torch.tensor(half * 1.05, dtype=dtype)).item() > w


def test_lost_update_band_over_a_binade() -> None:
    """fp16-vs-bf16, fp32-master-weights: always lost below 0.195 %, never above 0.391 %."""
    weights = torch.arange(1.0, 2.0, 2.0**-7).to(BF16)

    def lost(relative: float) -> Tensor:
        return (weights.float() * (1 + relative)).to(BF16) == weights

    assert lost(0.99 * 2.0**-9).all()
    assert not lost(1.01 * 2.0**-8).any()
    assert lost(0.003).any()
    assert not lost(0.003).all()


def test_cuda_amp_names_warn_when_used() -> None:
    """mixed-precision-training: the old path imports in silence, building a scaler from it warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from torch.cuda.amp import GradScaler
    with pytest.warns(FutureWarning, match="deprecated"):
        GradScaler(enabled=False)


def test_late_plateau_share_of_changed_weights() -> None:
    """fp32-master-weights-late-plateau: with small steps BF16 weights stay bit-identical."""
    torch.manual_seed(0)
    w = torch.randn(10_000)
    step = 1e-4 * w.abs()
    changed = ((w.to(BF16) + step.to(BF16)) != w.to(BF16)).float().mean()
    assert changed < 0.01
    assert ((w + step) != w).float().mean() > 0.99


def test_exp_overflow_limits() -> None:
    """log-sum-exp-overflow, -threshold, float64-verify-mode-exp-limits."""
    for dtype, k, limit in (
        (FP16, 16, 11.09),
        (torch.float32, 128, 88.7),
        (BF16, 128, 88.7),
        (torch.float64, 1024, 709.8),
    ):
        assert math.log(torch.finfo(dtype).max) == pytest.approx(limit, abs=0.05)
        assert k * math.log(2) == pytest.approx(limit, abs=0.05)
    assert torch.isfinite(torch.exp(torch.tensor(88.7)))
    assert torch.isinf(torch.exp(torch.tensor(88.8)))


def test_shift_does_not_make_log_softmax_safe() -> None:
    """log-sum-exp-overflow: a gap of 120."""
    z = torch.tensor([[120.0, 0.0]])
    assert torch.isinf(-torch.log(torch.softmax(z, -1))[0, 1])
    assert F.cross_entropy(z, torch.tensor([1])).item() == pytest.approx(120.0)
    clipped = z.clone().requires_grad_()
    (-torch.log(torch.softmax(clipped, -1).clamp(min=1e-12))[0, 1]).backward()
    assert clipped.grad is not None
    assert clipped.grad.abs().sum() == 0


def test_why_logits_compositions() -> None:
    """why-logits, why-logits-harmless-pair, log-sum-exp-overflow-uniform-loss."""
    torch.manual_seed(0)
    z, y = 3 * torch.randn(16, 5), torch.randint(0, 5, (16,))
    ref = F.cross_entropy(z, y)
    assert torch.allclose(F.cross_entropy(z.log_softmax(-1), y), ref, atol=1e-6)
    assert torch.allclose(F.nll_loss(z.log_softmax(-1), y), ref)
    for wrong in (F.cross_entropy(z.softmax(-1), y), F.nll_loss(z.softmax(-1), y), F.nll_loss(z, y)):
        assert not torch.allclose(wrong, ref, atol=1e-3)
    assert F.nll_loss(z.softmax(-1), y) < 0
    logits = z.clone().requires_grad_()
    F.cross_entropy(logits, y).backward()
    assert logits.grad is not None
    assert torch.allclose(logits.grad, (z.softmax(-1) - F.one_hot(y, 5)) / 16, atol=1e-7)
    assert F.cross_entropy(torch.zeros(1, 10), torch.tensor([3])).item() == pytest.approx(2.303, abs=1e-3)


def test_silent_dtype_promotion() -> None:
    """silent-dtype-promotion, silent-dtype-promotion-double-sum."""
    a = torch.ones(2)
    assert (a + torch.ones(2, dtype=torch.float64)).dtype == torch.float64
    assert (a + torch.tensor(1.0, dtype=torch.float64)).dtype == torch.float32
    assert (a.half() + a).dtype == torch.float32
    assert (a.half() + a.bfloat16()).dtype == torch.float32
    assert a.clone().add_(torch.ones(2, dtype=torch.float64)).dtype == torch.float32
    with pytest.raises(RuntimeError):
        torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.float64)
    with pytest.raises(RuntimeError):
        F.cross_entropy(torch.zeros(2, 3), torch.zeros(2, dtype=torch.int32))


def test_autocast_keeps_fp32_gradients() -> None:
    """mixed-precision-training: parameters and .grad stay FP32, matmul output is BF16."""
    lin = nn.Linear(4, 4)
    with torch.autocast("cpu", dtype=BF16):
        out = lin(torch.randn(2, 4))
        loss = F.cross_entropy(out, torch.tensor([0, 1]))
    loss.backward()
    assert out.dtype == BF16
    assert loss.dtype == torch.float32
    assert lin.weight.grad is not None
    assert lin.weight.grad.dtype == torch.float32


def test_small_fp16_activation_gradients_vanish_without_scale() -> None:
    """amp-without-scaler, amp-without-scaler-all-zero."""
    x = torch.full((4, 8), 0.1)
    zeros: dict[tuple[torch.dtype, float], float] = {}
    for dtype, scale in ((FP16, 1.0), (FP16, 65536.0), (BF16, 1.0)):
        h = x.to(dtype).requires_grad_()
        ((h * 0.5).float().sum() * 1e-8 * scale).backward()
        assert h.grad is not None
        zeros[dtype, scale] = (h.grad == 0).float().mean().item()
    assert zeros == {(FP16, 1.0): 1.0, (FP16, 65536.0): 0.0, (BF16, 1.0): 0.0}


def test_float32_finite_differences_fail() -> None:
    """float64-verify-mode: relative error of some 10 % in float32 and 2e-10 in float64 at step 1e-6."""
    errors = []
    for dtype in (torch.float32, torch.float64):
        torch.manual_seed(0)
        w1 = torch.randn(8, 8, dtype=dtype) * 0.5
        w2, x = torch.randn(8, dtype=dtype), torch.randn(16, 8, dtype=dtype)

        def loss(w: torch.Tensor) -> torch.Tensor:
            return ((torch.tanh(x @ w) @ w2) ** 2).mean()  # noqa: B023

        w = w1.clone().requires_grad_()
        loss(w).backward()
        assert w.grad is not None
        num = torch.zeros_like(w1)
        for i in range(8):
            for j in range(8):
                step = torch.zeros_like(w1)
                step[i, j] = 1e-6
                num[i, j] = (loss(w1 + step) - loss(w1 - step)) / 2e-6
        errors.append(((num - w.grad).norm() / w.grad.norm()).item())
    assert 3e-2 < errors[0] < 0.3
    assert errors[1] < 1e-8


def test_fp8_limits_and_rounding() -> None:
    """fp8-training-recipe, -smallest-normal, -rounding."""
    e4m3 = torch.finfo(torch.float8_e4m3fn)
    assert (e4m3.max, e4m3.smallest_normal) == (448, 2**-6)
    assert torch.finfo(torch.float8_e5m2).max == 57344
    x = torch.tensor([17.3, 20.6, 30.7, 34.5, 42.9, 54.6])
    assert x.to(torch.float8_e4m3fn).float().tolist() == [18, 20, 30, 36, 44, 56]
    assert 1 / (1 - 0.6 + 0.6 / 2) < 1.43
    assert [8 + 8 / 32, 4 + 8 / 32, 4 + 8 / 16] == [8.25, 4.25, 4.5]
