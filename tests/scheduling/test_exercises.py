"""Exercises in the schedule: what counts as a submission, whichever door the grade came through."""

from pathlib import Path

import pytest

from quizapp.scheduling.cards import Rating
from quizapp.scheduling.events import Draft, EventType
from quizapp.scheduling.rating_rules import is_submission
from quizapp.scheduling.study_day import FixedClock
from tests.scheduling.study_kit import MORNING, study


def verdict(passed: bool) -> dict[str, object]:
    return {"status": "passed" if passed else "failed", "passed": passed, "tests": [], "seconds": 1.0}


@pytest.mark.parametrize(
    ("passed", "asked", "source", "counts"),
    [
        (False, True, "x = 1", True),
        (False, True, "x = (", False),
        (False, False, "x = 1", False),
        (True, False, "x = 1", True),
        (True, True, "x = 1", True),
    ],
)
def test_what_counts_as_a_submission(passed: bool, asked: bool, source: str, counts: bool) -> None:
    assert is_submission(passed=passed, asked=asked, source=source) is counts


def test_saves_that_fail_are_kept_and_count_nothing(tmp_path: Path) -> None:
    with study(tmp_path) as desk:
        for _ in range(5):
            assert desk.record_verdict("lora", verdict(False), source_text="x = 1", asked=False) is None
        recorded = desk.record_verdict("lora", verdict(True), source_text="x = 2", asked=False)
        assert recorded is not None
        assert (recorded.rating, recorded.submissions) == (Rating.GOOD, 1)
        assert len(desk.submissions("lora")) == 6


def test_both_doors_rate_the_same_history_alike(tmp_path: Path) -> None:
    """The command opens the schedule anew for each grade, the screen keeps it open; both count in the log."""
    history = [(False, True), (False, False), (False, True), (True, True)]
    with study(tmp_path / "screen") as desk:
        for passed, asked in history:
            by_screen = desk.record_verdict("lora", verdict(passed), source_text="x", asked=asked)
    for passed, asked in history:
        with study(tmp_path / "command") as desk:
            by_command = desk.record_verdict("lora", verdict(passed), source_text="x", asked=asked)
    assert by_screen is not None
    assert by_command is not None
    assert (by_screen.rating, by_screen.submissions) == (Rating.HARD, 3)
    assert (by_command.rating, by_command.submissions) == (Rating.HARD, 3)


def test_counting_begins_again_after_a_pass(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, clock=clock) as desk:
        for passed in (False, False, True):
            first = desk.record_verdict("lora", verdict(passed), source_text="x")
        assert first is not None
        assert first.rating is Rating.HARD
        desk.record_verdict("lora", verdict(False), source_text="x")
        desk.record_verdict("lora", verdict(True), source_text="x")
        clock.time = first.due.astimezone(MORNING.tzinfo)
        again = desk.record_verdict("lora", verdict(True), source_text="x")
        assert again is not None
        assert (again.rating, again.submissions) == (Rating.GOOD, 1)


def test_an_undone_submission_does_not_count(tmp_path: Path) -> None:
    with study(tmp_path) as desk:
        for _ in range(3):
            desk.record_verdict("lora", verdict(False), source_text="x")
            desk.undo()
        recorded = desk.record_verdict("lora", verdict(True), source_text="x")
        assert recorded is not None
        assert recorded.submissions == 1


def test_hints_of_an_earlier_sitting_count(tmp_path: Path) -> None:
    with study(tmp_path) as desk:
        desk.record_verdict("lora", verdict(False), source_text="x", hints=2)
    with study(tmp_path) as desk:
        recorded = desk.record_verdict("lora", verdict(True), source_text="x")
        assert recorded is not None
        assert (recorded.rating, recorded.hints) == (Rating.HARD, 2)


def test_verdicts_logged_before_saves_were_told_apart_count_one_each(tmp_path: Path) -> None:
    with study(tmp_path) as desk:
        for number in (1, 2):
            details = {"status": "failed", "passed": False, "submissions": number, "opened_solution": False}
            desk.store.append(Draft(EventType.VERDICT, desk.now(), card="exercise:lora", data=details))
        recorded = desk.record_verdict("lora", verdict(True), source_text="x")
        assert recorded is not None
        assert (recorded.rating, recorded.submissions) == (Rating.HARD, 3)


def test_the_next_exercise_is_due_then_started_then_new(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, clock=clock) as desk:
        assert desk.next_exercise() == "lora"
        recorded = desk.record_verdict("lora", verdict(True), source_text="x")
        assert recorded is not None
        assert desk.next_exercise() is None
        clock.time = recorded.due.astimezone(MORNING.tzinfo)
        assert desk.next_exercise() == "lora"
