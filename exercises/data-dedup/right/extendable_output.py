"""Sorted tuples, one keyed hash per function, networkless breadth-first groups."""

import hashlib
import re
from collections import defaultdict, deque


def _words(text):
    return re.findall(r"\w+", text.lower())


def _runs(words, n):
    if len(words) < n:
        return [tuple(words)] if words else []
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def shingles(text, n=5):
    if n < 1:
        raise ValueError("n")
    return {" ".join(run) for run in _runs(_words(text), n)}


def signature(items, num_hashes=128, seed=0):
    if num_hashes < 1 or not items:
        raise ValueError("nothing to hash")
    best = [1 << 64] * num_hashes
    for item in items:
        stream = hashlib.shake_128(f"{seed}\0{item}".encode()).digest(8 * num_hashes)
        for i in range(num_hashes):
            best[i] = min(best[i], int.from_bytes(stream[8 * i : 8 * i + 8], "big"))
    return best


def near_duplicates(texts, threshold=0.7, n=5):
    if n < 1 or not 0 < threshold <= 1:
        raise ValueError("n or threshold")
    sets = [shingles(t, n) for t in texts]
    index = defaultdict(set)
    for i, s in enumerate(sets):
        for item in s:
            index[item].add(i)

    def neighbours(i):
        for j in set().union(*(index[item] for item in sets[i])):
            if len(sets[i] & sets[j]) >= threshold * len(sets[i] | sets[j]):
                yield j

    groups, seen = [], set()
    for i in range(len(sets)):
        if i in seen:
            continue
        group, todo = {i}, deque([i])
        while todo:
            for j in neighbours(todo.popleft()):
                if j not in group:
                    group.add(j)
                    todo.append(j)
        seen |= group
        groups.append(sorted(group))
    return groups


def contaminated(train, evals, n=13):
    if n < 1:
        raise ValueError("n")
    needles = {run for e in evals for run in _runs(_words(e), n)}
    sizes = {len(run) for run in needles}
    out = []
    for i, text in enumerate(train):
        words = _words(text)
        if any(tuple(words[k : k + size]) in needles for size in sizes for k in range(len(words) - size + 1)):
            out.append(i)
    return out
