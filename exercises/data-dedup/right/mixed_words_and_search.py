import re
import zlib
from functools import lru_cache


def _mix(x):
    x = (x + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return x ^ (x >> 31)


@lru_cache(maxsize=None)
def _base(item):
    raw = item.encode()
    h = 0xCBF29CE484222325
    for byte in raw:
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return _mix(h ^ zlib.crc32(raw) << 32)


def _split(text):
    return [w for w in re.split(r"\W+", text.lower()) if w]


def _windows(ws, n):
    return zip(*(ws[k:] for k in range(n)))


def shingles(text, n=5):
    if not n >= 1:
        raise ValueError("n")
    ws = _split(text)
    if len(ws) < n:
        return {" ".join(ws)} - {""}
    return set(map(" ".join, _windows(ws, n)))


def signature(items, num_hashes=128, seed=0):
    if not num_hashes >= 1:
        raise ValueError("num_hashes")
    if not len(items):
        raise ValueError("items")
    start = _mix(seed & 0xFFFFFFFFFFFFFFFF)
    masks = [_mix((start + i * 0xD1342543DE82EF95) & 0xFFFFFFFFFFFFFFFF) for i in range(num_hashes)]
    return [min(_mix(_base(x) ^ m) for x in items) for m in masks]


def near_duplicates(texts, threshold=0.7, n=5):
    if not (threshold > 0 and threshold <= 1):
        raise ValueError("threshold")
    s = [frozenset(shingles(t, n)) for t in texts]
    if not s:
        if n < 1:
            raise ValueError("n")
        return []

    def like(i, j):
        return i == j or bool(s[i]) and bool(s[j]) and len(s[i] & s[j]) / len(s[i] | s[j]) >= threshold

    left, out = list(range(len(s))), []
    while left:
        todo, group = [left[0]], set()
        while todo:
            i = todo.pop()
            if i not in group:
                group.add(i)
                todo += [j for j in left if like(i, j)]
        left = [i for i in left if i not in group]
        out.append(sorted(group))
    return out


def contaminated(train, evals, n=13):
    if n < 1:
        raise ValueError("n")

    def holds(ws, run):
        return any(ws[i : i + len(run)] == run for i in range(len(ws) - len(run) + 1))

    parts = []
    for e in map(_split, evals):
        k = min(n, len(e))
        parts += [e[i : i + k] for i in range(len(e) - k + 1)] if e else []
    return [i for i, t in enumerate(map(_split, train)) if any(holds(t, p) for p in parts)]
