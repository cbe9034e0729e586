"""What an interview does to the schedule: the table, one transaction, one undo."""

from pathlib import Path

import pytest

from quizapp.interview.effects import effect_of
from quizapp.interview.marking.model import MarkedBy, MisconceptionMark, PointMark, WordsMarking
from quizapp.interview.session.question import CodeSubmission, InterviewQuestion
from tests.interview.mock_kit import answer_now, begin, sit, study, wait


def item(**fields) -> InterviewQuestion:
    values = {
        "number": 0, "slot": "medium", "phase": "concept", "card": "q", "exercise": "e", "topic": "t",
        "level": "medium", "kind": "recall", "planned": 100, "budget": 100, "seed": 1, "recall": None,
        "unseen": True, "asked": None, "state": "frozen", "used_ms": 60_000, "opened_ms": 0, "typed": "x",
        "confidence": 50,
    }  # fmt: skip
    return InterviewQuestion(**(values | fields))


def marking(weight: int = 3, held: float = 1.0, *, stated: bool = False) -> WordsMarking:
    """One key point and one misconception."""
    point = PointMark("p", weight, "core", False, [], bool(held), False, "", bool(held), held)
    wrong = MisconceptionMark("w", "r", False, stated)
    return WordsMarking(
        by=MarkedBy.SELF, empty=False, points=[point], misconceptions=[wrong], beats=[], follow_ups=[]
    )


@pytest.mark.parametrize(
    ("fields", "mark", "rating"),
    [
        ({"used_ms": 40_000, "confidence": 75}, 95, "Easy"),
        ({"used_ms": 51_000, "confidence": 75}, 95, "Good"),
        ({"used_ms": 40_000, "confidence": 50}, 95, "Good"),
        ({"used_ms": 40_000, "confidence": 100, "hints": 1}, 95, "Hard"),
        ({}, 70, "Good"),
        ({}, 69, "Hard"),
        ({}, 50, "Hard"),
        ({"used_ms": 101_000}, 90, "Hard"),
        ({}, 49, "Again"),
        ({"state": "cut", "used_ms": 150_000}, 90, "Again"),
        ({"state": "unreached", "opened_ms": None}, 0, None),
        ({"state": "abandoned"}, 0, None),
        ({"state": "lost"}, 60, None),
    ],
)
def test_the_table_of_outcomes(fields: dict, mark: int, rating: str | None) -> None:
    found = effect_of(item(**fields), mark, marking())
    assert (found.rating.label if found.rating else None) == rating


def test_a_missing_must_point_or_a_misconception_is_again() -> None:
    assert effect_of(item(), 80, marking(3, 0.0)).rating.label == "Again"
    assert effect_of(item(), 80, marking(2, 0.0)).rating.label == "Good"
    assert effect_of(item(), 80, marking(stated=True)).rating.label == "Again"


def test_sure_and_wrong_caps_the_next_two_intervals() -> None:
    assert effect_of(item(confidence=100), 20, marking()).caps == (1, 7)
    assert effect_of(item(confidence=50), 20, marking()).caps == ()


@pytest.mark.parametrize(
    ("passed", "submissions", "used", "rating"),
    [
        (True, 2, 90_000, "Good"),
        (True, 3, 90_000, "Hard"),
        (True, 1, 110_000, "Hard"),
        (False, 1, 9, "Again"),
    ],
)
def test_coding_is_rated_by_verdict_time_and_submissions(passed, submissions, used, rating) -> None:
    runs = [CodeSubmission(0, "", {"passed": False})] * (submissions - 1)
    runs.append(CodeSubmission(0, "", {"passed": passed}))
    assert (
        effect_of(item(kind="coding", submissions=runs, used_ms=used), 60, marking()).rating.label == rating
    )


def test_marks_and_reviews_are_stored_together_and_undone_together(tmp_path: Path) -> None:
    with study(tmp_path) as made:
        before = made.store.tables.snapshot()
        interview, hand = begin(made, "training-infrastructure", 30, seed=5)
        sit(interview, hand, 5)
        interview.session.end("early")
        report = interview.record().as_json()
        rated = [row for row in report["items"] if row["effect"]["rating"]]
        assert rated
        assert made.stats().reviews == len(rated)
        runs = [row for row in rated if row["kind"] == "incident"]
        assert made.stats().sources.get("incident", 0) == len(runs)
        assert made.stats().sources["mock"] == len(rated) - len(runs)
        for row in rated:
            assert made.card(row["card"]).due.isoformat() == row["effect"]["due"]
        made.undo()
        assert made.stats().reviews == 0
        assert made.mocks("done") == []
        assert made.store.tables.snapshot()["reviews"] == before["reviews"]


def test_what_was_not_reached_gets_no_review_but_comes_first_tomorrow(tmp_path: Path) -> None:
    with study(tmp_path) as made:
        interview, hand = begin(made, "applied-fine-tuning", 30, seed=5)
        interview.session.proceed()
        wait(interview, hand, 9)
        answer_now(interview)
        interview.session.end("early")
        report = interview.record().as_json()
        assert made.stats().reviews == 1
        unreached = [row["card"] for row in report["items"] if row["state"] == "unreached"]
        assert len(unreached) == len(report["items"]) - 1
        in_drill = {card for card in unreached if not card.startswith("incident:")}
        assert in_drill <= set(report["tomorrow"])
        assert all(made.card(card).reps == 0 for card in in_drill)
