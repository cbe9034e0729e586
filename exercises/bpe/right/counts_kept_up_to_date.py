"""Training with a table of pairs that each merge updates, encoding by joins of byte strings."""

import re
from collections import Counter, defaultdict

PATTERN = r" ?\w+| ?[^\w\s]+|\s+"


def pieces(text, special):
    if len(special) != len(set(special)) or not all(special):
        raise ValueError("special tokens")
    if special:
        union = "|".join(re.escape(s) for s in sorted(special, key=lambda s: (len(s), s), reverse=True))
        position = 0
        for match in re.finditer(union, text):
            yield text[position : match.start()], None
            yield None, match.group()
            position = match.end()
        text = text[position:]
    yield text, None


def train(text, num_merges, special_tokens=()):
    if num_merges < 0:
        raise ValueError("num_merges must be at least 0")
    counts = Counter()
    for plain, _ in pieces(text, list(special_tokens)):
        if plain:
            counts.update(re.findall(PATTERN, plain))
    words = [[list(word.encode("utf8")), count] for word, count in counts.items()]
    pairs, where = Counter(), defaultdict(set)
    for i, (word, count) in enumerate(words):
        for pair in zip(word, word[1:]):
            pairs[pair] += count
            where[pair].add(i)
    merges = []
    while len(merges) < num_merges:
        pairs = Counter({pair: count for pair, count in pairs.items() if count > 0})
        if not pairs:
            break
        best = max(pairs, key=lambda p: (pairs[p], -p[0], -p[1]))
        new = 256 + len(merges)
        merges.append(best)
        for i in where.pop(best):
            word, count = words[i]
            for pair in zip(word, word[1:]):
                pairs[pair] -= count
            j = 0
            while j < len(word) - 1:
                if (word[j], word[j + 1]) == best:
                    word[j : j + 2] = [new]
                j += 1
            for pair in zip(word, word[1:]):
                pairs[pair] += count
                where[pair].add(i)
    return merges


class Tokenizer:
    def __init__(self, merges, special_tokens=()):
        self.pair_of = {}
        self.table = [bytes([i]) for i in range(256)]
        for i, pair in enumerate(merges):
            pair = tuple(pair)
            if not all(0 <= token < 256 + i for token in pair) or pair in self.pair_of.values():
                raise ValueError(f"merge {i}")
            self.pair_of[256 + i] = pair
            self.table.append(self.table[pair[0]] + self.table[pair[1]])
        self.special = list(special_tokens)
        list(pieces("", self.special))
        self.table.extend(s.encode() for s in self.special)
        self.vocab_size = len(self.table)

    def token_bytes(self, token):
        if token not in range(self.vocab_size):
            raise ValueError(token)
        return self.table[token]

    def encode(self, text):
        result = []
        for plain, marker in pieces(text, self.special):
            if marker is not None:
                result.append(256 + len(self.pair_of) + self.special.index(marker))
            elif plain:
                for word in re.findall(PATTERN, plain):
                    # Tokens as characters: every merge is one str.replace, from left to right.
                    held = "".join(map(chr, word.encode()))
                    for new, (left, right) in self.pair_of.items():
                        held = held.replace(chr(left) + chr(right), chr(new))
                    result += map(ord, held)
        return result

    def decode(self, tokens):
        return b"".join(self.token_bytes(t) for t in tokens).decode("utf-8", "replace")
