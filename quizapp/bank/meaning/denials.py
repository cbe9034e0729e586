"""Leaves out of an answer what it denies as a whole, by "it is not true that …" or "… That is false".

Only claims about what is true count. "That is wrong" alone mostly judges code ("the mask comes after the
softmax, which is wrong") and denies nothing; a negation inside a clause is read with its concepts.
"""

import re
from collections.abc import Sequence

_CLAIMS = "say|claim|think|believe|assume|state|suppose|conclude|suggest|agree|accept"
_DENIED = re.compile(
    rf"""\b(?:
    (?:not|never|hardly|far\ from)\ (?:\w+\ )?(?:true|right|correct|the\ case)\ (?:\w+\ \w+\ )?that
    |\w+n['’]t\ (?:true|right|correct|the\ case)\ that
    |(?:untrue|false|incorrect|nonsense|doubtful|unlikely|lie|myth|fallacy|misconception)\ that
    |(?:wrong|incorrect|false|mistaken|mistake|error|absurd|foolish|nonsense)\ to\ (?:{_CLAIMS})
    |(?:nobody|no\ one|never|not|don['’]t|can['’]t|cannot|wouldn['’]t)\ (?:\w+\ ){{0,3}}(?:{_CLAIMS})\ that
    |(?:doubt|deny|denie[sd]|disput|disagree)\w*\ (?:(?:with\ )?(?:the|any)\ \w+\ )?that
    |no\ (?:evidence|proof|truth|sense|reason)\ (?:\w+\ ){{0,2}}that
    |rul(?:e|es|ed|ing)\ out\ that
    |opposite\ of\ (?:the\ )?(?:this|following|statement|truth)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_UNTRUE = "not true|not the case|not so|untrue|false|nonsense|a lie|a myth"
_AHEAD = re.compile(  # "False: …"
    rf"(?:(?:this|that|it) is )?(?:{_UNTRUE}|wrong|incorrect)\W*:"
    r"|(?:not|never|lies|myths?|i (?:deny|doubt))\W*:",
    re.IGNORECASE,
)
_AFTER = r"(?:the following|what follows|statements? below|next (?:lines|sentences|statements))"
_REST = re.compile(  # "None of the following is true."
    rf"\b{_AFTER}\b.*\b(?:{_UNTRUE}|not hold|wrong|incorrect|lies|the opposite|denied)\b"
    rf"|\b(?:none|nothing|opposite|deny|doubt)\b.*\b{_AFTER}\b",
    re.IGNORECASE,
)
_BEFORE = re.compile(  # "That is false.", "All of this is untrue.", "No, it is the opposite."
    rf"(?:but |and |no, )*(?P<all>all (?:of )?)?(?:that|this|it|these|those|which|the above)(?: \w+)?"
    rf"(?: (?:is|are|was|were)|['’]s)(?: \w+)? (?:{_UNTRUE}|the opposite)\b(?! (?:that|to)\b)"
    r"|(?P<none>none|nothing) of (?:that|this|it|these|those|the above)\b.* (?:true|right|correct|so)\b"
    r"|(?:but |and |no, )*(?:it is |it's )?(?:the|quite the|just the) (?:opposite|contrary|reverse)\b"
    rf"|(?:{_UNTRUE}|just kidding)\W*$",
    re.IGNORECASE,
)
_OPEN_ENDS = (":", ";")  # a part that ends so is not yet the whole sentence
_ENDS = (".", "!", "?")
_LEAST_WORDS = 4  # "It is", "I" and "Nobody should" are what is left of a sentence that only denies


def asserted(parts: Sequence[str]) -> list[str]:
    """The parts of a text, split at sentences, colons and semicolons, without those that it denies.

    A sentence that denies a claim keeps what it says before it. A denial reaches to the end of its sentence.
    """
    kept: list[tuple[int, str]] = []
    previous = first = 0  # where the sentence before and the present one begin
    denying = False
    for place, part in enumerate(parts):
        if not place or not _goes_on(parts[place - 1], part):
            previous, first, denying = first, place, False
        line = " ".join(part.split())
        if _AHEAD.fullmatch(line):
            denying = True
        elif back := _BEFORE.match(line):
            kept = [] if back["all"] or back["none"] else [row for row in kept if row[0] < previous]
        elif _REST.search(line):
            break
        elif not denying:
            denial = _DENIED.search(part)
            said = part[: denial.start()].rstrip() if denial else part
            if not denial or len(said.split()) >= _LEAST_WORDS:
                kept.append((place, said))
            denying = denial is not None
    return [part for _, part in kept]


def _goes_on(part: str, following: str) -> bool:
    """Whether a sentence goes on behind a part of it: a colon, or a line break within the sentence."""
    return part.endswith(_OPEN_ENDS) or not (part.endswith(_ENDS) or following[0].isupper())
