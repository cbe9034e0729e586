"""Computed claims of the performance questions."""

import math

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode


def _flops(model: nn.Module, x: torch.Tensor) -> tuple[int, int]:
    """FLOP of the forward pass and of the backward pass."""
    with FlopCounterMode(display=False) as counter:
        loss = model(x).sum()
        forward = counter.get_total_flops()
        loss.backward()
        return forward, counter.get_total_flops() - forward


def test_backward_is_two_forwards_and_lora_saves_a_third() -> None:
    """backward-flops: input and weight gradient, frozen weights, first layer."""
    x = torch.randn(16, 32, requires_grad=True)
    layer = nn.Linear(32, 64, bias=False)
    forward, backward = _flops(layer, x)
    assert forward == 2 * 16 * 32 * 64
    assert backward == 2 * forward
    layer.weight.requires_grad_(False)
    forward, backward = _flops(layer, x)
    assert forward + backward == pytest.approx(forward * 4 / 2)
    first = nn.Linear(32, 64, bias=False)
    forward, backward = _flops(first, torch.randn(16, 32))
    assert backward == forward


def test_full_recompute_costs_about_a_third_more() -> None:
    """activation-checkpointing, activation-checkpointing-hfu: 4/3 of the FLOP for a deep stack."""
    layers = [nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh()) for _ in range(8)]

    class Stack(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in layers:
                x = checkpoint(layer, x, use_reentrant=False)
            return x

    x = torch.randn(16, 32, requires_grad=True)
    plain = sum(_flops(nn.Sequential(*layers), x))
    recomputed = sum(_flops(Stack(), x))
    assert recomputed / plain == pytest.approx(4 / 3, rel=0.01)
    assert 30 * 8 / 6 == 40


def test_adam_holds_sixteen_bytes_per_parameter_and_allocates_lazily() -> None:
    """training-memory-breakdown, memory-ladder, memory-ladder-oom-at-step."""
    model = nn.Linear(64, 64, bias=False)
    optimizer = torch.optim.Adam(model.parameters())
    assert not optimizer.state
    model(torch.randn(2, 64)).sum().backward()
    assert not optimizer.state
    optimizer.step()
    weight = model.weight
    assert weight.grad is not None
    moments = [v for v in optimizer.state[weight].values() if v.numel() > 1]
    total = sum(t.numel() * t.element_size() for t in [weight, weight.grad, *moments])
    assert total == 16 * weight.numel()


def test_state_sizes_and_gib() -> None:
    """training-memory-breakdown and -gib: 7B is 112 GB or 104.3 GiB, 7.4 % apart."""
    sizes = [p * (2 + 2 + 4 + 4 + 4) for p in (7, 13, 70)]
    assert sizes == [112, 208, 1120]
    assert pytest.approx(104.3, abs=0.05) == 112e9 / 2**30
    assert pytest.approx(0.074, abs=0.0005) == 2**30 / 1e9 - 1
    assert pytest.approx(0.069, abs=0.0005) == 1 - 1e9 / 2**30


def test_activation_constants_add_up() -> None:
    """activation-memory-estimate: 34 = 11 + 19 + 4, 5 for the scores, and the tensor-parallel split."""
    attention = [2, 4, 2, 2, 1]  # input of q, k, v; q and k; v; input of the projection; dropout mask
    mlp = [2, 8, 8, 1]  # input; GELU input; input of the second layer; dropout mask
    norms = [2, 2]
    assert sum(attention) == 11
    assert sum(mlp) == 19
    assert sum(attention) + sum(mlp) + sum(norms) == 34
    scores = [2, 1, 2]  # softmax output; dropout mask; dropout output
    assert sum(scores) == 5
    # sharded by tensor parallelism: what lies inside the two blocks, without inputs and dropout masks
    sharded = sum([4, 2, 2]) + sum([8, 8])
    assert sharded == 24
    assert 34 - sharded == 10
    assert 5 * 32 * 32768 / 4096 == 1280
    assert pytest.approx(38, abs=0.5) == 1280 / 34


def test_attention_scores_are_saved_only_by_the_plain_kernel() -> None:
    """activation-memory-estimate: the quadratic term disappears when the scores are not stored."""

    def saved(seq: int, fn: object) -> int:
        sizes: dict[int, int] = {}

        def pack(t: torch.Tensor) -> torch.Tensor:
            sizes[t.untyped_storage().data_ptr()] = t.numel() * t.element_size()
            return t

        q = torch.randn(1, 2, seq, 8, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            out = fn(q)  # type: ignore[operator]
        assert out.shape == q.shape
        return sum(sizes.values())

    def plain(q: torch.Tensor) -> torch.Tensor:
        return torch.softmax(q @ q.transpose(-1, -2) / 8**0.5, -1) @ q

    def fused(q: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(q, q, q)

    assert saved(256, plain) / saved(128, plain) > 3
    assert saved(256, fused) / saved(128, fused) < 2.1


def test_mfu_examples() -> None:
    """mfu-definition, mfu-definition-attention-share, mfu-vs-gpu-utilization."""
    assert pytest.approx(2, rel=0.01) == 1979 / 989
    crossing = 6 * 7e9 / (12 * 32 * 4096)
    assert crossing == pytest.approx(27e3, rel=0.02)
    assert pytest.approx(1.33, abs=0.01) == 8 / 6


def test_best_number_of_segments() -> None:
    """activation-checkpointing-best-segments and -peak-layers: the minimum is at the square root."""
    for n in (16, 25, 36, 64, 100, 144):
        best = min(range(1, n + 1), key=lambda k: k + n / k)
        assert best == math.isqrt(n)
        assert best + n // best == 2 * math.isqrt(n)


def test_checkpoint_keeps_dropout_gradients() -> None:
    """activation-checkpointing: the random state is restored for the second forward."""
    block = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))
    x = torch.randn(4, 8)
    grads = []
    for recompute in (False, True):
        torch.manual_seed(0)
        block.zero_grad()
        out = checkpoint(block, x, use_reentrant=False) if recompute else block(x)
        torch.manual_seed(1)
        out.square().sum().backward()
        weight = block[0].weight
        assert isinstance(weight, nn.Parameter)
        assert weight.grad is not None
        grads.append(weight.grad.clone())
    assert torch.equal(grads[0], grads[1])


def test_checkpoint_updates_batch_norm_twice() -> None:
    """activation-checkpointing-batchnorm."""
    x = torch.randn(16, 4, requires_grad=True) + 3
    plain, recomputed = nn.BatchNorm1d(4), nn.BatchNorm1d(4)
    # the input of the activation after the norm is needed in backward, so the norm runs again
    nn.Sequential(plain, nn.Tanh())(x).sum().backward()
    checkpoint(nn.Sequential(recomputed, nn.Tanh()), x, use_reentrant=False).sum().backward()
    assert plain.num_batches_tracked.item() == 1
    assert recomputed.num_batches_tracked.item() == 2
    torch.testing.assert_close(plain.running_mean, 0.1 * x.mean(0))
    torch.testing.assert_close(recomputed.running_mean, (0.1 + 0.9 * 0.1) * x.mean(0))


def test_accumulation_keeps_the_gradient_buffer() -> None:
    """memory-ladder: accumulation does not shrink gradients."""
    model = nn.Linear(8, 8)
    model(torch.randn(4, 8)).sum().backward()
    first = model.weight.grad
    assert first is not None
    model(torch.randn(4, 8)).sum().backward()
    assert model.weight.grad is first
    assert first.shape == model.weight.shape


def test_13b_on_eight_cards() -> None:
    """live-13b-8xa100 and its cards."""
    p, n = 13, 8
    stages = [4 * p + 12 * p / n, 2 * p + 14 * p / n, 16 * p / n]
    assert stages == [71.5, 48.75, 26]
    assert [round(80 - s) for s in stages[1:]] == [31, 54]
    assert 40 - stages[2] == 14
    unit = 4096 * 5120 * 40 / 1e9
    assert 34 * unit == pytest.approx(28.5, abs=0.05)
    assert 2 * unit == pytest.approx(1.7, abs=0.05)
    rate = 8 * 312e12 * 0.45 / (6 * 13e9)
    assert rate == pytest.approx(14400)
    assert rate * 86400 == pytest.approx(1.24e9, rel=0.01)


def test_cost_levers() -> None:
    """scenario-cut-cost-2x, -largest-factor and -fewer-tokens."""
    assert pytest.approx(1.68, abs=0.005) == 45 / 30 * 0.95 / 0.85
    factors = [45 / 20, (1 - 0.1) / (1 - 0.5), 45 / 30, 0.95 / 0.85]
    assert factors == sorted(factors, reverse=True)
    assert [round(f, 2) for f in factors] == [2.25, 1.8, 1.5, 1.12]
    rise = 410.7 * ((0.5 * 300e9) ** -0.28 - (300e9) ** -0.28)
    assert rise == pytest.approx(0.0538, abs=0.0001)


def test_memory_ladder_order() -> None:
    """memory-ladder-bytes-per-layer; QLoRA keeps about 0.52 bytes per base parameter."""
    per_layer = [34 + 5 * 32 * 4096 / 4096, 34, 34 / 8, 2]
    assert per_layer == [194, 34, 4.25, 2]
    assert pytest.approx(0.52, abs=0.005) == (4 + 8 / 64 + 32 / (64 * 256)) / 8


def test_amdahl_by_simulation() -> None:
    """scenario-low-mfu-amdahl, scenario-low-mfu-data-stall, throughput-ladder-exposed-communication."""
    for share, k in ((0.2, 1.5), (0.4, 2), (0.6, 5)):
        parts = [1 - share, share / k]
        assert 1 / sum(parts) == pytest.approx(1 / ((1 - share) + share / k))
        assert 1 / sum(parts) < 1 / (1 - share)
    # a queue fed by k workers keeps up once k * step >= load
    load, step = 0.5, 0.3
    fewest = next(k for k in range(1, 10) if load / k <= step)
    assert fewest == 2
