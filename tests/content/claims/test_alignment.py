"""The computed claims of content/questions/alignment.yaml."""

import math
import random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor


def dpo(pi_w: Tensor, pi_l: Tensor, ref_w: Tensor, ref_l: Tensor, beta: float) -> Tensor:
    return -F.logsigmoid(beta * ((pi_w - ref_w) - (pi_l - ref_l))).mean()


def scalar(x: float) -> Tensor:
    return torch.tensor([x], dtype=torch.float64)


def test_dpo_starts_at_ln_two_for_every_beta() -> None:
    """sft-rlhf-dpo-initial-loss, dpo-loss"""
    lp = torch.randn(2, 8)
    for beta in (0.01, 0.1, 0.5):
        assert dpo(lp[0], lp[1], lp[0], lp[1], beta).item() == pytest.approx(math.log(2), rel=1e-6)


def test_dpo_values() -> None:
    """sft-rlhf-dpo-dpo-value, sft-rlhf-dpo-reward-margin, dpo-loss"""
    loss = dpo(scalar(-40), scalar(-50), scalar(-42), scalar(-44), 0.1)
    assert loss.item() == pytest.approx(0.3711, abs=1e-4)
    assert loss.item() == pytest.approx(math.log(1 + math.exp(-0.8)))
    for beta, d in ((0.05, -5), (0.3, 20)):
        got = dpo(scalar(d), scalar(0), scalar(0), scalar(0), beta).item()
        assert got == pytest.approx(math.log(1 + math.exp(-beta * d)))


def test_dpo_gradient_weight() -> None:
    """dpo-loss, dpo-loss-pair-weight: beta · sigma(-h), up for chosen and down for rejected"""
    for beta, d in ((0.1, -10.0), (0.5, 0.0), (0.2, 10.0)):
        w, reject = scalar(d).requires_grad_(), scalar(0).requires_grad_()
        dpo(w, reject, scalar(0), scalar(0), beta).backward()
        assert w.grad is not None
        assert reject.grad is not None
        assert w.grad.item() == pytest.approx(-beta / (1 + math.exp(beta * d)))
        assert reject.grad.item() == pytest.approx(-w.grad.item())


def test_margin_may_grow_while_the_chosen_likelihood_falls() -> None:
    """dpo-loss-displacement"""
    start = dpo(scalar(-40), scalar(-40), scalar(-40), scalar(-40), 0.1)
    displaced = dpo(scalar(-60), scalar(-100), scalar(-40), scalar(-40), 0.1)
    assert displaced < start


def test_sums_and_means_are_different_objectives() -> None:
    """dpo-loss"""
    long, short = torch.full((20,), -0.5), torch.full((4,), -0.5)
    assert (long.mean() - short.mean()).item() == 0
    assert (long.sum() - short.sum()).item() != 0


def test_smoothed_loss_has_a_finite_minimum() -> None:
    """dpo-loss-smoothed"""
    s = 0.1
    h = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    opt = torch.optim.LBFGS([h], max_iter=100, tolerance_grad=1e-12)

    def closure() -> float:
        opt.zero_grad()
        loss = -(1 - s) * F.logsigmoid(h) - s * F.logsigmoid(-h)
        loss.sum().backward()
        return loss.item()

    opt.step(closure)
    assert h.item() == pytest.approx(math.log((1 - s) / s), rel=1e-4)


def test_optimal_policy_recovers_the_reward_up_to_a_constant() -> None:
    """sft-rlhf-dpo: r = beta · log(pi / ref) + const for the optimum of E[r] - beta · KL"""
    torch.manual_seed(0)
    reward, beta = torch.randn(5, dtype=torch.float64), 0.5
    ref = torch.softmax(torch.randn(5, dtype=torch.float64), 0)
    z = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    opt = torch.optim.LBFGS([z], max_iter=300, tolerance_grad=1e-10, tolerance_change=1e-14)

    def closure() -> float:
        opt.zero_grad()
        pi = torch.softmax(z, 0)
        loss = -(pi * reward).sum() + beta * (pi * (pi / ref).log()).sum()
        loss.backward()
        return loss.item()

    opt.step(closure)
    implied = beta * (torch.softmax(z, 0) / ref).log().detach()
    assert torch.allclose(implied - implied.mean(), reward - reward.mean(), atol=1e-4)


def test_bradley_terry_depends_on_the_difference_only() -> None:
    """sft-rlhf-dpo-bradley-terry"""
    for shift in (0.0, 7.0):
        two = torch.softmax(torch.tensor([2.0 + shift, 3.0 + shift]), 0)
        assert two[0].item() == pytest.approx(0.2689, abs=1e-4)


def test_states_in_bytes_per_parameter() -> None:
    """ppo-rlhf-pipeline, -states, dpo-loss, grpo-rlvr-orpo-kto"""
    p = torch.zeros(1000)
    half = p.to(torch.bfloat16)
    trained = (half.nbytes + half.nbytes + 3 * p.nbytes) // 1000  # weights, gradients, master, m, v
    frozen = half.nbytes // 1000
    assert trained == 16
    assert 2 * trained + 2 * frozen == 36
    assert 7 * 36 == 252
    assert 7 * (trained + frozen) == 126


def surrogate(rho: float, adv: float, eps: float) -> tuple[float, float]:
    r = torch.tensor(rho, requires_grad=True)
    value = torch.minimum(r * adv, r.clamp(1 - eps, 1 + eps) * adv)
    value.backward()
    assert r.grad is not None
    return value.item(), r.grad.item()


def test_clipped_surrogate_is_pessimistic() -> None:
    """ppo-rlhf-pipeline, ppo-rlhf-pipeline-clipped-surrogate"""
    assert surrogate(1.4, 1.0, 0.2) == (pytest.approx(1.2), 0)
    assert surrogate(1.4, -1.0, 0.2) == (pytest.approx(-1.4), -1)
    assert surrogate(0.7, 1.0, 0.2) == (pytest.approx(0.7), 1)
    assert surrogate(0.7, -1.0, 0.2) == (pytest.approx(-0.8), 0)


def test_kl_estimators() -> None:
    """ppo-rlhf-pipeline, -k3-estimate: both unbiased, k3 never negative and less noisy"""
    torch.manual_seed(0)
    pi = torch.softmax(torch.randn(6, dtype=torch.float64), 0)
    ref = torch.softmax(pi.log() + 0.3 * torch.randn(6, dtype=torch.float64), 0)
    k1 = (pi / ref).log()
    k3 = ref / pi - 1 - (ref / pi).log()
    kl = (pi * k1).sum()
    assert torch.allclose((pi * k3).sum(), kl)
    assert (k3 >= 0).all()
    assert (k1 < 0).any()
    assert (pi * (k3 - kl) ** 2).sum() < (pi * (k1 - kl) ** 2).sum()
    x = 0.5
    assert math.exp(-x) - 1 + x == pytest.approx(0.1065, abs=1e-4)


def test_group_advantage_and_dead_groups() -> None:
    """grpo-rlvr-orpo-kto, -group-advantage, -dead-group"""
    r = torch.tensor([1.0] * 2 + [0.0] * 6)
    adv = (r - r.mean()) / r.std(correction=0)
    assert adv[0].item() == pytest.approx(1.73, abs=0.005)
    assert adv[0].item() == pytest.approx(math.sqrt(0.75 / 0.25))
    assert (torch.ones(8) - torch.ones(8).mean()).abs().max() == 0
    rng = random.Random(0)
    dead = sum(len({rng.random() < 0.3 for _ in range(4)}) == 1 for _ in range(40000)) / 40000
    assert dead == pytest.approx(0.3**4 + 0.7**4, abs=0.01)


def test_best_of_n_divergence() -> None:
    """reward-hacking-best-of-n-kl: exact for a continuous reward, where density is n·u^(n-1)"""
    for n in (2, 4, 16):
        u = (torch.arange(200_000, dtype=torch.float64) + 0.5) / 200_000
        density = n * u ** (n - 1)
        kl = (density * density.log()).mean().item()
        assert kl == pytest.approx(math.log(n) - (n - 1) / n, abs=1e-3)


def test_best_of_n_bound_with_ties() -> None:
    """reward-hacking-best-of-n-kl: an upper bound for a discrete policy"""
    p, n = 0.5, 4  # two outputs; the better one is chosen unless all n samples are the other
    lose = p**n
    kl = lose * math.log(lose / p) + (1 - lose) * math.log((1 - lose) / p)
    assert kl < math.log(n) - (n - 1) / n


def test_gold_reward_peak() -> None:
    """reward-hacking-gold-peak"""
    a, b = 2.0, 0.25
    best = max((d / 100 for d in range(2000)), key=lambda d: a * d - b * d * d)
    assert best == pytest.approx(a / (2 * b), abs=0.01)


def test_kl_adds_up_over_tokens() -> None:
    """scenario-reward-hacking-response-token-kl-penalty, ppo-rlhf-pipeline-shaped-reward"""
    pi, ref = torch.tensor([0.7, 0.3]), torch.tensor([0.5, 0.5])
    token = (pi * (pi / ref).log()).sum()
    pairs = torch.outer(pi, pi), torch.outer(ref, ref)
    assert torch.allclose((pairs[0] * (pairs[0] / pairs[1]).log()).sum(), 2 * token)
