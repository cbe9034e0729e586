"""``quizapp review`` outside a terminal: the task as text or JSON, and an answer that is marked."""

import json
from pathlib import Path

import pytest

from quizapp.bank.loader import load_bank
from quizapp.interview.code_review.sample_review import sample_review
from quizapp.scheduling.service import Study
from tests.cli.calling import run

# Each call reads the exercises and draws mutants, which takes a second.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_judge")]


def test_the_task_is_printed_with_line_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "review", "rope", "--seed", "3")
    assert code == 0
    task = sample_review(load_bank().exercises["rope"], 3)
    assert "is this code correct? (4 minutes, seed 3)" in out
    assert f"1  {task.shown.splitlines()[0]}" in out
    assert "quizapp review rope --seed 3 --answer FILE" in out
    assert not any(fault.why in out for fault in task.faults)


def test_the_task_as_json_does_not_give_the_fault_away(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "review", "rope", "--seed", "3", "--json")
    assert code == 0
    assert set(json.loads(out)) == {"exercise", "title", "module", "seed", "minutes", "shown"}


def test_without_a_name_an_exercise_is_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "review", "--json")
    assert code == 0
    assert json.loads(out)["exercise"] in load_bank().exercises


def test_an_answer_without_a_decision_is_refused_and_logs_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answer = tmp_path / "answer.json"
    answer.write_text("{}")
    code, _, err = run(capsys, "review", "rope", "--seed", "3", "--answer", str(answer))
    assert code == 2
    assert "the answer has no decision" in err
    with Study.open(load_bank()) as study:
        assert not study.cards()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nope"], "there is no exercise 'nope'"),
        (["rope", "--answer", "-"], "give its exercise and its seed"),
        (["rope", "--seed", "1", "--answer", "/absent"], "there is no such file"),
        (["rope", "--seed", "x"], "invalid int value"),
    ],
)
def test_wrong_usage_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    try:
        code, _, err = run(capsys, "review", *arguments)
    except SystemExit as stop:
        code, err = int(str(stop.code)), capsys.readouterr().err
    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("text", ["", "[]", '{"decision": "maybe"}', '{"confidence": "high"}'])
def test_a_malformed_answer_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    path = tmp_path / "answer.json"
    path.write_text(text)
    code, _, err = run(capsys, "review", "rope", "--seed", "1", "--answer", str(path))
    assert code == 2
    assert "the answer is not valid" in err
    assert err.count("\n") == 1


@pytest.mark.judge
@pytest.mark.slow
def test_an_answer_is_marked_and_recorded(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    task = next(
        review
        for seed in range(9)
        if len((review := sample_review(load_bank().exercises["rope"], seed)).faults) == 1
    )
    answer = {
        "decision": "faulty",
        "confidence": 100,
        "lines": [task.faults[0].lines[0]],
        "words": task.faults[0].why,
        "check": "def check(m):\n    assert False\n",
        "fixed": task.original,
        "seconds": 400,
    }
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(answer))
    command = ("review", "rope", "--seed", str(task.seed), "--answer", str(path))
    code, out, _ = run(capsys, *command)
    assert code == 0
    assert out.startswith("80 of 100. The code has 1 fault; you said faulty, 100 % sure: right.")
    assert "decision 25/25  line 20/20  consequence 15/15  proof 0/20  fix 20/20" in out
    assert "Your test does not hold on a correct solution" in out
    assert "Hard: the next review of rope is due in" in out  # beyond the time allowed
    with Study.open() as study:
        assert study.card("review:rope").reps == 1
    code, out, _ = run(capsys, *command, "--json")
    assert json.loads(out)["marks"] == {"decision": 25, "line": 20, "consequence": 15, "proof": 0, "fix": 20}
