"""Turns the questions of the bank into notes for Anki: front and back as HTML, a deck, and tags."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from quizapp.bank.decks.short_form import points_of
from quizapp.bank.model import Bank, Question
from quizapp.bank.render import asked, solved

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT_DECK = "quizapp"
GUID_PREFIX = "quizapp-"
EXERCISE_TAG = "exercise::"


class CardHtml(NamedTuple):
    """A question as a note. The guid follows from its id, so that Anki updates a note it already has."""

    card: str
    guid: str
    deck: str
    tags: tuple[str, ...]
    front: str
    back: str


def bank_notes(bank: Bank) -> Iterator[CardHtml]:
    """The questions as notes, in the order of the bank.

    Notes are static, so numeric questions keep their first values, and options and steps keep one order.
    """
    from markdown_it import MarkdownIt

    render = MarkdownIt("commonmark", {"html": False}).enable("table").render
    for question in bank.questions.values():
        yield _note(bank, question, render)


def _note(bank: Bank, question: Question, render: "Callable[[str], str]") -> CardHtml:
    if question.key_points and question.key_points == points_of(question.answer):
        # They are the list in the answer. Repeated below it, they would come back as a longer answer.
        question = replace(question, key_points=())
    front, back = (render("\n\n".join(parts)) for parts in (asked(question), solved(question)))
    deck = f"{ROOT_DECK}::{bank.topics[question.topic].name}"
    return CardHtml(question.id, GUID_PREFIX + question.id, deck, _tags(question), front, back)


def _tags(question: Question) -> tuple[str, ...]:
    tags: list[str] = [question.level, question.kind]
    if question.exercise:
        tags.append(EXERCISE_TAG + question.exercise)
    # Anki separates tags by spaces, so a tag cannot contain one.
    return (*tags, *("-".join(tag.split()) for tag in question.tags))
