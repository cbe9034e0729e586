"""What a card of a user's deck means that leaves out all but its prompt and answer."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quizapp.bank import Level, QuestionKind
from quizapp.bank.model import KeyPoint, Question

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_POINTS = 12
"""A longer list is a reference rather than something to say, so it makes no key points."""
_DEFAULTS = {"kind": QuestionKind.RECALL.value, "level": Level.MEDIUM.value}
_ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]", re.MULTILINE)
_CHECKBOX = re.compile(r"^\[[ xX]\]\s+")
_LONGEST_POINT = 1000
_MOST_ENTRIES, _MOST_LINES = 100, 300  # of an answer that is searched for lists, nested ones included


def completed(data: dict[Any, Any]) -> dict[Any, Any]:
    """The mapping of a card with kind and level; recall and medium, unless it names them."""
    missing = {key: value for key, value in _DEFAULTS.items() if data.get(key) in (None, "")}
    return {**data, **missing}


def topic_slug(name: str) -> str:
    """The slug of the topic that a file's ``name`` stands for; letters of every script stay."""
    return "-".join(re.findall(r"[^\W_]+", name.casefold())) or "deck"


def with_points(question: Question) -> Question:
    """The question with the list in its answer as key points, if it is recall and names none."""
    if question.kind != QuestionKind.RECALL or question.key_points:
        return question
    return replace(question, key_points=points_of(question.answer))


def points_of(answer: str) -> tuple[KeyPoint, ...]:
    """The entries of the Markdown lists in an answer, 2 to `MOST_POINTS` of them; else nothing.

    Nested entries belong to the entry above them.
    """
    # Parsing Markdown costs more than everything else about a card, so most answers are not parsed.
    if not 2 <= len(_ITEM.findall(answer)) <= _MOST_ENTRIES or answer.count("\n") > _MOST_LINES:
        return ()
    texts = list(_entries(answer))
    return tuple(map(KeyPoint, texts)) if 2 <= len(texts) <= MOST_POINTS else ()


def _entries(answer: str) -> "Iterator[str]":
    """The first paragraph of each entry of a list that stands on its own, as one line."""
    from quizapp.bank.decks.markdown_blocks import blocks

    waiting = False
    for token in blocks(answer):
        if token.type == "list_item_open" and token.level == 1:
            waiting = True
        elif token.type == "inline" and waiting:
            waiting = False
            text = _CHECKBOX.sub("", " ".join(token.content.split()))
            if text:
                yield text[:_LONGEST_POINT]
