import json
import subprocess
import sys
from pathlib import Path

import pytest

from quizapp.bank.loader import load_bank
from quizapp.bank.render import question_text
from tests.cli.calling import run


def test_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version")[:2] == (0, "quizapp 0.1.0\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["frob"],
        ["grade"],
        ["answer", "lr-warmup", "great"],
        ["drill", "--limit", "0"],
        ["show", "no-such-id"],
        ["grade", "no-such"],
    ],
)
def test_wrong_usage_is_two_and_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("quizapp: ")
    assert err.count("\n") == 1


def test_unknown_id_suggests_the_close_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean 'lr-warmup'" in run(capsys, "show", "lr-warmpu")[2]


def test_questions_lists_the_bank(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "questions", "--json")
    rows = json.loads(out)
    assert code == 0
    assert {"id", "topic", "level", "kind", "exercise"} == set(rows[0])
    plain = run(capsys, "questions")[1].splitlines()
    assert [line.split()[0] for line in plain] == [row["id"] for row in rows]


def test_a_search_without_a_match_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "questions", "--search", "topic:precison") == (0, "", "quizapp: no question matches\n")


def test_questions_can_be_filtered_and_searched(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(run(capsys, "questions", "--json", "--topic", "lr-schedules", "--kind", "numeric")[1])
    assert rows
    assert {(row["topic"], row["kind"]) for row in rows} == {("lr-schedules", "numeric")}
    found = json.loads(run(capsys, "questions", "--json", "--search", "kind:recall lr-warmup")[1])
    assert found[0]["id"] == "lr-warmup"


def test_unknown_topic_names_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "questions", "--topic", "cooking")
    assert code == 2
    assert "optimizers" in err


def test_show_prints_question_and_answer(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", "lr-warmup")
    assert code == 0
    assert "## Answer" in out
    assert "## Key points" in out


@pytest.mark.slow
def test_every_question_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for question in load_bank().questions.values():
        assert "## Answer" in question_text(question, seed=3)
    for name in ("lr-warmup", "zero-stages", "lora-basics"):
        assert run(capsys, "show", name, "--seed", "3")[0] == 0


def test_bank_can_be_read_as_a_book(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, _ = run(capsys, "export", "markdown", str(tmp_path / "book"))
    assert code == 0
    page = (tmp_path / "book" / "lr-schedules.md").read_text()
    assert "## lr-warmup" in page
    assert "(lr-schedules.md)" in (tmp_path / "book" / "README.md").read_text()


def test_export_into_a_file_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = run(capsys, "export", "markdown", str(tmp_path / "file"))
    assert code == 2
    assert "cannot be written" in err


def test_a_closed_pipe_is_no_error() -> None:
    shell = f"{sys.executable} -m quizapp questions | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


def test_internal_error_is_one_line_and_logged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setattr("quizapp.cli.content.load_bank", lambda *_: 1 / 0)
    code, _, err = run(capsys, "questions")
    assert code == 3
    assert err.count("\n") == 1
    assert str(home / "quizapp.log") in err
    assert "ZeroDivisionError" in (home / "quizapp.log").read_text()
