from pathlib import Path

import pytest

from quizapp.bank.validate import check_content

NUMERIC = """topic: t
questions:
  - id: n
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


def faults(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "deck.yaml"
    path.write_text(text)
    return [str(fault) for fault in check_content([path], tmp_path / "none", tmp_path / "none")[1]]


def test_good_numeric_question_has_no_fault(tmp_path: Path) -> None:
    assert faults(tmp_path, NUMERIC) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("formula: P * k", "formula: P / (k - 2)"), "divides by zero"),
        (("formula: P * k", "formula: P * q"), "the name 'q' is unknown"),
        (("= {result}", "= 5000"), "'worked' does not show the result"),
        (("{P} billion parameters at {k} bytes?", "How much?"), "every draw gives the same prompt"),
        (("unit: GB", "unit: GB\n    where: P > 100"), "no combination of the values"),
        (("It is the product.", "'```python'"), "a code fence is opened and not closed"),
    ],
)
def test_faulty_numeric_question_is_named(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    assert change[0] in NUMERIC
    found = faults(tmp_path, NUMERIC.replace(*change))
    assert any(says in fault and ":3: question 'n'" in fault for fault in found), found


def test_link_to_an_unknown_question_is_a_fault(tmp_path: Path) -> None:
    assert "names 'gone', which does not exist" in faults(tmp_path, NUMERIC + "    requires: [gone]\n")[0]


def test_circle_of_prerequisites_is_a_fault(tmp_path: Path) -> None:
    other = NUMERIC.split("questions:\n")[1].replace("id: n", "id: m")
    found = faults(tmp_path, NUMERIC + "    requires: [m]\n" + other + "    requires: [n]\n")
    assert any("runs in a circle" in fault for fault in found)


def test_a_link_to_a_faulty_question_is_not_a_second_fault(tmp_path: Path) -> None:
    child = NUMERIC.split("questions:\n")[1].replace("id: n", "id: child") + "    requires: [n]\n"
    found = faults(tmp_path, NUMERIC.replace("level: easy", "level: eazy") + child)
    assert len(found) == 1
    assert "question 'n'" in found[0]


RECALL = """topic: t
questions:
  - id: r
    level: easy
    kind: recall
    prompt: What does the loss scale do?
    answer: It keeps small gradients from underflow.
    say: It prevents underflow.
    exercise: loss-scaling
    key_points:
      - {text: It prevents underflow., weight: 3, terms: [underflow]}
      - {text: It acts on gradients., terms: [gradients]}
      - {text: Small ones are meant., terms: [small]}
"""


def test_good_recall_question_has_no_fault(tmp_path: Path) -> None:
    assert faults(tmp_path, RECALL) == []


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        ("[underflow, loss scale]", "'loss scale' is in the prompt"),
        ("[overflow]", "the answer does not show the key point"),
        ("[underflow+scale]", "joins words"),
    ],
)
def test_terms_are_held_against_prompt_and_answer(tmp_path: Path, terms: str, says: str) -> None:
    assert says in faults(tmp_path, RECALL.replace("[underflow]", terms))[0]
