"""Whether a text says the same about the same things as a card: "raises the variance" against "lowers it".

A claim is a scale (raise or lower, before or after, more or fewer) beside another concept, with the end of
the scale that is affirmed. The card's right statements say which claims hold.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from quizapp.bank.meaning.concepts import NUMBER, Signed, concepts
from quizapp.bank.meaning.lexicon import SCALE
from quizapp.bank.meaning.space import load_space

_REACH = 4  # concepts between which a claim is read
# Scales that run along each other: what is larger for one text grows for another.
_KINDS = {
    **dict.fromkeys(
        ("increas", "mor", "larg", "too larg", "maximum", "multip", "add"), "size"
    ),
    **dict.fromkeys(("better", "stabl", "tru", "easy", "succes", "usef", "unbias", "clean"), "good"),
}  # fmt: skip

Claim = tuple[str, str]


class Claims(NamedTuple):
    """What statements claim, by claim: the weight for and against. ``pairs`` occur in one statement."""

    scales: Mapping[Claim, float]  # net, -1 to 1
    signs: Mapping[str, float]  # of each concept, net: how often affirmed rather than denied, -1 to 1
    pairs: frozenset[tuple[str, str]]
    numbers: frozenset[str]


class ClaimAgreement(NamedTuple):
    """How sentences stand to claims: weights that agree and that conflict, and shares of the numbers."""

    agreed: float = 0.0
    opposed: float = 0.0
    affirmed: float = 0.0
    denied: float = 0.0
    linked: float = 0.0
    unlinked: float = 0.0
    numbers: float = 0
    known_numbers: float = 0
    concepts: float = 0

    @property
    def net(self) -> float:
        """ClaimAgreement on scales, -1 to 1; 0 without a claim."""
        return (self.agreed - self.opposed) / (self.agreed + self.opposed + 0.5)

    @property
    def net_denial(self) -> float:
        """ClaimAgreement on what is affirmed and what is denied, -1 to 1."""
        return (self.affirmed - self.denied) / (self.affirmed + self.denied + 0.5)

    @property
    def density(self) -> float:
        """Conflicts on scales per concept."""
        return self.opposed / (self.concepts + 5)


def total(parts: Iterable[ClaimAgreement]) -> ClaimAgreement:
    """The agreement of a text of several parts."""
    return ClaimAgreement(*map(sum, zip(*parts, strict=True)))


def read_claims(statements: Sequence[str], prompt: str = "") -> Claims:
    """Collect the claims of a card's statements. Numbers of the prompt count as known."""
    scales: defaultdict[Claim, list[float]] = defaultdict(lambda: [0.0, 0.0])
    signs: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    pairs: set[tuple[str, str]] = set()
    numbers = {token.name for token in concepts(prompt) if token.name.startswith(NUMBER)}
    for statement in statements:
        tokens = concepts(statement)
        for claim, sign, weight in _claims(tokens):
            scales[claim][sign < 0] += weight
        for token in tokens:
            signs[token.name][token.sign < 0] += 1
        names = sorted({token.name for token in tokens})
        numbers.update(name for name in names if name.startswith(NUMBER))
        pairs.update(combinations(names, 2))
    return Claims(
        {claim: (one - two) / (one + two) * min(1.0, one + two) for claim, (one, two) in scales.items()},
        {name: (one - two) / (one + two) for name, (one, two) in signs.items()},
        frozenset(pairs),
        frozenset(numbers),
    )


def _claims(tokens: Sequence[Signed]) -> Iterator[tuple[Claim, int, float]]:
    """Each scale with each concept near it, the end that is affirmed, and the nearness."""
    for at, scale in enumerate(tokens):
        if not scale.name.startswith(SCALE):
            continue
        kind = _KINDS.get(scale.name[1:], scale.name)
        low = max(0, at - _REACH)
        for place, other in enumerate(tokens[low : at + _REACH + 1], low):
            if place != at and not other.name.startswith((SCALE, NUMBER)):
                yield (kind, other.name), scale.sign, 1 / abs(at - place)


def agreement(claims: Claims, tokens: Sequence[Signed]) -> ClaimAgreement:
    """How a sentence, as concepts, stands to the claims."""
    space = load_space()
    weight = dict(zip((t.name for t in tokens), space.weight([t.name for t in tokens]).tolist(), strict=True))
    agreed = opposed = affirmed = denied = linked = unlinked = 0.0
    for claim, sign, nearness in _claims(tokens):
        held = claims.scales.get(claim, 0.0) * sign * nearness * weight[claim[1]]
        agreed, opposed = agreed + max(held, 0.0), opposed - min(held, 0.0)
    numbers = [token.name for token in tokens if token.name.startswith(NUMBER)]
    for token in tokens:
        if not token.name.startswith(NUMBER):
            held = claims.signs.get(token.name, 0.0) * token.sign * weight[token.name]
            affirmed, denied = affirmed + max(held, 0.0), denied - min(held, 0.0)
    for one, two in combinations(sorted(name for name in weight if name in claims.signs), 2):
        least = min(weight[one], weight[two])
        if (one, two) in claims.pairs:
            linked += least
        else:
            unlinked += least
    known = sum(name in claims.numbers for name in numbers)
    return ClaimAgreement(
        agreed, opposed, affirmed, denied, linked, unlinked, len(numbers), known, len(tokens)
    )
