import re
import zlib
from itertools import combinations

import numpy as np

P = np.uint64((1 << 31) - 1)


class BadArgument(ValueError):
    pass


def _need(ok, what):
    if not ok:
        raise BadArgument(what)


def _tokens(text):
    return [match.group() for match in re.finditer(r"\w+", text.lower())]


def shingles(text: str, n: int = 5) -> set[str]:
    _need(n >= 1, "n")
    tokens = _tokens(text)
    size = min(n, len(tokens))
    return {" ".join(run) for run in zip(*(tokens[k:] for k in range(size)), strict=False)}


def signature(items: set[str], num_hashes: int = 128, seed: int = 0) -> list[int]:
    _need(num_hashes >= 1, "num_hashes")
    _need(len(items) >= 1, "empty set")
    rng = np.random.default_rng(seed)
    a = rng.integers(1, int(P), num_hashes).astype(np.uint64)
    b = rng.integers(0, int(P), num_hashes).astype(np.uint64)
    # Two checksums folded into one number below P.
    base = np.array(
        [(zlib.crc32(s.encode()) * 2654435761 + zlib.crc32(s.encode()[::-1] + b"#")) % int(P) for s in items],
        dtype=np.uint64,
    )
    hashed = (base[:, None] * a + b) % P
    return [int(value) for value in hashed.min(axis=0)]


def near_duplicates(texts, threshold=0.7, n=5):
    _need(0 < threshold <= 1, "threshold")
    _need(n >= 1, "n")
    sets = [shingles(text, n) for text in texts]
    label = list(range(len(sets)))
    alive = [k for k, items in enumerate(sets) if items]
    rows = 3 if threshold > 0.65 else 1
    sketch = {k: signature(sets[k], 96, 7) for k in alive}
    candidates = set()
    for start in range(0, 96, rows):
        table = {}
        for k in alive:
            table.setdefault(tuple(sketch[k][start : start + rows]), []).append(k)
        for bucket in table.values():
            candidates.update(combinations(bucket, 2))
    for i, j in sorted(candidates):
        common = len(sets[i] & sets[j])
        if common / (len(sets[i]) + len(sets[j]) - common) >= threshold and label[i] != label[j]:
            old, new = max(label[i], label[j]), min(label[i], label[j])
            label = [new if value == old else value for value in label]
    groups = {}
    for k, value in enumerate(label):
        groups.setdefault(value, []).append(k)
    return [groups[value] for value in sorted(groups)]


def contaminated(train, evals, n=13):
    _need(n >= 1, "n")
    heads = {}
    for text in evals:
        tokens = tuple(_tokens(text))
        size = min(n, len(tokens))
        for k in range(len(tokens) - size + 1 if tokens else 0):
            heads.setdefault(tokens[k], set()).add(tokens[k : k + size])
    result = []
    for i, text in enumerate(train):
        tokens = tuple(_tokens(text))
        hit = False
        for k, token in enumerate(tokens):
            for run in heads.get(token, ()):
                if tokens[k : k + len(run)] == run:
                    hit = True
                    break
            if hit:
                break
        if hit:
            result.append(i)
    return result
