"""The shipped bank: complete, linked, and true where it can be computed."""

import math
import re
from collections import Counter

import pytest

from quizapp.bank.answers import mark_numeric
from quizapp.bank.loader import load_bank
from quizapp.bank.model import Bank, Question
from quizapp.bank.parameters import sample_question
from quizapp.bank.validate import python_blocks, shows_result

BANK: Bank = load_bank(cache=False)
NUMERIC = [q for q in BANK.questions.values() if q.kind == "numeric"]
RECALL = [q for q in BANK.questions.values() if q.kind == "recall"]
WITH_CODE = [q for q in BANK.questions.values() if "```python" in q.answer]

LIST_MARKER = re.compile(r"(\A|\n\n)\d{1,9}[.)]\s|\n1[.)]\s")
"""A number where Markdown begins a list: at the start of a paragraph, and 1 at the start of any line."""


def test_no_fault_in_the_shipped_content() -> None:
    assert [str(fault) for fault in BANK.faults] == []


def test_bank_is_as_large_as_promised() -> None:
    kinds = Counter(q.kind for q in BANK.questions.values())
    assert kinds["recall"] > 230
    assert len(BANK.questions) - kinds["recall"] >= 450
    assert set(kinds) == {"recall", "numeric", "choice", "order", "cloze"}


def test_every_question_lies_on_a_path() -> None:
    on_path = {name for ids in BANK.paths.values() for name in ids}
    assert [q.id for q in RECALL if q.id not in on_path and not q.tracks] == []


def test_every_card_belongs_to_a_recall_question() -> None:
    cards = [q for q in BANK.questions.values() if q.kind != "recall" and q.parent]
    assert all(BANK.questions[card.parent].kind == "recall" for card in cards)
    assert all(card.id.startswith(f"{card.parent}-") for card in cards)


@pytest.mark.parametrize("question", RECALL, ids=lambda q: q.id)
def test_recall_answer_has_a_readable_length(question: Question) -> None:
    prose = re.sub(r"^```.*?^```", "", question.answer, flags=re.DOTALL | re.MULTILINE)
    assert 70 <= len(prose.split()) <= 280


@pytest.mark.parametrize("question", NUMERIC, ids=lambda q: q.id)
def test_every_draw_is_finite_worked_and_accepted(question: Question) -> None:
    for seed in range(200):
        drawn = sample_question(question, seed)
        assert math.isfinite(drawn.result)
        assert abs(drawn.result) < 1e27
        assert shows_result(question, drawn), drawn.worked
        assert mark_numeric(question, drawn, f"{drawn.result!r} {question.unit}").right == 1
        assert "{" not in drawn.prompt.replace("{{", "")
        texts = (drawn.prompt, drawn.worked, drawn.answer)
        assert not any(LIST_MARKER.search(text) for text in texts), "a number reads as the marker of a list"


@pytest.mark.parametrize("question", WITH_CODE, ids=lambda q: q.id)
def test_code_of_an_answer_runs(question: Question) -> None:
    for block in python_blocks(question):
        exec(compile(block, question.id, "exec"), {"__name__": "__answer__"})


def test_right_option_is_not_given_away_by_its_length() -> None:
    choices = [q for q in BANK.questions.values() if q.kind == "choice"]
    longest = 0
    for question in choices:
        right = next(len(o.text) for o in question.options if o.right)
        longest += right > 1.25 * max(len(o.text) for o in question.options if not o.right)
    assert longest <= 0.1 * len(choices)


def test_every_exercise_is_linked_from_two_questions() -> None:
    links = Counter(q.exercise for q in BANK.questions.values())
    assert [slug for slug in BANK.exercises if links[slug] < 2] == []


def test_every_exercise_belongs_to_a_topic() -> None:
    assert [exercise.slug for exercise in BANK.exercises.values() if exercise.topic not in BANK.topics] == []
