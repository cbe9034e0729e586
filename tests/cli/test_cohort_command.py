"""`quizapp cohort` without a cluster: what it refuses, and what it says of a class that is graded."""

import json
import sys
from pathlib import Path

import pytest

from quizapp.judge.cohort.class_folder import read_class
from quizapp.judge.cohort.grading_run import ClassRun, GradingOptions
from quizapp.judge.cohort.verdict_log import VerdictLog
from tests.cli.calling import run
from tests.judge.cohort.classes import CannedGraders, exercises, hand_in


@pytest.fixture
def spring(tmp_path: Path) -> Path:
    """A class of two, graded before."""
    folder = tmp_path / "spring"
    hand_in(folder, "ada/lora.py", "right")
    hand_in(folder, "bob/lora.py", "wrong")
    hand_in(folder, "bob/notes\n.txt")
    with VerdictLog(tmp_path / "spring-cohort") as log:
        class_run = ClassRun(read_class(folder, exercises()), GradingOptions(), log)
        assert len(list(class_run.grade(CannedGraders()))) == 2
    return folder


def test_every_file_has_one_line_and_the_results_are_beside_the_class(
    spring: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "cohort", str(spring))
    assert code == 1
    assert out.splitlines() == [
        "left out bob/notes\\n.txt: not a Python file",
        "passed   ada/lora.py",
        "failed   bob/lora.py",
    ]
    assert err == f"gradebook of 2 submissions by 2 students: {spring}-cohort\n"
    names = {path.name for path in spring.with_name("spring-cohort").iterdir()}
    assert {"gradebook.csv", "gradebook.json", "summary.csv", "similar.md", "similar.json"} <= names


def test_json_is_one_object_for_each_file(spring: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [json.loads(line) for line in run(capsys, "cohort", str(spring), "--json")[1].splitlines()]
    assert [row["file"] for row in rows] == ["bob/notes\\n.txt", "ada/lora.py", "bob/lora.py"]
    assert (rows[1]["student"], rows[1]["status"], rows[1]["passed"]) == ("ada", "passed", True)


def test_a_class_in_which_everybody_passed_is_zero(spring: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (spring / "bob" / "lora.py").unlink()
    assert run(capsys, "cohort", str(spring))[0] == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "cannot be read as a folder"),
        (["spring", "--exercise", "lorra"], "did you mean 'lora'"),
        (["spring", "--exercise", "warmup"], "holds no submission"),
        (["spring", "--out", "spring/results"], "is inside the class's folder"),
        (["spring", "--device", "tpu"], "is not a device"),
    ],
)
def test_a_mistake_is_one_sentence(
    spring: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(spring.parent)
    code, _, err = run(capsys, "cohort", *arguments)
    assert code == 2
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_without_dask_the_command_that_installs_it_is_named(
    spring: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "quizapp.util.installation.importlib.util.find_spec",
        lambda name: None if name == "distributed" else sys.modules.get(name),
    )
    code, _, err = run(capsys, "cohort", str(spring))
    assert code == 2
    assert "distributed, which is not installed" in err
    assert "[cohort]" in err
