"""Notes in Markdown: which headings are cards, and what belongs to their answers."""

from pathlib import Path

import pytest

from quizapp.bank.decks.deck_file import DeckFile
from quizapp.bank.decks.markdown_deck import MAX_LINES, read_markdown_deck
from quizapp.bank.yaml_loader import LINE


def read(folder: Path, text: str) -> DeckFile:
    path = folder / "notes.md"
    path.write_text(text, "utf-8")
    return read_markdown_deck(path)


def cards(deck: DeckFile) -> list[tuple[int, str, str]]:
    assert [str(fault) for fault in deck.faults] == []
    return [(card[LINE], card["prompt"], card["answer"]) for card in deck.cards]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## a\nx\n## b\ny\n", [(1, "a", "x"), (3, "b", "y")]),
        ("# T\nintro\n## a\n\nx\n\n### deeper\ny\n", [(3, "a", "x\n\n### deeper\ny")]),
        ("# a\nx\n# b\ny\n## z\n", [(1, "a", "x"), (5, "z", "")]),
        ("# a\nx\n# b\ny\n### z\nw\n", [(1, "a", "x"), (3, "b", "y\n### z\nw")]),
        ("# T\n### a\nx\n### b\ny\n", [(2, "a", "x"), (4, "b", "y")]),
        ("# T\n## a\nx\n# U\n## b\ny\n# c\nz\n", [(2, "a", "x"), (5, "b", "y"), (7, "c", "z")]),
        ("### a\nx\n### b\ny\n", [(1, "a", "x"), (3, "b", "y")]),
        ("a\n===\nx\n\nb\n===\ny\n", [(1, "a", "x"), (5, "b", "y")]),
        ("## What is `x` *here*? ##\nx\n", [(1, "What is `x` *here*?", "x")]),
        ("## a\n```\n## no\n```\nx\n", [(1, "a", "```\n## no\n```\nx")]),
        ("## a\n> ## no\n\n- ## no\n", [(1, "a", "> ## no\n\n- ## no")]),
        ("## a\n    ## no\n<div>\n## no\n</div>\n", [(1, "a", "    ## no\n<div>\n## no\n</div>")]),
        ("## a\n$$\n\\sum_i x_i\n$$\n", [(1, "a", "$$\n\\sum_i x_i\n$$")]),
        ("##a\n## b\n#hashtag\n", [(2, "b", "#hashtag")]),
        ("\ufeff## a\r\nx\r\n", [(1, "a", "x")]),
    ],
)
def test_headings_are_cards(tmp_path: Path, text: str, expected: list[tuple[int, str, str]]) -> None:
    assert cards(read(tmp_path, text)) == expected


def test_front_matter_says_what_holds_for_every_card(tmp_path: Path) -> None:
    front = "---\ntopic: peft\ntitle: Fine-tuning\nlevel: Hard\ntags: [lora, '#rank']\ndate: 1\n---\n"
    deck = read(tmp_path, front + "## a\nx\n")
    assert cards(deck) == [(8, "a", "x")]
    assert (deck.topic, deck.name) == ("peft", "Fine-tuning")
    assert (deck.cards[0]["level"], deck.cards[0]["tags"]) == ("hard", ["lora", "rank"])


def test_a_single_title_names_the_topic(tmp_path: Path) -> None:
    assert read(tmp_path, "# Adapters\n## a\nx\n").name == "Adapters"
    assert read(tmp_path, "# One\n## a\nx\n# Two\n## b\ny\n").name == ""


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 1, "has no card"),
        ("just text\n", 1, "has no card"),
        ("---\ntags: [a\n---\n## a\nx\n", 3, "its front matter is not valid YAML"),
        ("---\nlevel: trivial\n---\n## a\nx\n", 2, "level must be one of"),
        ("a\n" * MAX_LINES, 1, "split it"),
    ],
    ids=["empty", "text", "yaml", "level", "long"],
)
def test_a_fault_names_its_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    deck = read(tmp_path, text)
    assert [(fault.line, says in str(fault)) for fault in deck.faults] == [(line, True)]


def test_what_looks_like_front_matter_may_be_text_between_rules(tmp_path: Path) -> None:
    assert cards(read(tmp_path, "---\n\njust text\n\n---\n## a\nx\n")) == [(6, "a", "x")]


@pytest.mark.parametrize("content", [b"## a\n\xff\xfe", "## a\nx".encode("utf-16")])
def test_other_encodings_are_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.md"
    path.write_bytes(content)
    assert "save it as UTF-8" in str(read_markdown_deck(path).faults[0])
