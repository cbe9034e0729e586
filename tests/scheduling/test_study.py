"""The facade: answers, undo, burying, changed and renamed questions, exercises and mocks."""

import ast
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import quizapp
from quizapp.bank.model import Bank
from quizapp.errors import QuizError, UnknownName
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.recorder import MockReview
from quizapp.scheduling.statistics import calendar, streak
from quizapp.scheduling.study_day import FixedClock
from quizapp.scheduling.views import CardFilter
from tests.scheduling.study_kit import MORNING, bank, question, simple_bank, study


def graduate(desk, *names: str) -> None:
    for name in names:
        desk.answer(name, Rating.EASY)


def test_answer_keeps_what_was_seen_and_said(tmp_path: Path) -> None:
    with study(tmp_path) as desk:
        desk.answer(
            "q0", 3, proposed=4, seconds=12.5, hints=1, ticks=(0, 2), seed=99, confidence=75, typed="mine"
        )
        (event,) = desk.store.log.all()
    assert (event.card, event.rating, event.proposed, event.ms, event.hints) == ("q0", 3, 4, 12500, 1)
    assert (event.ticks, event.seed, event.confidence, event.source) == ("[0,2]", 99, 75, "drill")
    assert event.details == {"typed": "mine"}
    assert event.content == "hash-of-q0"
    assert event.model == "FSRS-6/default"
    assert event.offset == 3600
    assert datetime.fromtimestamp(event.time / 1000, UTC) == MORNING


def test_undo_and_redo_work_across_restarts_without_limit(tmp_path: Path) -> None:
    for rating in (3, 1, 4):
        with study(tmp_path) as desk:
            desk.answer("q0", rating)
    with study(tmp_path) as desk:
        assert desk.undo().rating is Rating.EASY
        assert desk.undo().rating is Rating.AGAIN
    with study(tmp_path) as desk:
        assert desk.card("q0").reps == 1
        assert desk.undo().rating is Rating.GOOD
        assert desk.undo() is None
        assert desk.card("q0").state == "new"
    with study(tmp_path) as desk:
        assert [desk.redo().rating for _ in range(3)] == [3, 1, 4]
        assert desk.redo() is None
        assert desk.card("q0").reps == 3


def test_redo_ends_with_the_next_act(tmp_path: Path) -> None:
    with study(tmp_path) as desk:
        desk.answer("q0", 3)
        desk.undo()
        desk.answer("q1", 3)
        assert desk.redo() is None


def test_undo_shows_the_card_again(tmp_path: Path) -> None:
    with study(tmp_path) as desk:
        first = desk.next_card()
        desk.answer(first.id, 4)
        assert desk.next_card().id != first.id
        desk.undo()
        assert desk.next_card().id == first.id


def test_bury_hides_until_the_next_study_day(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, 2, clock=clock) as desk:
        desk.bury("q0")
        assert [card.id for card in desk.due()] == ["q1"]
        clock.forward(hours=18)  # 3 at night
        assert [card.id for card in desk.due()] == ["q1"]
        clock.forward(hours=1)
        assert [card.id for card in desk.due()] == ["q0", "q1"]


def test_suspended_cards_stay_away_until_unsuspended(tmp_path: Path) -> None:
    with study(tmp_path, 2) as desk:
        desk.suspend("q0")
        assert desk.card("q0").suspended
        assert [card.id for card in desk.due()] == ["q1"]
        desk.unsuspend("q0")
        assert [card.id for card in desk.due()] == ["q0", "q1"]


def test_learning_cards_come_back_by_the_clock(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, 2, clock=clock) as desk:
        desk.answer("q0", 1)
        assert desk.next_card().id == "q1"
        clock.forward(minutes=2)
        assert desk.next_card().id == "q0"


def test_learning_card_is_shown_early_when_nothing_else_is_left(tmp_path: Path) -> None:
    with study(tmp_path, 1) as desk:
        desk.answer("q0", 3)
        assert desk.next_card().id == "q0"
        assert desk.next_card(after=["q0"]) is None


def test_seed_changes_with_the_repetition_only(tmp_path: Path) -> None:
    with study(tmp_path) as desk:
        first = desk.seed("q0")
        assert desk.seed("q0") == first
        desk.answer("q0", 3)
        assert desk.seed("q0") != first
        desk.undo()
        assert desk.seed("q0") == first


def test_unknown_card_is_named_with_close_ones(tmp_path: Path) -> None:
    with study(tmp_path, bank(question("lr-warmup"))) as desk, pytest.raises(UnknownName, match="lr-warmup"):
        desk.answer("lr-warmpu", 3)


def test_changed_question_is_noticed_once(tmp_path: Path) -> None:
    with study(tmp_path, bank(question("q0"))) as desk:
        graduate(desk, "q0")
        assert not desk.changed("q0")
    with study(tmp_path, bank(question("q0", content_hash="other"))) as desk:
        assert desk.changed("q0")
        desk.acknowledge("q0")
        assert not desk.changed("q0")
        assert desk.card("q0").state == "review"


def test_treat_as_new_keeps_the_history(tmp_path: Path) -> None:
    with study(tmp_path, bank(question("q0"))) as desk:
        graduate(desk, "q0")
        desk.acknowledge("q0", treat_as_new=True)
        facts = desk.card("q0")
        assert (facts.state, facts.stability, len(facts.history)) == ("new", None, 1)
        desk.undo()
        assert desk.card("q0").state == "review"


def test_renamed_question_keeps_its_history(tmp_path: Path) -> None:
    with study(tmp_path, bank(question("old"))) as desk:
        graduate(desk, "old")
        before = desk.card("old")
    renamed: Bank = bank(question("new", content_hash="hash-of-old"), aliases={"old": "new"})
    with study(tmp_path, renamed) as desk:
        after = desk.card("old")
        assert after.id == "new"
        assert (after.stability, after.due, len(after.history)) == (before.stability, before.due, 1)
        desk.answer("old", 3)
        assert len(desk.card("new").history) == 2
        live = desk.store.tables.snapshot()
        desk.store.rebuild()
        assert desk.store.tables.snapshot() == live
    back = bank(question("old"), aliases={"new": "old"})
    with study(tmp_path, back) as desk:
        assert len(desk.card("old").history) == 2


def test_leech_is_told_once_and_offered_another_kind(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    pair = bank(question("plain"), question("drilled", kind="numeric", parent="plain"))
    with study(tmp_path, pair, clock=clock, leech_lapses=2) as desk:
        graduate(desk, "plain")
        told = []
        for _ in range(3):
            clock.forward(days=30)
            told.append(desk.answer("plain", 1).leech)
            desk.answer("plain", 3)
        assert told == [False, True, False]
        assert desk.card("plain").leech
        assert desk.alternative("plain") == "drilled"


def verdict(passed: bool) -> dict:
    tests = [{"name": "a", "passed": True}, {"name": "b", "passed": passed}]
    return {"status": "passed" if passed else "failed", "passed": passed, "tests": tests, "seconds": 1.5}


def test_exercise_goes_from_new_to_started_to_passed_to_due(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, clock=clock) as desk:
        assert desk.exercise_state("lora").state == "new"
        assert desk.record_verdict("lora", verdict(False), source_text="x = 1") is None
        state = desk.exercise_state("lora")
        assert (state.state, state.submissions, state.best) == ("started", 1, 0.5)
        answered = desk.record_verdict("lora", verdict(True), source_text="x = 2")
        assert answered.rating is Rating.GOOD
        assert answered.interval >= timedelta(days=1)
        assert desk.exercise_state("lora").state == "passed"
        clock.time = answered.due.astimezone(MORNING.tzinfo)
        assert desk.exercise_state("lora").state == "due"
        assert [card.id for card in desk.due_exercises()] == ["exercise:lora"]
        assert [kept.source for kept in desk.submissions("lora")] == ["x = 1", "x = 2"]


def test_saving_a_passing_file_again_is_no_review(tmp_path: Path) -> None:
    with study(tmp_path) as desk:
        assert desk.record_verdict("lora", verdict(True), source_text="")
        assert desk.record_verdict("lora", verdict(True), source_text="") is None
        assert desk.card("exercise:lora").reps == 1
        assert desk.exercise_state("lora").submissions == 2


def test_opened_solution_recalls_the_questions_for_tomorrow(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, 2, clock=clock) as desk:
        graduate(desk, "q0")
        reviews = desk.stats().reviews
        answered = desk.record_verdict("lora", verdict(False), source_text="", opened_solution=True)
        assert answered.rating is Rating.AGAIN
        clock.forward(days=1)
        assert desk.next_card().id == "q0"
        assert desk.card("q0").reps == 1
        assert desk.stats().reviews == reviews + 1
        desk.undo()
        assert desk.card("q0").due > MORNING + timedelta(days=2)


def test_passed_exercise_gives_its_due_questions_a_day_off(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, bank(question("q0")), clock=clock) as desk:
        graduate(desk, "q0")
        clock.forward(days=30)
        assert desk.counts().due == 1
        desk.record_verdict("lora", verdict(True), source_text="")
        assert desk.counts().due == 0
        clock.forward(days=1)
        assert desk.counts().due == 1


def test_mock_is_one_act(tmp_path: Path) -> None:
    with study(tmp_path, 3) as desk:
        name = desk.save_mock({"minutes": 15})
        assert desk.mocks("running")[0].id == name
        reviews = [MockReview("q0", Rating.GOOD), MockReview("q1", Rating.AGAIN, confidence=100, caps=(1, 7))]
        same, answered = desk.record_mock({"minutes": 15, "total": 61}, reviews, recalls=["q2"], mock_id=name)
        assert same == name
        assert [review.card for review in answered] == ["q0", "q1"]
        assert desk.mock(name).state == "done"
        assert desk.mock(name).document["total"] == 61
        assert {event.source for event in desk.store.log.all()} == {"mock"}
        assert desk.undo().type == "mock_mark"
        assert desk.stats().reviews == 0
        assert desk.mock(name).state == "undone"
        desk.redo()
        assert desk.stats().reviews == 2
        assert desk.mock(name).state == "done"


def test_mock_with_an_unknown_card_changes_nothing(tmp_path: Path) -> None:
    with study(tmp_path, 3) as desk:
        with pytest.raises(UnknownName):
            desk.record_mock({}, [MockReview("q0", Rating.GOOD), MockReview("nope", Rating.GOOD)])
        with pytest.raises(QuizError, match="one review of a card"):
            desk.record_mock({}, [MockReview("q0", Rating.GOOD), MockReview("q0", Rating.GOOD)])
        assert desk.store.log.all() == []
        assert desk.mocks() == []


def test_caps_of_a_mock_review_hold_for_the_next_two_intervals(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, clock=clock) as desk:
        desk.record_mock({}, [MockReview("q0", Rating.EASY, caps=(1, 7))])
        clock.forward(days=9)
        intervals = []
        for _ in range(3):
            answered = desk.answer("q0", Rating.EASY)
            intervals.append(answered.interval.days)
            clock.time = answered.due.astimezone(MORNING.tzinfo)
        assert intervals[:2] == [1, 7]
        assert intervals[2] > 7


def test_recalled_card_comes_first_tomorrow_even_if_new(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, 5, clock=clock) as desk:
        desk.record_mock({}, [], recalls=["q4"])
        clock.forward(days=1)
        assert desk.next_card().id == "q4"


def test_facts_for_screens(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, 6, clock=clock) as desk:
        graduate(desk, "q0", "q1")
        clock.forward(days=40)
        desk.answer("q0", 3, seconds=20)
        desk.answer("q1", 1, seconds=10)
        facts = desk.stats()
        assert (facts.reviews, facts.learned, facts.seen, facts.retention) == (4, 1, 2, 0.5)
        assert 0 < facts.predicted < 1
        assert sum(group.reviews for group in facts.topics.values()) == 4
        assert facts.seconds == 30
        assert facts.as_json()["per_day"][-1] == {"date": "2026-04-11", "cards": 2}
        assert streak(desk) == 1
        assert [number for _, number in calendar(desk, 2)] == [0, 2]
        progress = {topic.topic: topic for topic in desk.topics()}
        assert progress["topic-0"].learned == 1
        assert progress["topic-0"].total == 2
        assert desk.card("q0").retrievability == 1.0
        assert desk.card("q5").retrievability is None


def test_due_lists_due_cards_before_new_ones_as_json(tmp_path: Path) -> None:
    clock = FixedClock(MORNING)
    with study(tmp_path, 3, clock=clock) as desk:
        graduate(desk, "q2")
        clock.forward(days=30)
        listed = [card.as_json() for card in desk.due()]
    assert [(card["id"], card["state"]) for card in listed] == [
        ("q2", "review"),
        ("q0", "new"),
        ("q1", "new"),
    ]
    assert listed[0]["due"].endswith("Z")
    assert listed[1]["due"] is None


def test_filter_narrows_counts_and_queue(tmp_path: Path) -> None:
    with study(tmp_path, simple_bank(6)) as desk:
        flt = CardFilter(topic="topic-1")
        assert [card.id for card in desk.due(flt)] == ["q1", "q4"]
        assert desk.counts(flt).new == 2
        assert desk.next_card(flt).id == "q1"
        assert desk.due(limit=2) == desk.due()[:2]


def test_nobody_outside_the_schedule_reaches_its_store() -> None:
    package = Path(quizapp.__file__).parent
    inside = (package / "scheduling", package / "store")
    reaching = [
        f"{path.relative_to(package)}:{node.lineno}"
        for path in package.rglob("*.py")
        if not path.is_relative_to(inside[0]) and not path.is_relative_to(inside[1])
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "store"
    ]
    assert reaching == []
