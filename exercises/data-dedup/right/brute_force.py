import re
import zlib
from itertools import combinations


def _tokens(text):
    return re.compile(r"\w+").findall(text.lower())


def shingles(text, n=5):
    if n <= 0:
        raise ValueError("n must be positive")
    t = _tokens(text)
    if not t:
        return set()
    if len(t) < n:
        return {" ".join(t)}
    return set(map(" ".join, zip(*(t[i:] for i in range(n)))))


def _mix(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
    return x ^ (x >> 31)


def signature(items, num_hashes=128, seed=0):
    """splitmix64 of two checksums, offset by seed and function."""
    if num_hashes < 1:
        raise ValueError("num_hashes")
    if len(items) == 0:
        raise ValueError("empty set")
    base = [zlib.crc32(s.encode("utf-8")) << 32 | zlib.adler32(s.encode("utf-8")) for s in items]
    offsets = [
        _mix(_mix(seed + 1) + 0x9E3779B97F4A7C15 * (i + 1) & 0xFFFFFFFFFFFFFFFF) for i in range(num_hashes)
    ]
    return [min(_mix(b ^ o) for b in base) for o in offsets]


def near_duplicates(texts, threshold=0.7, n=5):
    """Every pair, then a walk over the graph."""
    if n < 1 or threshold <= 0 or threshold > 1:
        raise ValueError("bad arguments")
    sets = [shingles(t, n) for t in texts]
    friends = {i: set() for i in range(len(sets))}
    for i, j in combinations(range(len(sets)), 2):
        if sets[i] and sets[j] and len(sets[i] & sets[j]) / len(sets[i] | sets[j]) >= threshold:
            friends[i].add(j)
            friends[j].add(i)
    seen, groups = set(), []
    for i in range(len(sets)):
        if i in seen:
            continue
        todo, group = [i], set()
        while todo:
            k = todo.pop()
            if k not in group:
                group.add(k)
                todo.extend(friends[k])
        seen |= group
        groups.append(sorted(group))
    return groups


def contaminated(train, evals, n=13):
    if n < 1:
        raise ValueError("n must be positive")
    targets = []
    for e in evals:
        t = _tokens(e)
        if t:
            k = min(n, len(t))
            targets += [t[i : i + k] for i in range(len(t) - k + 1)]
    hits = []
    for index, text in enumerate(train):
        padded = " " + " ".join(_tokens(text)) + " "
        if any(" " + " ".join(t) + " " in padded for t in targets):
            hits.append(index)
    return hits
