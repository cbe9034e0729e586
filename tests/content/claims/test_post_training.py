"""The computed claims of content/questions/post-training.yaml."""

import math
from itertools import product

import pytest
import torch
from torch import Tensor


def policy(n: int = 4, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, generator=generator, dtype=torch.float64).requires_grad_()


def gradient(value: Tensor, logits: Tensor) -> Tensor:
    return torch.autograd.grad(value, logits, retain_graph=True)[0]


def test_gradient_of_a_weighted_log_probability() -> None:
    """policy-gradient-derivation-logit-gradient, policy-gradient-derivation-chosen-logit"""
    logits = policy(3)
    p = logits.softmax(0)
    grad = gradient(-2 * p[0].log(), logits)
    assert grad[1].item() == pytest.approx(2 * p[1].item())
    assert grad[0].item() == pytest.approx(-2 * (1 - p[0].item()))


def test_binary_rewards_give_the_likelihood_gradient_of_correct_samples() -> None:
    """policy-gradient-derivation: E[r grad log p] = P(correct) · mean over correct samples of grad log p"""
    logits = policy()
    p = logits.softmax(0)
    right = [1, 3]
    scores = torch.stack([gradient(logits.log_softmax(0)[a], logits) for a in range(4)])
    expected = p[right].detach() @ scores[right]
    assert torch.allclose(expected, gradient(p[right].sum(), logits))
    everything = p.detach() @ scores
    assert torch.allclose(everything, torch.zeros(4, dtype=torch.float64))


def test_own_sample_in_the_mean_shrinks_the_gradient() -> None:
    """baseline-variance-reduction: group mean (G - 1)/G of the exact gradient, leave-one-out exact"""
    logits = policy(3)
    p = logits.softmax(0).detach()
    rewards = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64)
    scores = torch.stack([gradient(logits.log_softmax(0)[a], logits) for a in range(3)])
    exact = (p * rewards) @ scores
    size = 3
    group, loo = torch.zeros_like(exact), torch.zeros_like(exact)
    for drawn in product(range(3), repeat=size):
        index = torch.tensor(drawn)
        weight, r = p[index].prod(), rewards[index]
        group += weight * ((r - r.mean()) @ scores[index]) / size
        others = (r.sum() - r) / (size - 1)
        loo += weight * ((r - others) @ scores[index]) / size
        assert torch.allclose(r - others, size / (size - 1) * (r - r.mean()))
    assert torch.allclose(loo, exact)
    assert torch.allclose(group, exact * (size - 1) / size)


def test_std_division_ascends_arcsine_and_amplifies_small_differences() -> None:
    """grpo-std-normalization"""
    for p in (0.02, 0.3, 0.9):
        step = 1e-6
        slope = (2 * math.asin(math.sqrt(p + step)) - 2 * math.asin(math.sqrt(p - step))) / (2 * step)
        assert slope == pytest.approx(1 / math.sqrt(p * (1 - p)), rel=1e-4)
    rewards = torch.tensor([0.501, 0.499], dtype=torch.float64)
    scaled = (rewards - rewards.mean()) / rewards.std(correction=0)
    assert scaled.tolist() == pytest.approx([1, -1])
    lone = torch.tensor([1.0] * 15 + [0.0])
    assert ((lone - lone.mean()) / lone.std(correction=0))[-1].item() == pytest.approx(
        -math.sqrt(15), rel=1e-4
    )


def test_std_division_tilts_little_in_small_groups() -> None:
    """grpo-std-normalization"""

    def relative_weight(rate: float, size: int) -> float:
        shares = [
            (math.comb(size, k) * rate**k * (1 - rate) ** (size - k), k / size) for k in range(size + 1)
        ]
        divided = sum(weight * math.sqrt(share * (1 - share)) for weight, share in shares)
        return divided / sum(weight * share * (1 - share) for weight, share in shares)

    assert relative_weight(0.02, 8) / relative_weight(0.5, 8) == pytest.approx(1.4, abs=0.05)
    limit = 0.5 / math.sqrt(0.02 * 0.98)
    assert limit == pytest.approx(3.6, abs=0.05)
    assert relative_weight(0.02, 1000) / relative_weight(0.5, 1000) == pytest.approx(limit, rel=0.02)


def test_advantage_of_two_tokens_by_gae() -> None:
    """ppo-versus-grpo, ppo-versus-grpo-first-token-advantage: with λ = 1 it is r - V"""
    v1, v2, r = 0.3, 0.8, 1.0
    assert (v2 - v1) + (r - v2) == pytest.approx(r - v1)
    assert pytest.approx(0.85, abs=0.005) == 0.98**8


def surrogate_weight(ratio: float, advantage: float, eps: float = 0.2) -> float:
    log_ratio = torch.tensor(math.log(ratio), dtype=torch.float64, requires_grad=True)
    rho = log_ratio.exp()
    objective = torch.min(rho * advantage, rho.clamp(1 - eps, 1 + eps) * advantage)
    return gradient(objective, log_ratio).item()


def test_clipping_cuts_only_movement_in_the_wanted_direction() -> None:
    """cispo-versus-clipping, cispo-versus-clipping-ppo-weight, cispo-versus-clipping-ratio-one-point-five"""
    for ratio, advantage in product((0.5, 0.9, 1.1, 1.5, 3.0), (-1.0, 2.0)):
        cut = (advantage > 0 and ratio > 1.2) or (advantage < 0 and ratio < 0.8)
        assert surrogate_weight(ratio, advantage) == pytest.approx(0 if cut else ratio * advantage)
    assert surrogate_weight(5.0, -1.0) == pytest.approx(-5)


def test_gspo_ratio_is_a_geometric_mean_and_starts_like_grpo() -> None:
    """gspo-sequence-ratio"""
    logits = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)
    tokens = torch.randint(7, (5, 1))
    logp = logits.log_softmax(1).gather(1, tokens).squeeze(1)
    ratio = (logp - logp.detach()).mean().exp()
    token_mean = (logp - logp.detach()).exp().mean()
    assert torch.allclose(gradient(ratio, logits), gradient(token_mean, logits))
    assert math.exp(0.001 * 4000) == pytest.approx(54.6, rel=1e-3)
    assert math.exp(0.001) > 1 + 4e-4


def test_kl_estimators_as_values_and_as_losses() -> None:
    """kl-estimators, kl-estimators-as-a-loss"""
    logits, reference = policy(seed=1), policy(seed=2).detach()
    p, q = logits.softmax(0), reference.softmax(0)
    x = logits.log_softmax(0) - reference.log_softmax(0)
    kl, other = (p * (p / q).log()).sum(), (q * (q / p).log()).sum()
    estimates = {"k1": x, "k2": x**2 / 2, "k3": (-x).exp() - 1 + x}
    fixed = p.detach()
    assert (fixed * estimates["k1"]).sum().item() == pytest.approx(kl.item())
    assert (fixed * estimates["k3"]).sum().item() == pytest.approx(kl.item())
    assert (fixed * estimates["k2"]).sum().item() != pytest.approx(kl.item(), rel=0.01)
    grads = {name: gradient((fixed * value).sum(), logits) for name, value in estimates.items()}
    assert torch.allclose(grads["k1"], torch.zeros(4, dtype=torch.float64), atol=1e-12)
    assert torch.allclose(grads["k2"], gradient(kl, logits))
    assert torch.allclose(grads["k3"], gradient(other, logits))
    as_reward = gradient((p * x.detach()).sum(), logits)
    assert torch.allclose(as_reward, gradient((p * x).sum(), logits))


def test_spread_of_kl_estimators_for_two_gaussians() -> None:
    """kl-estimators: 20 and 1.4 times the KL for unit Gaussians 0.1 apart"""
    generator = torch.Generator().manual_seed(0)
    y = torch.randn(2_000_000, generator=generator, dtype=torch.float64)
    x = ((y - 0.1) ** 2 - y**2) / 2
    assert (x.std() / 0.005).item() == pytest.approx(20, rel=0.01)
    assert (((-x).exp() - 1 + x).std() / 0.005).item() == pytest.approx(1.42, rel=0.02)


def test_beta_is_a_temperature() -> None:
    """kl-in-reward-or-loss, kl-in-reward-or-loss-optimal-ratio"""
    reference = policy(seed=3).detach().softmax(0)
    reward, beta = torch.tensor([1.0, 0.0, 0.4, -0.2], dtype=torch.float64), 0.3
    logits = (reference.log() + reward / beta).requires_grad_()
    p = logits.softmax(0)
    objective = (p * reward).sum() - beta * (p * (p / reference).log()).sum()
    assert torch.allclose(gradient(objective, logits), torch.zeros(4, dtype=torch.float64))
    assert math.exp(1 / 0.1) == pytest.approx(22_000, rel=0.01)


def test_entropy_changes_against_the_covariance() -> None:
    """entropy-collapse, entropy-collapse-raises-entropy"""
    logits = torch.tensor([2.0, 0.0, -3.0], dtype=torch.float64)

    def entropy(z: Tensor) -> float:
        return -(z.softmax(0) * z.log_softmax(0)).sum().item()

    def after(action: int, advantage: float) -> float:
        z = logits.clone().requires_grad_()
        return entropy(logits + 0.01 * gradient(advantage * z.log_softmax(0)[action], z))

    assert after(2, 1.0) > entropy(logits)
    assert after(0, 1.0) < entropy(logits)
    assert after(2, -1.0) < entropy(logits)


def test_effective_sample_size_of_log_normal_weights() -> None:
    """train-inference-mismatch-effective-sample-size"""
    generator = torch.Generator().manual_seed(0)
    w = (0.5 * torch.randn(1_000_000, generator=generator, dtype=torch.float64)).exp()
    assert (w.sum() ** 2 / (w**2).sum() / len(w)).item() == pytest.approx(math.exp(-0.25), rel=0.01)


def test_rounding_of_bf16_logits() -> None:
    """ratio-not-one-at-first-step: spacing 1/16 near 10, against a factor of 3"""
    ten = torch.tensor(10.0, dtype=torch.bfloat16)
    assert (torch.nextafter(ten, ten * 2) - ten).item() == 1 / 16


def test_dead_groups() -> None:
    """dapo-four-changes, dead-groups-and-curriculum"""
    assert pytest.approx(1.23, abs=0.005) == 1 / (1 - 0.9**16 - 0.1**16)
    assert pytest.approx(3.6, abs=0.03) == 1 / (1 - 0.98**16 - 0.02**16)
    assert pytest.approx(0.44, abs=0.005) == 0.95**16
    for edge in (0.083, 0.917):
        assert edge**8 + (1 - edge) ** 8 == pytest.approx(0.5, abs=0.01)


def test_expected_maximum_of_exponential_lengths() -> None:
    """long-tail-rollouts, long-tail-rollouts-exponential-tail"""
    for n, idle in ((64, 0.79), (1024, 0.87)):
        harmonic = sum(1 / i for i in range(1, n + 1))
        assert 1 - 1 / harmonic == pytest.approx(idle, abs=0.005)
        assert harmonic == pytest.approx(math.log(n) + 0.5772, rel=0.01)


def test_false_positives_among_the_rewards() -> None:
    """verifier-design: 28 % at a solve rate of 5 % and a false-positive rate of 2 %"""
    assert pytest.approx(0.28, abs=0.005) == 0.95 * 0.02 / (0.05 + 0.95 * 0.02)


def test_kv_cache_beside_the_weights() -> None:
    """rl-memory-and-kv-budget"""
    per_sequence = 2 * 32 * 8 * 128 * 2 * 32768
    assert per_sequence == pytest.approx(4.29e9, rel=0.002)
    assert (72 - 16) * 1e9 // per_sequence == 13
    assert (72 - 16) * 1e9 // (per_sequence / 2) == 26


def test_global_token_mean_for_any_split() -> None:
    """rl-token-normalization-across-ranks"""
    losses = torch.randn(60, dtype=torch.float64)
    ranks = [losses[:8], losses[8:]]
    micro = [[ranks[0][:3], ranks[0][3:]], [ranks[1][:40], ranks[1][40:]]]
    n, total = len(ranks), len(losses)
    averaged = sum(part.sum().item() * n / total for rank in micro for part in rank) / n
    assert averaged == pytest.approx(losses.mean().item())
    local = sum(rank.mean().item() for rank in ranks) / n
    assert local != pytest.approx(losses.mean().item(), rel=1e-3)


def test_reviewed_step_has_no_gradient_and_multinomial_refuses_logits() -> None:
    """scenario-grpo-code-review"""
    with pytest.raises(RuntimeError):
        torch.multinomial(torch.tensor([1.0, -0.5]), 1)
    logp = torch.randn(6, requires_grad=True)
    assert torch.equal(gradient((logp - logp).exp().sum(), logp), torch.zeros(6))
    assert torch.equal(gradient((logp - logp.detach()).exp().sum(), logp), torch.ones(6))


def test_modes_and_directions_of_the_kl() -> None:
    """on-policy-distillation-two-modes: one mode costs ln 2, mass on poor answers far more"""
    teacher = torch.tensor([0.499, 0.002, 0.499], dtype=torch.float64)
    one = torch.tensor([0.98, 0.01, 0.01], dtype=torch.float64)
    spread = torch.tensor([0.25, 0.5, 0.25], dtype=torch.float64)

    def kl(a: Tensor, b: Tensor) -> float:
        return (a * (a / b).log()).sum().item()

    assert kl(one, teacher) < math.log(2) + 0.01 < kl(spread, teacher)
    assert kl(teacher, spread) < kl(teacher, one)
