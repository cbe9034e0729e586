"""Writes the bank as a text file that Anki imports, with a note per question and a deck per topic.

The header lines follow the page "Text files" of Anki's manual. They name the separator, the note type, and
the columns of id, deck and tags. Because notes have ids, a second import updates the notes of the first.
"""

import csv
from pathlib import Path

from quizapp.bank.model import Bank
from quizapp.errors import QuizError
from quizapp.exchange.anki.card_html import CardHtml, bank_notes

_HEAD = (
    "#separator:tab",
    "#html:true",
    "#notetype:Basic",
    "#guid column:1",
    "#deck column:2",
    "#tags column:5",
)


def write_text_notes(bank: Bank, path: Path) -> int:
    """Write the bank to ``path`` and return the number of notes. Raises `QuizError` if that fails."""
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(f"{line}\n" for line in _HEAD)
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerows(_row(note) for note in bank_notes(bank))
    except OSError as error:
        raise QuizError(
            f"{path} cannot be written: {error.strerror}; name a file in a folder that exists"
        ) from None
    return len(bank.questions)


def _row(note: CardHtml) -> tuple[str, ...]:
    return note.guid, note.deck, note.front, note.back, " ".join(note.tags)
