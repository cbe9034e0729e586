"""The computed claims of content/questions/evaluation.yaml."""

import math
from math import comb

import pytest
import torch


def test_bits_per_byte_orders_models_that_loss_per_token_does_not() -> None:
    """perplexity-protocol: 0.656 against 0.666 bits per byte"""
    assert 2.0 / (4.4 * math.log(2)) == pytest.approx(0.656, abs=5e-4)
    assert 1.8 / (3.9 * math.log(2)) == pytest.approx(0.666, abs=5e-4)


def test_mean_of_document_perplexities_is_larger() -> None:
    """perplexity-protocol, perplexity-protocol-corpus-average"""
    corpus = math.exp((100 * 1.0 + 900 * 3.0) / 1000)
    assert corpus == pytest.approx(math.exp(2.8))
    assert (math.exp(1) + math.exp(3)) / 2 != pytest.approx(corpus, rel=0.1)


def test_sum_and_bytes_choose_different_options() -> None:
    """loglikelihood-multiple-choice"""
    assert -6.0 > -9.0
    assert -6.0 / 12 < -9.0 / 30


def unbiased(n: int, c: int, k: int) -> float:
    return 1 - comb(n - c, k) / comb(n, k)


def test_pass_at_k_estimators() -> None:
    """pass-at-k-estimator: mean of the plug-in 0.568, truth and unbiased mean 0.651"""
    n, k, p = 20, 10, 0.1
    pmf = [comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    assert sum(w * unbiased(n, c, k) for c, w in enumerate(pmf)) == pytest.approx(1 - 0.9**10)
    assert pytest.approx(0.651, abs=5e-4) == 1 - 0.9**10
    plug_in = sum(w * (1 - (1 - c / n) ** k) for c, w in enumerate(pmf))
    assert plug_in == pytest.approx(0.568, abs=5e-4)
    assert unbiased(10, 3, 5) == pytest.approx(0.917, abs=5e-4)
    stable = 1 - math.prod(1 - 5 / i for i in range(10 - 3 + 1, 11))
    assert stable == pytest.approx(unbiased(10, 3, 5))


def test_pooled_solve_rates_overstate() -> None:
    """pass-at-k-estimator-pooling-gap: by Jensen's inequality"""
    rates = torch.tensor([0.0, 0.05, 0.2, 0.6], dtype=torch.float64)
    for k in (2, 8):
        assert 1 - (1 - rates.mean()) ** k > (1 - (1 - rates) ** k).mean()


def test_precision_of_a_score() -> None:
    """eval-standard-error"""
    assert math.sqrt(0.7 * 0.3 / 500) == pytest.approx(0.020, abs=6e-4)
    assert pytest.approx(2100) == 0.21 / 0.01**2
    assert math.sqrt(0.25 / 30) == pytest.approx(0.091, abs=5e-4)
    wilson_low = 30 / (30 + 1.96**2)
    assert wilson_low == pytest.approx(0.89, abs=0.006)


def test_samples_divide_only_the_within_part() -> None:
    """eval-standard-error-two-parts"""
    generator = torch.Generator().manual_seed(0)
    n, samples, runs = 50, 8, 20_000
    rates = torch.where(torch.rand(runs, n, generator=generator) < 0.5, 0.5 - 0.2**0.5, 0.5 + 0.2**0.5)
    draws = torch.rand(samples, runs, n, generator=generator)
    hits = (draws < rates).float().mean(0)
    expected = math.sqrt((0.2 + 0.05 / samples) / n)
    assert hits.mean(1).std().item() == pytest.approx(expected, rel=0.03)


def test_paired_comparison() -> None:
    """paired-model-comparison: 0.76 points paired, 1.75 unpaired, z = 2.0 and 1.41"""
    n, b, c = 1319, 40, 60
    assert 100 * (c - b) / n == pytest.approx(1.5, abs=0.02)
    assert 100 * math.sqrt((b + c) - (c - b) ** 2 / n) / n == pytest.approx(0.76, abs=0.005)
    assert 100 * math.sqrt((0.71 * 0.29 + 0.725 * 0.275) / n) == pytest.approx(1.75, abs=0.005)
    assert (c - b) / math.sqrt(b + c) == 2
    assert 20 / math.sqrt(200) == pytest.approx(1.41, abs=0.005)
    assert pytest.approx(7840) == 2.8**2 * 0.1 / 0.01**2
    assert pytest.approx(32_900, rel=0.002) == 2.8**2 * 2 * 0.21 / 0.01**2


def test_gap_to_a_twin_benchmark() -> None:
    """contamination-detection: 8 points are 5 standard errors"""
    error = math.sqrt(0.88 * 0.12 / 1319 + 0.8 * 0.2 / 1000)
    assert error == pytest.approx(0.0155, abs=5e-4)
    assert 0.08 / error == pytest.approx(5, abs=0.2)


def test_judge_noise() -> None:
    """llm-judge-biases"""
    assert pytest.approx(0.63, abs=0.005) == (0.58 - 0.2) / (1 - 0.4)
    assert math.sqrt(0.52 * 0.48 / 500) == pytest.approx(0.022, abs=5e-4)


def test_expected_maximum_of_normal_scores() -> None:
    """eval-noise-versus-step-change-best-of-n: 0.56, 1.16 and 1.54"""
    generator = torch.Generator().manual_seed(0)
    draws = torch.randn(200_000, 10, generator=generator)
    for n, expected in ((2, 0.56), (5, 1.16), (10, 1.54)):
        assert draws[:, :n].max(1).values.mean().item() == pytest.approx(expected, abs=0.01)


def test_logistic_approximation_of_the_normal_distribution() -> None:
    """eval-noise-versus-step-change-single-comparison: within a point"""
    for x in (0.25, 0.5, 1, 2):
        z = x / math.sqrt(2)
        normal = 0.5 * (1 + math.erf(z / math.sqrt(2)))
        assert 1 / (1 + math.exp(-1.702 * z)) == pytest.approx(normal, abs=0.01)


def test_exact_match_is_a_power() -> None:
    """emergence-and-continuous-metrics"""
    assert pytest.approx(0.01, abs=0.002) == 0.8**20
    assert pytest.approx(0.36, abs=0.002) == 0.95**20
    assert pytest.approx(0.74, abs=0.002) == 0.05**0.1
    assert pytest.approx(0.35, abs=0.002) == 0.9**10


def test_moved_score_exceeds_the_noise() -> None:
    """scenario-score-moved-with-harness: 1.9 points"""
    error = math.sqrt((0.61 * 0.39 + 0.68 * 0.32) / 1319)
    assert error == pytest.approx(0.019, abs=5e-4)
    assert 0.07 / error > 3
