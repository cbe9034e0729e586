"""Interview mode and debugging on the command line, with the real judge."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from quizapp import paths
from quizapp.practice.debug_files import DebugFiles
from quizapp.scheduling.service import Study
from tests.cli.calling import run

# Each call reads the exercises and draws mutants, which takes a second.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_judge")]

WARMUP = paths.exercises() / "warmup"
SOLUTION = (WARMUP / "solution.py").read_text(encoding="utf-8")


def state_of(capsys: pytest.CaptureFixture[str], slug: str) -> str:
    rows = json.loads(run(capsys, "exercise", "--json")[1])
    return next(row["state"] for row in rows if row["slug"] == slug)


@pytest.mark.exhaustive
@pytest.mark.judge
def test_a_run_in_stages_from_the_first_brief_to_the_end(
    capsys: pytest.CaptureFixture[str], home: Path, tmp_path: Path
) -> None:
    code, out, _ = run(capsys, "exercise", "warmup", "--stages")
    path = home / "exercises" / "warmup" / "stages" / "warmup.py"
    assert code == 0
    assert "Stage 1: curve (5 minutes)" in out
    assert "## Interface" in out
    assert "Stage 2" not in out
    assert str(path) in out
    assert not (home / "exercises" / "warmup" / "warmup.py").exists()

    code, out, _ = run(capsys, "grade", "warmup", "--stages")
    assert code == 1
    assert 'Stage "curve" does not hold yet.' in out

    path.write_text(SOLUTION, encoding="utf-8")
    code, out, _ = run(capsys, "grade", "warmup", "--stages")
    assert code == 0
    assert 'Stage "curve" holds. Next: stage "scheduler".' in out
    assert "Stage 2: scheduler (3 minutes)" in out

    # The learner breaks what held, and is told so.
    path.write_text(SOLUTION.replace("math.pi", "3.0"), encoding="utf-8")
    code, out, _ = run(capsys, "grade", "warmup", "--stages", "--json")
    verdict = json.loads(out)
    assert code == 1
    assert verdict["run"]["broken_again"] == ["curve"]
    assert verdict["run"]["revealed"] is None
    assert state_of(capsys, "warmup") == "started"

    path.write_text(SOLUTION, encoding="utf-8")
    junit = tmp_path / "report.xml"
    code, out, _ = run(capsys, "grade", "warmup", "--stages", "--json", "--junit", str(junit))
    verdict = json.loads(out)
    assert code == 0
    assert verdict["schema"] == "quizapp.verdict/1"
    assert [stage["name"] for stage in verdict["stages"]] == ["curve", "scheduler"]
    assert verdict["run"]["revealed"]["name"] == "robust"
    assert verdict["file"] == str(path)
    assert ET.parse(junit).getroot().tag == "testsuites"
    assert state_of(capsys, "warmup") == "passed"

    code, out, _ = run(capsys, "grade", "warmup", "--stages")
    assert code == 0
    assert "All stages hold." in out
    assert state_of(capsys, "warmup") == "complete"
    code, _, err = run(capsys, "grade", "warmup", "--stages")
    assert code == 2
    assert "all stages of warmup hold already" in err


def test_grading_a_run_that_was_not_begun_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "grade", "warmup", "--stages")
    assert code == 2
    assert err == (
        "quizapp: no run in stages is in progress for warmup; 'quizapp exercise warmup --stages' begins one\n"
    )
    code, _, err = run(capsys, "grade", "warmup", "--faults")
    assert code == 2
    assert "no debugging run is in progress for warmup" in err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("exercise", "--stages"), "name the exercise to practice"),
        (("exercise", "warmup", "--stages", "--faults", "2"), "two ways to practice"),
        (("exercise", "warmup", "--stages", "--seed", "3"), "nothing to choose"),
        (("exercise", "warmup", "--seed", "3"), "for runs with --stages or --faults"),
        (("exercise", "warmup", "--restart"), "for runs with --stages or --faults"),
        (("exercise", "warmup", "--faults", "0"), "'0' is not a whole number above 0"),
        (("exercise", "nonesuch", "--stages"), "no exercise 'nonesuch'"),
        (("grade", "warmup", "mine.py", "--stages"), "--stages grades the file of your run"),
        (("grade", "warmup", "mine.py", "--faults"), "--faults grades the file of your run"),
        (("grade", "warmup", "--stages", "--watch"), "do not go together"),
        (("grade", "warmup", "--stages", "--faults"), "two different files"),
    ],
)
def test_options_that_do_not_fit_are_a_sentence(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], text: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert text in err
    assert len(err.splitlines()) == 1


@pytest.mark.judge
def test_faults_are_shown_by_behavior_and_found_one_by_one(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    code, out, _ = run(capsys, "exercise", "warmup", "--faults", "2", "--seed", "3")
    path = home / "exercises" / "warmup" / "debug" / "warmup.py"
    assert code == 0
    assert "code with 2 faults (--seed 3)" in out
    assert str(path) in out
    with Study.open() as study:
        files = DebugFiles.in_progress(study.bank.exercises["warmup"])
    planted = [fault.behaviour for fault in files.program.faults]
    assert set(planted) <= set(files.failing)

    code, out, _ = run(capsys, "grade", "warmup", "--faults", "--json")
    verdict = json.loads(out)
    assert code == 1
    assert verdict["run"]["found"] == []
    assert all(test["message"] == "" for test in verdict["tests"])
    assert state_of(capsys, "warmup") == "new"  # a grade that fails says nothing about the learner

    path.write_text(SOLUTION, encoding="utf-8")
    code, out, _ = run(capsys, "grade", "warmup", "--faults")
    assert code == 0
    assert "2 of 2 faults found, and every hidden test holds." in out
    assert "rated Hard" in out
    assert state_of(capsys, "warmup") in {"passed", "complete"}
    assert not (home / "exercises" / "warmup" / "warmup.py").exists()
