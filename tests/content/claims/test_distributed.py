"""Computed claims of the distributed questions."""

import math
from datetime import timedelta

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import DataLoader

Schedule = list[list[tuple[str, int]]]


def test_ring_all_reduce_sends_twice_the_bytes() -> None:
    """ddp-mechanics, -ring-bytes, zero-communication-volume-ring: simulate the ring and count."""
    for n in (2, 4, 8):
        data = torch.randn(n, n)  # rank, chunk
        expected = data.sum(0)
        work, sent = data.clone(), 0
        for hop in range(n - 1):  # reduce-scatter
            moves = [((r + 1) % n, (r - hop) % n, work[r, (r - hop) % n].clone()) for r in range(n)]
            for to, chunk, value in moves:
                work[to, chunk] += value
            sent += 1
        for hop in range(n - 1):  # all-gather
            moves = [((r + 1) % n, (r + 1 - hop) % n, work[r, (r + 1 - hop) % n].clone()) for r in range(n)]
            for to, chunk, value in moves:
                work[to, chunk] = value
            sent += 1
        torch.testing.assert_close(work, expected.expand(n, n))
        assert sent / n == pytest.approx(2 * (n - 1) / n)
    assert 2 * 7 / 8 * 14 == 24.5


def test_mean_of_means_misweights_uneven_shards() -> None:
    """ddp-mechanics: averaging per-rank means is wrong for uneven shards."""
    x = torch.tensor([1.0, 1.0, 1.0, 9.0])
    assert x.mean() == 3
    assert (x[:3].mean() + x[3:].mean()) / 2 == 5


def test_bucket_count_by_packing() -> None:
    """ddp-mechanics-bucket-count: whole gradients, at least one per bucket."""
    for k in (8, 12, 30):
        for g in (4, 6):
            for limit in (1, 16, 20):
                buckets, room = 0, 0
                for _ in range(k):
                    if room < g:
                        buckets, room = buckets + 1, limit
                    room -= g
                assert buckets == math.ceil(k / max(limit // g, 1))


def _per_parameter(stage: int, n: int) -> float:
    sharded = [stage >= s for s in (3, 2, 1)]
    return sum(b / n if s else b for b, s in zip((2, 2, 12), sharded, strict=True))


def test_zero_stage_sizes() -> None:
    """zero-stages and its cards, parallelism-compare-zero-bytes."""
    assert [13 * _per_parameter(s, 8) for s in range(4)] == [208, 71.5, 48.75, 26]
    paper = [7.5 * _per_parameter(s, 64) for s in range(4)]
    assert [round(x, 1) for x in paper] == [120.0, 31.4, 16.6, 1.9]
    assert 70 * _per_parameter(2, 10**9) == pytest.approx(140)
    assert _per_parameter(1, 10**9) == pytest.approx(4)
    for stage, formula in ((1, 4 + 12 / 8), (2, 2 + 14 / 8), (3, 16 / 8)):
        assert _per_parameter(stage, 8) == formula
    left = [80 - 13 * _per_parameter(s, 8) for s in range(4)]
    assert next(s for s in range(4) if left[s] >= 30) == 2


def test_communication_volumes() -> None:
    """zero-communication-volume: 3 against 2 passes, and the times over two links."""
    assert 3 / 2 == 1.5
    assert pytest.approx(0.054, abs=5e-4) == 24.5 / 450
    assert 24.5 / 50 == 0.49
    assert pytest.approx(1.1, abs=0.03) == 7 * 4 / 25


def test_data_loader_timeout_needs_workers() -> None:
    """training-hang: timeout with num_workers=0 fails an assertion."""
    with pytest.raises((AssertionError, ValueError)):
        next(iter(DataLoader([1, 2, 3], timeout=60, num_workers=0)))


def test_default_timeouts() -> None:
    """hang-debug-tools-default-timeout, training-hang, collective-hang-causes."""
    from torch.distributed.constants import default_pg_nccl_timeout, default_pg_timeout

    assert default_pg_timeout == timedelta(minutes=30)
    if default_pg_nccl_timeout is not None:  # None in builds without NCCL
        assert default_pg_nccl_timeout == timedelta(minutes=10)
    assert 1024 * 30 / 60 == 512


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_join_covers_ddp_but_not_fsdp() -> None:
    """collective-hang-causes: which wrappers are joinable."""
    from torch.distributed.algorithms.join import Joinable
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.nn.parallel import DistributedDataParallel

    assert issubclass(DistributedDataParallel, Joinable)
    assert issubclass(ZeroRedundancyOptimizer, Joinable)
    assert not issubclass(FullyShardedDataParallel, Joinable)


def test_column_then_row_needs_one_sum() -> None:
    """tensor-parallel-communication, -mlp-order, -bias-error: partial sums; GELU needs columns first."""
    torch.manual_seed(0)
    x, w1, w2, bias = (torch.randn(*s, dtype=torch.float64) for s in ((3, 8), (16, 8), (8, 16), (8,)))
    full = F.gelu(x @ w1.T) @ w2.T + bias
    for t in (2, 4):
        parts = [F.gelu(x @ a.T) @ b.T for a, b in zip(w1.chunk(t, 0), w2.chunk(t, 1), strict=True)]
        torch.testing.assert_close(torch.stack(parts).sum(0) + bias, full)
        wrong = torch.stack([p + bias for p in parts]).sum(0)
        torch.testing.assert_close(wrong, full + (t - 1) * bias)
        rows = [F.gelu(a @ b.T) for a, b in zip(x.chunk(t, 1), w1.chunk(t, 1), strict=True)]
        assert not torch.allclose(torch.stack(rows).sum(0), F.gelu(x @ w1.T))


def test_input_gradient_is_a_sum_over_ranks() -> None:
    """tensor-parallel-communication: backward needs the all-reduce at the block input."""
    x = torch.randn(3, 8, requires_grad=True)
    w1, w2 = torch.randn(16, 8), torch.randn(8, 16)
    (whole,) = torch.autograd.grad((F.gelu(x @ w1.T) @ w2.T).sum(), x)
    parts = [
        torch.autograd.grad((F.gelu(x @ a.T) @ b.T).sum(), x)[0]
        for a, b in zip(w1.chunk(2, 0), w2.chunk(2, 1), strict=True)
    ]
    torch.testing.assert_close(parts[0] + parts[1], whole)


def test_tensor_parallel_time() -> None:
    """tensor-parallel-communication: 117 MB and 0.26 ms."""
    payload = 4096 * 8192 * 2
    sent = 2 * 7 / 8 * payload
    assert sent / 1e6 == pytest.approx(117, abs=0.5)
    assert sent / 450e9 * 1e3 == pytest.approx(0.26, abs=0.005)


def _gpipe(p: int, m: int) -> Schedule:
    return [[("F", j) for j in range(m)] + [("B", j) for j in range(m)] for _ in range(p)]


def _one_f_one_b(p: int, m: int) -> Schedule:
    stages: Schedule = []
    for i in range(p):
        warm = min(m, p - 1 - i)
        ops = [("F", j) for j in range(warm)]
        for j in range(warm, m):
            ops += [("F", j), ("B", j - warm)]
        ops += [("B", j) for j in range(m - warm, m)]
        stages.append(ops)
    return stages


def _makespan(schedule: Schedule, forward: float, backward: float) -> float:
    p = len(schedule)
    done: dict[tuple[str, int, int], float] = {}
    clock, position = [0.0] * p, [0] * p
    while any(position[i] < len(schedule[i]) for i in range(p)):
        for i in range(p):
            if position[i] == len(schedule[i]):
                continue
            kind, j = schedule[i][position[i]]
            needs = [("F", i - 1, j)] if kind == "F" and i else []
            if kind == "B":
                needs = [("F", i, j)] + ([("B", i + 1, j)] if i < p - 1 else [])
            if all(x in done for x in needs):
                start = max([clock[i], *[done[x] for x in needs]])
                clock[i] = done[kind, i, j] = start + (forward if kind == "F" else backward)
                position[i] += 1
    return max(clock)


def _in_flight(schedule: Schedule) -> list[int]:
    peaks = []
    for ops in schedule:
        now = peak = 0
        for kind, _ in ops:
            now += 1 if kind == "F" else -1
            peak = max(peak, now)
        peaks.append(peak)
    return peaks


@pytest.mark.parametrize(("p", "m"), [(2, 8), (4, 4), (4, 8), (4, 16), (8, 32)])
def test_bubble_by_simulation(p: int, m: int) -> None:
    """pipeline-bubble and cards, parallelism-compare-bubble: idle share, makespan and memory."""
    for schedule in (_gpipe(p, m), _one_f_one_b(p, m)):
        for forward, backward in ((1.0, 2.0), (10.0, 20.0)):
            span = _makespan(schedule, forward, backward)
            assert span == pytest.approx((m + p - 1) * (forward + backward))
            assert 1 - m * (forward + backward) / span == pytest.approx((p - 1) / (m + p - 1))
    assert _in_flight(_gpipe(p, m)) == [m] * p
    assert _in_flight(_one_f_one_b(p, m)) == [min(p - i, m) for i in range(p)]


def test_bubble_figures() -> None:
    """parallelism-compare, three-d-parallelism, pipeline-bubble, -micro-batches-needed: quoted numbers."""

    def idle(p: int, m: int) -> float:
        return (p - 1) / (m + p - 1)

    assert [round(idle(4, m), 2) for m in (4, 16)] == [0.43, 0.16]
    assert idle(4, 8) == pytest.approx(0.273, abs=5e-4)
    assert idle(8, 32) == pytest.approx(0.18, abs=0.001)
    assert min(m for m in range(1, 200) if idle(8, m) <= 0.1) == 63
    assert all(idle(p, 4 * p) < 0.2 for p in range(2, 65))
    for p in (4, 8, 16):
        for x in (0.05, 0.1, 0.2):
            fewest = min(m for m in range(1, 400) if idle(p, m) <= x + 1e-12)
            assert math.ceil((p - 1) * (1 - x) / x - 1e-9) == fewest


def _block(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    scores = q @ k.T / q.shape[-1] ** 0.5
    return torch.softmax(scores, -1) @ v, torch.logsumexp(scores, -1)


def test_ring_attention_is_exact() -> None:
    """sequence-context-parallel, -merge: blocks merged by their share of the denominator."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(12, 4, dtype=torch.float64) for _ in range(3))
    out, lse = _block(q, k[:3], v[:3])
    for i in range(3, 12, 3):
        new, new_lse = _block(q, k[i : i + 3], v[i : i + 3])
        share = 1 / (1 + torch.exp(new_lse - lse))
        out = share[:, None] * out + (1 - share[:, None]) * new
        lse = torch.logaddexp(lse, new_lse)
    torch.testing.assert_close(out, _block(q, k, v)[0])


def test_causal_split_is_unbalanced_and_zigzag_balances() -> None:
    """sequence-context-parallel-causal-imbalance, -zigzag: count the visible pairs."""
    for c in (2, 4, 8):
        size = 64
        s = 2 * c * size
        row_work = torch.arange(1, s + 1, dtype=torch.float64)
        contiguous = row_work.view(c, -1).sum(1)
        assert (contiguous[-1] / contiguous.mean()).item() == pytest.approx((2 * c - 1) / c, rel=0.01)
        chunks = row_work.view(2 * c, -1).sum(1)
        zigzag = torch.stack([chunks[i] + chunks[2 * c - 1 - i] for i in range(c)])
        assert torch.equal(zigzag, zigzag[0].expand(c))
    assert 2 * 4 - 1 - 1 == 6


def test_kv_ring_traffic() -> None:
    """sequence-context-parallel-kv-traffic: c - 1 hops of s/c tokens, K and V in 16 bits."""
    s, kv, c = 32768, 1024, 4
    sent = sum(2 * (s // c) * kv * 2 for _ in range(c - 1))
    assert sent / 1e6 == pytest.approx((c - 1) / c * 2 * s * kv * 2 / 1e6)


def test_node_budget_and_llama3_layout() -> None:
    """scenario-pretrain-bigger-than-node, three-d-parallelism."""
    assert 175 * 16 == 2800
    assert math.ceil(2800 / (8 * 80)) == 5
    assert 70 * 16 / (16 * 80) < 1
    assert 8 * 16 * 64 == 8192
    assert 8 * 16 * 128 == 16384
    assert 8 * 16 * 16 * 8 == 16384


def test_offload_sizes() -> None:
    """optimizer-offload: 12 of 16 bytes leave, host memory for 70B."""
    moved = 4 + 4 + 4
    assert 16 - moved == 4
    assert moved / 16 == 0.75
    assert 13 * 2 == 26 < 32 < 13 * 4  # GB for 13B on a 32 GB card: weights only, no gradients
    assert [70 * b / 1000 for b in (12, 16)] == [0.84, 1.12]


def test_bf16_sums_lose_low_bits() -> None:
    """fsdp-vs-zero: reducing over hundreds of ranks in bf16."""
    values = torch.full((512,), 0.99)
    total = torch.zeros((), dtype=torch.bfloat16)
    for v in values.to(torch.bfloat16):
        total = total + v
    exact = values.to(torch.bfloat16).double().sum()
    assert abs(total.double() - exact) / exact > 0.2


def test_ring_times_and_bus_bandwidth() -> None:
    """collective-time-models, -busbw."""
    assert pytest.approx(128e6) == 64 * 5e-6 * 400e9
    assert pytest.approx(0.079, abs=3e-4) == 2 * 63 / 64 * 16 / 400
    assert pytest.approx(5.1, abs=0.05) == 2 * 511 * 5e-3
    assert 240 * 2 * 7 / 8 == 420


def test_rotated_blocks_give_the_product() -> None:
    """sharded-matmul-overlap, -block-index, -rows: rank i multiplies block (i + s) mod n."""
    n, m, k, c = 4, 8, 12, 5
    g = torch.Generator().manual_seed(0)
    x = torch.randn(m, k, generator=g, dtype=torch.float64)
    w = torch.randn(k, c, generator=g, dtype=torch.float64)
    held = list(w.chunk(n))
    sums = [torch.zeros(m // n, c, dtype=torch.float64) for _ in range(n)]
    for s in range(n):
        for i, rows in enumerate(x.chunk(n)):
            j = (i + s) % n
            sums[i] += rows[:, j * k // n : (j + 1) * k // n] @ held[i]
        held = held[1:] + held[:1]  # every rank sends its block to rank i - 1
    assert torch.allclose(torch.cat(sums), x @ w)
    assert pytest.approx(1100) == 495e12 / 450e9
    assert pytest.approx(0.47, abs=0.005) == 512 / 1100


def test_zero_bubble_fractions() -> None:
    """zero-bubble-pipeline: 30 % for 1F1B and 13 % for ZB-H1 at p = 8, m = 16."""
    assert pytest.approx(0.30, abs=0.005) == 21 / (48 + 21)
    assert pytest.approx(0.13, abs=0.005) == 7 / (48 + 7)
