# fails: 2
# message: at other positions
import hashlib
import re


def _words(text):
    return re.findall(r"\w+", text.lower())


def shingles(text, n=5):
    if n < 1:
        raise ValueError("n")
    w = _words(text)
    if not w:
        return set()
    if len(w) < n:
        return {" ".join(w)}
    return {" ".join(w[i : i + n]) for i in range(len(w) - n + 1)}


def signature(items, num_hashes=128, seed=0):
    if num_hashes < 1:
        raise ValueError("num_hashes")
    if not items:
        raise ValueError("empty")

    def h(i, s):
        return int.from_bytes(hashlib.blake2b(f"{seed + i}:{s}".encode(), digest_size=8).digest(), "big")

    return [min(h(i, s) for s in items) for i in range(num_hashes)]


def near_duplicates(texts, threshold=0.7, n=5):
    if n < 1:
        raise ValueError("n")
    if not 0 < threshold <= 1:
        raise ValueError("threshold")
    sets = [shingles(t, n) for t in texts]
    parent = list(range(len(sets)))

    def find(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i in range(len(sets)):
        for j in range(i + 1, len(sets)):
            a, b = sets[i], sets[j]
            if a and b and len(a & b) / len(a | b) >= threshold:
                ri, rj = find(i), find(j)
                parent[max(ri, rj)] = min(ri, rj)
    groups = {}
    for i in range(len(sets)):
        groups.setdefault(find(i), []).append(i)
    return sorted(groups.values())


def contaminated(train, evals, n=13):
    if n < 1:
        raise ValueError("n")
    grams = {}
    for e in evals:
        for s in shingles(e, n):
            grams.setdefault(len(s.split()), set()).add(s)
    out = []
    for i, t in enumerate(train):
        w = _words(t)
        if any(" ".join(w[j : j + k]) in g for k, g in grams.items() for j in range(len(w) - k + 1)):
            out.append(i)
    return out
