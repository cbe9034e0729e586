"""Computed claims of the fine-tuning questions."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

LLAMA_7B = {"layers": 32, "width": 4096, "kv": 4096, "ffn": 11008}
LLAMA_13B = {"layers": 40, "width": 5120, "kv": 5120, "ffn": 13824}
LLAMA2_70B = {"layers": 80, "width": 8192, "kv": 1024, "ffn": 28672}


def _adapter_params(shape: dict[str, int], r: int) -> int:
    """Parameters of LoRA on q, k, v, o and the three MLP matrices."""
    d, kv, f = shape["width"], shape["kv"], shape["ffn"]
    pairs = [(d, d), (d, kv), (d, kv), (d, d), (d, f), (d, f), (f, d)]
    return shape["layers"] * r * sum(a + b for a, b in pairs)


def _lora(x: Tensor, w: Tensor, a: Tensor, b: Tensor, scale: float) -> Tensor:
    return x @ w.T + scale * (x @ a.T @ b.T)


def test_lora_first_gradients_and_start() -> None:
    """lora-implementation, -first-gradient, lora-basics, -step-zero-output: A's first gradient is zero."""
    torch.manual_seed(0)
    w, x = torch.randn(4, 8), torch.randn(5, 8)
    a, b = torch.randn(2, 8, requires_grad=True), torch.zeros(4, 2, requires_grad=True)
    out = _lora(x, w, a, b, 2.0)
    assert torch.equal(out, x @ w.T)
    out.square().sum().backward()
    assert a.grad is not None
    assert b.grad is not None
    assert not a.grad.any()
    assert b.grad.abs().max() > 0
    with torch.no_grad():
        b -= 0.01 * b.grad
    a.grad = None
    _lora(x, w, a, b, 2.0).square().sum().backward()
    assert a.grad is not None
    assert a.grad.abs().max() > 0


def test_both_factors_zero_never_train_but_either_alone_does() -> None:
    """lora-basics: zero A and zero B stay zero; A zero with B random trains."""
    w, x, y = torch.randn(4, 8), torch.randn(16, 8), torch.randn(16, 4)
    moved = []
    for start_b in (torch.zeros(4, 2), torch.randn(4, 2)):
        a = torch.zeros(2, 8, requires_grad=True)
        b = start_b.clone().requires_grad_()
        opt = torch.optim.SGD([a, b], lr=0.01)
        for _ in range(3):
            opt.zero_grad()
            (_lora(x, w, a, b, 1.0) - y).square().mean().backward()
            opt.step()
        moved.append(bool(a.detach().any()))
    assert moved == [False, True]


def test_lora_counts() -> None:
    """lora-basics, -whole-model, -one-matrix, -attention-only; lora-scaling-and-merging; both scenarios."""
    assert 16 * (4096 + 4096) == 131_072
    assert pytest.approx(0.0078, abs=5e-5) == 131_072 / 4096**2
    assert _adapter_params(LLAMA_7B, 16) == pytest.approx(40e6, rel=0.01)
    assert _adapter_params(LLAMA_7B, 16) / 6.74e9 == pytest.approx(0.006, abs=1e-4)
    assert _adapter_params(LLAMA_13B, 16) == pytest.approx(62.6e6, rel=0.001)
    assert _adapter_params(LLAMA2_70B, 16) == pytest.approx(207e6, rel=0.001)
    assert _adapter_params(LLAMA2_70B, 64) == pytest.approx(828e6, rel=0.001)
    assert _adapter_params(LLAMA2_70B, 64) / 70e9 == pytest.approx(0.012, abs=2e-4)
    q_and_v = 32 * 2 * 8 * (4096 + 4096)
    assert q_and_v == 4_194_304
    assert q_and_v * 8 == pytest.approx(33.5e6, rel=0.002)
    assert 7e9 * 8 == 56e9


def test_lora_flop_are_four_sixths() -> None:
    """lora-basics, lora-scaling-and-merging-training-flop: no weight gradient for the frozen base."""
    x = torch.randn(8, 32, requires_grad=True)
    totals = []
    for frozen in (False, True):
        layers = nn.Sequential(*[nn.Linear(32, 32, bias=False) for _ in range(4)])
        layers.requires_grad_(not frozen)
        with FlopCounterMode(display=False) as counter:
            layers(x).sum().backward()
        totals.append(counter.get_total_flops())
    assert totals[1] / totals[0] == pytest.approx(4 / 6)


def test_dtype_mismatch_raises() -> None:
    """lora-implementation: an fp32 adapter on bf16 activations."""
    with pytest.raises(RuntimeError, match="dtype"):
        torch.randn(2, 8, dtype=torch.bfloat16) @ torch.randn(8, 2)


def test_merged_weight_gives_the_same_output() -> None:
    """lora-scaling-and-merging and its merge order."""
    w, a, b, x = torch.randn(4, 8), torch.randn(2, 8), torch.randn(4, 2), torch.randn(5, 8)
    torch.testing.assert_close(x @ (w + 2 * b @ a).T, _lora(x, w, a, b, 2.0))


def test_dividing_by_r_shrinks_the_update_and_dividing_by_its_root_does_not() -> None:
    """lora-scaling-and-merging: why rsLoRA divides by √r."""

    def update(r: int, scale: float) -> float:
        torch.manual_seed(1)
        d = 128
        gap = 0.3 * torch.randn(d, d) / d**0.5
        a = (torch.empty(r, d).uniform_(-1, 1) / d**0.5).requires_grad_()
        b = torch.zeros(d, r, requires_grad=True)
        optimizer = torch.optim.Adam([a, b], lr=1e-4)
        for _ in range(10):
            x = torch.randn(64, d)
            loss = ((x @ (scale * b @ a - gap).T) ** 2).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return (scale * b @ a).norm().item()

    by_r = update(4, 16 / 4) / update(64, 16 / 64)
    by_root = update(4, 16 / 4**0.5) / update(64, 16 / 64**0.5)
    assert by_r > 2.5
    assert 0.7 < by_root < 1.4


def test_ignore_index_and_token_weighted_mean() -> None:
    """sft-vs-pretraining, -ignore-index, -weighted-mean."""
    torch.manual_seed(0)
    logits = torch.randn(12, 7)
    labels = torch.randint(7, (12,))
    masked = labels.clone()
    masked[:4] = -100
    assert torch.isclose(F.cross_entropy(logits, masked), F.cross_entropy(logits[4:], labels[4:]))
    first, second = F.cross_entropy(logits[:10], labels[:10]), F.cross_entropy(logits[10:], labels[10:])
    whole = F.cross_entropy(logits, labels)
    assert torch.isclose(whole, (10 * first + 2 * second) / 12)
    assert not torch.isclose(whole, (first + second) / 2, rtol=1e-3)
    with pytest.raises(IndexError):
        F.cross_entropy(logits, torch.full((12,), -1))


def test_pretraining_costs_forty_thousand_times_more() -> None:
    """pretraining-vs-finetuning."""
    pre, fine = 6 * 7e9 * 2e12, 6 * 7e9 * 50e6
    assert pre == pytest.approx(8.4e22)
    assert fine == pytest.approx(2.1e18)
    assert pre / fine == pytest.approx(40_000)


def test_qlora_bits_and_sizes() -> None:
    """qlora, -base-memory, -without-double-quantisation, memory of 65B and 70B."""
    plain = 32 / 64
    double = 8 / 64 + 32 / (64 * 256)
    assert plain == 0.5
    assert double == pytest.approx(0.127, abs=5e-4)
    assert 65e9 * (plain - double) / 8 == pytest.approx(3e9, rel=0.02)
    sizes = {p: p * (4 + double) / 8 for p in (7, 13, 65, 70)}
    assert [round(v, 1) for v in sizes.values()] == [3.6, 6.7, 33.5, 36.1]
    assert 48 - sizes[65] == pytest.approx(14.5, abs=0.1)
    assert 65 * 12 == 780
    assert 65 * 16 == 1040


def test_dora_starts_at_base_and_detached_gradient() -> None:
    """dora, dora-initial-output, dora-row-rescaled, dora-detached-norm-gradient."""
    w = torch.randn(6, 8)
    m = w.norm(dim=1, keepdim=True)
    torch.testing.assert_close(m * w / w.norm(dim=1, keepdim=True), w)
    for x, y, mag, g in ((3.0, 4.0, 5.0, 1.0), (6.0, 8.0, 10.0, 2.0)):
        for detach in (True, False):
            v = torch.tensor([x, y], requires_grad=True)
            norm = v.norm().detach() if detach else v.norm()
            row = mag * v / norm
            assert row[0].item() == pytest.approx(mag * x / (x * x + y * y) ** 0.5)
            (row * torch.tensor([g, 0.0])).sum().backward()
            assert v.grad is not None
            scale = mag * g / (x * x + y * y) ** 0.5
            expected = scale if detach else scale * (1 - x * x / (x * x + y * y))
            assert v.grad[0].item() == pytest.approx(expected, rel=1e-5)


def test_dora_overhead_is_one_over_two_r() -> None:
    """dora-magnitude-overhead, dora-parameter-count."""
    for r in (4, 8, 16, 32):
        lora = r * (1024 + 1024)
        dora = lora + 1024
        assert dora / lora - 1 == pytest.approx(1 / (2 * r))


def test_70b_budget() -> None:
    """scenario-70b-on-two-gpus and full-ft-vs-peft."""
    assert 70 * 16 == 1120
    base, adapters = 70 * 4.127 / 8, 207e6 * 16 / 1e9
    inputs = 2 * 4096 * 8192 * 80 / 1e9
    assert adapters == pytest.approx(3.3, abs=0.05)
    assert inputs == pytest.approx(5.4, abs=0.05)
    assert base + adapters + inputs < 48
    assert pytest.approx(0.003, abs=5e-5) == 207e6 / 70e9
    assert (4 + 2) / 4 == 1.5


def test_13b_budget() -> None:
    """scenario-13b-on-consumer-gpus."""
    inputs = 2 * 2048 * 5120 * 40 / 1e9
    live = 34 * 2048 * 5120 / 1e9
    logits = 2048 * 32000 * 4 / 1e9
    assert inputs == pytest.approx(0.84, abs=0.005)
    assert logits == pytest.approx(0.26, abs=0.005)
    total = 13 * 4.127 / 8 + 62.6e6 * 16 / 1e9 + inputs + live + 2 * logits
    assert 9 < total < 11
    assert pytest.approx(0.13, abs=0.006) == 62.6e6 * 2 / 1e9
    assert pytest.approx(0.5, abs=0.01) == 62.6e6 * 8 / 1e9


def test_replay_share_of_the_mix() -> None:
    """catastrophic-forgetting-replay-tokens, scenario-finetune-forgot-base-replay-examples."""
    for q in (0.05, 0.1, 0.2, 0.3):
        replay = 50 * q / (1 - q)
        assert replay / (50 + replay) == pytest.approx(q)
