"""Exercises in the schedule: what counts as a submission, whichever door the grade came through."""

from dataclasses import replace
from pathlib import Path

import pytest

from quizapp.bank.model import Bank, Stage
from quizapp.errors import QuizError
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.events import Draft, EventType
from quizapp.scheduling.rating_rules import is_submission
from quizapp.scheduling.study_day import FixedClock
from quizapp.scheduling.views import StageTask
from tests.scheduling.study_kit import MORNING, bank, question, study


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


def test_a_changed_rating_replaces_the_proposed_one_and_the_last_grade_only(tmp_path: Path) -> None:
    with study(tmp_path) as desk:
        first = desk.record_verdict("lora", verdict(True), source_text="x")
        assert first is not None
        hard = desk.rerate(first, Rating.HARD)
        assert (hard.rating, hard.submissions) == (Rating.HARD, first.submissions)
        assert hard.interval < first.interval
        assert desk.exercise_state("lora").state == "passed"
        with pytest.raises(QuizError, match="later grade"):
            desk.rerate(first, Rating.EASY)
        before = desk.store.tables.card("exercise:lora")
        desk.store.rebuild()
        assert desk.store.tables.card("exercise:lora") == before


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


def staged_bank() -> Bank:
    """One exercise with two core stages and ``robust``."""
    made = bank(question("q0"))
    stages = (Stage("one", 8, "", (1, 2)), Stage("two", 8, "", (3,)), Stage("robust", 4, "", (4,)))
    behaviours = dict.fromkeys(range(1, 5), "It holds.")
    lora = replace(made.exercises["lora"], stages=stages, behaviours=behaviours)
    return replace(made, exercises={"lora": lora})


def staged(**held: bool) -> dict[str, object]:
    """A verdict on the stages named, with one test for each."""
    passed = all(held.values())
    return {
        "status": "passed" if passed else "failed",
        "passed": passed,
        "stages": [{"name": name, "passed": value} for name, value in held.items()],
        "tests": [{"stage": name, "passed": value} for name, value in held.items()],
        "seconds": 1.0,
    }


def test_the_core_passes_and_every_stage_completes(tmp_path: Path) -> None:
    with study(tmp_path, staged_bank()) as desk:
        assert desk.record_verdict("lora", staged(one=True, two=False, robust=True), source_text="x") is None
        assert desk.exercise_state("lora").state == "started"

        review = desk.record_verdict("lora", staged(one=True, two=True, robust=False), source_text="x")
        assert review is not None
        assert review.rating is Rating.GOOD
        state = desk.exercise_state("lora")
        assert (state.state, state.open_stage) == ("passed", "robust")

        # A failing robust stage afterwards lowers nothing, and closing it is not a second review.
        assert desk.record_verdict("lora", staged(one=True, two=True, robust=False), source_text="x") is None
        assert desk.record_verdict("lora", staged(one=True, two=True, robust=True), source_text="x") is None
        state = desk.exercise_state("lora")
        assert (state.state, state.open_stage, state.best) == ("complete", "", 1.0)
        assert len(desk.card("exercise:lora").history) == 1


def test_leading_stages_that_hold_are_progress_and_no_failed_submission(tmp_path: Path) -> None:
    with study(tmp_path, staged_bank()) as desk:
        assert desk.record_verdict("lora", staged(one=True), source_text="x") is None
        state = desk.exercise_state("lora")
        assert (state.state, state.best) == ("started", 0.5)

        review = desk.record_verdict("lora", staged(one=True, two=True), source_text="x")

        assert review is not None
        assert (review.rating, review.submissions) == (Rating.GOOD, 1)
        assert desk.exercise_state("lora").state == "passed"


def test_an_open_stage_is_a_task_from_the_next_study_day_on(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, staged_bank(), clock=clock) as desk:
        desk.record_verdict("lora", staged(one=True, two=True, robust=False), source_text="x")
        assert desk.stage_tasks() == []

        clock.forward(days=1)
        assert desk.stage_tasks() == [StageTask("lora", "robust", 4)]
        assert desk.next_exercise() == "lora"

        desk.record_verdict("lora", staged(one=True, two=True, robust=True), source_text="x")
        assert desk.stage_tasks() == []


def test_passes_without_stages_count_as_they_did(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, staged_bank(), clock=clock) as desk:
        desk.record_verdict("lora", verdict(True), source_text="x")
        state = desk.exercise_state("lora")
        assert (state.state, state.open_stage) == ("passed", "")
        clock.forward(days=1)
        assert desk.stage_tasks() == []


def test_undoing_the_verdict_that_completed_an_exercise_opens_the_stage_again(tmp_path: Path) -> None:
    with study(tmp_path, staged_bank()) as desk:
        desk.record_verdict("lora", staged(one=True, two=True, robust=False), source_text="x")
        desk.record_verdict("lora", staged(one=True, two=True, robust=True), source_text="x")
        desk.undo()
        state = desk.exercise_state("lora")
        assert (state.state, state.open_stage) == ("passed", "robust")


def test_a_merged_submission_counts_as_on_the_other_device(tmp_path: Path) -> None:
    with study(tmp_path / "here", staged_bank()) as here, study(tmp_path / "there", staged_bank()) as there:
        here.record_verdict("lora", staged(one=True, two=True, robust=False), source_text="x")
        there.store.documents.merge(here.store.documents.all())
        assert there.store.documents.summary() == here.store.documents.summary()


def test_found_faults_are_a_pass_rated_hard_and_an_event_of_their_own(tmp_path: Path) -> None:
    with study(tmp_path, staged_bank()) as desk:
        held = staged(one=True, two=True, robust=True)
        review = desk.record_verdict("lora", held, source_text="x", seconds=1, found_faults=["off_by_one"])

        assert review is not None
        assert review.rating is Rating.HARD
        assert desk.exercise_state("lora").passed_at is not None
        (event,) = desk.store.log.standing(EventType.DEBUGGING)
        assert event.details["faults"] == ["off_by_one"]
        assert desk.store.log.standing(EventType.VERDICT) == []

        desk.undo()
        assert desk.exercise_state("lora").passed_at is None
        assert desk.card("exercise:lora").history == ()


def test_faults_that_are_still_there_are_never_rated(tmp_path: Path) -> None:
    with study(tmp_path, staged_bank()) as desk:
        failed = staged(one=True, two=False, robust=True)
        assert desk.record_verdict("lora", failed, source_text="x", found_faults=["off_by_one"]) is None
        assert desk.card("exercise:lora").history == ()


def test_a_rebuilt_schedule_knows_the_debugging(tmp_path: Path) -> None:
    with study(tmp_path, staged_bank()) as desk:
        held = staged(one=True, two=True, robust=True)
        desk.record_verdict("lora", held, source_text="x", found_faults=["off_by_one"])
        before = desk.card("exercise:lora")
        desk.store.rebuild()
        assert desk.card("exercise:lora") == before
