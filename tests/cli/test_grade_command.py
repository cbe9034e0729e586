import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from quizapp import paths
from quizapp.judge.authoring.mutants import wrong_submission
from quizapp.judge.verdict import Verdict
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.service import Study
from tests.cli.calling import run

pytestmark = [pytest.mark.judge, pytest.mark.usefixtures("warm_judge")]

WARMUP = paths.exercises() / "warmup"


def test_exercise_lists_every_exercise_with_its_state(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(run(capsys, "exercise", "--json")[1])
    assert {"slug", "title", "level", "topic", "minutes", "state"} == set(rows[0])
    assert {"lora", "warmup", "loss-scaling", "zero-memory", "nan-debug"} <= {row["slug"] for row in rows}
    assert {row["state"] for row in rows} == {"new"}


def test_exercise_makes_the_users_file_once(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    code, out, _ = run(capsys, "exercise", "warmup")
    assert code == 0
    path = next(home.rglob("warmup.py"))
    assert str(path) in out
    assert "warmup_cosine" in out
    path.write_text("mine = 1\n")
    run(capsys, "exercise", "warmup")
    assert path.read_text() == "mine = 1\n"


def test_grade_follows_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "grade", "warmup", str(WARMUP / "solution.py"), "--json", "--seed", "7")
    verdict = json.loads(out)
    assert code == 0
    assert verdict["schema"] == "quizapp.verdict/1"
    assert verdict["passed"] is True
    assert verdict["status"] == "passed"
    assert verdict["seed"] == 7
    assert verdict["error"] is None
    assert {"name", "behaviour", "stage", "passed", "message", "seconds"} == set(verdict["tests"][0])
    assert verdict["stages"] == [{"name": name, "passed": True} for name in ("curve", "scheduler", "robust")]
    assert {"exercise", "file", "device", "seconds", "tier"} <= set(verdict)


@pytest.fixture
def off_by_one(tmp_path: Path) -> Path:
    """A file with a wrong submission to the warmup exercise."""
    path = tmp_path / "bad.py"
    path.write_text(wrong_submission(WARMUP, "off_by_one").source)
    return path


def test_wrong_code_is_told_what_is_wrong(capsys: pytest.CaptureFixture[str], off_by_one: Path) -> None:
    code, out, _ = run(capsys, "grade", "warmup", str(off_by_one))
    assert code == 1
    assert "Step 0 should have multiplier 0" in out


def test_own_file_is_logged_and_schedules_the_exercise(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    code, out, err = run(capsys, "grade", "warmup")
    assert (code, out) == (2, "")
    assert "no warmup.py yet; 'quizapp exercise warmup' makes one" in err
    assert not list(home.rglob("warmup.py"))
    states = {row["slug"]: row["state"] for row in json.loads(run(capsys, "exercise", "--json")[1])}
    assert states["warmup"] == "new"
    run(capsys, "exercise", "warmup")
    assert run(capsys, "grade", "warmup")[0] == 1
    states = {row["slug"]: row["state"] for row in json.loads(run(capsys, "exercise", "--json")[1])}
    assert states["warmup"] == "started"
    next(home.rglob("warmup.py")).write_text((WARMUP / "solution.py").read_text())
    assert run(capsys, "grade", "warmup")[0] == 0
    states = {row["slug"]: row["state"] for row in json.loads(run(capsys, "exercise", "--json")[1])}
    assert states["warmup"] == "complete"


@pytest.mark.usefixtures("off_by_one")
def test_folder_gives_one_line_for_each_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text((WARMUP / "solution.py").read_text())
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "exits.py").write_text("import os\nos._exit(0)\n")
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "notes.txt").write_text("not graded")
    code, out, _ = run(capsys, "grade", "warmup", str(tmp_path), "--jobs", "2", "--json")
    found = {Path(row["file"]).name: row for row in map(json.loads, out.splitlines())}
    assert code == 1
    assert {name: row["status"] for name, row in found.items() if name != "binary.py"} == {
        "good.py": "passed",
        "bad.py": "failed",
        "broken.py": "error",
        "exits.py": "error",
    }
    assert found["binary.py"]["passed"] is False


@pytest.mark.parametrize("kind", ["missing", "folder-without", "device"])
def test_what_cannot_be_graded_is_wrong_usage(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str
) -> None:
    target = {"missing": tmp_path / "none.py", "folder-without": tmp_path, "device": WARMUP / "solution.py"}[
        kind
    ]
    extra = ["--device", "toaster"] if kind == "device" else []
    code, out, err = run(capsys, "grade", "warmup", str(target), *extra)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_names_of_files_are_harmless_for_a_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    name = "\x1b]0;owned\x07.py"
    (tmp_path / name).write_text("x = 1\n", encoding="utf-8")
    report = tmp_path / "report.xml"
    _, out, err = run(capsys, "grade", "warmup", str(tmp_path), "--junit", str(report))
    assert "owned" in out
    assert "\x1b" not in out + err
    assert len(ET.parse(report).getroot()) == 1
    _, out, err = run(capsys, "grade", "warmup", str(tmp_path / f"none{name}"))
    assert "owned" in err
    assert "\x1b" not in out + err


def test_junit_report_can_be_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, off_by_one: Path
) -> None:
    report = tmp_path / "report.xml"
    run(capsys, "grade", "warmup", str(off_by_one), "--junit", str(report))
    root = ET.parse(report).getroot()
    assert len(root.findall(".//testcase")) > 8
    assert root.findall(".//failure")


def test_a_grade_counts_as_a_submission_if_the_file_parses(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    run(capsys, "exercise", "warmup")
    path = next(home.rglob("warmup.py"))
    for source, passed in (("x = 1", False), ("x = (", False), ("x = 2", True)):
        path.write_text(source)
        verdict = Verdict("warmup", str(path), "cpu", "passed" if passed else "failed", (), 0.1, 7, "T1")
        monkeypatch.setattr("quizapp.judge.grade", lambda *_, found=verdict, **__: found)
        assert run(capsys, "grade", "warmup")[0] == int(not passed)
    with Study.open() as study:
        (review,) = study.card("exercise:warmup").history
        counts = [event.details["submissions"] for event in study.events()]
    assert review.rating is Rating.GOOD
    assert counts == [1, 1, 2]
