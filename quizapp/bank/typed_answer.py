"""Marks an answer that was typed as one text to a question that a machine marks: for scripts and editors.

The numbers of options and steps are those of `quizapp.bank.render.asked` under the same seed.
"""

import re

from quizapp.bank import QuestionKind
from quizapp.bank.answers import (
    Mark,
    gaps,
    mark_choice,
    mark_cloze,
    mark_numeric,
    mark_sequence,
    shuffled,
)
from quizapp.bank.model import Question
from quizapp.bank.parameters import sample_question
from quizapp.errors import QuizError

_MARKER = re.compile(r"^\s*(?:[-*•]\s+|\d+\s*[.):]\s*)")


def mark_typed(question: Question, text: str, seed: int = 0) -> Mark:
    """Mark a typed number, option, order or list of gaps as a drill does. Recall questions have no such mark.

    Raises `QuizError` if the text names no option or not every step once.
    """
    match question.kind:
        case QuestionKind.NUMERIC:
            return mark_numeric(question, sample_question(question, seed), text.strip())
        case QuestionKind.CHOICE:
            return mark_choice(question, _option(question, text, seed))
        case QuestionKind.ORDER:
            return mark_sequence(question, _sequence(question, text, seed))
        case QuestionKind.CLOZE:
            count = len(gaps(question))
            lines = [line.strip() for line in re.split(r"\n|;", text.strip())]
            if len(lines) > count:
                raise QuizError(f"'{question.id}' has {count} gaps; give one line for each")
            return mark_cloze(question, lines)
        case _:
            raise ValueError(f"{question.id} is answered in words")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .")


def _place(text: str, names: list[str]) -> int | None:
    """The place that a number or a full text names among ``names``."""
    by_text = {_folded(name): place for place, name in enumerate(names)}
    place = by_text.get(_folded(text), by_text.get(_folded(_MARKER.sub("", text))))
    if place is None and (number := text.strip().rstrip(".)")).isdecimal() and 0 < int(number) <= len(names):
        return int(number) - 1
    return place


def _option(question: Question, text: str, seed: int) -> int:
    order = shuffled(question, seed)
    place = _place(text, [question.options[index].text for index in order])
    if place is None:
        raise QuizError(
            f"'{question.id}' has {len(order)} options; answer with the number that "
            f"'quizapp show {question.id}' prints, or with the option's text"
        )
    return order[place]


def _sequence(question: Question, text: str, seed: int) -> tuple[int, ...]:
    order = shuffled(question, seed)
    names = [question.steps[index] for index in order]
    parts = [line for line in text.splitlines() if line.strip()]
    if len(parts) == 1 and re.fullmatch(r"[\d\s,;>→-]+", parts[0]):
        parts = re.findall(r"\d+", parts[0])
    places = [_place(part, names) for part in parts]
    if None in places or sorted(order[place] for place in places if place is not None) != sorted(order):
        raise QuizError(
            f"'{question.id}' has {len(order)} steps; name each once, by the numbers that "
            f"'quizapp show {question.id}' prints (2 1 3 …) or by its text, one on each line"
        )
    return tuple(order[place] for place in places if place is not None)
