import numpy as np
import torch
from torch import nn


class Evaluation:
    """A model in eval mode, for the time of a with statement."""

    def __init__(self, model: nn.Module):
        self.model = model

    def __enter__(self):
        self.on = [module for module in self.model.modules() if module.training]
        self.model.eval()
        return self

    def __exit__(self, *error):
        for module in self.on:
            module.training = True

    def log_probs(self, ids):
        with torch.no_grad():
            logits = self.model(ids.view(1, -1)).squeeze(0).to(torch.float64)
        chosen = logits[:-1].gather(1, ids[1:].unsqueeze(1)).squeeze(1)
        return chosen - logits[:-1].logsumexp(1)


def strided_nll(model, tokens, window, stride):
    if stride not in range(1, window):
        raise ValueError("stride")
    if tokens.size(0) < 2:
        raise ValueError("tokens")
    size = tokens.size(0)
    starts = [0]
    while starts[-1] + window < size:
        starts.append(starts[-1] + stride)
    values = torch.full((size,), float("nan"), dtype=torch.float64, device=tokens.device)
    with Evaluation(model) as evaluation:
        # From the last window to the first: an earlier one overwrites.
        for start in reversed(starts):
            ids = tokens[start : start + window]
            values[start + 1 : start + len(ids)] = evaluation.log_probs(ids)
    return -float(values[1:].sum()), size - 1


def perplexity(nll, count):
    if count < 1:
        raise ValueError("count")
    return float(np.exp(nll / count))


def bits_per_byte(nll, num_bytes):
    if num_bytes < 1:
        raise ValueError("num_bytes")
    return float(nll / np.log(2.0) / num_bytes)


def choice_scores(model, context, choices, lengths=None):
    if len(context) < 1 or len(choices) < 1 or min(len(c) for c in choices) < 1:
        raise ValueError("empty")
    weights = torch.ones(len(choices), dtype=torch.float64, device=context.device)
    if lengths is not None:
        if len(lengths) != len(choices) or not all(length > 0 for length in lengths):
            raise ValueError("lengths")
        weights = weights / torch.as_tensor(list(lengths), device=context.device)
    with Evaluation(model) as evaluation:
        sums = [evaluation.log_probs(torch.hstack([context, c]))[len(context) - 1 :].sum() for c in choices]
    return torch.stack(sums) * weights


def choose(model, context, choices, lengths=None):
    scores = choice_scores(model, context, choices, lengths).cpu().numpy()
    return int(np.argmax(scores))


def pass_at_k(counts, k):
    table = np.array(list(counts), dtype=np.int64).reshape(-1, 2)
    if len(table) == 0:
        raise ValueError("counts")
    n, c = table.T
    if (c < 0).any() or (c > n).any() or k < 1 or (k > n).any():
        raise ValueError("n, c, k")
    values = [
        1.0 if samples - good < k else 1.0 - np.prod(1.0 - k / np.arange(samples - good + 1, samples + 1))
        for samples, good in table
    ]
    return float(np.mean(values))


def check(a, b):
    if a.shape != b.shape or a.shape[0] < 2:
        raise ValueError("a, b")
    return (a - b).to(torch.float64)


def paired_difference(a, b):
    d = check(a, b)
    n = d.shape[0]
    mean = d.sum() / n
    return float(mean), float(((d - mean).square().sum() / (n * (n - 1))).sqrt())


def paired_bootstrap(a, b, samples, generator, confidence=0.95):
    d = check(a, b)
    if samples < 1:
        raise ValueError("samples")
    if confidence <= 0 or confidence >= 1:
        raise ValueError("confidence")
    n = d.shape[0]
    picked = torch.multinomial(torch.ones(samples, n), n, replacement=True, generator=generator)
    weights = torch.zeros(samples, n, dtype=torch.float64)
    weights.scatter_add_(1, picked, torch.ones_like(picked, dtype=torch.float64))
    means, _ = torch.sort(weights @ d / n)
    low = means[int((1 - confidence) / 2 * (samples - 1))]
    high = means[int(np.ceil((1 + confidence) / 2 * (samples - 1)))]
    return low.item(), high.item()
