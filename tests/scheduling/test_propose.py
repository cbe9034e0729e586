"""Ratings proposed from key points, marks and verdicts."""

from types import SimpleNamespace

import pytest

from quizapp.bank.model import KeyPoint
from quizapp.scheduling.cards import Rating
from quizapp.scheduling.rating_rules import propose_mark, propose_recall, propose_verdict

POINTS = [KeyPoint("a", 3), KeyPoint("b", 2), KeyPoint("c", 1)]


@pytest.mark.parametrize(
    ("ticks", "rest", "rating"),
    [
        ((0, 1, 2), {}, Rating.GOOD),
        ((0, 1, 2), {"seconds": 20, "budget": 60}, Rating.EASY),
        ((0, 1, 2), {"seconds": 100, "budget": 60}, Rating.GOOD),
        ((0, 1), {"seconds": 20, "budget": 60}, Rating.GOOD),
        ((0,), {}, Rating.HARD),  # half of the weight
        ((1, 2), {}, Rating.HARD),  # a must is missing
        ((2,), {"unknown": True}, Rating.HARD),  # a tick speaks against not knowing
        ((), {"unknown": True}, Rating.AGAIN),
    ],
)
def test_recall_by_key_points(ticks, rest, rating) -> None:
    proposal = propose_recall(POINTS, ticks, **rest)
    assert proposal.rating is rating
    assert proposal.reason


def test_nothing_is_proposed_before_the_first_tick() -> None:
    assert propose_recall(POINTS, ()) is None
    assert propose_recall((), ()) is None


def test_marked_musts_decide() -> None:
    points = [KeyPoint("a", 3), KeyPoint("b", 1, must=True), KeyPoint("c", 3)]
    assert propose_recall(points, (0, 2)).rating is Rating.HARD
    assert propose_recall(points, (0, 1, 2)).rating is Rating.GOOD


@pytest.mark.parametrize(
    ("right", "rest", "rating"),
    [
        (1.0, {}, Rating.GOOD),
        (1.0, {"seconds": 10, "budget": 60}, Rating.EASY),
        (1.0, {"seconds": 10, "budget": 60, "hints": 1}, Rating.HARD),
        (5 / 6, {}, Rating.HARD),  # one adjacent swap of four steps
        (2 / 3, {}, Rating.HARD),  # two of three gaps
        (0.5, {}, Rating.AGAIN),
        (0.0, {}, Rating.AGAIN),
    ],
)
def test_marks_by_correctness(right, rest, rating) -> None:
    assert propose_mark(SimpleNamespace(right=right), **rest).rating is rating


@pytest.mark.parametrize(
    ("passed", "submissions", "hints", "opened", "seconds", "rating"),
    [
        (True, 1, 0, False, 0, Rating.GOOD),
        (True, 1, 0, False, 500, Rating.EASY),
        (True, 2, 0, False, 500, Rating.GOOD),
        (True, 3, 0, False, 500, Rating.HARD),
        (True, 1, 1, False, 500, Rating.HARD),
        (True, 1, 0, False, 2000, Rating.HARD),
        (True, 1, 0, True, 500, Rating.AGAIN),
        (False, 5, 2, True, 500, Rating.AGAIN),
    ],
)
def test_verdicts_by_effort(passed, submissions, hints, opened, seconds, rating) -> None:
    assert propose_verdict(passed, submissions, hints, opened, seconds, 1200).rating is rating


def test_failing_submission_is_not_rated() -> None:
    assert propose_verdict(False, 3, 0, False) is None
