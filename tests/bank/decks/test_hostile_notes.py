"""Markdown and CSV that anyone may have written: each ends in cards or in a sentence with a line."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quizapp.bank.decks.read_deck import read_deck
from quizapp.bank.model import Question, Topic
from quizapp.bank.render import question_text

_DEADLINE_S = 10.0  # of processor time, on any machine; a random deck takes milliseconds
_EXAMPLES = int(os.environ.get("QUIZAPP_FUZZ", "150"))

PIECES = st.sampled_from(
    ["# ", "## ", "### ", "#", "\n", "\n\n", "\r\n", "```", "~~~", "- ", "1. ", "> ", "    ", "\t", "---\n",
     "===\n", "tags: [a", "level: hard\n", "title: x\n", "<div>", "<!--", "[a]: b", "$$", "`", "*", "\\", "|",
     '"', '""', ",", ";", "prompt,answer\n", "front;back\n", "question\tanswer\n", "id", "\ufeff", "\x00",
     "\x1b[2J", "\u2028", "\x85", "Why?", "{x}", "[[", "日本", "\ud7ff", "&a", "*a"]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=40).map("".join)


def read(path: Path, content: bytes) -> dict[str, Question]:
    path.write_bytes(content)
    questions: dict[str, Question] = {}
    topics: dict[str, Topic] = {}
    start = time.process_time()
    faults = read_deck(path, questions, topics, keep_ids=True)
    assert time.process_time() - start < _DEADLINE_S
    assert questions or faults
    assert all(fault.line >= 1 and fault.file == str(path) for fault in faults)
    for question in questions.values():
        question_text(question)
    return questions


@pytest.mark.slow
@pytest.mark.parametrize("name", ["notes.md", "table.csv", "table.tsv"])
@settings(
    max_examples=_EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(TEXTS)
def test_no_text_raises(tmp_path: Path, home: Path, name: str, text: str) -> None:
    first = read(tmp_path / name, text.encode(errors="replace"))
    assert read(tmp_path / name, text.encode(errors="replace")).keys() == first.keys()


NOTES = [
    *("## a\nb\n" * 10_000, "# a\n" * 19_000, "> " * 500_000, "- " * 500_000, "- a\n" * 19_000),
    *("<div>\n" * 19_000, "```\n" * 19_000, "[a]: <" * 200_000, "a\n=\n" * 9_000, "## " + "[" * 100_000),
    *("*" * 1_000_000, "## a\n" + "x " * 2_000_000, "\n" * 4_000_000),
    "".join(" " * (i % 40) + "- a\n" for i in range(15_000)),
]
TABLES = [
    *("a,b\n" * 900_000, '"' * 1_000_000, '"a' + "\n" * 3_000_000, "," * 3_000_000, ";,\t" * 900_000),
    *("\n" * 4_000_000, "\n" * 90_000, "".join(f"{i},b\n" for i in range(30_000))),
]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(NOTES)))
def test_large_notes_end_in_time(tmp_path: Path, home: Path, number: int) -> None:
    read(tmp_path / "notes.md", NOTES[number].encode())


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(TABLES)))
def test_large_tables_end_in_time(tmp_path: Path, home: Path, number: int) -> None:
    read(tmp_path / "table.csv", TABLES[number].encode())
