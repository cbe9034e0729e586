"""Code reviews in the schedule: one event each, their own card, and the exercise's questions."""

from datetime import timedelta
from pathlib import Path

import pytest

from quizapp.scheduling.cards import Rating
from quizapp.scheduling.events import EventType
from quizapp.scheduling.exercises import CodeReviewOutcome
from quizapp.scheduling.next_step import OpenTask, next_code_review, open_tasks
from quizapp.scheduling.planner.plan_sentences import besides
from quizapp.scheduling.rating_rules import propose_code_review
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from tests.scheduling.study_kit import MORNING, bank, question, study

DOCUMENT = {"schema": "quizapp.code_review/1", "marks": {"decision": 25}}


def outcome(marks: int, confidence: int = 50, seconds: float = 300.0) -> CodeReviewOutcome:
    return CodeReviewOutcome(marks, confidence, seconds, 480.0, 7)


@pytest.mark.parametrize(
    ("marks", "confidence", "seconds", "rating"),
    [
        (100, 75, 200, Rating.EASY),
        (100, 50, 200, Rating.GOOD),
        (100, 75, 300, Rating.GOOD),
        (90, 100, 240, Rating.EASY),
        (89, 100, 100, Rating.GOOD),
        (70, 0, 480, Rating.GOOD),
        (70, 0, 481, Rating.HARD),
        (69, 100, 100, Rating.HARD),
        (50, 100, 100, Rating.HARD),
        (49, 100, 100, Rating.AGAIN),
        (0, 0, 0, Rating.AGAIN),
    ],
)
def test_marks_give_a_rating(marks: int, confidence: int, seconds: float, rating: Rating) -> None:
    assert propose_code_review(marks, confidence, seconds, 480).rating == rating


def test_a_review_schedules_its_own_card_and_not_the_exercise(tmp_path: Path) -> None:
    with study(tmp_path) as desk:
        recorded = desk.record_code_review("lora", DOCUMENT, outcome(80))
        assert recorded is not None
        assert (recorded.card, recorded.rating) == ("review:lora", Rating.GOOD)
        assert recorded.interval >= timedelta(days=1)
        assert desk.exercise_state("lora").state == "new"
        assert desk.card("review:lora").history[0].source == "code_review"
        assert desk.stats().sources == {"code_review": 1}
        (event,) = [event for event in desk.events() if event.type == EventType.CODE_REVIEW]
        assert event.details == DOCUMENT
        assert (event.seed, event.confidence, event.ms) == (7, 50, 300_000)


def graduated(desk: Study, clock: FixedClock) -> None:
    """Learn one question of the exercise until it is due again."""
    for _ in range(3):
        desk.answer("q", 4)
    clock.forward(days=60)


@pytest.mark.parametrize(("marks", "comes"), [(90, False), (60, True), (10, True)])
def test_a_good_review_gives_the_questions_a_day_off(tmp_path: Path, marks: int, comes: bool) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, bank(question("q")), clock=clock) as desk:
        graduated(desk, clock)
        desk.record_code_review("lora", DOCUMENT, outcome(marks))
        assert ("q" in desk.due_ids()) is comes


def test_a_bad_review_brings_the_questions_back_tomorrow(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, bank(question("q")), clock=clock) as desk:
        desk.answer("q", 4)
        desk.record_code_review("lora", DOCUMENT, outcome(10))
        clock.forward(days=1)
        assert "q" in desk.due_ids()


def test_a_review_before_it_is_due_is_stored_and_changes_nothing(tmp_path: Path) -> None:
    with study(tmp_path) as desk:
        first = desk.record_code_review("lora", DOCUMENT, outcome(80))
        assert desk.record_code_review("lora", DOCUMENT, outcome(100)) is None
        assert first is not None
        assert desk.card("review:lora").due == first.due
        assert len([event for event in desk.events() if event.type == EventType.CODE_REVIEW]) == 2


def test_undo_takes_back_the_review_with_its_effect_on_questions(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, bank(question("q")), clock=clock) as desk:
        graduated(desk, clock)
        desk.record_code_review("lora", DOCUMENT, outcome(90))
        undone = desk.undo()
        assert undone is not None
        assert (undone.type, undone.card) == ("code_review", "review:lora")
        assert "q" in desk.due_ids()
        assert desk.card("review:lora").reps == 0


def test_replay_rebuilds_the_same_cards(tmp_path: Path) -> None:
    with study(tmp_path) as desk:
        desk.record_code_review("lora", DOCUMENT, outcome(80))
        before = desk.cards()
        desk.store.rebuild()
        assert desk.cards() == before


def test_due_reviews_come_first_then_passed_exercises(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    slugs = ("one", "two", "three", "four")
    with study(tmp_path, bank(question("q"), slugs=slugs), clock=clock) as desk:

        def following(*without: str) -> str | None:
            return next_code_review(desk, lambda slug: slug not in without)

        assert following() == "one"
        assert following("one") == "two"
        passed = {"status": "passed", "passed": True, "tests": [], "seconds": 1.0}
        desk.record_verdict("three", passed, source_text="x")
        assert following() == "three"
        desk.record_code_review("three", DOCUMENT, outcome(80))
        assert following() == "one"
        clock.forward(days=60)
        assert following() == "three"
        assert following(*slugs) is None


def test_a_review_that_is_due_stands_beside_the_plan(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, clock=clock) as desk:
        desk.record_code_review("lora", DOCUMENT, outcome(80))
        assert open_tasks(desk) == []
        clock.forward(days=60)
        (task,) = open_tasks(desk)
        assert (task.slug, task.stage, task.command) == ("lora", "", "quizapp review lora")
        title = desk.bank.exercises["lora"].title
        assert list(besides([task], desk.bank.exercises)) == [
            "Besides, open today:",
            f"- code review of “{title}”: quizapp review lora",
        ]


def test_only_the_first_tasks_beside_the_plan_are_named(tmp_path: Path) -> None:
    with study(tmp_path) as desk:
        tasks = [OpenTask("lora", "robust", 3)] * 6
        lines = list(besides(tasks, desk.bank.exercises))
        assert lines[1].endswith("3 minutes: quizapp exercise lora")
        assert lines[-1] == "- and 2 others"
        assert list(besides([], desk.bank.exercises)) == []
