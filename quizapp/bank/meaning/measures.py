"""Measures every sentence of an answer against every statement of a card."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quizapp.bank.meaning.card_statements import Statements
from quizapp.bank.meaning.consistency import ClaimAgreement, agreement, total
from quizapp.bank.meaning.passages import ALIKE, Passages, product, read_passages, similarity, unit_length

if TYPE_CHECKING:
    from quizapp.bank.meaning.passages import Floats

_CONTEXT_SHARE = 0.25  # of the choice between equal concepts that their neighbors decide


class Measures(NamedTuple):
    """How each unit of an answer relates to each statement of a card (arrays: statements x units).

    A unit is a sentence or two neighboring ones; the sentences come first. Shares are between 0 and 1.
    """

    units: tuple[tuple[str, ...], ...]
    covered: "Floats"  # of the statement's concepts, by weight
    beyond_prompt: "Floats"  # of the statement's concepts that the prompt does not give away
    meaning: "Floats"  # cosine in the space
    letters: "Floats"  # cosine of character trigrams
    conflict: "Floats"  # of what both hold, the share with opposite signs
    scale_conflict: "Floats"  # weight of scales with opposite ends in the same context
    scale_agreement: "Floats"  # weight of scales with the same end in the same context
    numbers: "Floats"  # of the statement's numbers
    back: "Floats"  # of the unit's concepts that the statement holds
    answer: Passages
    near: "Floats"  # similarity of the statements' concepts and the answer's
    right: tuple[ClaimAgreement, ...]  # by unit, with the card's right statements
    wrong: tuple[ClaimAgreement, ...]  # by unit, with the wrong sides of its misconceptions

    @property
    def strength(self) -> "Floats":
        """One number for how far a unit says a statement (statements x units)."""
        said: Floats = 0.5 * self.covered + 0.25 * self.beyond_prompt + 0.25 * self.meaning
        return said - 0.2 * self.conflict


class _Matches(NamedTuple):
    """For each concept of the statements and each unit, the best match in it."""

    near: "Floats"
    sign: "Floats"  # 1 for the same sign, -1 for opposite ones, 0 where nothing matches
    context: "Floats"  # how alike the neighbors are

    def with_pairs(self) -> "_Matches":
        """Add units of two neighboring sentences, with the better match of both."""
        if self.near.shape[1] < 2:
            return self
        chosen = _score(self.near[:, 1:], self.context[:, 1:]) > _score(
            self.near[:, :-1], self.context[:, :-1]
        )
        return _Matches(*(np.hstack([rows, np.where(chosen, rows[:, 1:], rows[:, :-1])]) for rows in self))


def _score(near: "Floats", context: "Floats") -> "Floats":
    scored: Floats = near * (1 - _CONTEXT_SHARE + _CONTEXT_SHARE * context)
    return scored


def measure(statements: Statements, sentences: Sequence[str]) -> Measures:
    """Measure the sentences of an answer, at least one."""
    card = statements.passages
    answer = read_passages(sentences, statements.words)
    near = similarity(card, answer)
    matches = _matches(card, answer, near).with_pairs()
    held = matches.near * card.weights[:, None]
    common = np.maximum(card.sums(held), 1e-6)
    scales = (matches.near >= 1) * (0.2 + matches.context) * (card.weights * card.is_scale)[:, None]
    totals = np.maximum(card.sums(card.weights), 1e-6)[:, None]
    beyond = np.maximum(card.sums(statements.beyond_prompt), 1e-6)[:, None]
    numbers = np.maximum(card.sums(card.is_number), 1)[:, None]
    meanings = answer.meanings()
    trigrams = answer.trigrams
    back = np.maximum.reduceat(near, card.starts, axis=0) * answer.weights
    back = answer.sums(back.T).T / np.maximum(answer.sums(answer.weights), 1e-6)
    right, wrong = (
        [
            agreement(claims, answer.tokens[start:end])
            for start, end in zip(answer.starts, answer.ends, strict=True)
        ]
        for claims in (statements.right, statements.wrong)
    )
    units: list[tuple[str, ...]] = [(sentence,) for sentence in sentences]
    if answer.size > 1:
        meanings = np.vstack([meanings, meanings[:-1] + meanings[1:]])
        trigrams = np.vstack([trigrams, unit_length(trigrams[:-1] + trigrams[1:])])
        back = np.hstack([back, (back[:, :-1] + back[:, 1:]) / 2])
        units += pairwise(sentences)
        right += [total(pair) for pair in pairwise(right)]
        wrong += [total(pair) for pair in pairwise(wrong)]
    return Measures(
        tuple(units),
        covered=card.sums(held) / totals,
        beyond_prompt=card.sums(matches.near * statements.beyond_prompt[:, None]) / beyond,
        meaning=product(unit_length(card.meanings()), unit_length(meanings)),
        letters=product(card.trigrams, trigrams),
        conflict=card.sums(held * (matches.sign < 0)) / common,
        scale_conflict=card.sums(scales * (matches.sign < 0)),
        scale_agreement=card.sums(scales * (matches.sign > 0)),
        numbers=card.sums((matches.near >= 1) * card.is_number[:, None]) / numbers,
        back=back,
        answer=answer,
        near=near,
        right=tuple(right),
        wrong=tuple(wrong),
    )


def _matches(card: Passages, answer: Passages, near: "Floats") -> _Matches:
    """The best match of each concept of the card in each sentence."""
    context = np.maximum(product(card.context, answer.context), 0)
    scored = _score(near, context)
    rows = np.arange(len(card.tokens))
    columns = []
    for start, end in zip(answer.starts, answer.ends, strict=True):
        place = start + scored[:, start:end].argmax(axis=1)
        best = near[rows, place]
        sign = np.where(best >= ALIKE, card.signs * answer.signs[place], 0)
        columns.append((best, sign, context[rows, place]))
    return _Matches(*(np.stack(column, axis=1).astype(np.float32) for column in zip(*columns, strict=True)))
