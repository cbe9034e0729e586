"""Decks that anyone may have written: every fault has a place, and the rest of the bank goes on working."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quizapp.bank.loader import load_bank, parse_bank
from quizapp.bank.model import Bank, Question
from quizapp.bank.parameters import sample_question
from quizapp.bank.render import question_text
from quizapp.bank.search import search
from quizapp.errors import ContentError

GOOD = """topic: t
questions:
  - id: good
    level: easy
    kind: numeric
    prompt: "{P} billion parameters at {k} bytes?"
    answer: It is the product.
    exercise: warmup
    values: {P: [1, 7], k: [2, 16]}
    formula: P * k
    unit: GB
    tolerance: 1%
    worked: "{P} x {k} = {result}"
"""
SECOND = GOOD.split("questions:\n")[1].replace("id: good", "id: second")


def load(tmp_path: Path, text: str | bytes) -> Bank:
    deck = tmp_path / "deck.yaml"
    deck.write_bytes(text.encode() if isinstance(text, str) else text)
    good = tmp_path / "good.yaml"
    good.write_text(GOOD.replace("topic: t", "topic: other"))
    start = time.process_time()
    bank = parse_bank([good, deck], tmp_path / "none", tmp_path / "none")
    assert time.process_time() - start < 10
    assert "good" in bank.questions
    assert all(fault.line >= 1 and fault.file for fault in bank.faults)
    return bank


def use(bank: Bank) -> None:
    """What commands and screens do with every question that was let in."""
    for question in bank.questions.values():
        for seed in range(3):
            question_text(question, seed)
    search(bank, "bytes topic:t")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("P * k", "1 / (P - 1)"), "divides by zero for P=1"),
        (("k: [2, 16]", "k: [0, 16], z: [" + ", ".join(map(str, range(1, 60))) + "]"), None),
        (("P * k", "1 / (k - 40)\n    where: k > 16"), "no combination of the values"),
        (("P * k", "((9**400)**400)**40"), "the exponent 400 is too large"),
        (("P * k", "1 + 'a'*10**9"), "a text can only be compared"),
        (("{P} x {k} = {result}", "{P:999999999}"), "the format '999999999' does not fit"),
        (("[1, 7]", "[.inf, .nan]"), "not a finite number"),
        (("[1, 7]", "[" + "1" * 400 + "]"), "is not a number that can be read"),
        (("[1, 7]", f"[{'1' * 305}]"), "not a finite number"),
        (("[1, 7]", "[[1], 7]"), "must be numbers or texts"),
        (("{P: [1, 7], k", "{'a b': [1, 7], k"), "may hold letters, digits and _ only"),
        (("1%", "-1"), "tolerance must be"),
        (("1%", ".nan"), "tolerance must be"),
        (("1%", "2026-12-24"), "tolerance must be"),
        (("answer: It is the product.", "answer: !!python/object:os.system x"), "is not allowed"),
        (("answer: It is the product.", "answer: !secret x"), "the tag '!secret' is not allowed"),
        (("answer: It is the product.", "answer: {a: b}"), "must be a text"),
        (("answer: It is the product.", "answer: [a]"), "must be a text"),
        (("unit: GB", "? [a, list]\n    : as a key"), "only a word or a number can be a key"),
        (("answer: It is the product.", "<<: {answer: a}"), "the merge key '<<' is not allowed"),
        (("answer: It is the product.", "answer: *nowhere"), "no anchor before it"),
        (("answer: It is the product.", "answer: &a [*a]"), "no anchor before it"),
        (("answer: It is the product.", "__line__: 5"), "is reserved"),
        (("answer: It is the product.", "answer: " + "[" * 100_000), "levels are nested"),
        (("answer: It is the product.", "answer: " + "{a: " * 100_000), "levels are nested"),
        (("answer: It is the product.", "answer:\n    " + "- " * 100_000), "levels are nested"),
        (("answer: It is the product.", "answer: " + "long " * 9_000), "44,999 characters long"),
        (("answer: It is the product.", "answer: a\n    sources: {a: b}"), "must be a list"),
        (("unit: GB", "sources: [{authors: a, year: x, title: t}]"), "must be a whole number"),
        (("unit: GB", "misconceptions: [{wrong: [a], right: b}]"), "must be a text"),
        (("answer: It is the product.", "answer: a\n    tags: [[a]]"), "must be a text"),
        (("answer: It is the product.", "answer: a\n    scenario: maybe"), "must be true or false"),
        (("id: good", "id: 2026-12-24-" + "x" * 200), "longer than 100 characters"),
        (("id: good", "id: [good]"), "'id' must be a text"),
        (("level: easy", "level: [easy]"), "level must be one of"),
        (("level: easy", "level: 0"), "level must be one of"),
        (("kind: numeric", "kind: {a: b}"), "kind must be one of"),
    ],
)  # fmt: skip
def test_a_hostile_value_is_a_fault_with_its_place(
    tmp_path: Path, change: tuple[str, str], says: str | None
) -> None:
    assert change[0] in GOOD
    bad = GOOD.replace("id: good", "id: bad") if "id: " not in change[0] else GOOD
    bank = load(tmp_path, bad.replace(*change))
    if says is None:
        assert bank.faults == ()
    else:
        assert any(says in str(fault) for fault in bank.faults), bank.faults
        assert all(fault.file == str(tmp_path / "deck.yaml") for fault in bank.faults)
        assert list(bank.questions) == ["good"]
    use(bank)


@pytest.mark.parametrize(
    ("text", "says"), [("[[a]]" * 21, "more than 20 gaps"), ("[[]]", "has no gap"), ("[[" * 9000, "20 gaps")]
)
def test_the_gaps_of_a_text_are_bounded(tmp_path: Path, text: str, says: str) -> None:
    deck = (
        GOOD[: GOOD.index("    values")]
        .replace("id: good", "id: bad")
        .replace("numeric", f"cloze\n    text: '{text}'")
    )
    assert [says in str(fault) for fault in load(tmp_path, deck).faults] == [True]


def test_a_bomb_of_aliases_is_refused(tmp_path: Path) -> None:
    lines = ["topic: t", "a: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"b{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    assert "holds an alias" in str(load(tmp_path, "\n".join(lines)).faults[0])
    text = "topic: t\na: &a " + "x" * 5000 + "\nb: [" + "*a, " * 100 + "]\n"
    assert "repeat too much" in str(load(tmp_path, text).faults[0])


def test_aliases_that_repeat_little_are_read(tmp_path: Path) -> None:
    text = (
        GOOD.replace("id: good", "id: mine")
        .replace("P: [1, 7]", "P: &p [1, 7]")
        .replace("k: [2, 16]", "k: *p")
    )
    assert load(tmp_path, text).questions["mine"].values == {"P": (1, 7), "k": (1, 7)}


def test_dates_and_times_are_texts(tmp_path: Path) -> None:
    text = (
        GOOD.replace("id: good", "id: mine")
        .replace("It is the product.", "2026-12-24")
        .replace("GB", "12:30")
    )
    question = load(tmp_path, text).questions["mine"]
    assert (question.answer, question.unit) == ("2026-12-24", "12:30")


@pytest.mark.parametrize(
    "text",
    ["", "- a\n- b\n", "topic: t\n", "a: b\n---\nc: d\n", "x", b"\x00", b"topic: \x07", "{", "%YAML 9"],
)
def test_a_file_that_is_not_a_deck_is_a_fault(tmp_path: Path, text: str | bytes) -> None:
    assert load(tmp_path, text).faults


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "deck.yaml")
    bank = parse_bank([tmp_path / "deck.yaml"], tmp_path / "none", tmp_path / "none")
    assert "is not a regular file" in str(bank.faults[0])


def test_other_questions_of_the_file_stay(tmp_path: Path) -> None:
    bank = load(tmp_path, GOOD.replace("id: good", "id: bad").replace("P * k", "1 / (P - 1)") + SECOND)
    assert set(bank.questions) == {"good", "second"}
    assert str(bank.faults[0]).startswith(
        f"{tmp_path / 'deck.yaml'}:3: question 'bad': '1 / (P - 1)' divides"
    )


def test_one_bad_value_among_many_combinations_is_found(tmp_path: Path) -> None:
    values = f"P: [{', '.join(map(str, range(40)))}], k: [2, 16, 32]"
    bad = GOOD.replace("id: good", "id: bad").replace("P: [1, 7], k: [2, 16]", values)
    assert "divides by zero" in str(load(tmp_path, bad.replace("P * k", "k / (P - 23)")).faults[0])


def test_a_card_that_still_fails_raises_one_sentence() -> None:
    question = Question(
        "q",
        "t",
        "easy",
        "numeric",
        "p",
        "a",
        "warmup",
        values={"n": (0,)},
        formula="1 / n",
        file="d.yaml",
        line=3,
    )  # type: ignore[arg-type]
    with pytest.raises(
        ContentError, match=r"question 'q' \(d.yaml:3\) cannot be shown: '1 / n' divides by zero"
    ):
        sample_question(question, 0)


def test_a_large_deck_loads_while_one_waits(tmp_path: Path) -> None:
    many = "".join(SECOND.replace("id: second", f"id: q{i}") for i in range(1000))
    assert len(load(tmp_path, "topic: t\nquestions:\n" + many).questions) == 1001


def test_a_folder_of_exercises_is_known_by_its_structure(tmp_path: Path, home: Path) -> None:
    deck = tmp_path / "deck"
    (deck / "lora").mkdir(parents=True)
    (deck / "lora" / "exercise.yml").write_text("not an exercise")
    (deck / "mine.yaml").write_text(GOOD)
    assert "good" in load_bank([deck]).questions
    (deck / "mine.yaml").write_text(GOOD.replace("id: good", "id: changed"))
    assert "changed" in load_bank([deck]).questions


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.dates()
SCALARS = PLAIN | st.sampled_from(
    ["{P}", "{P:9}", "P / k", "P ** k", "[[a|b]]", "[[", "```python", "a: b", "1e400", "\x1b[2J"]
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SCALARS.filter(bool), inner, max_size=4),
    max_leaves=8,
)
KINDS = ["recall", "numeric", "choice", "order", "cloze"]


def _question(kind: str) -> dict[str, object]:
    """A good question of a kind, to be spoiled."""
    question = {
        "id": "fuzz", "level": "easy", "kind": kind, "prompt": "What is it?", "answer": "It is so.",
        "exercise": "warmup", "say": "So.", "tags": ["a"], "misconceptions": [{"wrong": "a", "right": "b"}],
    }  # fmt: skip
    terms = [{"text": f"Point {i}", "terms": ["some words"]} for i in range(3)]
    by_kind: dict[str, dict[str, object]] = {
        "recall": {"key_points": terms},
        "numeric": {"values": {"P": [1, 2], "k": [0]}, "formula": "P * k", "tolerance": 1, "worked": "{k}"},
        "choice": {"options": [{"text": str(i), "why": "so", "right": i == 0} for i in range(3)]},
        "order": {"steps": ["a", "b", "c"]},
        "cloze": {"text": "It is [[so|thus]]."},
    }  # fmt: skip
    return question | by_kind[kind]


def _places(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    yield path
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _places(entry, (*path, key))
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _places(entry, (*path, index))


@st.composite
def decks(draw: st.DrawFn) -> str:
    """The YAML of a deck with a good question of which some places hold something else."""
    deck: dict[str, object] = {
        "topic": "t",
        "name": "T",
        "questions": [_question(draw(st.sampled_from(KINDS)))],
    }
    for _ in range(draw(st.integers(0, 3))):
        *path, last = draw(st.sampled_from([place for place in _places(deck) if place]))
        holder: object = deck
        for step in path:
            holder = holder[step]  # type: ignore[index]
        holder[last] = draw(VALUES)  # type: ignore[index]
    text: str = yaml.safe_dump(deck, allow_unicode=True, sort_keys=False)
    if draw(st.booleans()):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.text(alphabet="&*!?|>-[]{}:,#'\"<%@` \n\tab0", max_size=6)) + text[at:]
    return text


@pytest.mark.slow
@settings(
    max_examples=int(os.environ.get("QUIZAPP_FUZZ", "150")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(decks())
def test_no_deck_raises_or_hides_the_others(tmp_path: Path, text: str) -> None:
    use(load(tmp_path, text.encode(errors="replace")))
