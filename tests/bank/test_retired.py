"""Withdrawn questions and the musts of a rubric."""

from pathlib import Path

import pytest

from quizapp.bank import PointKind
from quizapp.bank.loader import find_question, parse_bank
from quizapp.bank.model import Bank, KeyPoint, musts
from quizapp.errors import UnknownName
from tests.bank.test_load import GOOD


def bank(folder: Path, retired: str) -> Bank:
    deck = folder / "deck.yaml"
    deck.write_text(GOOD, encoding="utf-8")
    (folder / "retired.yaml").write_text(retired, encoding="utf-8")
    return parse_bank([deck], folder / "paths.yaml", folder / "no-exercises")


def test_a_withdrawn_question_names_the_one_that_covers_it(tmp_path: Path) -> None:
    found = bank(tmp_path, "retired:\n  - id: gone\n    into: first\n  - id: lost\n")
    assert found.retired == {"gone": "first", "lost": ""}
    with pytest.raises(UnknownName, match="'gone' was withdrawn; 'first' covers it now"):
        find_question(found, "gone")
    with pytest.raises(UnknownName, match=r"'lost' was withdrawn\."):
        find_question(found, "lost")


def test_an_id_is_never_used_again(tmp_path: Path) -> None:
    found = bank(tmp_path, "retired:\n  - id: first\n")
    assert "first" not in found.questions
    (fault,) = found.faults
    assert fault.file.endswith("deck.yaml")
    assert "belongs to a withdrawn question" in fault.message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("retired: 3\n", "must hold a list"),
        ("[1]\n", "must hold a list"),
        ("retired:\n  - into: first\n", "each entry must have 'id'"),
        ("retired:\n  - gone\n", "each entry must have 'id'"),
        ("retired:\n  - id: gone\n    inot: first\n", "each entry must have 'id'"),
        ("retired:\n  - id: gone\n    into: nobody\n", "'nobody', which does not exist"),
    ],
)
def test_a_faulty_list_is_reported_and_the_bank_still_loads(tmp_path: Path, text: str, says: str) -> None:
    found = bank(tmp_path, text)
    assert list(found.questions) == ["first"]
    assert any(says in fault.message and "retired.yaml" in fault.file for fault in found.faults)


def point(weight: int, kind: PointKind = PointKind.CORE, *, must: bool = False) -> KeyPoint:
    return KeyPoint(f"{weight} {kind} {must}", weight, kind, ("term",), must)


def test_marked_points_are_the_musts() -> None:
    points = [point(3), point(1, must=True), point(2, PointKind.TRADE_OFF, must=True)]
    assert musts(points) == (points[1], points[2])


def test_without_marks_the_first_three_heavy_core_points_are_the_musts() -> None:
    points = [point(1), point(3, PointKind.TRADE_OFF), point(3), point(3), point(2), point(3), point(3)]
    assert musts(points) == (points[2], points[3], points[5])
