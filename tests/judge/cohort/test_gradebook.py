"""The gradebook says the same after any history of runs, and is safe to open in a spreadsheet."""

import csv
import json
from pathlib import Path

import pytest

from quizapp.judge.cohort.gradebook import BY_BEHAVIOR, BY_STUDENT, DOCUMENT, Gradebook
from quizapp.judge.cohort.grading_run import ClassRun, GradingOptions
from quizapp.judge.cohort.verdict_log import VerdictLog
from tests.judge.cohort.classes import CannedGraders, exercises, hand_in, read

FILES = (BY_BEHAVIOR, BY_STUDENT, DOCUMENT)


@pytest.fixture
def spring(tmp_path: Path) -> Path:
    folder = tmp_path / "spring"
    for student, text in (("ada", "right"), ("bob", "wrong"), ("=1+1", "right")):
        hand_in(folder, f"{student}/lora.py", text)
        hand_in(folder, f"{student}/warmup.py", text)
    hand_in(folder, "bob/mini-gpt.py")
    hand_in(folder, "bob/mini_gpt.py")
    hand_in(folder, "notes.txt")
    (folder / "cyd").mkdir()
    return folder


def run(folder: Path, out: Path, graders: CannedGraders, options: GradingOptions | None = None) -> Gradebook:
    options = options or GradingOptions()
    handed_in = read(folder)
    with VerdictLog(out) as log:
        class_run = ClassRun(handed_in, options, log)
        try:
            for _ in class_run.grade(graders):
                pass
        except KeyboardInterrupt:
            pass
        book = Gradebook(
            handed_in.students, class_run.graded, handed_in.left_out, class_run.exercise_versions, options
        )
        book.write(out)
    return book


def test_order_and_interruptions_change_no_byte(spring: Path, tmp_path: Path) -> None:
    book = run(spring, tmp_path / "calm", CannedGraders())
    assert book.complete
    assert not book.all_passed
    stopped = CannedGraders(limit=2, backwards=True)
    assert not run(spring, tmp_path / "rough", stopped).complete
    assert json.loads((tmp_path / "rough" / DOCUMENT).read_text())["complete"] is False
    rest = CannedGraders()
    run(spring, tmp_path / "rough", rest)
    assert sorted(stopped.asked + rest.asked) == sorted(set(stopped.asked + rest.asked))
    for name in FILES:
        assert (tmp_path / "calm" / name).read_bytes() == (tmp_path / "rough" / name).read_bytes()


def test_only_what_changed_is_graded_again(spring: Path, tmp_path: Path) -> None:
    run(spring, tmp_path / "out", CannedGraders())
    hand_in(spring, "bob/lora.py", "right now")
    again = CannedGraders()
    book = run(spring, tmp_path / "out", again)
    assert again.asked == ["bob/lora.py"]
    assert {s.submission.file: s.status for s in book.graded}["bob/lora.py"] == "passed"
    other_limit = CannedGraders()
    run(spring, tmp_path / "out", other_limit, GradingOptions(timeout=3.0))
    assert len(other_limit.asked) == 6


def test_a_lost_worker_is_no_verdict_and_is_tried_again(spring: Path, tmp_path: Path) -> None:
    book = run(spring, tmp_path / "out", CannedGraders(dead=frozenset({"ada/lora.py"})))
    lost = next(graded for graded in book.graded if graded.submission.file == "ada/lora.py")
    assert (lost.status, lost.reason) == ("waiting", "Every worker that graded it died")
    assert not book.complete
    again = CannedGraders()
    assert run(spring, tmp_path / "out", again).complete
    assert again.asked == ["ada/lora.py"]


def test_the_tables_are_by_student_exercise_and_behavior(spring: Path, tmp_path: Path) -> None:
    run(spring, tmp_path, CannedGraders())
    summary = list(csv.reader((tmp_path / BY_STUDENT).read_text().splitlines()))
    behaviors = len(exercises()["lora"].behaviours) + 1  # with the check of the allowed means
    assert summary[0] == ["student", "passed", "lora", "mini-gpt", "warmup"]
    assert summary[1:3] == [
        ["'=1+1", "2", "passed", "missing", "passed"],
        ["ada", "2", "passed", "missing", "passed"],
    ]
    assert summary[3][:4] == ["bob", "0", f"failed, 1 of {behaviors}", "error"]
    assert summary[4] == ["cyd", "0", "missing", "missing", "missing"]
    rows = list(csv.DictReader((tmp_path / BY_BEHAVIOR).read_text().splitlines()))
    bob = [row for row in rows if row["file"] == "bob/lora.py"]
    assert [(row["behaviour"], row["passed"]) for row in bob][:4] == [
        ("0", ""), ("1", "yes"), ("2", "no"), ("3", ""),
    ]  # fmt: skip
    assert {row["reason"] for row in rows if row["exercise"] == "mini-gpt"} == {
        "mini-gpt.py and mini_gpt.py are for the same exercise; keep one"
    }
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())


def test_the_document_holds_everything_but_times(spring: Path, tmp_path: Path) -> None:
    run(spring, tmp_path, CannedGraders())
    text = (tmp_path / DOCUMENT).read_text()
    book = json.loads(text)
    assert book["schema"] == "quizapp.gradebook/1"
    assert [row["student"] for row in book["students"]] == ["=1+1", "ada", "bob", "cyd"]
    assert book["left_out"] == [{"file": "notes.txt", "reason": "not in a student's folder"}]
    assert "seconds" not in text
    graded = book["students"][1]["submissions"][0]
    assert (graded["status"], graded["behaviours"]["1"], graded["behaviours"]["3"]) == ("passed", True, None)
