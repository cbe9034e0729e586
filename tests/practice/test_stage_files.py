"""The user's run through the stages of an exercise, as it is kept on disk."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from quizapp import paths
from quizapp.bank.model import Exercise, Stage
from quizapp.bank.parse_exercise import load_exercise
from quizapp.errors import QuizError
from quizapp.judge.submission import user_path
from quizapp.practice.stage_files import StageFiles
from tests.practice.test_staged_run import graded

MINUTE = 60_000


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QUIZAPP_HOME", str(tmp_path))
    return tmp_path


def exercise(slug: str) -> Exercise:
    loaded, _ = load_exercise(paths.exercises() / slug)
    assert loaded is not None
    return loaded


@pytest.fixture
def lora() -> Exercise:
    return exercise("lora")


def test_a_new_run_starts_from_the_bare_starter_and_leaves_the_own_file_alone(
    lora: Exercise, home: Path
) -> None:
    user_path(lora).parent.mkdir(parents=True)
    user_path(lora).write_text("# mine\n", encoding="utf-8")

    files = StageFiles.open(lora, now=0)

    assert files.path == home / "exercises" / "lora" / "stages" / "lora.py"
    assert files.path.read_text(encoding="utf-8") == files.starter
    assert '"""' not in files.starter
    assert files.run.current.name == "adapter"
    assert user_path(lora).read_text(encoding="utf-8") == "# mine\n"


def test_a_run_survives_a_restart_with_file_grades_and_clock(lora: Exercise) -> None:
    files = StageFiles.open(lora, now=0)
    files.path.write_text("x = 1\n", encoding="utf-8")
    files.record(graded(adapter=True), now=5 * MINUTE)

    again = StageFiles.open(lora, now=7 * MINUTE)

    assert again.run.current.name == "inject"
    assert again.path.read_text(encoding="utf-8") == "x = 1\n"
    assert again.seconds(7 * MINUTE) == 420
    assert again.stage_seconds(7 * MINUTE) == 120
    assert StageFiles.in_progress(lora).run.shown == 2


def test_two_exercises_run_at_once(lora: Exercise) -> None:
    other = exercise("rope")
    first, second = StageFiles.open(lora, now=0), StageFiles.open(other, now=MINUTE)
    first.record(graded(adapter=True), now=2 * MINUTE)

    assert StageFiles.in_progress(lora).run.shown == 2
    assert StageFiles.in_progress(other).run.shown == 1
    assert second.seconds(2 * MINUTE) == 60


def test_an_exercise_without_stages_has_one(lora: Exercise) -> None:
    plain = replace(lora, stages=(Stage("all", 25, "", tuple(lora.behaviours)),))
    files = StageFiles.open(plain, now=0)
    assert files.task == lora.prompt.strip()
    outcome = files.record(graded(all=True), now=MINUTE)
    assert outcome.finished


def test_grading_without_a_run_says_how_to_begin_one(lora: Exercise) -> None:
    with pytest.raises(QuizError, match=r"no run .* 'quizapp exercise lora --stages' begins one"):
        StageFiles.in_progress(lora)


def test_a_finished_run_makes_room_for_a_new_one_and_its_code_is_kept(lora: Exercise) -> None:
    files = StageFiles.open(lora, now=0)
    files.path.write_text("done = True\n", encoding="utf-8")
    held: dict[str, bool] = {}
    for stage in lora.stages:
        held[stage.name] = True
        files.record(graded(**held), now=MINUTE)
    with pytest.raises(QuizError, match="all stages of lora hold already"):
        StageFiles.in_progress(lora)

    again = StageFiles.open(lora, now=2 * MINUTE)

    assert again.run.shown == 1
    assert again.seconds(3 * MINUTE) == 60
    assert again.path.read_text(encoding="utf-8") == again.starter
    assert again.former.read_text(encoding="utf-8") == "done = True\n"


def test_a_restart_begins_anew_and_keeps_the_code(lora: Exercise) -> None:
    files = StageFiles.open(lora, now=0)
    files.path.write_text("half = True\n", encoding="utf-8")
    files.record(graded(adapter=True), now=MINUTE)

    again = StageFiles.open(lora, now=2 * MINUTE, restart=True)

    assert again.run.shown == 1
    assert again.former.read_text(encoding="utf-8") == "half = True\n"
    assert StageFiles.in_progress(lora).run.grades == []


def test_a_deleted_file_is_created_again_and_the_run_goes_on(lora: Exercise) -> None:
    files = StageFiles.open(lora, now=0)
    files.record(graded(adapter=True), now=MINUTE)
    files.path.unlink()

    again = StageFiles.in_progress(lora)

    assert again.run.shown == 2
    assert again.path.read_text(encoding="utf-8") == again.starter


def test_two_windows_do_not_lose_each_others_grades(lora: Exercise) -> None:
    first = StageFiles.open(lora, now=0)
    second = StageFiles.in_progress(lora)
    first.record(graded(adapter=True), now=MINUTE)

    outcome = second.record(graded(adapter=True), now=2 * MINUTE)

    # The second window graded before it knew of the second stage, so that one does not hold yet.
    assert outcome.failing == ("inject",)
    assert StageFiles.in_progress(lora).run.shown == 2


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"exercise": "lora"}', '{"grades": 3}'])
def test_a_spoiled_record_is_one_sentence_and_a_restart_repairs_it(lora: Exercise, text: str) -> None:
    files = StageFiles.open(lora, now=0)
    record = files.path.with_name("run.json")
    record.write_text(text, encoding="utf-8")

    with pytest.raises(QuizError, match=r"run\.json is not the record of a run; .* --restart' begins"):
        StageFiles.in_progress(lora)

    assert StageFiles.open(lora, now=0, restart=True).run.shown == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_one_sentence(lora: Exercise, home: Path) -> None:
    home.chmod(0o500)
    try:
        with pytest.raises(QuizError, match="set QUIZAPP_HOME"):
            StageFiles.open(lora, now=0)
    finally:
        home.chmod(0o700)
