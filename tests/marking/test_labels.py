"""The labeled answers fit the cards they were labeled against."""

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import msgspec
import pytest

from quizapp.bank.loader import load_bank
from quizapp.bank.model import Bank, Question

FOLDER = Path(__file__).with_name("answers")


class Kind(StrEnum):
    COMPLETE = "complete"
    SPOKEN = "spoken"
    HALF = "half"
    WRONG = "wrong"
    OPPOSITE = "opposite"


class Answer(msgspec.Struct, forbid_unknown_fields=True):
    kind: Kind
    text: str
    shown: list[int]
    stated: list[int]
    settled: bool = False


class Entry(msgspec.Struct, forbid_unknown_fields=True):
    question: str
    points: list[str]
    answers: list[Answer]


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    files = sorted(FOLDER.glob("labels*.yaml"))
    return [entry for path in files for entry in msgspec.yaml.decode(path.read_bytes(), type=list[Entry])]


@pytest.fixture(scope="module")
def statements() -> dict[str, list[str]]:
    """The wrong statements of each card, as they were when its answers were labeled."""
    return msgspec.yaml.decode((FOLDER / "statements.yaml").read_bytes(), type=dict[str, list[str]])


def current_cards(entries: list[Entry]) -> Iterator[tuple[Entry, Question]]:
    """Each entry whose question is not retired, with the card as it is today."""
    bank: Bank = load_bank()
    for entry in entries:
        name = bank.resolve(entry.question)
        if name not in bank.retired:
            yield entry, bank.questions[name]


def test_every_question_exists_or_is_retired(entries: list[Entry]) -> None:
    bank = load_bank()
    names = [bank.resolve(entry.question) for entry in entries]

    assert [name for name in names if name not in bank.questions and name not in bank.retired] == []


def test_every_question_has_one_answer_of_each_kind(entries: list[Entry]) -> None:
    kinds = {entry.question: [answer.kind for answer in entry.answers] for entry in entries}

    assert {name: found for name, found in kinds.items() if found != list(Kind)} == {}


def test_labels_are_numbers_of_points_and_of_wrong_statements(
    entries: list[Entry], statements: dict[str, list[str]]
) -> None:
    for entry in entries:
        for answer in entry.answers:
            for labels, count in (
                (answer.shown, len(entry.points)),
                (answer.stated, len(statements[entry.question])),
            ):
                assert labels == sorted(set(labels) & set(range(1, count + 1))), (entry.question, answer.kind)


def test_points_are_those_of_the_card(entries: list[Entry]) -> None:
    """Labels count points by number, so an edited rubric makes them wrong without any other sign."""
    changed = [
        entry.question
        for entry, card in current_cards(entries)
        if entry.points != [point.text for point in card.key_points]
    ]

    assert changed == [], "read the answers to these questions again, correct shown and copy the new points"


def test_wrong_statements_are_those_of_the_card(
    entries: list[Entry], statements: dict[str, list[str]]
) -> None:
    changed = [
        entry.question
        for entry, card in current_cards(entries)
        if statements[entry.question] != [misconception.wrong for misconception in card.misconceptions]
    ]

    assert changed == [], "read these answers again, correct stated and copy the new statements"


def test_no_question_and_no_text_appears_twice(entries: list[Entry]) -> None:
    names = Counter(entry.question for entry in entries)
    texts = Counter(answer.text for entry in entries for answer in entry.answers)

    assert [name for name, count in names.items() if count > 1] == []
    assert [text for text, count in texts.items() if count > 1] == []


def test_the_readme_counts_what_is_there(entries: list[Entry]) -> None:
    answers = sum(len(entry.answers) for entry in entries)
    labels = sum(len(entry.points) * len(entry.answers) for entry in entries)
    readme = (FOLDER / "README.md").read_text("utf-8")

    assert f"| together | {len(entries)} | {answers:,} | {labels:,} |" in readme
