# fails: 1
# message: casefold
import hashlib
import random
import re

P = (1 << 61) - 1


def words(text):
    return re.findall(r"\w+", text.casefold())


def shingles(text, n=5):
    if n < 1:
        raise ValueError("n")
    w = words(text)
    if not w:
        return set()
    if len(w) < n:
        return {" ".join(w)}
    return {" ".join(w[i : i + n]) for i in range(len(w) - n + 1)}


def signature(items, num_hashes=128, seed=0):
    if num_hashes < 1:
        raise ValueError("num_hashes")
    if not items:
        raise ValueError("empty set")
    rng = random.Random(seed)
    base = [int.from_bytes(hashlib.blake2b(s.encode("utf-8"), digest_size=8).digest(), "big") for s in items]
    out = []
    for _ in range(num_hashes):
        a = rng.randrange(1, P)
        b = rng.randrange(P)
        out.append(min((a * x + b) % P for x in base))
    return out


def near_duplicates(texts, threshold=0.7, n=5):
    if not 0 < threshold <= 1:
        raise ValueError("threshold")
    if n < 1:
        raise ValueError("n")
    sets = [shingles(t, n) for t in texts]
    parent = list(range(len(sets)))

    def find(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i in range(len(sets)):
        for j in range(i + 1, len(sets)):
            if sets[i] and sets[j]:
                sim = len(sets[i] & sets[j]) / len(sets[i] | sets[j])
                if sim >= threshold:
                    parent[find(j)] = find(i)
    groups = {}
    for i in range(len(sets)):
        groups.setdefault(find(i), []).append(i)
    return sorted(groups.values())


def contaminated(train, evals, n=13):
    if n < 1:
        raise ValueError("n")
    bad = {}
    for e in evals:
        w = words(e)
        if not w:
            continue
        k = min(n, len(w))
        for i in range(len(w) - k + 1):
            bad.setdefault(k, set()).add(tuple(w[i : i + k]))
    hits = []
    for i, t in enumerate(train):
        w = words(t)
        found = False
        for k, runs in bad.items():
            for j in range(len(w) - k + 1):
                if tuple(w[j : j + k]) in runs:
                    found = True
        if found:
            hits.append(i)
    return hits
