"""Computed claims of the kernel questions."""

import math

import pytest
import torch

RIDGES = {"A100": 312 / 2.04, "H100": 989 / 3.35, "B200": 2250 / 8}


def _intensity(m: int, k: int, n: int) -> float:
    """FLOP per byte of a bf16 matmul that moves each operand once."""
    return 2 * m * k * n / (2 * (m * k + k * n + m * n))


def test_ridge_points() -> None:
    """roofline-ridge-points, -newer-gpu, -headroom."""
    assert [round(RIDGES[name]) for name in ("A100", "H100", "B200")] == [153, 295, 281]
    assert pytest.approx(591, abs=0.5) == 1979 / 3.35
    assert pytest.approx(1.64, abs=0.005) == 3.35 / 2.04
    assert pytest.approx(3.17, abs=0.005) == 989 / 312
    assert pytest.approx(1.05, abs=0.005) == 50 * 3.35 / 160
    assert pytest.approx(0.17, abs=0.005) == 50 * 3.35 / 989


def test_intensity_of_a_linear_layer() -> None:
    """arithmetic-intensity-matmul, -tensor-parallel, decode-bandwidth-bound."""
    assert _intensity(900, 900, 900) == pytest.approx(300)
    assert pytest.approx(345, abs=0.5) == 295 * 4096 / (4096 - 590)
    assert _intensity(4096, 4096, 16384) == pytest.approx(1820, abs=1)
    assert _intensity(64, 4096, 16384) == pytest.approx(62.8, abs=0.05)
    split = [round(_intensity(1024, 4096, 4096 // t)) for t in (1, 2, 8)]
    assert split == [683, 585, 315]
    assert _intensity(4096, 4096, 4096) == pytest.approx(1365, abs=1)
    assert _intensity(10**7, 128, 10**7) < 128


def test_bytes_of_the_layers_that_wait_for_memory() -> None:
    """bandwidth-bound-layers: 80 µs for an RMSNorm, 28 bytes per parameter for Adam."""
    assert pytest.approx(80, abs=0.5) == 8192 * 8192 * 4 / 3.35e12 * 1e6
    reads, writes = 2 + 4 + 4 + 4, 4 + 4 + 4 + 2
    assert reads + writes == 28
    assert pytest.approx(3.0, abs=0.02) == 10 / 3.35
    assert pytest.approx(0.05, abs=0.005) == 30 / (30 + 2 * 270)


def test_decode_reads_weights_and_caches() -> None:
    """decode-bandwidth-bound: 4.8 ms, 210 tokens/s, eight contexts of 16,000 as heavy as the weights."""
    cache = 2 * 32 * 8 * 128 * 2
    assert cache == pytest.approx(131e3, rel=0.001)
    assert pytest.approx(4.8, abs=0.03) == 16 / 3.35
    assert pytest.approx(210, abs=1) == 3.35e12 / 16e9
    assert 8 * 16000 * cache / 16e9 == pytest.approx(1.05, abs=0.01)


def test_tiles_and_waves() -> None:
    """tensor-core-shapes, gpu-memory-hierarchy."""

    def efficiency(n: int) -> float:
        tiles = 32 * math.ceil(n / 256)
        return tiles / (math.ceil(tiles / 132) * 132)

    assert efficiency(4096) == pytest.approx(0.97, abs=0.001)
    assert efficiency(4352) == pytest.approx(0.82, abs=0.005)
    assert pytest.approx(0.5, abs=0.005) == 133 / 264
    assert 11008 / 8 / 64 == 21.5
    assert 11264 / 8 / 64 == 22
    assert [v / 8 / 64 for v in (51200, 50304, 50432)] == [100, 98.25, 98.5]
    assert pytest.approx(0.001, abs=1e-4) == 50304 / 50257 - 1
    assert 228 // 113 == 2
    assert 228 // 120 == 1


def test_padding_of_a_softmax_must_be_minus_infinity() -> None:
    """triton-row-softmax-zero-pad, -negative-row, and the backward formula of the follow-up."""
    row = torch.full((1000,), 2.0, dtype=torch.float64)
    block = torch.zeros(4096, dtype=torch.float64)
    block[:1000] = row
    wrong = (block - block.max()).exp().sum()
    assert float(wrong) / 1000 == pytest.approx((1000 + 3096 * math.exp(-2)) / 1000)
    low = torch.cat([torch.full((1000,), -20.0, dtype=torch.float64), torch.zeros(24, dtype=torch.float64)])
    assert float(low.softmax(0)[:1000].sum()) < 1e-4

    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    y, dy = x.softmax(1), torch.randn(3, 5, dtype=torch.float64)
    (grad,) = torch.autograd.grad(y, x, dy)
    assert torch.allclose(grad, y * (dy - (dy * y).sum(1, keepdim=True)))


def test_traces_add_up() -> None:
    """The figures of the three traces, and of mfu-gap-accounting."""
    assert 62 - (56 - 48) == 54
    assert 20 + 62 + 8 == 90
    assert pytest.approx(0.24, abs=0.005) == 1 - 90 / 118
    assert pytest.approx(181, abs=0.5) == 2 * 15 / 16 * 6 / 0.062
    assert pytest.approx(24.2, abs=0.05) == 2600 * (4.1 + 5.2) / 1000
    assert pytest.approx(0.44, abs=0.002) == 2600 * 4.1 / 1000 / 24.2
    assert pytest.approx(2.3, abs=0.05) == 24.2 / 10.66
    assert pytest.approx(900 / 4, abs=0.5) == (180 + 182 + 181 + 358) / 4
    assert pytest.approx(0.47, abs=0.002) == 0.67 * 0.70
    assert pytest.approx(0.35, abs=0.003) == 0.67 * 0.70 * 0.75
    assert pytest.approx(0.23, abs=0.005) == 38 / 31 - 1


def test_where_dynamo_breaks_and_recompiles() -> None:
    """torch-compile-graph-breaks, -no-break: item() and print break, torch.where does not; ints recompile."""
    dynamo = torch._dynamo
    compiled: list[int] = []

    def count(graph: torch.fx.GraphModule, _: object) -> torch.fx.GraphModule:
        compiled.append(1)
        return graph

    def where(x: torch.Tensor) -> torch.Tensor:
        return torch.where(x > 0, x, 0 * x)

    def branch(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x

    def item(x: torch.Tensor) -> torch.Tensor:
        return x * x.abs().max().item()

    for function, graphs in ((where, 1), (branch, 2), (item, 2)):
        compiled.clear()
        torch.compile(function, backend=count)(torch.ones(4))
        assert len(compiled) == graphs
    dynamo.reset()
    with pytest.raises(dynamo.exc.Unsupported):
        torch.compile(branch, backend=count, fullgraph=True)(torch.ones(4))

    class Counting(torch.nn.Module):
        step = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.step += 1
            return x * 2 if self.step % 2 else x + 1

    compiled.clear()
    model = torch.compile(Counting(), backend=count)
    for _ in range(4):
        model(torch.ones(3))
    assert len(compiled) == 4
    compiled.clear()
    double = torch.compile(lambda x: x * 2, backend=count)
    for size in (5, 6, 7, 8):
        double(torch.ones(size, 3))
    assert len(compiled) == 2
    dynamo.reset()
