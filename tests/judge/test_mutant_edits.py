"""The tool that turns files of wrong/ into edits proves that the program stays the same."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from quizapp.judge.authoring.mutants import apply_edits, wrong_submission, wrong_submissions
from tests.judge.test_mutants import SOLUTION
from tools.mutant_edits import NotAnEdit, convert, edits_of, outdated_docstrings, same_program

HEADER = "# fails: 1\n# message: must not count\n"
ONE = ("if value > 0:", "if value >= 0:")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ONE,
        ("        self.size = size\n", ""),
        ("        self.size = size\n", "        self.size = size\n        self.seen = []\n"),
        ("    def add(", "    @property\n    def half(self):\n        return self.total / 2\n\n    def add("),
        ("        if value > 0:\n            self.total += value\n", "        self.total += value\n"),
        ("reset(self):\n        self.total = 0", "reset(self):\n        self.total = 1"),
        ("        self.total = 0\n\n", "        self.total = 1\n\n"),
        ('    """Counts."""\n', '    """Counts everything."""\n'),
        ("class Meter:", "import math\n\n\nclass Meter(object):"),
        ("self.size = size", "self.size = f'{size}: {{}}' # \\\\ \"quoted\""),
    ],
)
def test_edits_give_the_program_of_the_file(old: str, new: str) -> None:
    assert SOLUTION.count(old) == 1
    wrong = SOLUTION.replace(old, new)
    edits = edits_of(SOLUTION, HEADER + wrong)
    assert ast.dump(ast.parse(apply_edits(SOLUTION, edits))) == ast.dump(ast.parse(wrong))
    assert sum(edit.replace.count("\n") + 1 for edit in edits) <= 5


def test_docstrings_that_the_file_lacks_and_its_layout_are_no_edits() -> None:
    wrong = SOLUTION.replace('"""A solution."""\n\n\n', "").replace('    """Counts."""\n\n', "").replace(*ONE)
    wrong = wrong.replace(
        "self.size = size", "# how many\n        self.size = (\n            size\n        )"
    )
    assert [(edit.replace, edit.replacement) for edit in edits_of(SOLUTION, HEADER + wrong)] == [ONE]


def test_a_docstring_that_several_files_share_is_outdated() -> None:
    wrong = SOLUTION.replace('"""Counts."""', '"""Adds up."""')
    others = [wrong.replace(*ONE), wrong.replace("self.size = size", "pass")]
    assert outdated_docstrings(SOLUTION, others) == {(".Meter", "Adds up.")}
    assert outdated_docstrings(SOLUTION, others[:1]) == set()
    assert len(edits_of(SOLUTION, others[0])) == 2
    assert len(edits_of(SOLUTION, others[0], outdated_docstrings(SOLUTION, others))) == 1


def test_another_program_is_no_edit() -> None:
    with pytest.raises(NotAnEdit, match=r"\d+ of \d+ lines change"):
        edits_of(SOLUTION, "class Meter:\n    total = 0\n    def add(self, value):\n        return value\n")


def test_programs_are_compared_with_their_docstrings() -> None:
    assert same_program(SOLUTION, SOLUTION.replace('    """Counts."""\n', ""))
    assert not same_program(SOLUTION, SOLUTION.replace("Counts.", "Adds up."))
    assert not same_program(SOLUTION, SOLUTION.replace(*ONE))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "solution.py").write_text(SOLUTION)
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "zero_counts.py").write_text(HEADER + SOLUTION.replace(*ONE))
    (tmp_path / "wrong" / "never_adds.py").write_text(
        "# fails: 1, 2\n" + SOLUTION.replace("            self.total += value", "            pass")
    )
    (tmp_path / "wrong" / "other.py").write_text("# fails: 1\nMeter = dict\n")
    return tmp_path


def test_a_converted_file_is_an_entry_and_gone(folder: Path) -> None:
    before = {each.name: each for each in wrong_submissions(folder)[0]}
    printed = list(convert(folder, dry_run=True))
    assert not (folder / "mutants.yaml").exists()
    lines = ["never_adds: 1 edit\n", "other stays a file: 17 of 19 lines change\n", "zero_counts: 1 edit\n"]
    assert list(convert(folder)) == lines
    assert [path.name for path in (folder / "wrong").iterdir()] == ["other.py"]
    assert (folder / "mutants.yaml").read_text() == printed[0] + printed[2]
    assert yaml.safe_load(printed[2]) == [
        {
            "name": "zero_counts",
            "breaks": 1,
            "says": "must not count",
            "edits": [{"replace": ONE[0], "with": ONE[1]}],
        }
    ]
    after, faults = wrong_submissions(folder, [1, 2])
    assert faults == []
    assert [(each.name, each.breaks, each.says) for each in after] == [
        (each.name, each.breaks, each.says) for _, each in sorted(before.items())
    ]


def test_the_command_shows_a_wrong_submission_and_refuses_unknown_names(folder: Path) -> None:
    def run(*words: str) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "tools.mutant_edits", str(folder), *words]
        root = Path(__file__).parents[2]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
        return done.returncode, done.stdout, done.stderr

    assert run("zero_counts") == (0, "zero_counts: 1 edit\n", "")
    assert run("--show", "zero_counts") == (0, wrong_submission(folder, "zero_counts").source, "")
    code, _, error = run("zero_counts")
    assert code == 1
    assert "zero_counts.py does not exist" in error
