"""Passages as arrays: the concepts of several sentences in one row, ready to be compared with others."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quizapp.bank.meaning.concepts import NUMBER, Signed, concepts
from quizapp.bank.meaning.lexicon import SCALE
from quizapp.bank.meaning.space import load_space

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Ints = NDArray[np.int64]

ALIKE = 0.7  # similarity of two words with the same first letters
_FIRST_LETTERS = 5
_NEAR, _NEAR_MOST = 0.6, 0.35  # cosine from which neighbors in the space count, and how much at most
_CONTEXT = 4  # concepts on either side that tell which of two equal concepts is meant
_BUCKETS = 1024  # of hashed character trigrams
_SMALL_PRODUCT = 250_000  # multiplications
_NOTHING = Signed("", 1, "")


class Passages(NamedTuple):
    """Concepts of several passages in one row. ``starts`` are the places where the passages begin.

    ``vectors`` and ``context`` (the vectors of the neighbors, unit length) are concepts x dimensions;
    ``trigrams`` is passages x buckets; everything else is by concept.
    """

    tokens: tuple[Signed, ...]
    starts: "Ints"
    vectors: "Floats"
    weights: "Floats"
    signs: "Floats"
    context: "Floats"
    trigrams: "Floats"
    is_scale: "Floats"
    is_number: "Floats"

    @property
    def size(self) -> int:
        """The number of passages."""
        return len(self.starts)

    @property
    def ends(self) -> "Ints":
        """The places after the passages' last concepts."""
        return np.append(self.starts[1:], len(self.tokens))

    @property
    def owners(self) -> "Ints":
        """The passage of each concept."""
        return np.repeat(np.arange(self.size), self.ends - self.starts)

    def sums(self, values: "Floats") -> "Floats":
        """Sums over the concepts (first axis) of each passage."""
        sums: Floats = np.add.reduceat(values, self.starts, axis=0)
        return sums

    def meanings(self) -> "Floats":
        """The weighted sum of the vectors of each passage."""
        return self.sums(self.vectors * self.weights[:, None])


def read_passages(texts: Sequence[str], known: frozenset[str] | None = None) -> Passages:
    """Read at least one passage. One without a concept holds an empty concept of weight 0."""
    space = load_space()
    tokens: list[Signed] = []
    starts: list[int] = []
    for text in texts:
        starts.append(len(tokens))
        tokens += concepts(text, known) or (_NOTHING,)
    names = [token.name for token in tokens]
    vectors = space.rows(names)
    weights = space.weight(names)
    weights[[not name for name in names]] = 0
    first = np.array(starts, np.int64)
    return Passages(
        tuple(tokens),
        first,
        vectors,
        weights,
        np.array([token.sign for token in tokens], np.float32),
        _context(vectors * weights[:, None], first),
        unit_length(np.stack([_trigrams(text) for text in texts])),
        np.array([name.startswith(SCALE) for name in names], np.float32),
        np.array([name.startswith(NUMBER) for name in names], np.float32),
    )


def _context(weighted: "Floats", starts: "Ints") -> "Floats":
    """The direction of the sum of each concept's neighbors within its passage."""
    count = len(weighted)
    sums = np.zeros((count + 1, weighted.shape[1]), np.float32)
    np.cumsum(weighted, axis=0, out=sums[1:])
    ends = np.append(starts[1:], count)
    lengths = ends - starts
    at = np.arange(count)
    low = np.maximum(at - _CONTEXT, np.repeat(starts, lengths))
    high = np.minimum(at + _CONTEXT + 1, np.repeat(ends, lengths))
    return unit_length(sums[high] - sums[low] - weighted)


def unit_length(rows: "Floats") -> "Floats":
    """Rows scaled to length 1; a row of zeros stays."""
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    scaled: Floats = (rows / np.maximum(lengths, 1e-6)).astype(np.float32)
    return scaled


def product(rows: "Floats", columns: "Floats") -> "Floats":
    """``rows @ columns.T`` in blocks that are too small for BLAS to start threads.

    Starting and joining threads takes longer than these products, above all on a busy machine.
    """
    block = max(1, _SMALL_PRODUCT // max(1, columns.size))
    parts = [rows[at : at + block] @ columns.T for at in range(0, len(rows), block)]
    whole: Floats = np.concatenate(parts)
    return whole


def _trigrams(text: str) -> "Floats":
    codes = np.frombuffer(re.sub(r"\W+", " ", f" {text.casefold()} ").encode(), np.uint8).astype(np.int64)
    if len(codes) < 3:
        return np.zeros(_BUCKETS, np.float32)
    hashed = (codes[:-2] * 961 + codes[1:-1] * 31 + codes[2:]) % _BUCKETS
    counts: Floats = np.sqrt(np.bincount(hashed, minlength=_BUCKETS)).astype(np.float32)
    return counts


def similarity(rows: Passages, columns: Passages) -> "Floats":
    """How near each concept of ``rows`` is to each of ``columns``: 1 for the same concept."""
    near: Floats = product(rows.vectors, columns.vectors)
    near = np.maximum((near - _NEAR) * np.float32(_NEAR_MOST / (1 - _NEAR)), 0)
    names, letters = _numbered(rows, columns)
    near[letters[0][:, None] == letters[1][None, :]] = ALIKE
    near[names[0][:, None] == names[1][None, :]] = 1
    return near


def _numbered(rows: Passages, columns: Passages) -> "tuple[tuple[Ints, Ints], tuple[Ints, Ints]]":
    """Numbers for names and for the first letters of long words, equal where those are equal."""
    names: dict[str, int] = {}
    letters: dict[str, int] = {}
    by_name, by_letters = [], []
    for passages, nothing in ((rows, -1), (columns, -2)):
        by_name.append(
            np.array([names.setdefault(t.name, len(names)) if t.name else nothing for t in passages.tokens])
        )
        by_letters.append(
            np.array(
                [
                    letters.setdefault(t.word[:_FIRST_LETTERS], len(letters))
                    if len(t.word) > _FIRST_LETTERS and t.name[0] not in SCALE + NUMBER
                    else nothing
                    for t in passages.tokens
                ]
            )
        )
    return (by_name[0], by_name[1]), (by_letters[0], by_letters[1])
