import hashlib
import re

import numpy as np

WORD = re.compile(r"\w+", re.UNICODE)


def words(text):
    return [m.group() for m in WORD.finditer(text.lower())]


def ngrams(tokens, n):
    return [" ".join(tokens[i : i + n]) for i in range(0, len(tokens) - n + 1)]


def shingles(text, n=5):
    if n < 1:
        raise ValueError(f"n={n}")
    tokens = words(text)
    return set(ngrams(tokens, n)) if len(tokens) >= n else {" ".join(tokens)} - {""}


def keys(items):
    digests = b"".join(hashlib.sha1(item.encode("utf8")).digest()[:4] for item in sorted(items))
    return np.frombuffer(digests, dtype="<u4").astype(np.uint64)


def signature(items, num_hashes=128, seed=0):
    if num_hashes < 1:
        raise ValueError("num_hashes must be at least one")
    if not items:
        raise ValueError("signature of nothing")
    rng = np.random.default_rng(seed)
    prime = np.uint64(2**31 - 1)
    a = rng.integers(1, 2**31 - 1, size=(num_hashes, 1), dtype=np.uint64)
    b = rng.integers(0, 2**31 - 1, size=(num_hashes, 1), dtype=np.uint64)
    return ((a * (keys(items) % prime) + b) % prime).min(axis=1).tolist()


def near_duplicates(texts, threshold=0.7, n=5):
    """An index from shingle to texts proposes the pairs."""
    if not (threshold > 0 and threshold <= 1):
        raise ValueError("threshold")
    if n < 1:
        raise ValueError("n")
    sets = [shingles(text, n) for text in texts]
    where = {}
    label = list(range(len(sets)))
    for i, items in enumerate(sets):
        near = {j for item in items for j in where.get(item, ())}
        for j in near:
            both = len(items & sets[j])
            if both / (len(items) + len(sets[j]) - both) >= threshold:
                a, b = sorted((label[i], label[j]))
                label = [a if x == b else x for x in label]
        for item in items:
            where.setdefault(item, []).append(i)
    groups = {}
    for i, x in enumerate(label):
        groups.setdefault(x, []).append(i)
    return sorted(groups.values())


def contaminated(train, evals, n=13):
    if n < 1:
        raise ValueError("n")
    texts = [words(e) for e in evals]
    result = set()
    for i, tokens in enumerate(map(words, train)):
        for e in texts:
            k = min(n, len(e))
            if k and not set(ngrams(e, k)).isdisjoint(ngrams(tokens, k)):
                result.add(i)
    return sorted(result)
