"""Computed claims of content/questions/training-loop.yaml."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential
from torch.utils.data import DistributedSampler


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double()


def _grad(model: nn.Module) -> torch.Tensor:
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def test_accumulation_equals_the_large_batch() -> None:
    """gradient-accumulation, accumulation-equivalence: 1/k for equal sizes, k-fold without."""
    torch.manual_seed(1)
    x, y = torch.randn(12, 4).double(), torch.randn(12, 1).double()
    full = _model()
    F.mse_loss(full(x), y).backward()
    for factor, expect in ((1 / 4, 1.0), (1.0, 4.0)):
        part = _model()
        for xb, yb in zip(x.split(3), y.split(3), strict=True):
            (F.mse_loss(part(xb), yb) * factor).backward()
        assert torch.allclose(_grad(part), expect * _grad(full))


def test_unequal_micro_batches_need_weights() -> None:
    """accumulation-equivalence, -weighted-mean: 1.8 and not 1.5."""
    assert (2 * 1.0 + 8 * 2.0) / 10 == 1.8
    torch.manual_seed(1)
    x, y = torch.randn(10, 4).double(), torch.randn(10, 1).double()
    full, naive, right = _model(), _model(), _model()
    F.mse_loss(full(x), y).backward()
    for lo, hi in ((0, 2), (2, 10)):
        (F.mse_loss(naive(x[lo:hi]), y[lo:hi]) / 2).backward()
        (F.mse_loss(right(x[lo:hi]), y[lo:hi], reduction="sum") / 10).backward()
    assert torch.allclose(_grad(right), _grad(full))
    assert not torch.allclose(_grad(naive), _grad(full))


def test_batchnorm_is_not_equivalent() -> None:
    """accumulation-equivalence: statistics per micro-batch."""
    torch.manual_seed(1)
    x, y = torch.randn(8, 4).double(), torch.randn(8, 1).double()
    base = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).double()
    full, part = copy.deepcopy(base), copy.deepcopy(base)
    F.mse_loss(full(x), y).backward()
    for xb, yb in zip(x.split(4), y.split(4), strict=True):
        (F.mse_loss(part(xb), yb) / 2).backward()
    assert not torch.allclose(_grad(part), _grad(full), rtol=1e-3)


def test_leftover_micro_batches_leak() -> None:
    """accumulation-equivalence: 10 batches, k = 4, the next epoch starts with 1.5 instead of 1.0."""
    p = nn.Parameter(torch.zeros(1))
    windows: list[list[float]] = []
    for _ in range(2):
        seen = []
        for i in range(10):
            (p.sum() / 4).backward()
            if (i + 1) % 4 == 0:
                assert p.grad is not None
                seen.append(p.grad.item())
                p.grad = None
        windows.append(seen)
    assert windows[0] == [1.0, 1.0]
    assert windows[1][0] == 1.5


def test_late_backward_gives_the_right_gradient() -> None:
    """gradient-accumulation-late-backward: only memory is wrong."""
    torch.manual_seed(1)
    x, y = torch.randn(12, 4).double(), torch.randn(12, 1).double()
    full, late = _model(), _model()
    F.mse_loss(full(x), y).backward()
    losses = [F.mse_loss(late(a), b) for a, b in zip(x.split(3), y.split(3), strict=True)]
    torch.stack(losses).mean().backward()
    assert torch.allclose(_grad(late), _grad(full))


def test_ring_allreduce_bytes_saved() -> None:
    """gradient-accumulation-comm-saved: count the chunks of a simulated ring."""
    n, size = 8, 2.0
    sent = 0.0
    for _phase in ("reduce-scatter", "all-gather"):
        for _step in range(n - 1):
            sent += size / n
    assert sent == pytest.approx(2 * (n - 1) / n * size)
    assert (4 - 1) * sent == pytest.approx(10.5)


def test_distributed_sampler_pads() -> None:
    """epoch-step-batch: 10 samples on 4 ranks become 3 each, or 2 with drop_last."""
    data = list(range(10))
    for drop, per_rank in ((False, 3), (True, 2)):
        ranks = [list(DistributedSampler(data, 4, r, shuffle=False, drop_last=drop)) for r in range(4)]  # type: ignore[arg-type]
        assert [len(r) for r in ranks] == [per_rank] * 4
    assert math.ceil(1_281_167 / (32 * 4 * 8)) == 1252
    assert 1_000_000 // (4 * 8 * 16) == 1953


def test_loader_lengths() -> None:
    """epoch-step-batch-drop-last, -updates-per-epoch: floor and ceiling."""
    from torch.utils.data import DataLoader

    data = list(range(1003))
    assert len(DataLoader(data, 64)) == math.ceil(1003 / 64) == 16  # type: ignore[arg-type]
    assert len(DataLoader(data, 64, drop_last=True)) == 1003 // 64  # type: ignore[arg-type]


def test_scheduler_per_micro_batch_ends_early() -> None:
    """epoch-step-batch-scheduler-per-micro: the floor is reached after an eighth of the updates."""
    p = nn.Parameter(torch.zeros(1))
    opt = torch.optim.SGD([p], lr=1.0)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.0, total_iters=80)
    reached = None
    for update in range(80):
        opt.step()
        for _ in range(8):
            sched.step()
        if reached is None and opt.param_groups[0]["lr"] == pytest.approx(0.0, abs=1e-9):
            reached = update + 1
    assert reached == 10


def test_schedules_past_their_end() -> None:
    """epoch-step-batch-scheduler-per-micro: the cosine rises again, one-cycle raises."""
    opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    cosine, rates = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10), []
    for _ in range(20):
        opt.step()
        cosine.step()
        rates.append(cosine.get_last_lr()[0])
    assert (rates[9], rates[19]) == pytest.approx((0.0, 1.0), abs=1e-9)
    opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    cycle = torch.optim.lr_scheduler.OneCycleLR(opt, 1.0, total_steps=10)
    for _ in range(10):
        opt.step()
        cycle.step()
    with pytest.raises(ValueError):
        cycle.step()


def test_zero_between_backward_and_step_cancels_the_update() -> None:
    """training-step-order, -frozen-weights; and zero_grad sets None by default."""
    model = nn.Linear(2, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    before = model.weight.detach().clone()
    model(torch.ones(1, 2)).sum().backward()
    opt.zero_grad()
    assert model.weight.grad is None
    opt.step()
    assert torch.equal(model.weight, before)


def test_scheduler_before_optimizer_warns() -> None:
    """training-step-order."""
    opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    sched = torch.optim.lr_scheduler.StepLR(opt, 1)
    with pytest.warns(UserWarning, match="lr_scheduler.step"):
        sched.step()


def test_missing_zero_grad_is_momentum_one() -> None:
    """missing-zero-grad-run: same path as SGD with momentum 1; undamped on a quadratic."""

    def run(momentum: float, clear: bool, lr: float, steps: int) -> list[float]:
        p = nn.Parameter(torch.ones(1, dtype=torch.float64))
        opt = torch.optim.SGD([p], lr=lr, momentum=momentum)
        path = []
        for _ in range(steps):
            if clear:
                opt.zero_grad()
            (0.5 * p * p).sum().backward()
            opt.step()
            path.append(p.item())
        return path

    summed = run(0.0, clear=False, lr=0.1, steps=300)
    assert summed == pytest.approx(run(1.0, clear=True, lr=0.1, steps=300))
    assert max(map(abs, summed[-60:])) > 0.9
    slow = run(0.0, clear=False, lr=0.01, steps=900)
    assert max(map(abs, slow[-200:])) > 0.9
    assert abs(run(0.0, clear=True, lr=0.1, steps=300)[-1]) < 1e-6


def test_missing_zero_grad_distance() -> None:
    """missing-zero-grad-run-same-gradient: quadratic growth of the distance."""
    for g, lr, n in ((0.5, 0.1, 3), (2.0, 0.01, 10)):
        p = nn.Parameter(torch.zeros(1, dtype=torch.float64))
        opt = torch.optim.SGD([p], lr=lr)
        for _ in range(n):
            (g * p).sum().backward()
            opt.step()
        assert abs(p.item()) == pytest.approx(lr * g * n * (n + 1) / 2)


def test_loss_of_batch_means() -> None:
    """loss-averaging-bugs, -sample-mean: 3.0 against 1.12."""
    assert (1.0 + 5.0) / 2 == 3.0
    assert pytest.approx(1.12, abs=0.005) == (64 * 1.0 + 2 * 5.0) / 66


def test_state_dict_aliases_live_weights_and_nan_compares_false() -> None:
    """early-stopping-implementation, -nan-branch."""
    model = nn.Linear(1, 1)
    ref, copied = model.state_dict(), copy.deepcopy(model.state_dict())
    with torch.no_grad():
        model.weight.add_(1.0)
    assert torch.equal(ref["weight"], model.weight)
    assert not torch.equal(copied["weight"], model.weight)
    best, count, stopped = 1.0, 0, False
    for val in [float("nan")] * 100 + [5.0]:
        if val > best - 0.0:
            count += 1
        else:
            best, count = val, 0
        stopped |= count >= 3
    assert not stopped
    assert best == 5.0


def test_mode_not_restored_lowers_the_train_loss() -> None:
    """mode-not-restored: lower loss once dropout is off; weights still update in eval."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 4))
    x, y = torch.randn(32, 8), torch.randint(0, 4, (32,))
    opt = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    for _ in range(120):
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    noisy = F.cross_entropy(model(x), y).item()
    model.eval()
    loss = F.cross_entropy(model(x), y)
    assert loss.item() < noisy / 3
    before = model[0].weight.detach().clone()
    opt.zero_grad()
    loss.backward()
    opt.step()
    assert not torch.equal(before, model[0].weight)


def test_checkpoint_segments_keep_inputs_only() -> None:
    """activation-checkpointing-segment-peak: hooks count saved tensors; the optimum is sqrt(l*a/b)."""
    blocks = [nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(12)]
    x = torch.randn(2, 4, requires_grad=True)
    counts = {}
    for seg in (0, 3):
        saved: list[int] = []

        def pack(t: torch.Tensor, store: list[int] = saved) -> torch.Tensor:
            store.append(1)
            return t

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            out = (
                nn.Sequential(*blocks)(x)
                if seg == 0
                else checkpoint_sequential(blocks, seg, x, use_reentrant=True)
            )
        counts[seg] = len(saved)
        assert out.shape == x.shape
    assert counts[3] < counts[0] / 2
    peak = {s: s * 0.1 + 48 / s * 1.0 for s in range(1, 49)}
    assert min(peak, key=lambda s: peak[s]) == round(math.sqrt(48 * 1.0 / 0.1))
