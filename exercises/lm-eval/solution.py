"""Evaluating language models: perplexity, choices, pass@k, error bars."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Eval mode without gradients; each module gets its own mode back."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


def token_log_probs(model: nn.Module, tokens: Tensor) -> Tensor:
    """(n,) to (n - 1,): log-probability of each token after the first."""
    logits = model(tokens[None])[0]
    log_probs = logits.float().log_softmax(dim=-1)
    return log_probs[:-1].gather(-1, tokens[1:, None]).squeeze(-1)


def strided_nll(model: nn.Module, tokens: Tensor, window: int, stride: int) -> tuple[float, int]:
    """Negative log-likelihood in nats of tokens (n,), and scored tokens."""
    if not 1 <= stride <= window - 1:
        raise ValueError("stride must be from 1 to window - 1")
    if len(tokens) < 2:
        raise ValueError("at least 2 tokens are needed")
    nll, count = 0.0, 0
    previous_end = 1  # the first token has no context and is not scored
    with evaluating(model):
        for start in range(0, len(tokens), stride):
            end = min(start + window, len(tokens))
            log_probs = token_log_probs(model, tokens[start:end])
            new = end - previous_end
            nll -= log_probs[-new:].sum().item()
            count += new
            previous_end = end
            if end == len(tokens):
                break
    return nll, count


def perplexity(nll: float, count: int) -> float:
    """exp of the mean negative log-likelihood of a token."""
    if count < 1:
        raise ValueError("count must be at least 1")
    return math.exp(nll / count)


def bits_per_byte(nll: float, num_bytes: int) -> float:
    """The same in bits, for each byte of the text."""
    if num_bytes < 1:
        raise ValueError("num_bytes must be at least 1")
    return nll / (math.log(2) * num_bytes)


def choice_scores(
    model: nn.Module,
    context: Tensor,
    choices: Sequence[Tensor],
    lengths: Sequence[int] | None = None,
) -> Tensor:
    """Log-probability of each choice (m_i,) after context (n,)."""
    if len(context) == 0:
        raise ValueError("the context is empty")
    if len(choices) == 0 or any(len(choice) == 0 for choice in choices):
        raise ValueError("every question needs choices, none of them empty")
    if lengths is not None:
        if len(lengths) != len(choices):
            raise ValueError("one length for each choice is needed")
        if any(length <= 0 for length in lengths):
            raise ValueError("lengths must be positive")
    scores = []
    with evaluating(model):
        for choice in choices:
            log_probs = token_log_probs(model, torch.cat([context, choice]))
            scores.append(log_probs[-len(choice) :].sum())
    result = torch.stack(scores)
    if lengths is not None:
        result = result / torch.tensor(lengths, device=result.device)
    return result


def choose(
    model: nn.Module,
    context: Tensor,
    choices: Sequence[Tensor],
    lengths: Sequence[int] | None = None,
) -> int:
    """Index of the best choice."""
    scores = choice_scores(model, context, choices, lengths).tolist()
    return scores.index(max(scores))


def pass_at_k(counts: Sequence[tuple[int, int]], k: int) -> float:
    """Mean over problems with n samples each, c of them correct."""
    if len(counts) == 0:
        raise ValueError("there are no problems")
    if any(not 0 <= c <= n for n, c in counts):
        raise ValueError("c must be from 0 to n")
    if any(not 1 <= k <= n for n, c in counts):
        raise ValueError("k must be from 1 to n")
    # comb() is 0 where fewer than k samples fail. Its integers are exact.
    fails = [math.comb(n - c, k) / math.comb(n, k) for n, c in counts]
    return 1.0 - sum(fails) / len(fails)


def paired_difference(a: Tensor, b: Tensor) -> tuple[float, float]:
    """Mean of a - b, both (n,), and its standard error."""
    if a.shape != b.shape or len(a) < 2:
        raise ValueError("two scores for each of at least 2 questions")
    difference = a.double() - b.double()
    error = difference.std(correction=1) / math.sqrt(len(a))
    return difference.mean().item(), error.item()


def paired_bootstrap(
    a: Tensor,
    b: Tensor,
    samples: int,
    generator: torch.Generator,
    confidence: float = 0.95,
) -> tuple[float, float]:
    """Interval (low, high) for the mean of a - b, both (n,)."""
    if a.shape != b.shape or len(a) < 2:
        raise ValueError("two scores for each of at least 2 questions")
    if samples < 1:
        raise ValueError("samples must be at least 1")
    if not 0 < confidence < 1:
        raise ValueError("confidence must be between 0 and 1")
    n = len(a)
    picked = torch.randint(n, (samples, n), generator=generator)
    means = (a.double() - b.double())[picked].mean(dim=1)
    low, high = (1 - confidence) / 2, (1 + confidence) / 2
    return means.quantile(low).item(), means.quantile(high).item()
