"""A card, read once: its statements as passages, and what they claim."""

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quizapp.bank.meaning.consistency import Claims, read_claims
from quizapp.bank.meaning.passages import ALIKE, Passages, read_passages, similarity
from quizapp.bank.meaning.sentences import sentences
from quizapp.bank.meaning.text_marking import Card

if TYPE_CHECKING:
    from quizapp.bank.meaning.passages import Floats, Ints

_ALIGNED = 0.35  # coverage from which a sentence of the card's answer belongs to a key point
_ALIGNED_SHARE = 0.8  # of the best sentence's coverage


class Statements(NamedTuple):
    """The statements of a card: its points, the wrongs, the rights of its misconceptions, its own answer."""

    card: Card
    passages: Passages
    beyond_prompt: "Floats"  # the weights of the concepts that the prompt does not give away
    given: "Floats"  # by statement, the share that the prompt gives away
    aligned: "tuple[Ints, ...]"  # by point, the sentences of the card's answer that belong to it
    words: frozenset[str]  # that typing errors are compared with
    right: Claims
    wrong: Claims

    @property
    def points(self) -> slice:
        """Where the key points are."""
        return slice(0, len(self.card.points))

    @property
    def wrongs(self) -> slice:
        """Where the wrong sides of the misconceptions are."""
        first = len(self.card.points)
        return slice(first, first + len(self.card.misconceptions))

    @property
    def rightful(self) -> "Ints":
        """The places of all statements that are right."""
        places = np.arange(self.passages.size)
        right: Ints = places[(places < self.wrongs.start) | (places >= self.wrongs.stop)]
        return right


@lru_cache(64)
def read_card(card: Card) -> Statements | None:
    """Read the statements of a card; None if it has none."""
    points = [point.text for point in card.points]
    wrongs = [row.wrong for row in card.misconceptions]
    rights = [row.right for row in card.misconceptions]
    own = [sentence for text in card.references for sentence in sentences(text)]
    if not points and not wrongs:
        return None
    passages = read_passages([*points, *wrongs, *rights, *own])
    held = np.zeros(len(passages.tokens), np.float32)
    if card.gives_away and card.prompt.strip():
        held = (similarity(passages, read_passages([card.prompt])) >= ALIKE).max(axis=1).astype(np.float32)
    total = np.maximum(passages.sums(passages.weights), 1e-6)
    return Statements(
        card,
        passages,
        passages.weights * (1 - held),
        passages.sums(passages.weights * held) / total,
        _aligned(passages, len(points), len(points) + 2 * len(wrongs)),
        frozenset(token.word for token in passages.tokens if len(token.word) > 4),
        read_claims([*points, *rights, *own], card.prompt),
        read_claims(wrongs),
    )


def _aligned(passages: Passages, points: int, first: int) -> "tuple[Ints, ...]":
    """For each of the ``points`` first statements, those from ``first`` on that hold most of it."""
    if first >= passages.size or not points:
        return tuple(np.zeros(0, np.int64) for _ in range(points))
    end = int(passages.ends[points - 1])
    near = similarity(passages, passages)[:end]
    best = np.maximum.reduceat(near, passages.starts, axis=1) * passages.weights[:end, None]
    totals = np.add.reduceat(passages.weights[:end], passages.starts[:points])
    shares = np.add.reduceat(best, passages.starts[:points], axis=0) / np.maximum(totals, 1e-6)[:, None]
    return tuple(
        first + np.flatnonzero(row >= max(_ALIGNED, _ALIGNED_SHARE * row.max())) for row in shares[:, first:]
    )
