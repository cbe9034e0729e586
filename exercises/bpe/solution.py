"""Byte-level BPE: train, encode, decode."""

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Sequence

PATTERN = r" ?\w+| ?[^\w\s]+|\s+"  # pre-tokens: re.findall(PATTERN, text)
Pair = tuple[int, int]


def check_special(special_tokens: Sequence[str]) -> list[str]:
    special = list(special_tokens)
    if "" in special or len(set(special)) < len(special):
        raise ValueError("special tokens must be different and not empty")
    return special


def split_special(text: str, special: Sequence[str]) -> list[str]:
    """Pieces of text at even positions, special tokens between them."""
    if not special:
        return [text]
    longest_first = sorted(special, key=len, reverse=True)
    return re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text)


def merge(tokens: list[int], pair: Pair, new: int) -> list[int]:
    """Replace a pair from left to right, without overlap."""
    merged, i = [], 0
    while i < len(tokens):
        if tuple(tokens[i : i + 2]) == pair:
            merged.append(new)
            i += 2
        else:
            merged.append(tokens[i])
            i += 1
    return merged


def train(text: str, num_merges: int, special_tokens: Sequence[str] = ()) -> list[tuple[int, int]]:
    """The merges, in order; merge i makes token 256 + i."""
    if num_merges < 0:
        raise ValueError("num_merges must not be negative")
    pieces = split_special(text, check_special(special_tokens))[::2]
    counts = Counter(word for piece in pieces for word in re.findall(PATTERN, piece))
    words = [(list(word.encode()), count) for word, count in counts.items()]
    merges: list[tuple[int, int]] = []
    for _ in range(num_merges):
        pairs: Counter[Pair] = Counter()
        for tokens, count in words:
            for pair in zip(tokens, tokens[1:], strict=False):
                pairs[pair] += count
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        new = 256 + len(merges)
        words = [(merge(tokens, best, new), count) for tokens, count in words]
        merges.append(best)
    return merges


class Tokenizer:
    """Bytes are tokens 0 to 255, then come merges, then special tokens."""

    def __init__(self, merges: Sequence[tuple[int, int]], special_tokens: Sequence[str] = ()):
        self._special = check_special(special_tokens)
        self._bytes = [bytes([i]) for i in range(256)]
        self._rank: dict[Pair, int] = {}
        for rank, (left, right) in enumerate(merges):
            if not (0 <= left < 256 + rank and 0 <= right < 256 + rank):
                raise ValueError(f"merge {rank} uses a token that is not made yet")
            if (left, right) in self._rank:
                raise ValueError(f"merge {rank} is a repetition")
            self._rank[left, right] = rank
            self._bytes.append(self._bytes[left] + self._bytes[right])
        self._special_id = {text: len(self._bytes) + i for i, text in enumerate(self._special)}
        self._bytes += [text.encode() for text in self._special]

    @property
    def vocab_size(self) -> int:
        return len(self._bytes)

    def token_bytes(self, token: int) -> bytes:
        """The bytes of one token."""
        if not 0 <= token < len(self._bytes):
            raise ValueError(f"token {token} is outside the vocabulary")
        return self._bytes[token]

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        found = []
        for i, piece in enumerate(split_special(text, self._special)):
            if i % 2:
                found.append(self._special_id[piece])
            else:
                for word in re.findall(PATTERN, piece):
                    found += self._encode_word(word.encode())
        return found

    def _encode_word(self, word: bytes) -> list[int]:
        """A heap of possible merges by (rank, position) over a linked list."""
        tokens: list[int | None] = list(word)
        after = list(range(1, len(word) + 1))
        before = list(range(-1, len(word) - 1))
        heap: list[tuple[int, int, int, int]] = []

        def push(i: int) -> None:
            """Offer the pair that begins at position i, if it can be merged."""
            if i >= 0 and after[i] < len(tokens):
                left, right = tokens[i], tokens[after[i]]
                rank = self._rank.get((left, right))
                if rank is not None:
                    heapq.heappush(heap, (rank, i, left, right))

        for i in range(len(tokens)):
            push(i)
        while heap:
            rank, i, left, right = heapq.heappop(heap)
            j = after[i]
            if j >= len(tokens) or (tokens[i], tokens[j]) != (left, right):
                continue  # another merge has used one of them
            tokens[i], tokens[j] = 256 + rank, None
            after[i] = after[j]
            if after[i] < len(tokens):
                before[after[i]] = i
            push(before[i])
            push(i)
        return [token for token in tokens if token is not None]

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of tokens."""
        joined = b"".join(self.token_bytes(token) for token in tokens)
        return joined.decode("utf-8", errors="replace")
