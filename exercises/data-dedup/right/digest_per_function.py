import hashlib
import re
from collections import defaultdict


class Forest:
    def __init__(self, n):
        self.up = {i: i for i in range(n)}

    def top(self, i):
        if self.up[i] != i:
            self.up[i] = self.top(self.up[i])
        return self.up[i]

    def join(self, i, j):
        i, j = self.top(i), self.top(j)
        self.up[max(i, j)] = min(i, j)


def split(text):
    return re.sub(r"\W+", " ", text.lower()).split()


def shingles(text, n=5):
    if n < 1:
        raise ValueError("n < 1")
    tokens = split(text)
    if not tokens:
        return set()
    return {" ".join(tokens[i : i + n]) for i in range(max(1, len(tokens) - n + 1))}


def signature(items, num_hashes=128, seed=0):
    """Eight 8-byte values from each keyed digest."""
    if num_hashes < 1:
        raise ValueError("num_hashes < 1")
    if not items:
        raise ValueError("no items")
    best = [1 << 64] * num_hashes
    for item in items:
        data = item.encode()
        for start in range(0, num_hashes, 8):
            digest = hashlib.blake2b(data, key=f"{seed}/{start}".encode()).digest()
            for k in range(min(8, num_hashes - start)):
                value = int.from_bytes(digest[8 * k : 8 * k + 8], "big")
                if value < best[start + k]:
                    best[start + k] = value
    return best


def near_duplicates(texts, threshold=0.7, n=5):
    """Bands of two rows: candidates galore, each verified."""
    if not 0.0 < threshold <= 1.0:
        raise ValueError("threshold outside (0, 1]")
    sets = [frozenset(shingles(text, n)) for text in texts]
    if n < 1:
        raise ValueError("n < 1")
    bands = defaultdict(set)
    for i, items in enumerate(sets):
        if items:
            values = signature(items, 96, seed=7)
            for k in range(0, 96, 2):
                bands[k, values[k], values[k + 1]].add(i)
    forest = Forest(len(sets))
    for i, j in {(i, j) for members in bands.values() for i in members for j in members if i < j}:
        if len(sets[i] & sets[j]) / len(sets[i] | sets[j]) >= threshold - 1e-12:
            forest.join(i, j)
    return [
        [j for j in range(len(sets)) if forest.top(j) == i] for i in range(len(sets)) if forest.top(i) == i
    ]


def contaminated(train, evals, n=13):
    if n < 1:
        raise ValueError("n < 1")
    lengths = defaultdict(set)
    for tokens in map(split, evals):
        size = min(n, len(tokens))
        for i in range(len(tokens) - size + 1 if size else 0):
            lengths[size].add(tuple(tokens[i : i + size]))

    def bad(tokens):
        return any(
            tuple(tokens[i : i + size]) in runs for size, runs in lengths.items() for i in range(len(tokens))
        )

    return [i for i, text in enumerate(train) if bad(split(text))]
