"""The field's synonyms and opposites: maps phrases to concepts.

The data is ``lexicon.txt``. A concept is named by the first entry of its line; the second side of a line of
opposites is the same concept with sign -1.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

from quizapp.bank.key_terms import words

SCALE = "~"  # the first character of a concept that has two ends


class Concept(NamedTuple):
    """What a phrase means: a concept and, for one with two ends, which end (1 or -1)."""

    name: str
    sign: int = 1


class Lexicon(NamedTuple):
    """Phrases as tuples of stems, and the number of stems of the longest phrase by first stem."""

    phrases: Mapping[tuple[str, ...], Concept]
    longest: Mapping[str, int]


def parse_lexicon(text: str) -> Lexicon:
    """Read the lines of ``lexicon.txt``. A phrase that occurs twice keeps its first concept."""
    phrases: dict[tuple[str, ...], Concept] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        if line[0] in "#[":
            continue
        sides = line.split(" <> ")
        name = (SCALE if len(sides) > 1 else "") + " ".join(split(sides[0].split(",")[0]))
        for side, sign in zip(sides, (1, -1), strict=False):
            for phrase in side.split(","):
                stems = tuple(split(phrase))
                if stems:
                    phrases.setdefault(stems, Concept(name, sign))
    longest: dict[str, int] = {}
    for stems in phrases:
        longest[stems[0]] = max(longest.get(stems[0], 0), len(stems))
    return Lexicon(phrases, longest)


def split(phrase: str) -> list[str]:
    """The stems of a phrase; a phrase of symbols only, such as ``²``, is one stem."""
    return words(phrase) or phrase.split()


@cache
def load_lexicon() -> Lexicon:
    """The lexicon of the package."""
    return parse_lexicon(resources.files(__package__).joinpath("lexicon.txt").read_text(encoding="utf-8"))
