"""Turns text into signed concepts: what it speaks of, and whether it affirms or denies it.

"The rate is not raised" and "the rate is lowered" both hold the concept of raising with sign -1, so that a
sentence can be compared with a statement word by word.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from quizapp.bank.key_terms import words
from quizapp.bank.meaning.lexicon import SCALE, Concept, load_lexicon
from quizapp.bank.units import plain_numbers

NUMBER = "#"  # the first character of a concept that is a number
_LEAST_TYPO = 5  # letters of a word that is compared with the card's words
_INSTEAD_REACH = 3  # concepts after "rather than" that it denies
_NEGATION_REACH = 7  # concepts after a negation that it denies, if the clause does not end before

_TOKEN = re.compile(
    r"(?P<number>\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+)|(?P<word>[^\W\d_][^\W_]*(?:[_'’][^\W_]+)*)"
    r"|(?P<mark>[%√²³×·*/÷+−=≈≠≤≥<>∝→^-])|(?P<end>[,;:.!?()\n–—|])",
)
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_NUMBER_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "hundred": 100, "thousand": 1000, "million": 1e6, "billion": 1e9,
}  # fmt: skip
_SUFFIXES = {"k": 1e3, "m": 1e6, "b": 1e9}
_MARKS = {
    "×": Concept(SCALE + "multip"), "·": Concept(SCALE + "multip"), "*": Concept(SCALE + "multip"),
    "/": Concept(SCALE + "multip", -1), "÷": Concept(SCALE + "multip", -1), "+": Concept(SCALE + "add"),
    "−": Concept(SCALE + "add", -1), ">": Concept(SCALE + "mor"), "≥": Concept(SCALE + "mor"),
    "<": Concept(SCALE + "mor", -1), "≤": Concept(SCALE + "mor", -1), "≈": Concept(SCALE + "exact", -1),
    "≠": Concept(SCALE + "sam", -1), "∝": Concept(SCALE + "linear"), "²": Concept("squar"),
    "√": Concept("squar root"),
}  # fmt: skip
_NEGATIONS = frozenset(
    """not never no none nor neither cannot nothing without hardly rarely nowhere cant dont doesnt didnt isnt
    arent wasnt werent wont wouldnt shouldnt couldnt hasnt havent nobody barely""".split()  # noqa: SIM905
)
_INSTEAD = frozenset({("rather", "than"), ("instead", "of"), ("as", "opposed"), ("far", "from")})
_NOT_DENYING = frozenset({"only", "just", "merely", "necessarily", "simply"})
_CLAUSE_WORDS = frozenset(
    """but although though because since whereas while so hence therefore thus as which that who and if when
    unless""".split()  # noqa: SIM905
)
_FUNCTION = frozenset(
    """a an the this that these those it its is are was were be been being am do does did has have had will
    would can could should may might i you we they he she my our your their of to in on at by for from
    with into then when while if because since so as but and or until which who what where why how just
    still also very even really basically actually pretty quite kind sort like stuff thing things get
    gets got getting go goes going want let us them me s t re ve ll d one ok okay well you'd i'd say
    said mean means here there up out about over through both such etc eg ie make makes made take takes
    give gives put puts come comes some other others same way than too only per each every look looks
    see saw something everything anything everybody everyone someone somebody people guy ish literally
    maybe guess think sit sits whether otherwise anyway already though yourself honestly feel tell tells
    know knows try call called whatever""".split()  # noqa: SIM905
)
_IGNORED = _FUNCTION | {stem for word in _FUNCTION for stem in words(word)}


_CLAUSES = _CLAUSE_WORDS | {stem for word in _CLAUSE_WORDS for stem in words(word)}


class Signed(NamedTuple):
    """A concept in a text, with sign -1 where the text denies it or names its opposite end."""

    name: str
    sign: int
    word: str  # as stemmed, before the lexicon


class _Raw(NamedTuple):
    kind: str
    text: str


_ENDINGS = (
    "izations", "ization", "ational", "ations", "ation", "itions", "ition", "ically", "ments", "ment", "ness",
    "ities", "ity", "iti", "ives", "ive", "iv", "ical", "ial", "al", "ances", "ance", "anc", "ence", "enc",
    "able", "abl", "ible", "ibl", "ful", "ous", "ors", "or", "ers", "er", "ion", "iz", "is", "at", "i", "y",
)  # fmt: skip


@lru_cache(8192)
def root(stem: str) -> str:
    """A stem without further endings, so that "convergence", "convergent" and "converge" are one word."""
    if len(stem) < 7 or not stem.isalpha():
        return stem
    for ending in _ENDINGS:
        if stem.endswith(ending) and len(stem) - len(ending) >= 5:
            return stem[: -len(ending)]
    return stem


@lru_cache(2048)
def concepts(text: str, known: frozenset[str] | None = None) -> tuple[Signed, ...]:
    """The concepts of a text in order, without function words.

    ``known`` are stems that the card uses: an unknown word that is one typing error from one of them is read
    as that word.
    """
    return _Reader(tuple(_raw_tokens(text)), known or frozenset()).read()


class _Reader:
    """Reads tokens from left to right and knows how far the last negation reaches."""

    def __init__(self, raw: Sequence[_Raw], known: frozenset[str]) -> None:
        self.raw = raw
        self.known = known
        self.lexicon = load_lexicon()
        self.denied = 0  # how many further concepts are denied
        self.signed: list[Signed] = []

    def read(self) -> tuple[Signed, ...]:
        at = 0
        while at < len(self.raw):
            kind, token = self.raw[at]
            if kind == "word":
                at += self._word(at)
                continue
            if kind == "end":
                self.denied = 0
            elif kind == "number":
                self._add(Concept(NUMBER + token), token)
            elif concept := _MARKS.get(token):
                self.signed.append(Signed(concept.name, concept.sign, token))
            at += 1
        return tuple(self.signed)

    def _word(self, at: int) -> int:
        """Read the phrase that begins at a word. Returns the number of its words."""
        token = self.raw[at].text
        following = self.raw[at + 1].text if at + 1 < len(self.raw) else ""
        concept, length = self._phrase(at)
        if (token, following) in _INSTEAD:
            self.denied = _INSTEAD_REACH
            return 2
        if token in _NEGATIONS and following not in _NOT_DENYING:
            # "none" and "cannot" are ends of scales as well: their own sign already says so.
            if concept is not None:
                self.signed.append(Signed(concept.name, concept.sign, token))
            self.denied = _NEGATION_REACH
            return length
        if token in _CLAUSES:
            self.denied = 0
        if concept is None and len(token) >= _LEAST_TYPO and self.known:
            token = _corrected(token, self.known)
            concept = self.lexicon.phrases.get((token,))
        if concept is not None:
            self._add(concept, token)
        elif token not in _IGNORED and (len(token) > 1 or not token.isascii()):
            self._add(Concept(root(token)), token)
        return length

    def _add(self, concept: Concept, token: str) -> None:
        self.signed.append(Signed(concept.name, -concept.sign if self.denied else concept.sign, token))
        self.denied = max(0, self.denied - 1)

    def _phrase(self, at: int) -> tuple[Concept | None, int]:
        """The concept of the longest phrase that begins at a word, and the number of its words."""
        phrases, longest = self.lexicon
        for length in range(min(longest.get(self.raw[at].text, 0), len(self.raw) - at), 0, -1):
            stems = tuple(token.text for token in self.raw[at : at + length])
            if stems in phrases and (length > 1 or stems[0] not in _IGNORED):
                return phrases[stems], length
        return None, 1


def _raw_tokens(text: str) -> Iterator[_Raw]:
    text = plain_numbers(unicodedata.normalize("NFC", text)).replace("’", "'").replace("can't", "cannot")
    text = text.replace("won't", "will not").replace("n't", " not")
    text = _HYPHEN.sub(" ", text.replace("`", "").replace("**", ""))
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup or "", match[0]
        if kind == "number":
            yield _Raw("number", _number(token))
        elif kind == "word":
            for stem in words(token):
                value = _NUMBER_WORDS.get(stem)
                yield _Raw("word", stem) if value is None else _Raw("number", _written(value))
        else:
            yield _Raw(kind, token)


def _number(token: str) -> str:
    try:
        return _written(float(token.replace(",", "")))
    except ValueError:
        return token


def _written(value: float) -> str:
    return f"{value:.4g}"


@lru_cache(4096)
def _corrected(stem: str, known: frozenset[str]) -> str:
    """The known word one edit away from ``stem``, if there is one; else the stem."""
    if stem in known or root(stem) in known:
        return stem
    cuts = [(stem[:i], stem[i:]) for i in range(len(stem) + 1)]
    letters = "abcdefghijklmnopqrstuvwxyz"
    for left, right in cuts[1:]:
        if len(right) > 1 and (swapped := left + right[1] + right[0] + right[2:]) in known:
            return swapped
        if right and (shorter := left + right[1:]) in known:
            return shorter
        for letter in letters:
            if (longer := left + letter + right) in known:
                return longer
            if right and (changed := left + letter + right[1:]) in known:
                return changed
    return stem
