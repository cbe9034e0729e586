"""Finds the terms in a typed answer that show a key point.

Words are compared by their stems, so "unscaled" matches "unscale", and "regularize" matches "regularise".
"""

import functools
import re
import unicodedata
from collections.abc import Sequence

from quizapp.bank.model import KeyPoint

_VERB_ENDINGS = tuple(
    root + end for end in ("ations", "ation", "ing", "ed", "es", "e") for root in ("is", "iz")
)
_EVERYDAY = frozenset(
    {"a", "an", "and", "if", "in", "is", "it", "no", "not", "of", "on", "one", "or", "so", "the", "to"}
)


def words(text: str) -> list[str]:
    """The stems of the words in ``text``: case-folded, without endings such as -s, -ed and -ing."""
    return [_stem(word.casefold()) for word in _written(text)]


def _written(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text))


@functools.lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    if len(word) > 3 and word.isascii() and word.isalpha():
        for ending in _VERB_ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 4:
                return word[: -len(ending)]
        for ending in ("ings", "ing", "edly", "ed", "es", "ly", "s"):
            if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
                word = word[: -len(ending)]
                break
        # The ending doubled the consonant: "planned" must match "plan".
        if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "lsz":
            word = word[:-1]
        word = word.removesuffix("e") if len(word) > 3 else word
    return word


@functools.lru_cache(maxsize=65536)
def _term(text: str) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Split a term into the parts that must all occur. A part is a tuple of alternatives, each of stems."""
    parts = text.split(" + ") if " + " in text else [text]
    return tuple(tuple(tuple(words(choice)) for choice in part.split("|")) for part in parts)


def weak_term(term: str) -> str:
    """Say why ``term`` is too weak to show a key point, and what to change; empty if it is fine.

    A single letter, a digit or a word such as *on* is in nearly every answer.
    """
    parts = _term(term)
    if not all(choice for part in parts for choice in part):
        return "has an alternative without a word; '|' separates alternatives"
    if re.search(r"[^\W\d_]{3}[^+ ]*\+[^\W\d_]{2}", term):
        return "joins words with '+'; write ' + ' between parts that must all occur"
    if all(any(_common(choice) for choice in part) for part in parts):
        return "is shown by a single letter, digit or everyday word; say more"
    return ""


def _common(choice: tuple[str, ...]) -> bool:
    word = choice[0]
    return len(choice) == 1 and (word in _EVERYDAY or (len(word) == 1 and word.isascii()))


def shown_terms(point: KeyPoint, text: str) -> tuple[str, ...]:
    """The terms of ``point`` that the typed ``text`` contains; empty if it does not show the point."""
    return terms_among(point, joined_stems(text))


def joined_stems(text: str) -> str:
    """The stems of a text in one string with spaces, in which `terms_among` looks for terms."""
    return _spaced(words(text))


def terms_among(point: KeyPoint, typed: str) -> tuple[str, ...]:
    """Like `shown_terms`, for a text whose `joined_stems` are known."""
    return tuple(
        term
        for term in point.terms
        if all(any(choice and _spaced(choice) in typed for choice in part) for part in _term(term))
    )


def _spaced(stems: Sequence[str]) -> str:
    return f" {' '.join(stems)} "
