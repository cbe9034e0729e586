"""Finds questions by words and by fields such as ``topic:`` and ``level:``."""

import functools
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
    """Like `search`, among ``questions``."""
    words, tests = parse_query(query)
    matches = [
        q for q in questions if all(test(q) for test in tests) and all(w in full_text(q) for w in words)
    ]
    if words:
        matches.sort(key=lambda q: -sum(word in f"{q.id} {q.prompt}".casefold() for word in words))
    return matches


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
    parts = [question.id, question.topic, question.prompt, question.answer, question.say, question.text]
    parts += [point.text for point in question.key_points]
    parts += [text for m in question.misconceptions for text in (m.wrong, m.right)]
    parts += [text for f in question.follow_ups for text in (f.ask, f.answer)]
    parts += [text for option in question.options for text in (option.text, option.why)]
    parts += [*question.steps, question.worked, *question.tags, *map(str, question.sources)]
    return "\n".join(parts).casefold()
