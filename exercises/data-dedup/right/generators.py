import hashlib
import re
import struct
from collections import Counter
from functools import reduce


def iter_words(text):
    for piece in re.split(r"\W+", text.lower()):
        if piece:
            yield piece


def windows(words, n):
    return (" ".join(words[i : i + n]) for i in range(max(len(words) - n, 0) + 1)) if words else iter(())


def hash(text, salt):  # noqa: A001
    """64 bits with a fixed definition; shadows the salted builtin on purpose."""
    return struct.unpack(">Q", hashlib.md5(salt + text.encode()).digest()[:8])[0]


def shingles(text, n=5):
    if not n >= 1:
        raise ValueError("n must be >= 1")
    return set(windows(list(iter_words(text)), n))


def signature(items, num_hashes=128, seed=0):
    if not num_hashes >= 1:
        raise ValueError("num_hashes must be >= 1")
    if not items:
        raise ValueError("no items")
    mask = (1 << 64) - 1
    least = None
    for item in sorted(items):
        first, second = hash(item, b"first"), hash(item, b"second")
        row = []
        for i in range(num_hashes):
            # A mixer in the style of splitmix64 over both hashes and the number of the function.
            z = (first + (second | 1) * (i + 1) + (seed + 1) * 0x9E3779B97F4A7C15) & mask
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
            row.append(z ^ (z >> 31))
        least = row if least is None else list(map(min, least, row))
    return least


def near_duplicates(texts, threshold=0.7, n=5):
    if not 0.0 < threshold <= 1.0:
        raise ValueError("threshold must be in (0, 1]")
    if not n >= 1:
        raise ValueError("n must be >= 1")
    sets = list(map(lambda text: shingles(text, n), texts))
    owners = {}
    for i, items in enumerate(sets):
        for item in items:
            owners.setdefault(item, []).append(i)
    shared = Counter((i, j) for group in owners.values() for i in group for j in group if i < j)
    links = [
        {i, j}
        for (i, j), common in shared.items()
        if common >= threshold * (len(sets[i]) + len(sets[j]) - common)
    ]

    def absorb(groups, link):
        touched = [group for group in groups if group & link]
        return [group for group in groups if not group & link] + [link.union(*touched)]

    return sorted(map(sorted, reduce(absorb, links, [{i} for i in range(len(sets))])))


def contaminated(train, evals, n=13):
    if not n >= 1:
        raise ValueError("n must be >= 1")
    texts = [list(iter_words(text)) for text in evals]
    wanted = {(min(n, len(words)), run) for words in texts for run in windows(words, n)}
    lengths = {length for length, _ in wanted}

    def leaks(text):
        words = list(iter_words(text))
        return any(
            (length, " ".join(words[i : i + length])) in wanted
            for length in lengths
            for i in range(len(words) - length + 1)
        )

    return [i for i, text in enumerate(train) if leaks(text)]
