"""Finds the sentences of a typed answer that are the learner's own.

A sentence that repeats the question, a list of rubric words without a sentence around them, and a claim that
is denied as a whole say nothing.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from quizapp.bank.key_terms import words
from quizapp.bank.meaning.denials import asserted
from quizapp.bank.model import KeyPoint

_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n+")
_FUNCTION = frozenset(
    """a an the this that these those it its is are was were be been being am do does did has have had will
    would can could should must may might i you we they he she one my our your their of to in on at by for
    from with without into over under than then when while if because since so as but and or not no nor
    before after until which who what where why how each every all any some more most less only also very
    same such there here just still let get gets make makes take takes use uses need needs give gives keep
    keeps go goes say says run runs put puts""".split()  # noqa: SIM905 - reads better
)
# A sentence is copied if eight of its words in a row are the prompt's, or if most of it is made of such runs.
# Right answers about a page-long prompt share single words with it, and in 49 incidents hardly a run of four.
_COPIED_RUN = 8
_LEAST_RUN = 4
_COPIED_SHARE = 2 / 3
_SHUFFLED_SHARE = 0.75  # of a sentence's content stems, all from one sentence of the prompt
_SHUFFLED_STEMS = 5  # fewer stems are shared by chance
_SOUP_DENSITY = 0.62  # of a sentence's stems: with more from the rubric it is a list of rubric words
_SOUP_WORDS = 6  # shorter fragments are too short to be judged alone
_RUBRIC_DENSITY = 0.92  # like _SOUP_DENSITY, but counted without function words
_RUBRIC_WORDS = 8
_LEAST_OWN = 2  # content stems beyond the prompt that an answer needs to say anything
# "not only" and "not just" deny nothing. Where a clause ends, so does the reach of its negation.
_NEGATION = re.compile(
    r"\b(?:not(?! only\b| just\b| merely\b)|never|no|none|nor|neither|cannot|nothing)\b|n['’]t\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;:.!?()\n–—]+|\b(?:but|although|though|because|since|whereas|while|so|instead|hence)\b", re.IGNORECASE
)


def sentences(text: str) -> list[str]:
    """Split a typed text into sentences. A line break, a colon and a semicolon also end one."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


@lru_cache(4096)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(words(text))


def content_stems(text: str) -> set[str]:
    """The stems of a text without function words and single letters."""
    return {stem for stem in _stems(text) if stem not in _FUNCTION_STEMS and len(stem) > 1}


_FUNCTION_STEMS = frozenset(stem for word in _FUNCTION for stem in words(word)) | _FUNCTION


def is_copied(sentence: str, prompt: str) -> bool:
    """Whether a sentence repeats the prompt, or says nothing beyond function words.

    It repeats the prompt if it takes over a run of words, or the words of one sentence in another order. To
    share words with several sentences is not copying: every answer about a run names its parts.
    """
    stems = content_stems(sentence)
    if not stems:
        return True
    if _is_run(_stems(sentence), _stems(prompt)):
        return True
    if len(stems) < _SHUFFLED_STEMS:
        return False
    return any(len(stems & given) >= _SHUFFLED_SHARE * len(stems) for given in _sentence_stems(prompt))


@lru_cache(64)
def _sentence_stems(text: str) -> tuple[frozenset[str], ...]:
    """The content stems of each sentence."""
    return tuple(frozenset(content_stems(part)) for part in sentences(text))


@lru_cache(64)
def _places(stems: tuple[str, ...]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, stem in enumerate(stems):
        places.setdefault(stem, []).append(place)
    return places


@lru_cache(4096)
def _is_run(typed: tuple[str, ...], given: tuple[str, ...]) -> bool:
    """Whether most of a sentence, or eight words in a row, are consecutive words of the prompt."""
    places = _places(given)
    covered: set[int] = set()
    for start, stem in enumerate(typed):
        length = max((_run(typed, start, given, place) for place in places.get(stem, ())), default=0)
        if length >= min(_COPIED_RUN, len(typed)):
            return True
        if length >= _LEAST_RUN:
            covered.update(range(start, start + length))
    return len(covered) >= _COPIED_SHARE * len(typed)


def _run(typed: tuple[str, ...], start: int, given: tuple[str, ...], place: int) -> int:
    """How many words from ``start`` on are those of the prompt from ``place`` on."""
    most = min(len(typed) - start, len(given) - place)
    return next((n for n in range(most) if typed[start + n] != given[place + n]), most)


def is_soup(sentence: str, rubric: frozenset[str]) -> bool:
    """Whether a sentence is a mere list of words.

    Signs of one are too few function words, too many words of the ``rubric``, short pieces between commas,
    and the same words over and over. Fragments of fewer than six words are never judged.
    """
    raw_words = re.findall(r"[^\W_]+", sentence.casefold())
    if len(raw_words) < _SOUP_WORDS:
        return False
    joined = [word for word in raw_words if word in _FUNCTION]
    chunks = [chunk for chunk in re.split(r"[,;/|•]+", sentence) if chunk.strip()]
    # Sentences have commas too, but rarely four pieces of three words or fewer on average.
    listed = len(chunks) >= 4 and len(raw_words) / len(chunks) < 3.5
    if _only_rubric(sentence, rubric):
        return True
    stems = _stems(sentence)
    density = sum(stem in rubric for stem in stems) / max(1, len(stems))
    verbless = len(joined) < max(1, len(raw_words) // 12)
    spread = len(set(stems)) / max(1, len(stems))
    return verbless or density > _SOUP_DENSITY or (listed and density > 0.4) or spread < 0.4


def _only_rubric(text: str, rubric: frozenset[str]) -> bool:
    # A real answer has content words of its own, so almost pure rubric vocabulary means pasted terms.
    carrying = [stem for stem in _stems(text) if stem not in _FUNCTION_STEMS]
    held = sum(stem in rubric for stem in carrying)
    return len(carrying) >= _RUBRIC_WORDS and held > _RUBRIC_DENSITY * len(carrying)


def _short_runs(parts: Sequence[str]) -> Iterator[list[str]]:
    """Group adjacent fragments that are too short to be judged alone; yield other sentences one by one."""
    run: list[str] = []
    for part in parts:
        if len(_stems(part)) < _SOUP_WORDS:
            run.append(part)
            continue
        if run:
            yield run
            run = []
        yield [part]
    if run:
        yield run


def rubric_stems(points: Sequence[KeyPoint]) -> frozenset[str]:
    """The stems of all terms of a rubric, without function words."""
    stems = {stem for point in points for term in point.terms for stem in words(term)}
    return frozenset(stems - _FUNCTION_STEMS)


def own_sentences(text: str, prompt: str, points: Sequence[KeyPoint]) -> list[str]:
    """The sentences that are not copied from the prompt, not lists of rubric words, not denied, each once."""
    rubric = rubric_stems(points)
    if _only_rubric(text, rubric):
        return []
    seen: set[tuple[str, ...]] = set()
    kept = []
    for run in _short_runs(asserted(sentences(text))):
        if len(run) > 1 and _only_rubric(" ".join(run), rubric):
            continue
        for sentence in run:
            stems = _stems(sentence)
            if stems not in seen and not is_copied(sentence, prompt) and not is_soup(sentence, rubric):
                seen.add(stems)
                kept.append(sentence)
    return kept


def says_something(text: str, prompt: str, points: Sequence[KeyPoint]) -> bool:
    """Whether the learner's own sentences add at least two content stems to the prompt's."""
    stems = content_stems(" ".join(own_sentences(text, prompt, points)))
    return len(stems - content_stems(prompt)) >= _LEAST_OWN


def affirmed(text: str) -> str:
    """The text without what it denies: each clause up to its first negation.

    "Adam does not need warm-up, as the estimate is noisy" keeps "Adam does as the estimate is noisy".
    """
    return " ".join(_NEGATION.split(clause, maxsplit=1)[0] for clause in _CLAUSE.split(text))
