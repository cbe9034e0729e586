"""Every entry of a class's folder becomes a submission or a line that says why it is none."""

import os
from pathlib import Path

import pytest

from quizapp.bank.loader import load_bank
from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.judge.cohort.class_folder import ClassFolder, StudentSubmission, read_class


@pytest.fixture(scope="module")
def exercises() -> dict[str, Exercise]:
    return dict(load_bank(cache=True).exercises)


def hand_in(folder: Path, name: str, content: bytes = b"x = 1\n") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def by_file(read: ClassFolder) -> dict[str, StudentSubmission]:
    return {submission.file: submission for submission in read.submissions}


def test_slug_and_module_name_both_name_an_exercise(tmp_path: Path, exercises: dict[str, Exercise]) -> None:
    hand_in(tmp_path, "ada/mini-gpt.py")
    hand_in(tmp_path, "bob/mini_gpt.py")
    hand_in(tmp_path, "bob/lora.py")
    (tmp_path / "cyd").mkdir()
    read = read_class(tmp_path, exercises)
    assert read.students == ("ada", "bob", "cyd")
    assert [(s.student, s.exercise.slug, s.fault) for s in read.submissions] == [
        ("ada", "mini-gpt", ""),
        ("bob", "lora", ""),
        ("bob", "mini-gpt", ""),
    ]
    assert read.left_out == ()


def test_two_files_for_one_exercise_are_both_refused(tmp_path: Path, exercises: dict[str, Exercise]) -> None:
    hand_in(tmp_path, "ada/mini-gpt.py")
    hand_in(tmp_path, "ada/mini_gpt.py")
    read = read_class(tmp_path, exercises)
    assert [s.fault for s in read.submissions] == [
        "mini-gpt.py and mini_gpt.py are for the same exercise; keep one"
    ] * 2


def test_what_is_no_submission_has_a_line_with_the_reason(
    tmp_path: Path, exercises: dict[str, Exercise]
) -> None:
    hand_in(tmp_path, "notes.txt")
    hand_in(tmp_path, ".git/config")
    hand_in(tmp_path, "ada/lorra.py")
    hand_in(tmp_path, "ada/report.pdf")
    hand_in(tmp_path, "ada/old/lora.py")
    hand_in(tmp_path, "ada/warmup.py")
    hand_in(tmp_path, "ada/lora.py")
    (tmp_path / "bob").symlink_to(tmp_path / "ada")
    read = read_class(tmp_path, exercises, frozenset({"lora"}))
    assert [s.file for s in read.submissions] == ["ada/lora.py"]
    reasons = {entry.file: entry.reason for entry in read.left_out}
    assert "did you mean 'lora'" in reasons.pop("ada/lorra.py")
    assert reasons == {
        ".git": "not a student's folder: its name begins with a dot or two underscores",
        "ada/old": "a folder; submissions are directly in the student's folder",
        "ada/report.pdf": "not a Python file",
        "ada/warmup.py": "left out by --exercise",
        "bob": "a link; put the student's folder itself here",
        "notes.txt": "not in a student's folder",
    }


def test_a_file_that_cannot_be_graded_says_why_without_the_path_of_this_machine(
    tmp_path: Path, exercises: dict[str, Exercise]
) -> None:
    hand_in(tmp_path, "ada/lora.py", b"#" * (300 << 10))
    hand_in(tmp_path, "bob/lora.py", b"\xff\xfe")
    hand_in(tmp_path, "cyd/lora.py", b"")
    (tmp_path / "dan").mkdir()
    (tmp_path / "dan" / "lora.py").symlink_to(tmp_path / "cyd" / "lora.py")
    (tmp_path / "eve").mkdir()
    os.mkfifo(tmp_path / "eve" / "lora.py")
    read = by_file(read_class(tmp_path, exercises))
    assert {file: submission.fault for file, submission in read.items()} == {
        "ada/lora.py": "is larger than 256 KiB; submit the exercise's module alone",
        "bob/lora.py": "is not UTF-8 at byte 0; save it as UTF-8",
        "cyd/lora.py": "",
        "dan/lora.py": "a link; hand in the file itself",
        "eve/lora.py": "is a named pipe; give a Python file",
    }


def test_odd_names_are_one_line_and_stay_different(tmp_path: Path, exercises: dict[str, Exercise]) -> None:
    names = ["a\x1b[31mb", "a\\x1b[31mb", "line\nbreak", "tab\tbed"]
    for name in names:
        hand_in(tmp_path, f"{name}/lora.py")
    (tmp_path / os.fsdecode(b"not-\xff-utf8")).mkdir()
    students = read_class(tmp_path, exercises).students
    assert len(set(students)) == len(names) + 1
    assert all(name.isprintable() for name in students)


def test_seeds_depend_on_student_exercise_and_source(tmp_path: Path, exercises: dict[str, Exercise]) -> None:
    lora, warmup = exercises["lora"], exercises["warmup"]
    seeds = {
        StudentSubmission("ada", lora, "ada/lora.py", b"x").seed,
        StudentSubmission("bob", lora, "bob/lora.py", b"x").seed,
        StudentSubmission("ada", warmup, "ada/warmup.py", b"x").seed,
        StudentSubmission("ada", lora, "ada/lora.py", b"y").seed,
    }
    assert len(seeds) == 4
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert StudentSubmission("ada", lora, "elsewhere", b"x").seed in seeds


def test_a_folder_that_cannot_be_read_is_one_sentence(tmp_path: Path, exercises: dict[str, Exercise]) -> None:
    with pytest.raises(QuizError, match="cannot be read as a folder"):
        read_class(tmp_path / "missing", exercises)
