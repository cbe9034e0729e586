"""Searching the bank: where in a question a word is looked for."""

import pytest

from quizapp.bank.loader import load_bank
from quizapp.bank.search import begins_word, full_text, search


def found(query: str) -> set[str]:
    return {question.id for question in search(load_bank(), query)}


def test_a_word_is_found_where_words_begin_and_not_inside_of_others() -> None:
    hits = found("lora")
    assert {"lora-basics", "qlora-base-gradient"} <= hits
    assert "exploration" in full_text(load_bank().questions["lstm-gradient-flow"])
    assert "lstm-gradient-flow" not in hits


def test_what_begins_no_word_is_found_inside_of_words() -> None:
    inside = found("ackprop")
    assert inside
    assert inside <= found("backprop")


def test_every_word_of_a_query_must_occur() -> None:
    both = found("lora merge")
    assert both
    assert both < found("lora")


@pytest.mark.parametrize(
    ("word", "text", "begins"),
    [
        ("norm", "LayerNorm", True),
        ("norm", "enormous", False),
        ("lora", "QLoRA", True),
        ("grad", "zero_grad", True),
        ("bit", "8-bit", True),
        ("-100", "the index -100", True),
        ("lr", "η is the LR", True),
        ("lr", "already", False),
    ],
)
def test_where_words_begin(word: str, text: str, begins: bool) -> None:
    assert begins_word(word, text) == begins
