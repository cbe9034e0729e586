"""Mutants: edits are applied where they fit, and everything else is a fault with its line."""

from pathlib import Path

import pytest

from quizapp import paths
from quizapp.bank.parse_exercise import load_exercise
from quizapp.errors import QuizError
from quizapp.judge import grade
from quizapp.judge.authoring.mutants import (
    MutantEdit,
    apply_edits,
    wrong_submission,
    wrong_submission_faults,
    wrong_submissions,
)
from quizapp.judge.authoring.scaffold import scaffold
from tests.judge.conftest import WORKING

HIDING = sorted({"T2", "T3"}.intersection(WORKING))
"""The working tiers that hide the exercise from a submission."""
SOLUTION = '''"""A solution."""


class Meter:
    """Counts."""

    def __init__(self, size):
        self.size = size
        self.total = 0

    def add(self, value):
        if value > 0:
            self.total += value

        return self.total

    def reset(self):
        self.total = 0
        return self.total
'''


def edited(*edits: MutantEdit) -> str:
    """The lines that differ from the solution, as ``-old`` and ``+new``."""
    before, after = SOLUTION.splitlines(), apply_edits(SOLUTION, edits).splitlines()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return "|".join([f"-{line}" for line in before] + [f"+{line}" for line in after])


@pytest.mark.parametrize(
    ("edit", "change"),
    [
        (MutantEdit("value > 0", "value >= 0"), "-        if value > 0:|+        if value >= 0:"),
        (MutantEdit("self.size = size", ""), "-        self.size = size"),
        (
            MutantEdit("self.total = 0", "self.total = 1", "def reset"),
            "-        self.total = 0|+        self.total = 1",
        ),
        (
            MutantEdit("self.total += value", "value = int(value)\nself.total += value"),
            "+            value = int(value)",
        ),
        (
            MutantEdit("if value > 0:\n    self.total += value", "self.total += value"),
            "-        if value > 0:|-            self.total += value|+        self.total += value",
        ),
        (
            MutantEdit("    self.total += value\n\nreturn self.total", "    pass\n\nreturn"),
            f"-{12 * ' '}self.total += value|-|-        return self.total|+{12 * ' '}pass|+|+{8 * ' '}return",
        ),
        (MutantEdit("def reset(self):\n    self.total = 0\n    return self.total", ""), ""),
    ],
)
def test_an_edit_changes_one_place_and_keeps_the_indentation(edit: MutantEdit, change: str) -> None:
    if change:
        assert edited(edit) == change
    else:
        assert "reset" not in apply_edits(SOLUTION, [edit])
        assert apply_edits(SOLUTION, [edit]).endswith("return self.total\n\n")


def test_the_order_of_edits_does_not_matter() -> None:
    edits = [
        MutantEdit("value > 0", "value"),
        MutantEdit("self.size = size", ""),
        MutantEdit('"""Counts."""', "pass"),
    ]
    assert apply_edits(SOLUTION, edits) == apply_edits(SOLUTION, edits[::-1])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "solution.py").write_text(SOLUTION)
    return tmp_path


GOOD = """- name: zero_counts
  breaks: 1
  says: must not count
  why: It counts zero.
  edits:
    - replace: value > 0
      with: value >= 0
"""


def faults(folder: Path, text: str) -> list[str]:
    """The faults of a ``mutants.yaml``, without the folder."""
    (folder / "mutants.yaml").write_text(text)
    return [str(fault).removeprefix(f"{folder}/") for fault in wrong_submissions(folder, [1, 2])[1]]


def test_a_mutant_is_the_edited_solution_and_a_file_is_itself(folder: Path) -> None:
    (folder / "wrong").mkdir()
    (folder / "wrong" / "empty.py").write_text("# fails: 1, 2\n# message: lacks Meter\n")
    assert faults(folder, GOOD) == []
    file, mutant = wrong_submissions(folder)[0]
    assert (file.name, file.breaks, file.says, file.edits) == ("empty", (1, 2), "lacks Meter", ())
    assert (mutant.breaks, mutant.says, mutant.why) == ((1,), "must not count", "It counts zero.")
    assert mutant.source == SOLUTION.replace("value > 0", "value >= 0")
    assert wrong_submission(folder, "zero_counts") == mutant
    with pytest.raises(QuizError, match="no wrong submission 'one_counts'"):
        wrong_submission(folder, "one_counts")


def test_a_folder_may_have_files_only(folder: Path) -> None:
    (folder / "wrong").mkdir()
    (folder / "wrong" / "empty.py").write_text("# fails: 1\n")
    submissions, found = wrong_submissions(folder)
    assert [each.name for each in submissions] == ["empty"]
    assert found == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "value > 0",
            "value > 1",
            "6: mutant 'zero_counts': 'replace' does not occur in solution.py: 'value > 1'",
        ),
        (
            "value > 0",
            "self.total = 0",
            "'replace' occurs 2 times in solution.py: 'self.total = 0'; quote more",
        ),
        (
            "      with: value",
            "      after: nowhere\n      with: value",
            "'after' does not occur in solution.py",
        ),
        (
            "      with: value",
            "      after: total\n      with: value",
            "'after' occurs 5 times in solution.py",
        ),
        (
            "      with: value",
            "      after: def reset\n      with: value",
            "does not occur after 'def reset'",
        ),
        (
            "value >= 0",
            "value >=",
            "1: mutant 'zero_counts': the edited solution is not valid Python (invalid syntax",
        ),
        ("value >= 0", "(value > 0)", "1: mutant 'zero_counts': the edited solution is the same program"),
        (
            "replace: value > 0\n      with: value >= 0",
            'replace: self.size = size\n      with: "self.size = size  # in bytes"',
            "1: mutant 'zero_counts': the edited solution is the same program",
        ),
        (
            "name: zero_counts",
            "name: Zero counts",
            "1: mutant 'Zero counts': needs a name of lower-case letters",
        ),
        (
            "name: zero_counts",
            "title: zero_counts",
            "1: unknown key 'title'; use name, breaks, says, why, edits",
        ),
        ("breaks: 1", "breaks: 7", "1: mutant 'zero_counts': exercise.yaml has no behavior 7"),
        ("breaks: 1", "breaks: one", "'breaks' must be the number of a behavior"),
        ("breaks: 1", "breaks: []", "'breaks' must be the number of a behavior"),
        ("says: must not count", "says: 7", "'says' must be a text"),
        ("says: must not count", "breaks: 2", "3: is not plain YAML: the key 'breaks' is given twice"),
        (
            "      with: value >= 0",
            "      by: value >= 0",
            "6: mutant 'zero_counts': unknown key 'by'; use replace",
        ),
        ("      with: value >= 0", "", "6: mutant 'zero_counts': an edit needs 'replace'"),
        ("replace: value > 0", "replace: ''", "6: mutant 'zero_counts': an edit needs 'replace'"),
        (
            GOOD[GOOD.index("edits") :],
            "edits: value",
            "1: mutant 'zero_counts': 'edits' must be a list of edits",
        ),
        (
            GOOD[GOOD.index("edits") :],
            "edits: []",
            "1: mutant 'zero_counts': 'edits' must be a list of edits",
        ),
        (GOOD, "zero_counts: 1\n", "1: must be a list of mutants"),
        (GOOD, "- zero_counts\n", "1: must be a list of mutants"),
        (GOOD, GOOD + GOOD, "8: mutant 'zero_counts': another wrong submission has this name"),
        (
            GOOD,
            GOOD + "    - replace: if value > 0\n      with: if value\n",
            "8: mutant 'zero_counts': overlaps with another edit",
        ),
    ],
)
def test_a_faulty_mutant_is_named_with_its_line(folder: Path, old: str, new: str, fault: str) -> None:
    assert old in GOOD
    found = faults(folder, GOOD.replace(old, new, 1))
    assert any(fault in text for text in found), found


@pytest.mark.parametrize("solution", [b"def f(:\n", b"\xff", b"\0", None])
def test_a_solution_that_cannot_be_read_is_one_fault(folder: Path, solution: bytes | None) -> None:
    (folder / "solution.py").unlink()
    if solution is not None:
        (folder / "solution.py").write_bytes(solution)
    (fault,) = faults(folder, GOOD)
    assert fault.startswith("mutants.yaml:1: cannot be applied: solution.py is not a readable Python file")


def test_a_file_that_is_not_text_is_a_fault(folder: Path) -> None:
    (folder / "wrong").mkdir()
    (folder / "wrong" / "binary.py").write_bytes(b"# fails: 1\n\xff")
    (fault,) = faults(folder, GOOD)
    assert fault.startswith("wrong/binary.py:1: cannot be read as UTF-8")


def test_a_name_may_not_be_that_of_a_file(folder: Path) -> None:
    (folder / "wrong").mkdir()
    (folder / "wrong" / "zero_counts.py").write_text("# fails: 1\n")
    assert "another wrong submission has this name" in faults(folder, GOOD)[0]


def test_the_check_of_an_exercise_counts_mutants_and_files(tmp_path: Path) -> None:
    exercise, _ = load_exercise(scaffold(tmp_path / "some-exercise"))
    assert exercise is not None
    assert wrong_submission_faults(exercise) == []
    mutants = exercise.folder / "mutants.yaml"
    entries = mutants.read_text().split("- name")
    mutants.write_text("- name".join(entries[:-1]))
    assert [fault.message for fault in wrong_submission_faults(exercise)] == [
        "has 7 wrong submissions; write at least 8"
    ]
    (exercise.folder / "wrong").mkdir()
    (exercise.folder / "wrong" / "zero.py").write_text("# fails: 1\n")
    assert wrong_submission_faults(exercise) == []


@pytest.mark.parametrize(
    "tier", [*HIDING[-1:], *(pytest.param(tier, marks=pytest.mark.exhaustive) for tier in HIDING[:-1])]
)
def test_a_submission_cannot_read_the_mutants(tier: str) -> None:
    exercise, _ = load_exercise(paths.exercises() / "warmup")
    assert exercise is not None
    source = f"open({str(exercise.folder / 'mutants.yaml')!r}).read()\n{exercise.solution}"
    verdict = grade(exercise, source.encode(), device="cpu", tier=tier)
    assert not verdict.passed
    assert "PermissionError" in (verdict.error or "")
