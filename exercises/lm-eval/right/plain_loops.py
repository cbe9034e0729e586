import math

import torch


def positive(condition, text):
    if not condition:
        raise ValueError(text)


def run(model, ids):
    modes = {name: module.training for name, module in model.named_modules()}
    for module in model.modules():
        module.training = False
    with torch.inference_mode():
        logits = model(ids.reshape(1, -1))
    for name, module in model.named_modules():
        module.training = modes[name]
    rows = logits[0].double()
    rows = rows - rows.max(dim=1, keepdim=True).values
    return rows - rows.exp().sum(dim=1, keepdim=True).log()


def strided_nll(model, tokens, window, stride):
    positive(0 < stride < window, "stride")
    positive(tokens.numel() >= 2, "tokens")
    n = tokens.numel()
    total, done, start = 0.0, 0, 0
    while True:
        ids = tokens[start : start + window]
        table = run(model, ids)
        for position in range(1, len(ids)):
            if start + position > done:
                total -= float(table[position - 1, ids[position]])
                done += 1
        if start + window >= n:
            return total, done
        start += stride


def perplexity(nll, count):
    positive(count >= 1, "count")
    return math.e ** (nll / count)


def bits_per_byte(nll, num_bytes):
    positive(num_bytes >= 1, "num_bytes")
    return nll * math.log2(math.e) / num_bytes


def choice_scores(model, context, choices, lengths=None):
    positive(context.numel() and len(choices), "empty")
    positive(all(choice.numel() for choice in choices), "empty choice")
    if lengths is None:
        divisors = [1] * len(choices)
    else:
        divisors = list(lengths)
        positive(len(divisors) == len(choices) and min(divisors) > 0, "lengths")
    scores = []
    for choice, divisor in zip(choices, divisors, strict=True):
        ids = context.tolist() + choice.tolist()
        table = run(model, torch.tensor(ids, device=context.device))
        score = 0.0
        for position in range(len(context), len(ids)):
            score += float(table[position - 1, ids[position]])
        scores.append(score / divisor)
    return torch.tensor(scores, dtype=torch.float64)


def choose(model, context, choices, lengths=None):
    best, where = -math.inf, 0
    for i, score in enumerate(choice_scores(model, context, choices, lengths)):
        if float(score) > best:
            best, where = float(score), i
    return where


def pass_at_k(counts, k):
    positive(len(counts) > 0, "counts")
    total = 0.0
    for n, c in counts:
        positive(0 <= c <= n and 1 <= k <= n, "n, c, k")
        fail = 1.0
        if n - c < k:
            fail = 0.0
        else:
            for i in range(k):
                fail *= (n - c - i) / (n - i)
        total += 1.0 - fail
    return total / len(counts)


def differences(a, b):
    positive(a.shape == b.shape and a.numel() >= 2, "a and b")
    return [x - y for x, y in zip(a.tolist(), b.tolist(), strict=True)]


def paired_difference(a, b):
    d = differences(a, b)
    n = len(d)
    mean = sum(d) / n
    variance = sum((x - mean) ** 2 for x in d) / (n - 1)
    return mean, math.sqrt(variance / n)


def paired_bootstrap(a, b, samples, generator, confidence=0.95):
    d = differences(a, b)
    positive(samples >= 1 and 0 < confidence < 1, "samples, confidence")
    means = []
    for _ in range(samples):
        picked = torch.randint(len(d), (len(d),), generator=generator).tolist()
        means.append(sum(d[i] for i in picked) / len(d))
    means.sort()
    last = samples - 1
    return means[round(last * (1 - confidence) / 2)], means[round(last * (1 + confidence) / 2)]
