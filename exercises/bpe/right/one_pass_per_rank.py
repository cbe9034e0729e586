import re
from collections import defaultdict

PATTERN = re.compile(r" ?\w+| ?[^\w\s]+|\s+")


def _specials(tokens):
    tokens = tuple(tokens)
    if any(not token for token in tokens):
        raise ValueError("empty special token")
    if len({*tokens}) != len(tokens):
        raise ValueError("repeated special token")
    return tokens


def _segments(text, specials):
    """(is_special, text) pieces, found by hand."""
    start = i = 0
    while i < len(text):
        match = max((s for s in specials if text.startswith(s, i)), key=len, default=None)
        if match is None:
            i += 1
            continue
        yield False, text[start:i]
        yield True, match
        i += len(match)
        start = i
    yield False, text[start:]


def train(text, num_merges, special_tokens=()):
    if num_merges < 0:
        raise ValueError("num_merges")
    frequency = defaultdict(int)
    for special, piece in _segments(text, _specials(special_tokens)):
        if not special:
            for match in PATTERN.finditer(piece):
                frequency[tuple(match[0].encode("utf-8"))] += 1
    merges = []
    while len(merges) < num_merges:
        totals = {}
        for word, times in frequency.items():
            for left, right in zip(word, word[1:]):
                totals[left, right] = totals.get((left, right), 0) + times
        if totals == {}:
            return merges
        highest = max(totals.values())
        chosen = sorted(pair for pair, total in totals.items() if total == highest)[0]
        updated = defaultdict(int)
        for word, times in frequency.items():
            updated[_apply(word, chosen, 256 + len(merges))] += times
        frequency = updated
        merges.append(chosen)
    return merges


def _apply(word, pair, new):
    out = []
    for token in word:
        # A token that was just made is never the left part of its own merge.
        if out and out[-1] == pair[0] and token == pair[1]:
            out[-1] = new
        else:
            out.append(token)
    return tuple(out)


class Tokenizer:
    def __init__(self, merges, special_tokens=()):
        self.specials = _specials(special_tokens)
        self.ranks = {}
        self.vocabulary = {i: bytes((i,)) for i in range(256)}
        for left, right in merges:
            new = len(self.vocabulary)
            if left not in self.vocabulary or right not in self.vocabulary or (left, right) in self.ranks:
                raise ValueError(f"bad merge {(left, right)}")
            self.ranks[left, right] = new
            self.vocabulary[new] = self.vocabulary[left] + self.vocabulary[right]
        self.ids = {}
        for token in self.specials:
            self.ids[token] = len(self.vocabulary)
            self.vocabulary[len(self.vocabulary)] = token.encode("utf-8")
        self.vocab_size = len(self.vocabulary)
        self.cache = {}

    def token_bytes(self, token):
        try:
            return self.vocabulary[token]
        except KeyError:
            raise ValueError(f"unknown token {token}") from None

    def encode(self, text):
        out = []
        for special, piece in _segments(text, self.specials):
            if special:
                out.append(self.ids[piece])
                continue
            for word in PATTERN.findall(piece):
                if word not in self.cache:
                    self.cache[word] = self._word(word)
                out.extend(self.cache[word])
        return out

    def _word(self, word):
        tokens = tuple(word.encode("utf-8"))
        while len(tokens) > 1:
            known = [self.ranks[pair] for pair in zip(tokens, tokens[1:]) if pair in self.ranks]
            if not known:
                break
            new = min(known)
            pair = next(pair for pair, made in self.ranks.items() if made == new)
            tokens = _apply(tokens, pair, new)
        return tokens

    def decode(self, tokens):
        data = bytearray()
        for token in tokens:
            data += self.token_bytes(token)
        return str(data, "utf-8", "replace")
