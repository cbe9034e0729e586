"""Which failure of a verdict is read first, and which are folded as its consequences."""

import subprocess
import sys
from pathlib import Path

import pytest

from quizapp.judge.authoring.scaffold import scaffold
from quizapp.judge.render.failures import FailureGroups, group_failures
from quizapp.judge.render.text import verdict_text
from quizapp.judge.verdict import StageResult, TestResult, Verdict, VerdictStatus
from tests.judge.field import exercise

ROOT = Path(__file__).parents[2]


def failed(number: int, message: str, *, stage: str = "core", recognized: bool = False) -> TestResult:
    return TestResult(f"t{number}", number, False, message, stage=stage, recognized=recognized)


def verdict(*tests: TestResult) -> Verdict:
    stages = (StageResult("core", False), StageResult("robust", False))
    return Verdict("blend", "blend.py", "cpu", VerdictStatus.FAILED, tests, stages=stages)


def test_the_first_failure_in_the_order_of_the_stages_is_the_cause() -> None:
    tests = failed(1, "Wrong dtype.", stage="robust"), failed(2, "Wrong value."), failed(3, "Wrong sum.")
    assert group_failures(verdict(*tests)) == FailureGroups((2,), (), (3, 1))


def test_a_recognized_mistake_comes_before_an_earlier_symptom() -> None:
    tests = failed(1, "Wrong value."), failed(2, "The scale is upside down.", recognized=True)
    assert group_failures(verdict(*tests)) == FailureGroups((2,), (), (1,))


def test_unwritten_code_is_neither_a_cause_nor_a_consequence_of_what_is_written() -> None:
    raised = "Your code raised NotImplementedError (line 9 of blend.py)"
    assert group_failures(verdict(failed(1, raised), failed(2, "Wrong value."))) == FailureGroups((2,), (1,))
    assert group_failures(verdict(failed(1, raised), failed(2, raised))) == FailureGroups((1,), (2,))


def test_an_accepted_argument_and_a_use_that_is_not_allowed_are_causes_of_their_own() -> None:
    accepted = failed(2, "A rank of 0 must be refused. Expected ValueError; the call returned 3.")
    barred = TestResult("not_allowed", 3, passed=False, message="Write it yourself. (torch.lerp, line 2)")
    tests = failed(1, "Wrong value."), accepted, barred
    assert group_failures(verdict(*tests)) == FailureGroups((1, 2, 3))


def test_failures_that_a_barred_name_caused_follow_from_it() -> None:
    blocked = "Your code raised NotAllowed: Write it yourself. (lerp) (line 2 of blend.py)"
    barred = TestResult("not_allowed", 3, passed=False, message="Write it yourself. (torch.lerp, line 2)")
    assert group_failures(verdict(failed(1, blocked), barred)) == FailureGroups((3,), (), (1,))


def test_failures_without_messages_are_never_folded() -> None:
    assert group_failures(verdict(failed(1, ""), failed(2, ""))) == FailureGroups((1, 2))


def test_the_text_folds_consequences_and_refers_to_a_message_that_stands_above() -> None:
    same = f'Your code raised ValueError: "{"no " * 40}" (line 3 of blend.py)'
    tests = failed(1, same), failed(2, same), failed(3, "Wrong value.")
    short = verdict_text(verdict(*tests), exercise("blend"), width=300)
    assert short.count(same) == 1
    assert "Probably a consequence (--all shows the messages):" in short
    assert "Wrong value." not in short
    whole = verdict_text(verdict(*tests), exercise("blend"), width=300, every_message=True)
    assert whole.count(same) == 1
    assert whole.count("See above: Your code raised ValueError") == 1
    assert "Wrong value." in whole


@pytest.mark.exhaustive
def test_the_authors_list_names_the_messages_beside_the_expected_one(tmp_path: Path) -> None:
    folder = scaffold(tmp_path / "mine")
    text = (folder / "mutants.yaml").read_text(encoding="utf-8")
    (folder / "mutants.yaml").write_text(text.replace("says: scaled mean", "says: else", 1), encoding="utf-8")
    command = [sys.executable, "-m", "tools.mutant_messages", str(folder), "--sample", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    head, *edits, message, totals = done.stdout.splitlines()
    assert head.startswith("mine sum_instead_of_mean (breaks 1: 'else')")
    assert any(line.startswith("    + ") for line in edits)
    assert message.startswith("  + 1 ")
    assert totals == "8 wrong submissions, 1 other messages, 8 begin with what they break"


def test_a_recognized_mistake_survives_the_json_form() -> None:
    told = verdict(failed(1, "Wrong value."), failed(2, "The scale is upside down.", recognized=True))
    assert told.as_json()["recognized"] == ["t2"]
    assert Verdict.from_json(told.as_json()).tests == told.tests
