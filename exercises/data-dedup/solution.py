"""Data dedup: MinHash near-duplicates and decontamination.

Invariant: the minimum of a random hash over a set falls on each element with equal chance, so two sets share it
with a probability equal to their Jaccard similarity. Bands of the signature only propose pairs; each of them is
verified on the shingles. Signatures cost O(shingles * hashes), the rest grows with the number of proposed pairs.
"""

import hashlib
import random
import re
from collections import defaultdict
from collections.abc import Sequence

PRIME = 2**61 - 1
HASHES = 128


def words(text: str) -> list[str]:
    """The words of the lower-cased text."""
    return re.findall(r"\w+", text.lower())


def runs(tokens: list[str], n: int) -> set[str]:
    """All runs of n consecutive words."""
    return {" ".join(tokens[i : i + n]) for i in range(len(tokens) - n + 1)}


def check(n: int) -> None:
    """Raise ValueError for a length that makes no run."""
    if n < 1:
        raise ValueError("n must be at least 1")


def shingles(text: str, n: int = 5) -> set[str]:
    """Runs of n words; a shorter text is one shingle as a whole."""
    check(n)
    tokens = words(text)
    return runs(tokens, min(n, len(tokens))) if tokens else set()


def signature(items: set[str], num_hashes: int = 128, seed: int = 0) -> list[int]:
    """The minimum of each of ``num_hashes`` hash functions over the set."""
    if num_hashes < 1:
        raise ValueError("num_hashes must be at least 1")
    if not items:
        raise ValueError("an empty set has no signature")
    constants = random.Random(seed)
    keys = [int.from_bytes(hashlib.blake2b(item.encode(), digest_size=8).digest()) % PRIME for item in items]
    result = []
    for _ in range(num_hashes):
        a, b = constants.randrange(1, PRIME), constants.randrange(PRIME)
        result.append(min((a * key + b) % PRIME for key in keys))
    return result


def rows_per_band(threshold: float) -> int:
    """The longest band, 1 to 16 rows, that misses a pair 0.1 above the threshold less than once in ten million."""
    similar = min(1.0, threshold + 0.1)
    return max(r for r in range(1, 17) if r == 1 or (1 - similar**r) ** (HASHES // r) < 1e-7)


def near_duplicates(texts: Sequence[str], threshold: float = 0.7, n: int = 5) -> list[list[int]]:
    """Connected groups of texts whose shingle sets have at least this Jaccard similarity."""
    check(n)
    if not 0 < threshold <= 1:
        raise ValueError("threshold must lie in (0, 1]")
    sets = [shingles(text, n) for text in texts]
    parent = list(range(len(sets)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    rows = rows_per_band(threshold)
    buckets = defaultdict(list)
    for i, items in enumerate(sets):
        if items:
            values = signature(items, HASHES)
            for start in range(0, HASHES - rows + 1, rows):
                buckets[start, *values[start : start + rows]].append(i)
    for bucket in buckets.values():
        for place, i in enumerate(bucket):
            for j in bucket[:place]:
                if root(i) != root(j) and len(sets[i] & sets[j]) >= threshold * len(sets[i] | sets[j]):
                    parent[max(root(i), root(j))] = min(root(i), root(j))
    groups = defaultdict(list)
    for i in range(len(sets)):
        groups[root(i)].append(i)
    return list(groups.values())


def contaminated(train: Sequence[str], evals: Sequence[str], n: int = 13) -> list[int]:
    """Training texts that share a run of n words, or a whole shorter text, with an evaluation text."""
    check(n)
    leaked: dict[int, set[str]] = defaultdict(set)
    for text in evals:
        tokens = words(text)
        if tokens:
            length = min(n, len(tokens))
            leaked[length] |= runs(tokens, length)
    found = []
    for i, text in enumerate(train):
        tokens = words(text)
        if any(runs(tokens, length) & wanted for length, wanted in leaked.items()):
            found.append(i)
    return found
