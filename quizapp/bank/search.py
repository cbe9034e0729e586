"""Finds questions by words and by fields such as ``topic:`` and ``level:``."""

import functools
import re
from collections.abc import Callable, Iterable

from quizapp.bank.model import Bank, Question

FIELDS: dict[str, Callable[[Question, str], bool]] = {
    "topic": lambda q, v: q.topic.startswith(v),
    "level": lambda q, v: q.level.startswith(v),
    "kind": lambda q, v: q.kind.startswith(v),
    "exercise": lambda q, v: q.exercise.startswith(v),
    "track": lambda q, v: any(track.startswith(v) for track in q.tracks),
    "id": lambda q, v: v in q.id,
}


def search(bank: Bank, query: str) -> list[Question]:
    """Find the questions that match every part of ``query``. Hits in the id or the prompt come first."""
    return matching(bank.questions.values(), query)


def matching(questions: Iterable[Question], query: str) -> list[Question]:
    """Like `search`, among ``questions``.

    A word is looked for where words begin, so that "lora" finds QLoRA and not "exploration"; what begins no
    word of any question is looked for inside of words.
    """
    words, tests = parse_query(query)
    matches = [q for q in questions if all(test(q) for test in tests)]
    holds: list[Callable[[str], bool]] = []
    for word in words:
        hits = [q for q in matches if word in full_text(q)]
        begins = [q for q in hits if begins_word(word, _original_text(q))]
        matches = begins or hits
        holds.append(functools.partial(begins_word, word) if begins else functools.partial(_contains, word))
    if words:
        matches.sort(key=lambda q: -sum(hold(f"{q.id} {q.prompt}") for hold in holds))
    return matches


def begins_word(word: str, text: str) -> bool:
    """Whether a word of ``text`` begins with ``word``, in any case. LayerNorm is two words, as is QLoRA."""
    for match in re.finditer(re.escape(word), text, re.IGNORECASE):
        at = match.start()
        if not at or not text[at - 1].isalnum() or not text[at].isalnum():
            return True
        if text[at].isupper() and (text[at - 1].islower() or text[at + 1 : at + 2].islower()):
            return True
    return False


def _contains(word: str, text: str) -> bool:
    return word in text.casefold()


def parse_query(query: str) -> tuple[list[str], list[Callable[[Question], bool]]]:
    """Split ``query`` into plain words and one test per ``field:value``; unknown fields count as words."""
    words: list[str] = []
    tests: list[Callable[[Question], bool]] = []
    for part in query.casefold().split():
        name, _, value = part.partition(":")
        if name in FIELDS and value:
            tests.append(functools.partial(_meets, FIELDS[name], value))
        # "topic:" is a field that is still being typed, so it must not filter anything.
        elif not (name in FIELDS and part.endswith(":")):
            words.append(part)
    return words, tests


def _meets(test: Callable[[Question, str], bool], value: str, question: Question) -> bool:
    return test(question, value)


@functools.lru_cache(maxsize=20_000)
def full_text(question: Question) -> str:
    """All text of a question, case-folded, for searching."""
    return _original_text(question).casefold()


@functools.lru_cache(maxsize=20_000)
def _original_text(question: Question) -> str:
    parts = [question.id, question.topic, question.prompt, question.answer, question.say, question.text]
    parts += [point.text for point in question.key_points]
    parts += [text for m in question.misconceptions for text in (m.wrong, m.right)]
    parts += [text for f in question.follow_ups for text in (f.ask, f.answer)]
    parts += [text for option in question.options for text in (option.text, option.why)]
    parts += [*question.steps, question.worked, *question.tags, *map(str, question.sources)]
    return "\n".join(parts)
