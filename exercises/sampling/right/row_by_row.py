import math

import torch


def _one(row, temperature, top_k, top_p):
    values = [float(x) for x in row]
    order = sorted(range(len(values)), key=lambda i: -values[i])
    if temperature == 0:
        kept = order[:1]
        return {i: values[i] for i in kept}
    if top_k is not None:
        order = order[:top_k]
    scaled = {i: values[i] / temperature for i in order}
    if top_p is not None and top_p < 1:
        top = scaled[order[0]]
        weights = [math.exp(scaled[i] - top) for i in order]
        total, seen, kept = sum(weights), 0.0, []
        for i, w in zip(order, weights):
            if seen / total >= top_p:
                break
            kept.append(i)
            seen += w
        scaled = {i: scaled[i] for i in kept}
    return scaled


def filter_logits(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if top_p is not None and not (0 < top_p <= 1):
        raise ValueError("top_p")
    flat = logits.reshape(-1, logits.shape[-1])
    out = torch.full(flat.shape, -math.inf, dtype=logits.dtype, device=logits.device)
    for r, row in enumerate(flat.tolist()):
        kept = _one(row, temperature, top_k, top_p)
        index = list(kept)
        out[r, index] = torch.tensor([kept[i] for i in index], dtype=logits.dtype, device=logits.device)
    return out.reshape(logits.shape)


def sample(logits, temperature=1.0, top_k=None, top_p=None, generator=None):
    for row in logits.tolist():
        if any(math.isnan(x) or x == math.inf for x in row) or not any(math.isfinite(x) for x in row):
            raise ValueError("row")
    kept = filter_logits(logits, temperature, top_k, top_p)
    if temperature == 0:
        return torch.tensor([row.index(max(row)) for row in kept.tolist()], device=logits.device)
    probs = torch.softmax(kept.double(), -1)
    return torch.stack([torch.multinomial(p, 1, generator=generator)[0] for p in probs])


def generate(step, tokens, n_new, *, eos_id=None, temperature=1.0, top_k=None, top_p=None, generator=None):
    if n_new < 0:
        raise ValueError("n_new")
    rows = tokens.tolist()
    done = [False] * len(rows)
    for _ in range(n_new):
        logits = step(torch.tensor(rows, dtype=torch.int64, device=tokens.device))
        drawn = sample(logits[:, -1], temperature, top_k, top_p, generator).tolist()
        for b, token in enumerate(drawn):
            if done[b]:
                token = eos_id
            rows[b].append(token)
            done[b] = done[b] or (eos_id is not None and token == eos_id)
        if all(done):
            break
    return torch.tensor(rows, dtype=torch.int64, device=tokens.device).reshape(len(rows), -1)
