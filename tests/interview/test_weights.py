"""What questions and exercises count in a plan."""

from datetime import UTC, datetime, timedelta

import pytest

from quizapp.errors import UnknownName
from quizapp.interview.report.model import Report
from quizapp.interview.topic_weights import LAST, OTHER_TOPICS, gaps, plan_weights
from quizapp.scheduling.planner.load_deck import StudyWeights
from tests.interview.mock_kit import ROLES, blueprint, real_bank
from tests.interview.reports import report_with

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
ROLE = blueprint().role("research-engineer")


def report(topic: str, marks: int, *, days: float = 0, number: int = 1, planned: int = 90) -> Report:
    item = {"topic": topic, "planned": planned, "marks": {"total": marks, "reached": True}}
    return report_with(started=(NOW - timedelta(days=days)).isoformat(), items=[item] * number)


def weights(role: str | None = None, documents=()):
    return plan_weights(real_bank(), blueprint(), role, documents, NOW)


def test_without_role_and_mocks_only_the_level_counts() -> None:
    found = weights()
    levels = {q.level: found.cards[q.id] for q in real_bank().questions.values()}
    assert levels == pytest.approx({"easy": 60 / 90, "medium": 1.0, "hard": 150 / 90})
    assert not found.topics


@pytest.mark.parametrize("role", ROLES)
def test_a_role_weighs_its_topics_and_names_them_in_order(role: str) -> None:
    found = weights(role)
    own = blueprint().role(role).topic_weights
    mean = sum(own.values()) / len(own)
    for question in real_bank().questions.values():
        if question.level == "medium":
            expected = own[question.topic] / mean if question.topic in own else OTHER_TOPICS
            assert found.cards[question.id] == pytest.approx(expected)
    first = found.topics[: len(own)]
    assert set(first) <= set(own)
    assert [own[topic] for topic in first] == sorted(own.values(), reverse=True)


def test_a_card_shares_its_weight_with_its_exercise() -> None:
    found = weights()
    whole, code = sum(found.cards.values()), sum(found.exercises.values())
    assert code / (whole + code) == pytest.approx(found.code_share)
    assert 0.2 < found.code_share < 0.45


def per_card(found: StudyWeights, slug: str) -> float:
    own = sum(found.cards[q.id] for q in real_bank().questions.values() if q.exercise == slug)
    return found.exercises[slug] / own


def test_an_exercise_that_is_introduced_later_weighs_less_for_the_same_cards() -> None:
    found = weights()
    ratios = [per_card(found, slug) for slug in real_bank().exercises]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[-1] / ratios[0] == pytest.approx(LAST)


def test_the_exercises_of_the_coding_phase_count_double() -> None:
    found = weights("research-engineer")
    place = {
        slug: LAST + (1 - LAST) * (1 - n / (len(found.exercises) - 1))
        for n, slug in enumerate(found.exercises)
    }
    outside = next(slug for slug in found.exercises if slug not in ROLE.coding_pool)
    scale = per_card(found, outside) / place[outside]
    for slug in ROLE.coding_pool:
        assert per_card(found, slug) == pytest.approx(2 * scale * place[slug])


def test_a_gap_grows_with_missing_marks_and_with_questions() -> None:
    strong = ROLE.pass_mark + 15
    one, many = gaps([report("data", 20)], ROLE, NOW), gaps([report("data", 20, number=9)], ROLE, NOW)
    assert one["data"] == pytest.approx((1 - 20 / strong) * 1 / 4)
    assert many["data"] == pytest.approx((1 - 20 / strong) * 9 / 12)
    assert gaps([report("data", strong)], ROLE, NOW)["data"] == 0
    assert gaps([report("data", 100)], ROLE, NOW)["data"] == 0
    plain = weights("research-engineer")
    missing = plan_weights(real_bank(), blueprint(), "research-engineer", [report("data", 0, number=3)], NOW)
    name = next(q.id for q in real_bank().questions.values() if q.topic == "data")
    assert missing.cards[name] == pytest.approx(1.5 * plain.cards[name])


def test_old_mocks_count_half_after_fourteen_days() -> None:
    strong = ROLE.pass_mark + 15
    found = gaps([report("data", 0, days=14), report("data", 60)], ROLE, NOW)
    assert found["data"] == pytest.approx((1 - 40 / strong) * 2 / 5)


def test_what_was_not_reached_says_nothing() -> None:
    document = report("data", 0)
    document.questions[0].marks.reached = False
    assert gaps([document], ROLE, NOW) == {}


def test_an_unknown_role_is_named() -> None:
    with pytest.raises(UnknownName, match="choose one of"):
        weights("astronaut")
