"""Goes through the merges in order; a later merge never makes an earlier one possible."""

import itertools
import re

PATTERN = r" ?\w+| ?[^\w\s]+|\s+"


class Merges:
    def __init__(self, merges):
        self.pairs = [(int(left), int(right)) for left, right in merges]

    def apply(self, tokens):
        present = set(itertools.pairwise(tokens))
        for rank, pair in enumerate(self.pairs):
            if pair in present:
                tokens = self.replace(tokens, pair, 256 + rank)
                present = set(itertools.pairwise(tokens))
        return tokens

    @staticmethod
    def replace(tokens, pair, new):
        result, skip = [], False
        for here, following in itertools.zip_longest(tokens, tokens[1:]):
            if skip:
                skip = False
            elif (here, following) == pair:
                result.append(new)
                skip = True
            else:
                result.append(here)
        return result


def cut(text, special_tokens):
    special = list(special_tokens)
    if "" in special or len(set(special)) != len(special):
        raise ValueError("special tokens")
    if not special:
        return special, [text]
    special_pattern = "|".join(re.escape(s) for s in sorted(special, key=lambda s: -len(s)))
    return special, re.split(f"({special_pattern})", text)


def train(text, num_merges, special_tokens=()):
    if num_merges < 0:
        raise ValueError("num_merges")
    special, pieces = cut(text, special_tokens)
    words = [list(w.encode()) for p in pieces if p not in special for w in re.findall(PATTERN, p)]
    merges = []
    for new in range(256, 256 + num_merges):
        found = sorted(pair for word in words for pair in itertools.pairwise(word))
        if not found:
            break
        best, most = None, 0
        for pair, group in itertools.groupby(found):
            count = len(list(group))
            if count > most:  # sorted, so the smallest of a tie comes first
                best, most = pair, count
        words = [Merges.replace(word, best, new) for word in words]
        merges.append(best)
    return merges


class Tokenizer:
    def __init__(self, merges, special_tokens=()):
        self._merges = Merges(merges)
        known = [bytes([b]) for b in range(256)]
        if len(set(self._merges.pairs)) < len(self._merges.pairs):
            raise ValueError("a merge is repeated")
        for pair in self._merges.pairs:
            if min(pair) < 0 or max(pair) >= len(known):
                raise ValueError("a merge uses a token that is not made yet")
            known.append(known[pair[0]] + known[pair[1]])
        self._special = tuple(cut("", special_tokens)[0])
        self._first_special = len(known)
        self._known = (*known, *(s.encode() for s in self._special))

    vocab_size = property(lambda self: len(self._known))

    def token_bytes(self, token):
        if token < 0 or token >= self.vocab_size:
            raise ValueError("token")
        return self._known[token]

    def encode(self, text):
        _, pieces = cut(text, self._special)
        return [
            token
            for i, piece in enumerate(pieces)
            for token in (
                [self._first_special + self._special.index(piece)]
                if i % 2
                else itertools.chain(
                    *(self._merges.apply(list(w.encode())) for w in re.findall(PATTERN, piece))
                )
            )
        ]

    def decode(self, tokens):
        return b"".join(map(self.token_bytes, tokens)).decode(errors="replace")
