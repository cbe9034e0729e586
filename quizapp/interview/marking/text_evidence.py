"""Finds quotes, follow-ups and beats in the typed answers of an interview."""

import re
from collections.abc import Mapping, Sequence

from quizapp.bank.key_terms import words
from quizapp.bank.meaning.sentences import content_stems, is_copied, own_sentences, sentences
from quizapp.bank.model import KeyPoint

_BEATS: Mapping[str, re.Pattern[str]] = {
    "formal statement": re.compile(
        r"[=≈≤≥<>∝]|\b(?:is|are|equals|means|defined|denotes)\b|\bfirst\b.*\bthen\b",
        re.IGNORECASE | re.DOTALL,
    ),
    "intuition": re.compile(
        r"\b(?:because|since|so that|so|therefore|hence|thus|otherwise|which is why|that is why|leads? to|"
        r"causes?|makes?|reason)\b",
        re.IGNORECASE,
    ),
    "consequence": re.compile(
        r"\d|\b(?:in practice|in production|usually|typically|rule of thumb|threshold|costs?|saves?|"
        r"prevents?|avoids?|fails?|monitor|alarm|log|check|guard|watch)\b",
        re.IGNORECASE,
    ),
    "symptom": re.compile(
        r"\b(?:symptom|see|seen|shows?|loss|nan|spike|curve|step|log|logs|metric|norm|accuracy)\b",
        re.IGNORECASE,
    ),
    "ranked causes": re.compile(
        r"\b(?:first|likely|suspects?|hypothes[ie]s|causes?|could be|might be|most|second|rank|either)\b",
        re.IGNORECASE,
    ),
    "cheapest test first": re.compile(
        r"\b(?:tests?|check|compare|re-?run|replay|print|measure|one batch|overfit|bisect|disable|toggle|"
        r"isolate|if)\b",
        re.IGNORECASE,
    ),
    "fix and proof": re.compile(
        r"\b(?:fix|fixed|verify|verified|prove|proof|assert|guard|regression|seeds?|again|confirm)\b",
        re.IGNORECASE,
    ),
    "the symptom in numbers": re.compile(
        r"\b(?:loss|nan|inf|norm|accuracy|curve|metric|scale|steps?|epochs?)\b[^.!?\n]*\d|"
        r"\d[^.!?\n]*\b(?:loss|nan|inf|norm|accuracy|curve|metric|scale|steps?|epochs?)\b",
        re.IGNORECASE,
    ),
    "the cause": re.compile(
        r"\b(?:causes?d?|because|since|due to|comes? from|the (?:bug|fault|culprit)|root|"
        r"no (?:bug|fault)|nothing (?:is |was )?(?:broken|wrong))\b",
        re.IGNORECASE,
    ),
    "the fix": re.compile(
        r"\b(?:fix(?:es|ed)?|remove[sd]?|replace[sd]?|change[sd]?|move[sd]?|instead|add|drop|restore[sd]?|"
        r"set|call|divide|leave)\b",
        re.IGNORECASE,
    ),
    "the verification": re.compile(
        r"\b(?:verif\w*|re-?run|confirm\w*|prove[sd]?|proof|seeds|again|same run|same script|control run|"
        r"past step)\b",
        re.IGNORECASE,
    ),
    "the prevention": re.compile(
        r"\b(?:assert\w*|guard\w*|prevent\w*|regression|unit test|tests?|alarm|alert|monitor|ci|check)\b",
        re.IGNORECASE,
    ),
}


def says_quote(quote: str, text: str) -> bool:
    """Whether a phrase of at least two words occurs in the answer, compared stem by stem."""
    wanted = words(quote)
    typed = words(text)
    size = len(wanted)
    return size >= 2 and any(typed[i : i + size] == wanted for i in range(len(typed) - size + 1))


def propose_follow_up(answer: str, ask: str, typed: str) -> float:
    """Credit for the answer to a follow-up by its overlap with the reference answer: 0, 0.5 or 1.

    40 % of the reference's content stems, without those of the question, give 1, and 20 % give 0.5.
    """
    sought = content_stems(answer) - content_stems(ask)
    original = [s for s in sentences(typed) if not is_copied(s, ask)]
    typed_stems = content_stems(" ".join(original))
    if not sought or not typed_stems:
        return 0.0
    share = len(sought & typed_stems) / len(sought)
    return 1.0 if share >= 0.4 else 0.5 if share >= 0.2 else 0.0


def propose_beats(names: Sequence[str], text: str, prompt: str, points: Sequence[KeyPoint]) -> list[bool]:
    """For each named beat, whether the learner's own sentences show it; all False below eight words."""
    whole = " ".join(own_sentences(text, prompt, points))
    long_enough = len(words(whole)) >= 8
    return [
        long_enough and (pattern := _BEATS.get(name)) is not None and bool(pattern.search(whole))
        for name in names
    ]
