"""What the models look at: the measures of the sentence that a key point or a misconception rests on.

All features are shares between 0 and 1 unless said otherwise. Those of the whole answer are there because
somebody who is wrong about one point of a card is rarely right about the next.
"""

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from quizapp.bank.key_terms import joined_stems, terms_among
from quizapp.bank.meaning.card_statements import Statements, read_card
from quizapp.bank.meaning.consistency import total
from quizapp.bank.meaning.measures import Measures, measure
from quizapp.bank.meaning.sentences import affirmed, own_sentences
from quizapp.bank.meaning.text_marking import Card

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quizapp.bank.meaning.passages import Floats

_UNIT = (
    "covered", "beyond_prompt", "meaning", "letters", "conflict", "scale_conflict", "scale_agreement",
    "numbers", "back", "net", "net_denial", "wrong_net",
)  # fmt: skip
ANSWER_FEATURES = (
    "all_strength", "all_wrong", "wrong_less_right", "wrong_only", "supported", "foreign",
    "all_net", "all_net_denial", "all_density", "all_denied", "all_linked", "all_wrong_linked",
    "known_numbers", "all_scale_conflict", "all_scale_agreement", "all_conflict",
)  # fmt: skip
FEATURES = (
    *_UNIT, "lacks_numbers", "reference", "reference_meaning", "terms", "more_terms", "wrong", "wrong_margin",
    "whole", "weight", "place", "given", "others", *ANSWER_FEATURES,
)  # fmt: skip
WRONG_FEATURES = (
    *_UNIT,
    "whole",
    "right",
    "right_margin",
    "point",
    "point_margin",
    "given",
    *ANSWER_FEATURES,
)
_MANY_TERMS = 3
_PAIR, _OTHER_POINT = 0.1, 0.3  # of a unit's score as evidence: for a second sentence, for another point


class Featured(NamedTuple):
    """Features of the answer, the points and the misconceptions, and the sentences that each rests on.

    ``point_evidence`` are the sentences to show for each point, which are mostly fewer.
    """

    answer: "Floats"
    points: "Floats"
    wrongs: "Floats"
    point_units: tuple[tuple[str, ...], ...]
    wrong_units: tuple[tuple[str, ...], ...]
    point_evidence: tuple[tuple[str, ...], ...]


def features(card: Card, text: str) -> Featured | None:
    """The features of an answer; None if no sentence of it says anything of its own."""
    statements = read_card(card)
    parts = own_sentences(text, card.prompt, card.points)
    if statements is None or not parts:
        return None
    measures = measure(statements, parts)
    answer = _answer(statements, measures)
    hits = [_term_hits(statements, measures, index) for index in range(len(card.points))]
    points = [_point(statements, measures, index, answer, hits[index]) for index in range(len(card.points))]
    wrongs = [_wrong(statements, measures, index, answer) for index in range(len(card.misconceptions))]
    return Featured(
        _table([answer], ANSWER_FEATURES)[0],
        _table([row for row, _ in points], FEATURES),
        _table([row for row, _ in wrongs], WRONG_FEATURES),
        tuple(measures.units[unit] for _, unit in points),
        tuple(measures.units[unit] for _, unit in wrongs),
        _point_evidence(measures, hits),
    )


def _table(rows: "list[dict[str, float]]", names: tuple[str, ...]) -> "Floats":
    return np.array([[row[name] for name in names] for row in rows], np.float32).reshape(-1, len(names))


def _unit(m: Measures, statement: int, unit: int) -> "dict[str, float]":
    """The measures of one unit against one statement."""
    row = {
        name: float(getattr(m, name)[statement, unit])
        for name in (
            "covered", "beyond_prompt", "meaning", "letters", "conflict", "scale_conflict", "scale_agreement",
            "numbers", "back",
        )
    }  # fmt: skip
    right, wrong = m.right[unit], m.wrong[unit]
    return {**row, "net": right.net, "net_denial": right.net_denial, "wrong_net": wrong.net}


def _answer(statements: Statements, m: Measures) -> "dict[str, float]":
    """The features of the whole answer."""
    strength = m.strength
    wrongs, rightful = strength[statements.wrongs], strength[statements.rightful]
    wrong = wrongs.max(axis=0) if len(wrongs) else np.zeros(strength.shape[1])
    weights = m.answer.weights
    whole = max(float(weights.sum()), 1e-6)
    in_wrong = np.zeros(statements.passages.size, bool)
    in_wrong[statements.wrongs] = True
    by_wrong = in_wrong[statements.passages.owners]
    near_right = m.near[~by_wrong].max(axis=0, initial=0)
    near_wrong = m.near[by_wrong].max(axis=0, initial=0)
    # How each sentence stands to the right statement that is nearest to it.
    single = slice(0, m.answer.size)
    both = (m.covered + m.back)[statements.rightful, single]
    nearest = statements.rightful[both.argmax(axis=0)]
    columns = np.arange(m.answer.size)
    right, wrong_claims = total(m.right[single]), total(m.wrong[single])
    return {
        "all_strength": float(strength[statements.points].max(axis=1).mean())
        if statements.card.points
        else 0.3,
        "all_wrong": float(wrong.max()),
        "wrong_less_right": float((wrong - rightful.max(axis=0, initial=0)).max()),
        "wrong_only": float((weights * np.clip(near_wrong - near_right, 0, 1)).sum() / whole),
        "supported": float((near_right * weights).sum() / whole),
        "foreign": float((weights * (np.maximum(near_right, near_wrong) < 0.5)).sum() / whole),
        "all_net": right.net,
        "all_net_denial": right.net_denial,
        "all_density": right.density,
        "all_denied": right.denied / (right.concepts + 5),
        "all_linked": right.linked / (right.linked + right.unlinked + 1),
        "all_wrong_linked": wrong_claims.linked / (right.linked + right.unlinked + 1),
        "known_numbers": right.known_numbers / (right.numbers + 1),
        "all_scale_conflict": float(m.scale_conflict[nearest, columns].mean()),
        "all_scale_agreement": float(m.scale_agreement[nearest, columns].mean()),
        "all_conflict": float(m.conflict[nearest, columns].mean()),
    }


def _whole(statements: Statements, m: Measures, index: int) -> float:
    """The share of a statement's concepts that the whole answer holds."""
    passages = statements.passages
    own = slice(passages.starts[index], passages.ends[index])
    weights = passages.weights[own]
    return float((m.near[own].max(axis=1) * weights).sum() / max(float(weights.sum()), 1e-6))


def _point(
    statements: Statements, m: Measures, index: int, answer: "Mapping[str, float]", hits: "Floats"
) -> "tuple[dict[str, float], int]":
    """The features of a key point, and the unit that it rests on."""
    point, count = statements.card.points[index], len(statements.card.points)
    strength = m.strength
    unit = int(_scores(m, index, hits).argmax())
    aligned = statements.aligned[index]
    wrong = float(strength[statements.wrongs, unit].max(initial=0))
    best = np.delete(strength[statements.points].max(axis=1), index)
    passages = statements.passages
    numbers = passages.is_number[passages.starts[index] : passages.ends[index]].any()
    row = {
        **_unit(m, index, unit),
        "lacks_numbers": float(numbers) - float(m.numbers[index, unit]),
        "reference": float(m.covered[aligned, unit].max(initial=0)),
        "reference_meaning": float(m.meaning[aligned, unit].max(initial=0)),
        "terms": float(hits[unit] > 0),
        "more_terms": float(min(hits[unit], _MANY_TERMS)) / _MANY_TERMS,
        "wrong": wrong,
        "wrong_margin": wrong - float(strength[index, unit]),
        "whole": _whole(statements, m, index),
        "weight": point.weight / 3,
        "place": index / max(1, count - 1),
        "given": float(statements.given[index]),
        "others": float(best.mean()) if len(best) else 0.3,
        **answer,
    }
    return row, unit


def _scores(m: Measures, index: int, hits: "Floats") -> "Floats":
    """How far each unit says a key point, by its strength and by the point's terms in it."""
    scores: Floats = m.strength[index] + 0.15 * np.minimum(hits, 2)
    return scores


def _point_evidence(m: Measures, hits: "Sequence[Floats]") -> tuple[tuple[str, ...], ...]:
    """The sentences to show for each key point.

    A pair of sentences holds more words than either, so it must beat them clearly. What says another point
    better is worth less: the sentence before or after would otherwise be quoted for its neighbor's words.
    """
    if not hits:
        return ()
    scores = np.stack([_scores(m, index, row) for index, row in enumerate(hits)])
    chosen = []
    for index, row in enumerate(scores):
        others = np.delete(scores, index, axis=0).max(axis=0, initial=0)
        own = row - _OTHER_POINT * others
        own[m.answer.size :] -= _PAIR
        chosen.append(m.units[int(own.argmax())])
    return tuple(chosen)


@lru_cache(64)
def _prompt_stems(prompt: str) -> str:
    return joined_stems(prompt)


@lru_cache(256)
def _affirmed_stems(sentence: str) -> str:
    return joined_stems(affirmed(sentence))


def _term_hits(statements: Statements, m: Measures, index: int) -> "Floats":
    """How many terms of a point each unit affirms that the prompt does not give away."""
    card = statements.card
    point = card.points[index]
    if not point.terms:
        return np.zeros(len(m.units), np.float32)
    given = set(terms_among(point, _prompt_stems(card.prompt))) if card.gives_away else set()
    single = [
        set(terms_among(point, stems)) - given
        for stems in (_affirmed_stems(unit[0]) for unit in m.units[: m.answer.size])
    ]
    pairs = [one | two for one, two in pairwise(single)]
    return np.array([len(terms) for terms in [*single, *pairs]], np.float32)


def _wrong(
    statements: Statements, m: Measures, number: int, answer: "Mapping[str, float]"
) -> "tuple[dict[str, float], int]":
    """The features of a misconception's wrong side, and the unit that it rests on."""
    index = statements.wrongs.start + number
    opposite = statements.wrongs.stop + number
    strength = m.strength
    unit = int(strength[index].argmax())
    own, right = float(strength[index, unit]), float(strength[opposite, unit])
    point = float(strength[statements.points, unit].max(initial=0))
    row = {
        **_unit(m, index, unit),
        "whole": _whole(statements, m, index),
        "right": right,
        "right_margin": own - right,
        "point": point,
        "point_margin": own - point,
        "given": float(statements.given[index]),
        **answer,
    }
    return row, unit
