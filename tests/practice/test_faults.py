"""Faults planted into the solution of an exercise: which fit together, and when one is found."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from quizapp import paths
from quizapp.bank.model import Exercise, Stage
from quizapp.bank.parse_exercise import load_exercise, load_exercises
from quizapp.errors import QuizError
from quizapp.judge.verdict import TestResult, Verdict, VerdictStatus
from quizapp.practice.faults import (
    FaultyProgram,
    PlantedFault,
    debug_sentence,
    outcome_of,
    plant_and_grade,
    plant_faults,
)

MUTANTS = """
- name: early_return
  breaks: 1
  edits: [{replace: "x = 1", with: "x = 2"}]
- name: late_return
  breaks: 2
  edits: [{replace: "y = 1", with: "y = 2"}]
- name: same_behavior
  breaks: 2
  edits: [{replace: "z = 1", with: "z = 2"}]
- name: overlaps
  breaks: 3
  edits: [{replace: "x = 1\\ny = 1", with: "x = y = 3"}]
- name: of_robust
  breaks: 4
  edits: [{replace: "w = 1", with: "w = 2"}]
"""


def loaded(folder: Path) -> Exercise:
    exercise, faults = load_exercise(folder)
    assert exercise is not None, faults
    return exercise


@pytest.fixture
def small(tmp_path: Path) -> Exercise:
    """Four mutants in the core, of which at most two fit together, and one of ``robust``."""
    folder = Path(shutil.copytree(paths.exercises() / "lora", tmp_path / "lora"))
    (folder / "solution.py").write_text("x = 1\ny = 1\nz = 1\nw = 1\n", encoding="utf-8")
    (folder / "mutants.yaml").write_text(MUTANTS, encoding="utf-8")
    shutil.rmtree(folder / "wrong", ignore_errors=True)
    stages = (Stage("core", 9, "Write it.", (1, 2, 3)), Stage("robust", 1, "Harden it.", (4,)))
    return replace(loaded(folder), stages=stages)


def verdict(*failing: int, held: tuple[int, ...] = (), status: VerdictStatus | None = None) -> Verdict:
    tests = [TestResult(f"test_{number}", number, number in held) for number in (*failing, *held)]
    status = status or (VerdictStatus.FAILED if failing else VerdictStatus.PASSED)
    return Verdict("lora", "lora.py", "cpu", status, tuple(tests))


def test_faults_break_different_core_behaviors_and_do_not_overlap(small: Exercise) -> None:
    for seed in range(30):
        program = plant_faults(small, 4, seed)
        names = {fault.mutant for fault in program.faults}
        assert "of_robust" not in names
        assert not {"late_return", "same_behavior"} <= names
        assert not ("overlaps" in names and names & {"early_return", "late_return"})
        assert len(program.faults) == 2
        assert program.shortfall == "Only 2 faults of the 4 asked for fit together here."


def test_every_fault_is_in_the_code(small: Exercise) -> None:
    program = plant_faults(small, 2, seed=1)
    changed = {line for line in program.source.splitlines() if line not in small.solution}
    assert changed
    assert program.shortfall == ""


def test_a_seed_repeats_its_choice_and_others_choose_otherwise() -> None:
    lora = loaded(paths.exercises() / "lora")
    first = plant_faults(lora, 4, seed=7)
    assert plant_faults(lora, 4, seed=7) == first
    assert any(plant_faults(lora, 4, seed=seed) != first for seed in range(3))


@pytest.mark.exhaustive
def test_four_faults_fit_into_nearly_every_exercise() -> None:
    exercises, _ = load_exercises(paths.exercises())
    for exercise in exercises.values():
        program = plant_faults(exercise, 4, seed=0)
        assert len({fault.behaviour for fault in program.faults}) == len(program.faults) >= 3, exercise.slug


def test_an_exercise_without_mutants_is_one_sentence(small: Exercise) -> None:
    (small.folder / "mutants.yaml").unlink()
    with pytest.raises(QuizError, match="lora has no mutants to make faults from"):
        plant_faults(small)


def test_edits_that_do_not_fit_are_left_out_or_one_sentence(small: Exercise) -> None:
    path = small.folder / "mutants.yaml"
    bad = '- name: misfit\n  breaks: 1\n  edits: [{replace: "not there", with: "x"}]\n'
    path.write_text(bad, encoding="utf-8")
    with pytest.raises(QuizError, match=r"no mutant whose edits fit .*mutants\.yaml:3: .*does not occur"):
        plant_faults(small)

    path.write_text(MUTANTS + bad, encoding="utf-8")
    assert all(fault.mutant != "misfit" for fault in plant_faults(small).faults)


def test_a_fault_is_found_when_its_behavior_holds() -> None:
    faults = (PlantedFault("a", 2), PlantedFault("b", 5))

    outcome = outcome_of(faults, verdict(5, 7, held=(1, 2)))

    assert outcome.found == (2,)
    assert outcome.open == (5,)
    assert outcome.other == (7,)
    assert debug_sentence(outcome) == "1 of 2 faults found."
    # Half a test is no proof.
    mixed = Verdict(
        "lora",
        "lora.py",
        "cpu",
        VerdictStatus.FAILED,
        (TestResult("one", 2, True), TestResult("two", 2, False)),
    )
    assert outcome_of(faults, mixed).found == ()


def test_no_evidence_finds_nothing() -> None:
    outcome = outcome_of((PlantedFault("a", 2),), verdict(status=VerdictStatus.ERROR))
    assert outcome.found == ()
    assert not outcome.passed


def test_all_found_is_not_all_green_while_something_else_fails() -> None:
    faults = (PlantedFault("a", 2),)
    assert debug_sentence(outcome_of(faults, verdict(7, held=(2,)))) == (
        "1 of 1 fault found, but other behaviors fail now."
    )
    assert debug_sentence(outcome_of(faults, verdict(held=(2, 7)))) == (
        "1 of 1 fault found, and every hidden test holds."
    )


def test_a_combination_in_which_a_fault_hides_is_passed_over(small: Exercise) -> None:
    graded: list[bytes] = []

    def grade(source: bytes) -> Verdict:
        graded.append(source)
        # The first combination crashes; in the second every behavior that can be broken fails.
        return verdict(status=VerdictStatus.ERROR) if len(graded) == 1 else verdict(1, 2, 3)

    program, first = plant_and_grade(small, 2, 0, grade)

    assert len(graded) == 2
    assert first.failing_behaviours == {1, 2, 3}
    assert isinstance(program, FaultyProgram)
    assert program.source.encode() == graded[1]


@pytest.mark.parametrize(
    ("graded", "text"),
    [
        (verdict(held=(1, 2, 3)), "the faults planted into lora do not show; try another --seed"),
        (verdict(status=VerdictStatus.TIMEOUT), r"cannot be graded \(.*\); try another --seed"),
    ],
)
def test_faults_that_never_show_are_one_sentence(small: Exercise, graded: Verdict, text: str) -> None:
    with pytest.raises(QuizError, match=text):
        plant_and_grade(small, 2, 0, lambda _: graded)


def test_without_a_better_combination_only_visible_faults_count(small: Exercise) -> None:
    program, _ = plant_and_grade(small, 2, 0, lambda _: verdict(2, held=(1, 3)))
    assert [fault.behaviour for fault in program.faults] == [2]
    assert program.shortfall
