"""Verdicts survive any end of the program, are never there twice, and belong to one program at a time."""

import json
from pathlib import Path

import pytest

from quizapp.errors import QuizError
from quizapp.judge.cohort.verdict_log import FILE, GradeKey, VerdictLog
from quizapp.judge.verdict import Verdict, VerdictStatus

KEY = GradeKey("ada", "lora", "hash", "version", "judge")
PASSED = Verdict("lora", "ada/lora.py", "cpu", VerdictStatus.PASSED, seed=7)


def test_a_verdict_is_there_in_the_next_run(tmp_path: Path) -> None:
    with VerdictLog(tmp_path / "out") as log:
        assert log.get(KEY) is None
        log.add(KEY, PASSED)
        log.add(KEY, PASSED)
    assert len((tmp_path / "out" / FILE).read_text().splitlines()) == 1
    with VerdictLog(tmp_path / "out") as log:
        assert log.get(KEY) == PASSED
        assert log.get(GradeKey("ada", "lora", "another", "version", "judge")) is None


@pytest.mark.parametrize("cut", [1, 40])
def test_half_a_line_of_a_killed_program_is_removed(tmp_path: Path, cut: int) -> None:
    other = GradeKey("bob", "lora", "hash", "version", "judge")
    with VerdictLog(tmp_path) as log:
        log.add(KEY, PASSED)
        log.add(other, PASSED)
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes()[:-cut])
    with VerdictLog(tmp_path) as log:
        assert (log.get(KEY), log.get(other)) == (PASSED, None)
        log.add(other, PASSED)
    assert [json.loads(line)["key"]["student"] for line in path.read_text().splitlines()] == ["ada", "bob"]


def test_a_second_program_is_refused_while_the_first_writes(tmp_path: Path) -> None:
    with VerdictLog(tmp_path), pytest.raises(QuizError, match="another 'quizapp cohort' is writing"):
        VerdictLog(tmp_path).__enter__()
    with VerdictLog(tmp_path):
        pass


def test_a_line_that_is_no_verdict_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"key": {}}\n')
    with pytest.raises(QuizError, match=rf"{FILE}:1: is not a verdict"):
        VerdictLog(tmp_path).__enter__()


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(QuizError, match="--out"):
        VerdictLog(tmp_path / "file" / "out").__enter__()
