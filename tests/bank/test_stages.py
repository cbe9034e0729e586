"""Stages of exercises: how they are read, which faults are reported, and grading up to a stage."""

import shutil
from pathlib import Path

import pytest

from quizapp.bank.loader import find_exercise
from quizapp.bank.model import Bank, Exercise
from quizapp.bank.parse_exercise import load_exercise
from quizapp.bank.validate import exercise_faults
from quizapp.errors import QuizError, UnknownName
from quizapp.judge import grade
from tests.judge.field import DATA

pytestmark = pytest.mark.usefixtures("warm_judge")

BRIEF = " ".join(["word"] * 30)
STAGES = f"""stages:
  - name: core
    minutes: 5
    brief: {BRIEF}
    behaviours: [1, 2, 3]
  - name: robust
    minutes: 2
    brief: {BRIEF}
    behaviours: [4, 5]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of an exercise with five behaviors and without stages."""
    return Path(shutil.copytree(DATA / "blend", tmp_path / "blend"))


def read(folder: Path, stages: str) -> tuple[Exercise | None, list[str]]:
    path = folder / "exercise.yaml"
    path.write_text(path.read_text(encoding="utf-8") + stages, encoding="utf-8")
    exercise, faults = load_exercise(folder)
    return exercise, [str(fault) for fault in faults]


def test_an_exercise_without_stages_has_one_with_every_behavior(folder: Path) -> None:
    exercise, _ = read(folder, "")
    assert exercise is not None
    (only,) = exercise.stages
    assert (only.name, only.minutes, only.is_core) == ("all", exercise.minutes, True)
    assert set(only.behaviours) == set(exercise.behaviours)


def test_stages_are_read_in_order_and_robust_is_not_core(folder: Path) -> None:
    exercise, faults = read(folder, STAGES)
    assert exercise is not None, faults
    assert [(stage.name, stage.is_core) for stage in exercise.stages] == [("core", True), ("robust", False)]
    assert exercise.stage_of(4) == "robust"
    assert exercise.stage_of(0) == "core"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            ("behaviours: [4, 5]", "behaviours: [1, 4, 5]"),
            "behavior 1 must be in exactly one stage, not in 2",
        ),
        (("behaviours: [4, 5]", "behaviours: [5]"), "behavior 4 must be in exactly one stage, not in 0"),
        (("behaviours: [4, 5]", "behaviours: [4, 5, 9]"), "names behavior 9, which does not exist"),
        (("name: core", "name: robust"), "two stages have the same name"),
        (("name: core", "name: robust\n    minutes: 5\n    x: 1"), "given twice"),
        (("minutes: 5", "minutes: 0"), "at least one minute"),
        (("    minutes: 5\n", ""), "wrong form"),
        (("minutes: 5", "minutes: soon"), "wrong form"),
    ],
)
def test_a_faulty_stage_is_named_with_the_file(folder: Path, change: tuple[str, str], says: str) -> None:
    assert change[0] in STAGES
    exercise, faults = read(folder, STAGES.replace(*change))
    assert exercise is None
    assert any(str(folder / "exercise.yaml") in fault and says in fault for fault in faults), faults


def test_robust_must_be_last(folder: Path) -> None:
    swapped = (
        STAGES.replace("name: core", "name: x").replace("robust", "core").replace("name: x", "name: robust")
    )
    exercise, faults = read(folder, swapped)
    assert exercise is None
    assert "must be the last" in faults[0]


def test_the_check_reports_a_brief_that_is_too_short(folder: Path) -> None:
    exercise, _ = read(folder, STAGES.replace(BRIEF, "Do it.", 1))
    assert exercise is not None
    assert any("brief of stage 'core' has 2 words" in fault.message for fault in exercise_faults(exercise))


@pytest.mark.judge
def test_a_grade_can_stop_at_a_stage(folder: Path) -> None:
    exercise, _ = read(folder, STAGES)
    assert exercise is not None
    source = (
        exercise.solution.encode()
        + b"""
right = blend
def blend(x, y, w):
    return right(x, y, min(max(w, 0.0), 1.0))
"""
    )
    first = grade(exercise, source, stages=1)
    assert first.passed, first
    assert [(stage.name, stage.passed) for stage in first.stages] == [("core", True)]
    assert {test.stage for test in first.tests} == {"core"}
    whole = grade(exercise, source)
    assert not whole.passed
    assert [(stage.name, stage.passed) for stage in whole.stages] == [("core", True), ("robust", False)]
    assert {test.stage for test in whole.tests if not test.passed} == {"robust"}


@pytest.mark.judge
def test_without_evidence_no_stage_stands(folder: Path) -> None:
    exercise, _ = read(folder, STAGES)
    assert exercise is not None
    verdict = grade(exercise, b"import nothing_like_this")
    assert [stage.passed for stage in verdict.stages] == [False, False]


def test_no_stage_at_all_cannot_be_asked_for(folder: Path) -> None:
    exercise, _ = read(folder, STAGES)
    assert exercise is not None
    with pytest.raises(QuizError, match="0 stages"):
        grade(exercise, b"x = 1", stages=0)


def test_an_exercise_with_a_faulty_stage_is_left_out_by_name_with_the_line_of_the_stage(folder: Path) -> None:
    path = folder / "exercise.yaml"
    path.write_text(
        path.read_text(encoding="utf-8") + STAGES.replace("[4, 5]", "[4, 5, 9]"), encoding="utf-8"
    )
    exercise, faults = load_exercise(folder)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert exercise is None
    assert faults[0].line == lines.index("  - name: robust") + 1
    bank = Bank({}, {}, {}, faults=tuple(faults))
    with pytest.raises(UnknownName, match=r"'blend' is left out: .*names behavior 9, which does not exist"):
        find_exercise(bank, "blend")
    with pytest.raises(UnknownName, match="there is no exercise 'other'"):
        find_exercise(bank, "other")
