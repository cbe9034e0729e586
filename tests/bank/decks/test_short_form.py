"""A card of a user's deck needs a prompt and an answer; a question of the bank needs all its keys."""

from pathlib import Path

import pytest

from quizapp.bank.decks.short_form import points_of
from quizapp.bank.loader import parse_bank
from quizapp.bank.model import Bank, Question
from quizapp.bank.render import question_text

CARD = """  - id: why-lora
    prompt: Why does LoRA save memory?
    answer: Fewer gradients and moments.
"""


def load(path: Path, text: str) -> Bank:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return parse_bank([path], path.parent / "none", path.parent / "none")


def only(bank: Bank) -> Question:
    assert bank.faults == ()
    (question,) = bank.questions.values()
    return question


def test_prompt_and_answer_make_a_card(tmp_path: Path) -> None:
    bank = load(tmp_path / "Fine tuning_2.yaml", "questions:\n" + CARD)
    question = only(bank)
    assert (question.kind, question.level, question.exercise) == ("recall", "medium", "")
    assert (question.topic, bank.topics[question.topic].name) == ("fine-tuning-2", "Fine tuning_2")
    assert (question.key_points, question.say) == ((), "")
    assert "exercise" not in question_text(question)


def test_what_a_short_card_names_is_taken(tmp_path: Path) -> None:
    more = '    kind: cloze\n    level: hard\n    text: "A [[gap]]."\n    tags: [mine]\n    exercise: ""\n'
    question = only(load(tmp_path / "deck.yaml", "topic: t\nname: T\nquestions:\n" + CARD + more))
    assert (question.kind, question.level, question.topic, question.tags) == ("cloze", "hard", "t", ("mine",))


@pytest.mark.parametrize(
    ("kind", "says"), [("choice", "'options' is missing"), ("numeric", "'values' is missing")]
)
def test_other_kinds_still_need_what_they_are_asked_with(tmp_path: Path, kind: str, says: str) -> None:
    bank = load(tmp_path / "deck.yaml", f"questions:\n{CARD}    kind: {kind}\n")
    assert not bank.questions
    assert any(says in str(fault) for fault in bank.faults)


def test_a_question_of_a_bank_keeps_all_its_keys(tmp_path: Path) -> None:
    (tmp_path / "paths.yaml").write_text("core: []\n")
    bank = load(tmp_path / "questions" / "lora.yaml", "questions:\n" + CARD)
    assert not bank.questions
    told = "\n".join(map(str, bank.faults))
    assert "lacks 'topic'" in told
    assert "kind must be one of" in told
    full = CARD + "    kind: recall\n    level: easy\n"
    told = "\n".join(
        map(str, load(tmp_path / "questions" / "lora.yaml", "topic: t\nquestions:\n" + full).faults)
    )
    assert all(f"'{key}' is missing" in told for key in ("exercise", "say", "key_points"))


@pytest.mark.parametrize(
    ("answer", "points"),
    [
        ("- one\n- two", ["one", "two"]),
        ("It is so:\n\n1. one\n   more\n2. `two`\n   - nested\n\nAnd so.", ["one more", "`two`"]),
        ("For:\n* one\n\nAgainst:\n* two\n* three", ["one", "two", "three"]),
        ("- [ ] one\n- [x] two", ["one", "two"]),
        ("- only one", []),
        ("no list - at all", []),
        ("```\n- one\n- two\n```", []),
        ("> - one\n> - two", []),
        ("\n".join(f"- entry {i}" for i in range(13)), []),
        ("- \n- \n", []),
    ],
)
def test_the_list_of_an_answer_is_its_key_points(answer: str, points: list[str]) -> None:
    assert [point.text for point in points_of(answer)] == points


def test_key_points_that_are_written_out_count_more_than_a_list(tmp_path: Path) -> None:
    rows = "".join(f"      - {{text: Point {i}, terms: [some words]}}\n" for i in range(3))
    deck = f'questions:\n  - id: a\n    prompt: p\n    answer: "- x\\n- y"\n    key_points:\n{rows}'
    assert [point.text for point in only(load(tmp_path / "d.yaml", deck)).key_points] == [
        "Point 0",
        "Point 1",
        "Point 2",
    ]
