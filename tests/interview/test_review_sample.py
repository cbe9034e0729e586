"""Code reviews drawn from seeds: the code shown, the faults in it, the time."""

import ast
import difflib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from quizapp import paths
from quizapp.bank.model import Exercise
from quizapp.bank.parse_exercise import load_exercise
from quizapp.errors import QuizError
from quizapp.interview.code_review.candidates import misfit, pair_faults, review_programs
from quizapp.interview.code_review.sample_review import review_minutes, sample_review
from quizapp.interview.code_review.shown_code import fault_lines, strip_docstrings, touched_lines
from quizapp.judge.authoring.mutants import wrong_submissions


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    loaded, _ = load_exercise(paths.exercises() / "sampling")
    assert loaded is not None
    return loaded


def write_exercise(folder: Path, mutants: str, pairs: str = "") -> Exercise:
    """An exercise with a solution of three functions and these mutants."""
    (folder / "right").mkdir()
    (folder / "solution.py").write_text(SOLUTION)
    (folder / "right" / "loop.py").write_text(SOLUTION.replace("    return sum(values) / n", LOOP))
    (folder / "mutants.yaml").write_text(mutants)
    if pairs:
        (folder / "review.yaml").write_text(pairs)
    loaded, _ = load_exercise(paths.exercises() / "sampling")
    assert loaded is not None
    return replace(loaded, slug="mean", module="mean.py", folder=folder)


SOLUTION = '''"""Means."""


def mean(values):
    """The mean."""
    n = len(values)
    return sum(values) / n


def product(values):
    """The product."""
    result = 1
    for value in values:
        result *= value
    return result


def empty():
    """Nothing."""
'''
LOOP = """    total = 0
    for value in values:
        total += value
    return total / n"""
MUTANTS = """
- name: product_from_zero
  breaks: 2
  why: Every product is zero.
  edits:
    - replace: result = 1
      with: result = 0
- name: mean_too_large
  breaks: 1
  why: The mean of one value is infinite.
  edits:
    - replace: n = len(values)
      with: n = len(values) - 1
- name: mean_is_a_sum
  breaks: 1
  why: The result grows with the number of values.
  edits:
    - replace: return sum(values) / n
      with: return sum(values)
- name: says_nothing
  breaks: 2
  edits:
    - replace: result *= value
      with: result += value
"""


def test_the_same_seed_gives_the_same_review(exercise: Exercise) -> None:
    assert sample_review(exercise, 5) == sample_review(exercise, 5)
    assert len({sample_review(exercise, seed).shown for seed in range(12)}) > 6


@pytest.mark.slow
def test_thirteen_in_a_hundred_reviews_show_correct_code(tmp_path: Path) -> None:
    small = write_exercise(tmp_path, MUTANTS)
    reviews = [sample_review(small, seed) for seed in range(1000)]
    assert 100 < sum(review.is_correct for review in reviews) < 160
    assert all((review.shown == review.original) == review.is_correct for review in reviews)


@pytest.mark.slow
def test_faults_break_different_behaviors_on_different_lines(exercise: Exercise) -> None:
    counts: Counter[int] = Counter()
    for seed in range(60):
        review = sample_review(exercise, seed)
        counts[len(review.faults)] += 1
        behaviours = [number for fault in review.faults for number in fault.behaviours]
        assert len(behaviours) == len(set(behaviours))
        lines = [line for fault in review.faults for line in fault.lines]
        assert len(lines) == len(set(lines))
        assert all(fault.why and fault.lines for fault in review.faults)
        ast.parse(review.shown)
    assert set(counts) <= {0, 1, 2, 3}
    assert counts[1] > counts[2] > counts[3]


def test_the_lines_of_a_fault_are_those_that_differ(exercise: Exercise) -> None:
    for seed in range(30):
        review = sample_review(exercise, seed)
        lines = review.shown.splitlines()
        changed = {line[2:] for line in difflib.ndiff(review.original.splitlines(), lines) if line[0] == "+"}
        pointed = {lines[line - 1] for fault in review.faults for line in fault.lines}
        assert changed <= pointed


def test_the_code_shown_has_no_docstrings(exercise: Exercise) -> None:
    tree = ast.parse(sample_review(exercise, 1).shown)
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.Module | ast.FunctionDef | ast.ClassDef)]
    assert [ast.get_docstring(block) for block in blocks] == [None] * len(blocks)


def test_docstrings_leave_everything_else_as_it_was() -> None:
    assert strip_docstrings(SOLUTION) == (
        "def mean(values):\n    n = len(values)\n    return sum(values) / n\n\n\n"
        "def product(values):\n    result = 1\n    for value in values:\n        result *= value\n"
        "    return result\n\n\ndef empty():\n    ...\n"
    )


def test_a_string_that_is_no_docstring_stays() -> None:
    source = 'x = 1\n"""a note"""\n\n\ndef f(): "short"\n'
    assert strip_docstrings(source) == source


def test_a_missing_line_is_found_beside_the_gap_and_at_the_function() -> None:
    before = "def f(x):\n    a = 1\n    b = 2\n    c = 3\n    d = 4\n    return a\n"
    assert fault_lines(before, before.replace("    c = 3\n", "")) == (1, 3, 4)


def test_a_changed_line_of_a_long_call_is_the_whole_statement() -> None:
    before = "a = 0\nx = f(\n    1,\n    2,\n)\nb = 1\n"
    after = before.replace("2", "3")
    assert fault_lines(before, after) == (2, 3, 4, 5)
    assert touched_lines(before, after) == 1


@pytest.mark.parametrize(("lines", "minutes"), [(3, 4), (40, 4), (41, 5), (80, 8), (119, 12), (300, 12)])
def test_the_clock_follows_the_length(lines: int, minutes: int) -> None:
    assert review_minutes("x = 1\n\n" * lines) == minutes


def test_only_mutants_with_a_reason_and_a_short_edit_suit(tmp_path: Path) -> None:
    small = write_exercise(tmp_path, MUTANTS)
    mutants = {mutant.name: mutant for mutant in wrong_submissions(tmp_path)[0]}
    assert misfit(mutants["mean_too_large"], SOLUTION) == ""
    assert "no 'why'" in misfit(mutants["says_nothing"], SOLUTION)
    variant = (tmp_path / "right" / "loop.py").read_text()
    assert misfit(mutants["mean_too_large"], variant) == ""
    assert "do not fit" in misfit(mutants["mean_is_a_sum"], variant)
    assert {fault.mutant for seed in range(40) for fault in sample_review(small, seed).faults} == {
        *("mean_too_large", "mean_is_a_sum", "product_from_zero")
    }


def test_an_edit_of_six_lines_is_too_long(tmp_path: Path) -> None:
    six = "".join(f"        a{number} = {number}\n" for number in range(6))
    text = f"- name: long\n  breaks: 1\n  why: W.\n  edits:\n    - replace: result = 1\n      with: |-\n{six}"
    write_exercise(tmp_path, text)
    (mutant,) = wrong_submissions(tmp_path)[0]
    assert misfit(mutant, SOLUTION) == "it touches 6 lines, more than 5"


def test_recorded_pairs_decide_where_a_mutant_is_planted(tmp_path: Path) -> None:
    small = write_exercise(tmp_path, MUTANTS, "mean_too_large: [loop]\nmean_is_a_sum: []\n")
    programs = {program.name: [m.name for m in program.mutants] for program in review_programs(small)}
    assert programs == {"solution": [], "loop": ["mean_too_large"]}
    faulty = [review for seed in range(20) if not (review := sample_review(small, seed)).is_correct]
    assert {review.program for review in faulty} == {"loop"}
    assert "total += value" in faulty[0].shown
    assert pair_faults(small) == []


@pytest.mark.parametrize(
    ("pairs", "problem"),
    [
        ("absent: [solution]\n", "there is no mutant 'absent'"),
        ("mean_is_a_sum: [square]\n", "names the program 'square', which does not exist"),
        ("mean_is_a_sum: [loop]\n", "does not suit loop: its edits do not fit"),
        ("mean_is_a_sum: solution\n", "must be a list of programs"),
        ("- a\n", "must map names of mutants to lists of programs"),
    ],
)
def test_a_wrong_record_is_a_fault_with_its_file(tmp_path: Path, pairs: str, problem: str) -> None:
    (fault,) = pair_faults(write_exercise(tmp_path, MUTANTS, pairs))
    assert problem in fault.message
    assert fault.file == str(tmp_path / "review.yaml")


@pytest.mark.parametrize("mutants", ["[]\n", "", MUTANTS.replace("why", "says")])
def test_an_exercise_without_mutants_that_suit_says_so(tmp_path: Path, mutants: str) -> None:
    small = write_exercise(tmp_path, mutants)
    for seed in range(12):
        with pytest.raises(QuizError, match="mean has no mutant that suits a code review"):
            sample_review(small, seed)
