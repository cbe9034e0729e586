"""What past interviews say about a new one."""

from copy import copy
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from quizapp.errors import UnknownName
from quizapp.interview import archive
from quizapp.interview.blueprint import load_blueprint
from quizapp.interview.history import comparable, comparison, pooled
from quizapp.interview.peer.peer_review import AnswerMarks, answers_to_mark, build_review
from quizapp.interview.report.model import MarkedQuestion, Report, TopicInflation
from quizapp.interview.scoring.calibration import adjusted, topic_calibration
from quizapp.interview.session.question import IN_WORDS
from quizapp.scheduling.study_day import FixedClock
from tests.interview.mock_kit import EVENING, begin, sit, small_bank, study
from tests.interview.reports import report_with


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[Report]:
    """Four interviews, five days apart, oldest first."""
    clock = FixedClock(EVENING)
    found = []
    with study(tmp_path_factory.mktemp("history"), small_bank(), clock) as made:
        for seed in range(4):
            interview, hand = begin(made, "research-engineer", 30, seed=seed, code=False)
            sit(interview, hand, seed)
            interview.session.end("early")
            found.append(interview.record())
            clock.forward(days=5)
        assert [mock.id for mock in made.mocks("done")] == [report.id for report in reversed(found)]
    return found


def test_a_band_is_provisional_until_three_mocks_in_thirty_days(reports: list[Report]) -> None:
    assert [report.pooled.provisional for report in reports] == [True, True, False, False]


def test_the_comparison_is_with_the_last_three_of_the_role(reports: list[Report]) -> None:
    last = reports[3].comparison.last
    assert [row.id for row in last] == [report.id for report in reports[2::-1]]
    mean = sum(report.totals.raw for report in reports[:3]) / 3
    assert abs(reports[3].comparison.difference - (reports[3].totals.raw - mean)) <= 0.5
    earlier = comparable("applied-fine-tuning", "mixed", reports[3].id, reports[:3])
    assert comparison(reports[3].totals.raw, earlier).last == []


def test_the_pooled_figure_halves_a_weight_in_fourteen_days() -> None:
    def before(days: int, total: int) -> tuple[datetime, int]:
        return EVENING - timedelta(days=days), total

    assert pooled(EVENING, [before(0, 90), before(14, 60)]).total == 80
    assert pooled(EVENING, [before(0, 90), before(28, 40)]).total == 80
    assert pooled(EVENING, [before(0, 90), before(31, 90)]).mocks_in_30_days == 1


def test_the_adjustment_is_limited_to_fifteen_points() -> None:
    def asked(kind: str) -> list[MarkedQuestion]:
        item = {"kind": kind, "planned": 10, "topic": "t", "marks": {"total": 90}}
        return report_with(items=[item]).questions

    table = {"t": TopicInflation(self_sum=9000, self_n=100, machine_sum=0, machine_n=100)}
    assert adjusted(90, asked("recall"), table) == 75
    assert adjusted(90, asked("choice"), table) == 90
    assert adjusted(90, asked("recall"), {}) == 90


def test_calibration_by_topic_needs_eight_answers(reports: list[Report]) -> None:
    found = topic_calibration(question for report in reports for question in report.reached)
    assert all(row.items >= 8 for row in found.values())
    assert topic_calibration(reports[0].reached) == {}


def test_every_tenth_answer_returns_blind_after_three_days(reports: list[Report]) -> None:
    late = datetime(2026, 4, 1, tzinfo=UTC)
    answers = sum(
        q.asked.kind in IN_WORDS and bool(q.asked.typed.strip()) for r in reports for q in r.questions
    )
    queue = archive.blind_queue(reports, late)
    assert len(queue) == answers // archive.BLIND_EVERY
    assert archive.blind_queue(reports, EVENING + timedelta(days=1)) == []
    if queue:
        name, number = queue[0]
        again = copy(next(report for report in reports if report.id == name))
        points = again.question(number).points
        archive.remark(again, number, [point.held for point in points], late)
        rest = [again if report.id == name else report for report in reports]
        assert (name, number) not in archive.blind_queue(rest, late)
        assert archive.drift(rest).change == 0.0


def test_a_friend_who_agrees_gives_the_same_total_and_one_who_denies_all_a_lower(
    reports: list[Report],
) -> None:
    def held_points(report: Report) -> int:
        return sum(point.held > 0 for one in answers_to_mark(report) for point in one.points)

    report = max(reports, key=held_points)
    questions = answers_to_mark(report)
    assert held_points(report)

    def column(question: MarkedQuestion, held: float | None) -> AnswerMarks:
        return AnswerMarks(
            [point.held if held is None else held for point in question.points],
            [wrong.stated for wrong in question.misconceptions],
            [row.held if held is None else held for row in question.follow_ups],
        )

    same = build_review(report, "Ada", {one.asked.number: column(one, None) for one in questions})
    none = build_review(report, "Bob", {one.asked.number: column(one, 0.0) for one in questions})
    assert same.total == report.totals.raw
    assert same.agreement.percent == 100
    assert none.total < same.total


def test_reports_are_found_by_the_beginning_of_their_id(tmp_path: Path) -> None:
    with study(tmp_path, small_bank()) as made:
        interview, hand = begin(made, "research-engineer", 30, seed=1, code=False)
        with pytest.raises(UnknownName, match="not finished"):
            archive.find_report(made, interview.id)
        sit(interview, hand, 1)
        interview.session.end("early")
        interview.record()
        assert archive.find_report(made, interview.id[:4]).id == interview.id
        assert archive.running(made) is None
        with pytest.raises(UnknownName):
            archive.find_report(made, "nothing")


def test_only_the_marks_made_last_are_undone(tmp_path: Path) -> None:
    with study(tmp_path, small_bank()) as made:
        reports = []
        for seed in (1, 2):
            interview, hand = begin(made, "research-engineer", 15, seed=seed, code=False)
            sit(interview, hand, seed)
            interview.session.end("early")
            reports.append(interview.record())
        first, second = reports
        reviews = made.stats().reviews
        assert not archive.undo_marks(made, first)
        assert made.stats().reviews == reviews
        assert archive.undo_marks(made, second)
        assert not archive.undo_marks(made, second)
        assert [report.id for report in archive.done(made)] == [first.id]
        assert archive.undo_marks(made, first)
        assert made.stats().reviews == 0


def test_an_interview_begins_with_the_track_then_the_last_role(reports: list[Report]) -> None:
    blueprint = load_blueprint()
    other = next(role for role in blueprint.roles if role != reports[0].role)
    assert archive.first_role(blueprint, ["no role", other], reports) == other
    assert archive.first_role(blueprint, [], reports) == reports[0].role
    assert archive.first_role(blueprint, [], []) == next(iter(blueprint.roles))
