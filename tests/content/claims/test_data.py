"""Computed claims of content/questions/data.yaml."""

import math
import random

import pytest
import torch
import torch.nn.functional as F
from torch import nn


def _candidate(j: float, b: int, r: int) -> float:
    return 1 - (1 - j**r) ** b


def test_mixup_loss_is_soft_label_cross_entropy() -> None:
    """mixup-loss, mixup-loss-two-terms."""
    torch.manual_seed(0)
    z, yi, yj, lam = torch.randn(5, 4), torch.randint(0, 4, (5,)), torch.randint(0, 4, (5,)), 0.7
    two = lam * F.cross_entropy(z, yi) + (1 - lam) * F.cross_entropy(z, yj)
    soft = lam * F.one_hot(yi, 4) + (1 - lam) * F.one_hot(yj, 4)
    assert torch.allclose(two, F.cross_entropy(z, soft))


@pytest.mark.parametrize("alpha", [0.2, 1.0, 8.0])
def test_beta_variance(alpha: float) -> None:
    """mixup-loss, mixup-loss-beta-variance: 1/(4(2a+1)), 0.179 at 0.2; small a is near 0 or 1."""
    torch.manual_seed(0)
    lam = torch.distributions.Beta(alpha, alpha).sample((50_000,))
    assert lam.var().item() == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.03)
    if alpha == 0.2:
        assert pytest.approx(0.179, abs=5e-4) == 1 / (4 * 1.4)
        assert ((lam < 0.1) | (lam > 0.9)).float().mean() > 0.6
    if alpha == 8.0:
        assert ((lam - 0.5).abs() < 0.25).float().mean() > 0.9


def test_cutmix_box_may_be_clipped() -> None:
    """mixup-loss: the pasted area is smaller than drawn when the box crosses the border."""
    h = w = 32
    lam = 0.5
    side = int(w * math.sqrt(1 - lam))
    clipped = []
    rng = random.Random(0)
    for _ in range(200):
        cx, cy = rng.randrange(w), rng.randrange(h)
        x1, x2 = max(cx - side // 2, 0), min(cx + side // 2, w)
        y1, y2 = max(cy - side // 2, 0), min(cy + side // 2, h)
        clipped.append(1 - (x2 - x1) * (y2 - y1) / (h * w))
    assert max(clipped) > lam + 0.1
    assert min(clipped) >= lam - 0.01


def test_minhash_estimates_jaccard_with_binomial_error() -> None:
    """minhash-dedup, minhash-dedup-estimate-error."""
    rng = random.Random(0)
    a, b = set(range(150)), set(range(50, 200))
    jac = len(a & b) / len(a | b)
    estimates = []
    for _ in range(150):
        hits = 0
        for _ in range(64):
            h = {x: rng.random() for x in range(200)}
            hits += min(a, key=h.__getitem__) == min(b, key=h.__getitem__)
        estimates.append(hits / 64)
    mean = sum(estimates) / len(estimates)
    sd = math.sqrt(sum((e - mean) ** 2 for e in estimates) / len(estimates))
    assert mean == pytest.approx(jac, abs=0.02)
    assert sd == pytest.approx(math.sqrt(jac * (1 - jac) / 64), rel=0.2)


def test_fineweb_and_refinedweb_curves() -> None:
    """minhash-dedup, lsh-banding-design: 14 x 8 and 450 x 20."""
    assert [_candidate(j, 14, 8) for j in (0.7, 0.75, 0.8)] == pytest.approx([0.56, 0.77, 0.92], abs=0.006)
    assert pytest.approx(0.72, abs=0.005) == (1 / 14) ** (1 / 8)
    assert _candidate(0.7, 450, 20) == pytest.approx(0.30, abs=0.005)
    assert _candidate(0.8, 450, 20) == pytest.approx(0.995, abs=0.001)
    assert pytest.approx(0.74, abs=0.005) == (1 / 450) ** (1 / 20)
    assert 450 * 20 == 9000
    assert pytest.approx(80, abs=1) == 9000 / 112


def test_banding_by_simulation() -> None:
    """minhash-dedup-candidate-probability: coins with probability J, grouped in bands."""
    torch.manual_seed(0)
    for j, b, r in ((0.7, 14, 8), (0.5, 20, 5)):
        same = torch.rand(20_000, b, r) < j
        assert same.all(-1).any(-1).float().mean().item() == pytest.approx(_candidate(j, b, r), abs=0.012)


def test_probability_at_the_knee_and_in_the_tail() -> None:
    """lsh-banding-design, -tail-load, minhash-dedup-knee, minhash-dedup-more-recall."""
    for b, r in ((14, 8), (450, 20), (50, 4)):
        assert _candidate((1 / b) ** (1 / r), b, r) == pytest.approx(1 - 1 / math.e, abs=0.015)
    assert 1e9 * _candidate(0.1, 14, 8) == pytest.approx(140, rel=0.01)
    assert 1e9 * _candidate(0.1, 28, 4) == pytest.approx(2.8e6, rel=0.01)
    assert _candidate(0.7, 28, 4) > _candidate(0.7, 14, 8) > _candidate(0.7, 8, 14)


def _shingles(words: list[int], n: int) -> set[tuple[int, ...]]:
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def test_scattered_edits_and_containment() -> None:
    """lsh-banding-design, -edit-similarity, minhash-dedup-contained-text."""
    n, m, e = 5, 1000, 20
    words = list(range(m + n - 1))
    copy = list(words)
    for k in range(e):
        copy[25 + 45 * k] = -1 - k
    a, b = _shingles(words, n), _shingles(copy, n)
    assert len(a) == m
    jac = len(a & b) / len(a | b)
    assert jac == pytest.approx((m - n * e) / (m + n * e))
    assert jac == pytest.approx(0.82, abs=0.005)
    short = _shingles(words[100:224], n)
    assert len(short) == 120
    assert len(short & a) / len(short | a) == pytest.approx(120 / 1000)


def test_permutation_and_generator_state() -> None:
    """deterministic-minibatches: the generator advances; the state from before the draw replays."""
    g = torch.Generator().manual_seed(0)
    before = g.get_state()
    first = torch.randperm(50, generator=g)
    after = g.get_state()
    second = torch.randperm(50, generator=g)
    assert not torch.equal(first, second)
    g.set_state(before)
    assert torch.equal(torch.randperm(50, generator=g), first)
    g.set_state(after)
    assert not torch.equal(torch.randperm(50, generator=g), first)


def test_last_batch_size() -> None:
    """deterministic-minibatches-last-size: 1003 by 64 gives 16 batches, the last of 43."""
    for n, b in ((1003, 64), (5000, 32), (60001, 96)):
        sizes = [len(range(lo, min(lo + b, n))) for lo in range(0, n, b)]
        assert sizes[-1] == (n % b or b)
        assert len(sizes) == math.ceil(n / b)
    assert 1003 % 64 == 43


def test_isfinite_on_integers_proves_nothing() -> None:
    """data-label-integrity; and -100 is the default ignore_index."""
    assert torch.isfinite(torch.tensor([-100, 10**9])).all()
    z = torch.randn(3, 4)
    y = torch.tensor([1, -100, 2])
    assert torch.allclose(F.cross_entropy(z, y), F.cross_entropy(z[[0, 2]], y[[0, 2]]))


def test_sorted_data_lower_the_label_entropy() -> None:
    """data-label-integrity: entropy per batch tells sorted from shuffled."""
    labels = torch.arange(10).repeat_interleave(100)

    def entropy(y: torch.Tensor) -> float:
        p = torch.bincount(y, minlength=10).float() / len(y)
        return -(p[p > 0] * p[p > 0].log()).sum().item()

    torch.manual_seed(0)
    shuffled = labels[torch.randperm(1000)]
    assert max(entropy(b) for b in labels.split(50)) == pytest.approx(0.0, abs=1e-6)
    assert min(entropy(b) for b in shuffled.split(50)) > 1.8


def test_permuted_labels_fresh_or_frozen() -> None:
    """label-permutation-run, -signs: fresh permutations stay near ln C, repeated ones are memorised."""
    final = {}
    for frozen in (False, True):
        torch.manual_seed(0)
        x, y = torch.randn(64, 16), torch.arange(4).repeat(16)
        model = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 4))
        params = list(model.parameters())
        perm = torch.randperm(64)
        tail = []
        for step in range(300):
            if not frozen:
                perm = torch.randperm(64)
            loss = F.cross_entropy(model(x), y[perm])
            grads = torch.autograd.grad(loss, params)
            with torch.no_grad():
                for p, g in zip(params, grads, strict=True):
                    p.sub_(0.3 * g)
            if step >= 250:
                tail.append(loss.item())
        final[frozen] = sum(tail) / len(tail)
        assert torch.equal(y[perm].bincount(), y.bincount())
    assert final[False] > math.log(4) - 0.1
    assert final[True] < 0.3
    assert math.log(10) == pytest.approx(2.30, abs=0.005)


def _accuracy_after_permuted_labels(size: int) -> float:
    torch.manual_seed(0)
    centres = torch.randn(10, 20)
    y = torch.arange(6000) % 10
    x = centres[y] + torch.randn(6000, 20)
    model = nn.Linear(20, 10)
    params = list(model.parameters())
    for _ in range(3):
        for rows in torch.randperm(5000).split(size):
            loss = F.cross_entropy(model(x[rows]), y[rows[torch.randperm(len(rows))]])
            with torch.no_grad():
                for p, g in zip(params, torch.autograd.grad(loss, params), strict=True):
                    p.sub_(0.02 * g)
    return (model(x[5000:]).argmax(1) == y[5000:]).float().mean().item()


def test_labels_that_stay_in_place_teach_a_little_in_small_batches() -> None:
    """label-permutation-run: a label keeps its place with probability 1/B."""
    torch.manual_seed(0)
    kept = torch.stack([torch.randperm(8) == torch.arange(8) for _ in range(4000)])
    assert kept.float().mean().item() == pytest.approx(1 / 8, abs=0.01)
    assert _accuracy_after_permuted_labels(8) > 0.5
    assert _accuracy_after_permuted_labels(500) < 0.3


def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def test_packed_equals_separate_with_a_document_mask() -> None:
    """packing-attention-masks: block-diagonal causal attention isolates documents, plain causal does not."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 10, 8, dtype=torch.float64) for _ in range(3))
    doc = torch.tensor([0] * 4 + [1] * 6)
    causal = torch.ones(10, 10, dtype=torch.bool).tril()
    packed = _attend(q, k, v, causal & (doc[:, None] == doc[None, :]))
    alone = _attend(q[:, 4:], k[:, 4:], v[:, 4:], torch.ones(6, 6, dtype=torch.bool).tril())
    assert torch.allclose(packed[:, 4:], alone)
    assert not torch.allclose(_attend(q, k, v, causal)[:, 4:], alone)


def test_rope_needs_no_restart_under_the_mask() -> None:
    """packing-attention-masks: rotary scores depend on position differences only."""
    torch.manual_seed(0)
    q, k = torch.randn(6, 8, dtype=torch.float64), torch.randn(6, 8, dtype=torch.float64)

    def rotate(x: torch.Tensor, offset: int) -> torch.Tensor:
        angle = (torch.arange(6).double() + offset)[:, None] * 10000 ** (-torch.arange(4).double() / 4)
        a, b = x[:, :4], x[:, 4:]
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)

    assert torch.allclose(rotate(q, 0) @ rotate(k, 0).T, rotate(q, 37) @ rotate(k, 37).T)


def test_share_of_attention_pairs() -> None:
    """packing-attention-masks, -pair-share: counted from the mask; about 1/k for k equal documents."""
    s, a, c = 256, 64, 32
    doc = torch.tensor([0] * a + [1 + i // c for i in range(s - a)])
    mask = torch.ones(s, s, dtype=torch.bool).tril() & (doc[:, None] == doc[None, :])
    k = (s - a) // c
    assert int(mask.sum()) == a * (a + 1) // 2 + k * c * (c + 1) // 2
    s, docs = 4096, 8
    part = s // docs
    assert docs * part * (part + 1) / (s * (s + 1)) == pytest.approx(1 / docs, rel=0.01)
