"""The labeled answers: what was typed, which key points it shows and which misconceptions it states."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from quizapp.bank.meaning.text_marking import Card, card_of
from quizapp.bank.model import Bank

FOLDER = Path(__file__).parents[2] / "tests" / "marking" / "answers"


class Labeled(NamedTuple):
    """An answer to a question with its labels: 0-based indices, None where nobody has labeled it."""

    question: str
    card: Card
    kind: str
    text: str
    shown: frozenset[int] | None
    stated: frozenset[int] | None


def is_held_out(question_id: str) -> bool:
    """Whether a question is never used for fitting: a third of them, by the checksum of the id."""
    return zlib.crc32(question_id.encode()) % 3 == 0


def read_labeled(bank: Bank, *, held_out: bool, folder: Path = FOLDER) -> Iterator[Labeled]:
    """The labeled answers to the questions that are held out, or to all others."""
    for file in sorted(folder.glob("labels*.yaml")):
        for row in yaml.safe_load(file.read_text(encoding="utf-8")) or ():
            question = bank.questions.get(row["question"])
            if question is None or is_held_out(row["question"]) != held_out:
                continue
            for answer in row["answers"]:
                yield Labeled(
                    question.id,
                    card_of(question),
                    answer["kind"],
                    answer["text"],
                    _indices(answer.get("shown")),
                    _indices(answer.get("stated")),
                )


def _indices(numbers: list[int] | None) -> frozenset[int] | None:
    return None if numbers is None else frozenset(number - 1 for number in numbers)
