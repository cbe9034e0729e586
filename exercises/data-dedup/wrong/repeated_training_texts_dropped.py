# fails: 7
# message: Each copy
import hashlib
import random
import re

PRIME = (1 << 61) - 1


def words(text):
    return re.findall(r"\w+", text.lower())


def runs(ws, n):
    return {" ".join(ws[i : i + n]) for i in range(len(ws) - n + 1)}


def shingles(text, n=5):
    if n < 1:
        raise ValueError("n must be at least 1")
    ws = words(text)
    if not ws:
        return set()
    if len(ws) < n:
        return {" ".join(ws)}
    return runs(ws, n)


def digest(item):
    return int.from_bytes(hashlib.blake2b(item.encode(), digest_size=8).digest(), "big")


def signature(items, num_hashes=128, seed=0):
    if num_hashes < 1:
        raise ValueError("num_hashes must be at least 1")
    if not items:
        raise ValueError("empty set")
    rng = random.Random(seed)
    hashes = [digest(item) % PRIME for item in items]
    out = []
    for _ in range(num_hashes):
        a, b = rng.randrange(1, PRIME), rng.randrange(PRIME)
        out.append(min((a * h + b) % PRIME for h in hashes))
    return out


def jaccard(a, b):
    return len(a & b) / len(a | b)


def near_duplicates(texts, threshold=0.7, n=5):
    if not 0 < threshold <= 1:
        raise ValueError("threshold must lie in (0, 1]")
    if n < 1:
        raise ValueError("n must be at least 1")
    sets = [shingles(text, n) for text in texts]
    parent = list(range(len(sets)))

    def find(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i in range(len(sets)):
        for j in range(i):
            if sets[i] and sets[j] and jaccard(sets[i], sets[j]) >= threshold:
                a, b = sorted((find(i), find(j)))
                parent[b] = a
    groups = {}
    for i in range(len(sets)):
        groups.setdefault(find(i), []).append(i)
    return sorted(groups.values())


def contaminated(train, evals, n=13):
    if n < 1:
        raise ValueError("n must be at least 1")
    long, short = set(), {}
    for text in evals:
        ws = words(text)
        if len(ws) >= n:
            long |= runs(ws, n)
        elif ws:
            short.setdefault(len(ws), set()).add(" ".join(ws))
    out = []
    for i, text in enumerate(dict.fromkeys(train)):
        ws = words(text)
        if runs(ws, n) & long or any(runs(ws, k) & found for k, found in short.items()):
            out.append(i)
    return out
