"""Writes the bank as a text file that Anki imports, with a note per question and a deck per topic.

The header lines follow the page "Text files" of Anki's manual. They name the separator, the note type, and
the columns of id, deck and tags. Because notes have ids, a second import updates the notes of the first.
"""

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from quizapp.bank.model import Bank, Question
from quizapp.bank.render import asked, solved
from quizapp.errors import QuizError

if TYPE_CHECKING:
    from collections.abc import Callable

_HEAD = (
    "#separator:tab",
    "#html:true",
    "#notetype:Basic",
    "#guid column:1",
    "#deck column:2",
    "#tags column:5",
)

_PACKAGES = frozenset({".apkg", ".colpkg"})


def write_anki(bank: Bank, path: Path) -> int:
    """Write the bank to ``path`` and return the number of notes.

    Notes are static, so numeric questions keep their first values, and options and steps keep one order.
    Raises `QuizError` if the file cannot be written or has the suffix of an Anki package.
    """
    from markdown_it import MarkdownIt

    if path.suffix.lower() in _PACKAGES:
        raise QuizError(
            f"{path}: only Anki itself writes {path.suffix} files; name a text file such as "
            f"{path.with_suffix('.txt').name} and import it with File, Import"
        )
    render: Callable[[str], str] = MarkdownIt("commonmark", {"html": False}).enable("table").render
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(f"{line}\n" for line in _HEAD)
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerows(_note(bank, question, render) for question in bank.questions.values())
    except OSError as error:
        raise QuizError(
            f"{path} cannot be written: {error.strerror}; name a file in a folder that exists"
        ) from None
    return len(bank.questions)


def _note(bank: Bank, question: Question, render: "Callable[[str], str]") -> tuple[str, ...]:
    deck = f"quizapp::{bank.topics[question.topic].name}"
    tags = (
        question.level,
        question.kind,
        *([f"exercise::{question.exercise}"] if question.exercise else ()),
        *(tag.replace(" ", "-") for tag in question.tags),
    )
    front, back = ("\n\n".join(parts) for parts in (asked(question), solved(question)))
    return f"quizapp-{question.id}", deck, render(front), render(back), " ".join(tags)
