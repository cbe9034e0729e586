"""The computed claims of content/questions/reproducibility.yaml."""

import hashlib
import io
import math
import pickle
import random
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler


def roundtrip(obj: object) -> object:
    buffer = io.BytesIO()
    torch.save(obj, buffer)
    buffer.seek(0)
    return torch.load(buffer)


class Run:
    """A tiny training run whose whole state can be saved."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-2)
        self.sched = torch.optim.lr_scheduler.LinearLR(self.opt, 1.0, 0.1, 40)
        g = torch.Generator().manual_seed(1)
        self.x, self.y = torch.randn(400, 4, generator=g), torch.randint(0, 2, (400,), generator=g)
        self.step = 0

    def train(self, steps: int) -> list[float]:
        losses = []
        for _ in range(steps):
            rows = slice(4 * self.step, 4 * self.step + 4)
            self.opt.zero_grad()
            loss = F.cross_entropy(self.net(self.x[rows]), self.y[rows])
            loss.backward()
            self.opt.step()
            self.sched.step()
            self.step += 1
            losses.append(loss.item())
        return losses

    def state(self) -> dict[str, object]:
        return {
            "net": self.net.state_dict(),
            "opt": self.opt.state_dict(),
            "sched": self.sched.state_dict(),
            "step": self.step,
            "rng": torch.get_rng_state(),
        }

    def load(self, state: dict, skip: str = "") -> None:
        for name, part in (("net", self.net), ("opt", self.opt), ("sched", self.sched)):
            if name != skip:
                part.load_state_dict(state[name])
        self.step = 0 if skip == "step" else state["step"]
        if skip != "rng":
            torch.set_rng_state(state["rng"])


@pytest.mark.parametrize("skip", ["", "opt", "sched", "step", "rng"])
def test_resume_is_exact_only_with_every_state(skip: str) -> None:
    """checkpoint-contents, checkpoint-contents-exact-resume, resume-diverges, ci-smoke-test"""
    straight = Run().train(20)
    first = Run()
    assert first.train(10) == straight[:10]
    saved = roundtrip(first.state())
    resumed = Run()
    assert isinstance(saved, dict)
    resumed.load(saved, skip)
    assert (resumed.train(10) == straight[10:]) is (skip == "")


def test_missing_scheduler_restarts_the_rate() -> None:
    """checkpoint-contents-rate-restarts, scenario-crash-at-80-percent-rate-ramps"""
    run = Run()
    run.train(10)
    fresh = Run()
    fresh.net.load_state_dict(run.net.state_dict())
    assert fresh.opt.param_groups[0]["lr"] == 1e-2 > run.opt.param_groups[0]["lr"]


def test_restored_groups_override_the_new_config() -> None:
    """resume-optimizer-state"""
    w = nn.Parameter(torch.zeros(1))
    old = torch.optim.AdamW([w], lr=1e-3, weight_decay=0.1)
    new = torch.optim.AdamW([w], lr=5e-4, weight_decay=0.01)
    new.load_state_dict(old.state_dict())
    assert new.param_groups[0]["lr"] == 1e-3
    assert new.param_groups[0]["weight_decay"] == 0.1


def adam_step(b1: float, b2: float, step: int) -> float:
    """Length of an update, in units of the rate, from zeroed moments and a given step count."""
    w = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    opt = torch.optim.Adam([w], lr=1.0, betas=(b1, b2), eps=0.0)
    w.grad = torch.full_like(w, 0.3)
    opt.step()
    w.data.zero_()
    state = opt.state[w]
    state["step"].fill_(step)
    state["exp_avg"].zero_()
    state["exp_avg_sq"].zero_()
    opt.step()
    return abs(w.item())


def test_first_update_from_zeroed_moments() -> None:
    """resume-optimizer-state, resume-optimizer-state-uncorrected-step"""
    assert adam_step(0.9, 0.999, 0) == pytest.approx(1.0)
    assert adam_step(0.9, 0.999, 10**6) == pytest.approx(3.16, abs=0.01)
    for b1, b2 in ((0.8, 0.95), (0.95, 0.999)):
        assert adam_step(b1, b2, 10**6) == pytest.approx((1 - b1) / math.sqrt(1 - b2), rel=1e-6)


def test_warm_updates_on_pure_noise_are_a_quarter_of_the_rate() -> None:
    """resume-optimizer-state: rms of the update on noise is sqrt((1 - b1) / (1 + b1)) = 0.23"""
    torch.manual_seed(0)
    w = nn.Parameter(torch.zeros(4000))
    opt = torch.optim.Adam([w], lr=1.0, betas=(0.9, 0.999))
    for _ in range(1500):
        w.grad = torch.randn(4000)
        opt.step()
    before = w.detach().clone()
    w.grad = torch.randn(4000)
    opt.step()
    rms = (w.detach() - before).square().mean().sqrt().item()
    assert rms == pytest.approx(math.sqrt(0.1 / 1.9), rel=0.05)
    assert rms == pytest.approx(0.23, abs=0.015)


def test_averaging_horizon_and_correction() -> None:
    """resume-optimizer-state-horizon, resume-optimizer-state-v-correction"""
    for b in (0.9, 0.95, 0.999):
        mean_age = sum((1 - b) * b**k * (k + 1) for k in range(20000))
        assert mean_age == pytest.approx(1 / (1 - b), rel=1e-3)
    v = 0.0
    for _ in range(100):
        v = 0.999 * v + 0.001 * 1.0
    assert v == pytest.approx(1 - 0.999**100)


def test_adam_checkpoint_is_twelve_bytes_per_parameter() -> None:
    """checkpoint-contents, checkpoint-contents-not-saved"""
    net = nn.Linear(1000, 1000, bias=False)
    opt = torch.optim.AdamW(net.parameters())
    net(torch.ones(1, 1000)).sum().backward()
    opt.step()
    buffer = io.BytesIO()
    torch.save({"net": net.state_dict(), "opt": opt.state_dict()}, buffer)
    assert buffer.tell() / 10**6 == pytest.approx(12, rel=0.001)
    assert [7 * 12, 7 * 14, 70 * 12, 70 * 14] == [84, 98, 840, 980]


def test_youngs_rule_minimises_the_overhead() -> None:
    """checkpoint-interval, checkpoint-interval-optimum, -overhead, -double-gpus"""

    def overhead(t: float, d: float, m: float) -> float:
        return d / t + t / (2 * m)

    best = min(range(10, 5000), key=lambda t: overhead(t, 30, 10800))
    assert best == 805
    assert overhead(best, 30, 10800) == pytest.approx(0.0745, abs=2e-4)
    halved = min(range(10, 5000), key=lambda t: overhead(t, 30, 5400))
    assert best / halved == pytest.approx(math.sqrt(2), rel=2e-3)
    assert pytest.approx(3.1, abs=0.05) == 54 * 24 / 419


def test_lost_work_and_failures_by_simulation() -> None:
    """robust-multinode-run, -lost-minutes, -expected-failures, checkpoint-interval-cluster-mtbf"""
    rng = random.Random(0)
    lost = [rng.uniform(0, 30) + 10 + 10 for _ in range(20000)]
    assert sum(lost) / len(lost) == pytest.approx(35, rel=0.01)
    hours, gpus, mtbf = 10 * 24, 1024, 20000
    g = torch.Generator().manual_seed(0)
    failures = torch.poisson(torch.full((2000, gpus), hours / mtbf), generator=g).sum(1)
    assert failures.mean().item() == pytest.approx(12.288, rel=0.02)


def test_straggler_waste() -> None:
    """robust-multinode-run-straggler-waste: idle share of all rank-seconds of a step"""
    for x, n in ((0.8, 8), (0.9, 64)):
        step = 1 / x
        idle = (n - 1) * (step - 1)
        assert idle / (n * step) == pytest.approx((1 - x) * (n - 1) / n)


def test_default_rng_ignores_the_global_seed() -> None:
    """seed-every-rng, seed-every-rng-default-rng"""
    draws = []
    for _ in range(2):
        np.random.seed(0)
        draws.append(np.random.default_rng().integers(0, 2**62))
    assert draws[0] != draws[1]
    assert np.random.default_rng(0).integers(99) == np.random.default_rng(0).integers(99)


def test_distributed_sampler_seeds() -> None:
    """rank-and-worker-seeds, -unequal-sampler-seeds, -padding"""

    def indices(n: int, ranks: int, rank: int, seed: int) -> list[int]:
        return list(DistributedSampler(range(n), ranks, rank, seed=seed))  # type: ignore[arg-type]

    a, b = set(indices(100, 2, 0, 0)), set(indices(100, 2, 1, 1))
    assert (len(a & b), len(a | b)) == (27, 73)
    a, b = set(indices(100, 2, 0, 0)), set(indices(100, 2, 1, 0))
    assert (len(a & b), len(a | b)) == (0, 100)
    drawn = [i for r in range(24) for i in indices(100, 24, r, 0)]
    assert len(drawn) - len(set(drawn)) == math.ceil(100 / 24) * 24 - 100
    sampler: DistributedSampler[int] = DistributedSampler(range(9), 1, 0)  # type: ignore[arg-type]
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first


class Noise(Dataset[tuple[float, float, float]]):
    """Each sample is one draw of each kind of generator."""

    def __init__(self) -> None:
        self.own = np.random.default_rng(0)

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> tuple[float, float, float]:
        return self.own.random(), np.random.random(), random.random()


def test_only_a_generator_in_the_dataset_repeats_in_every_worker() -> None:
    """seed-every-rng, rank-and-worker-seeds: the worker loop seeds random and NumPy's global state"""
    first, second = DataLoader(Noise(), num_workers=2)
    assert [x.item() == y.item() for x, y in zip(first, second, strict=True)] == [True, False, False]


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_file_hash_depends_on_the_name(tmp_path: Path) -> None:
    """checkpoint-integrity-hash, checkpoint-integrity-hash-two-names"""
    state = nn.Linear(2, 2).state_dict()
    (tmp_path / "x").mkdir()
    for name in ("a.pt", "b.pt", "x/a.pt"):
        torch.save(state, tmp_path / name)
    assert sha(tmp_path / "a.pt") != sha(tmp_path / "b.pt")
    assert sha(tmp_path / "a.pt") == sha(tmp_path / "x/a.pt")
    reordered = dict(reversed(state.items()))
    torch.save(reordered, tmp_path / "x/a.pt")
    assert sha(tmp_path / "a.pt") != sha(tmp_path / "x/a.pt")


def test_rename_replaces_atomically(tmp_path: Path) -> None:
    """checkpoint-integrity-hash-safe-save"""
    final, temp = tmp_path / "ckpt.pt", tmp_path / "ckpt.pt.tmp"
    torch.save(1, final)
    torch.save(2, temp)
    assert torch.load(final) == 1
    temp.replace(final)
    assert torch.load(final) == 2


def test_safe_loader_and_rng_states() -> None:
    """rng-state-roundtrip, rng-state-roundtrip-unpickling-culprit"""
    with pytest.raises(pickle.UnpicklingError):
        roundtrip({"rng": np.random.get_state()})
    for state in (
        np.random.default_rng(0).bit_generator.state,
        random.getstate(),
        torch.get_rng_state(),
        nn.Linear(2, 2).state_dict(),
        7,
    ):
        roundtrip({"rng": state})
    state = torch.get_rng_state()
    assert (state.dtype, state.numel()) == (torch.uint8, 5056)
    assert torch.Generator().get_state().numel() == 5056
    with pytest.raises(TypeError):
        torch.set_rng_state(state.tolist())


@pytest.mark.skipif(torch.cuda.is_available(), reason="the claim is about machines without a GPU")
def test_cuda_states_without_a_gpu_are_an_empty_list() -> None:
    """rng-state-roundtrip"""
    assert torch.cuda.get_rng_state_all() == []


def test_building_modules_consumes_random_numbers() -> None:
    """rng-state-roundtrip, checkpoint-contents-load-order"""
    before = torch.get_rng_state()
    nn.Linear(2, 2)
    assert not torch.equal(before, torch.get_rng_state())


def test_wrapped_names_carry_a_prefix() -> None:
    """rank-zero-checkpointing-module-prefix, with DataParallel's wrapper, which names like DDP"""
    assert all(k.startswith("module.") for k in nn.DataParallel(nn.Linear(2, 2)).state_dict())


def test_runs_needed_to_see_a_rare_failure() -> None:
    """flaky-one-in-ten, flaky-one-in-ten-runs-needed, flaky-one-in-ten-lucky-passes"""
    n = next(n for n in range(1, 99) if 1 - 0.9**n >= 0.95)
    assert n == 29 == math.ceil(math.log(0.05) / math.log(0.9))
    assert math.log(0.05) / math.log(0.9) == pytest.approx(28.4, abs=0.05)
    rng = random.Random(0)
    lucky = sum(all(rng.random() >= 0.1 for _ in range(3)) for _ in range(20000)) / 20000
    assert lucky == pytest.approx(0.73, abs=0.01)


def test_offset_of_an_endless_stream() -> None:
    """scenario-crash-at-80-percent-samples-to-skip"""
    offset = 0
    for _ in range(800):
        offset = (offset + 256) % 1000
    assert offset == 800 * 256 % 1000
