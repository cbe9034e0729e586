import copy
import math
import random
import statistics

import torch
import torch.nn.functional as F

IGNORED = -100


def frozen(model):
    return copy.deepcopy(model).eval().requires_grad_(False)


@torch.no_grad()
def nll_of(model, ids, context):
    """Labels of the first ``context`` ids are ignored, as the usual recipe does."""
    labels = ids.clone()
    labels[:context] = IGNORED
    logits = model(ids.unsqueeze(0)).squeeze(0).to(torch.float32)
    loss = F.cross_entropy(logits[:-1], labels[1:], ignore_index=IGNORED, reduction="sum")
    return loss, int((labels[1:] != IGNORED).sum())


def strided_nll(model, tokens, window, stride):
    if stride < 1 or stride >= window:
        raise ValueError(f"stride {stride} does not fit the window {window}")
    n = tokens.shape[0]
    if n < 2:
        raise ValueError("too few tokens")
    model = frozen(model)
    pieces, begin, seen = [], 0, 0
    while seen < n:
        end = min(begin + window, n)
        pieces.append(nll_of(model, tokens[begin:end], seen - begin))
        begin, seen = begin + stride, end
    return sum(loss.item() for loss, _ in pieces), sum(count for _, count in pieces)


def perplexity(nll, count):
    if count < 1:
        raise ValueError("count")
    return torch.tensor(nll / count, dtype=torch.float64).exp().item()


def bits_per_byte(nll, num_bytes):
    if num_bytes < 1:
        raise ValueError("num_bytes")
    return nll / math.log(2) / num_bytes


def choice_scores(model, context, choices, lengths=None):
    if not len(choices) or 0 in map(len, [context, *choices]):
        raise ValueError("empty")
    if lengths is not None and (len(lengths) != len(choices) or any(n <= 0 for n in lengths)):
        raise ValueError("lengths")
    model = frozen(model)
    scores = torch.stack([-nll_of(model, torch.cat((context, c)), len(context))[0] for c in choices])
    return scores if lengths is None else scores / scores.new_tensor(list(lengths))


def choose(model, context, choices, lengths=None):
    scores = choice_scores(model, context, choices, lengths)
    return int((scores == scores.max()).nonzero()[0])


def pass_at_k(counts, k):
    if not counts:
        raise ValueError("no problems")
    for n, c in counts:
        if c < 0 or c > n or k < 1 or k > n:
            raise ValueError((n, c, k))

    def log_binomial(n, k):
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    def one(n, c):
        return 1.0 if n - c < k else -math.expm1(log_binomial(n - c, k) - log_binomial(n, k))

    return statistics.fmean(one(n, c) for n, c in counts)


def paired_difference(a, b):
    if a.shape != b.shape or a.numel() < 2:
        raise ValueError("scores")
    d = (a - b).tolist()
    return statistics.fmean(d), statistics.stdev(d) / math.sqrt(len(d))


def paired_bootstrap(a, b, samples, generator, confidence=0.95):
    if a.shape != b.shape or a.numel() < 2 or samples < 1 or not (0 < confidence < 1):
        raise ValueError("arguments")
    # A generator of its own, seeded by the one that was passed.
    source = random.Random(int(torch.randint(2**62, (), generator=generator)))
    d = (a - b).tolist()
    means = torch.tensor([statistics.fmean(source.choices(d, k=len(d))) for _ in range(samples)])
    edges = torch.tensor([(1 - confidence) / 2, (1 + confidence) / 2])
    low, high = torch.quantile(means, edges, interpolation="nearest").tolist()
    return low, high
