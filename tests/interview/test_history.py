"""What past interviews say about a new one."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from quizapp.errors import UnknownName
from quizapp.interview import archive
from quizapp.interview.history import adjusted, comparison, pooled, topic_calibration
from quizapp.interview.peer_review import review, to_mark
from quizapp.interview.session.question import IN_WORDS
from quizapp.scheduling.study_day import FixedClock
from tests.interview.mock_kit import EVENING, begin, sit, small_bank, study


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
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
        assert [mock.id for mock in made.mocks("done")] == [report["id"] for report in reversed(found)]
    return found


def test_a_band_is_provisional_until_three_mocks_in_thirty_days(reports: list[dict]) -> None:
    assert [report["pooled"]["provisional"] for report in reports] == [True, True, False, False]


def test_the_comparison_is_with_the_last_three_of_the_role(reports: list[dict]) -> None:
    last = reports[3]["comparison"]["last"]
    assert [row["id"] for row in last] == [report["id"] for report in reports[2::-1]]
    mean = sum(report["totals"]["raw"] for report in reports[:3]) / 3
    assert abs(reports[3]["comparison"]["difference"] - (reports[3]["totals"]["raw"] - mean)) <= 0.5
    other = {**reports[3], "role": "applied-fine-tuning"}
    assert comparison(other, reports[:3])["last"] == []


def test_the_pooled_figure_halves_a_weight_in_fourteen_days() -> None:
    def report(name: str, days: int, total: int) -> dict:
        return {"id": name, "role": "r", "started": (EVENING - timedelta(days=days)).isoformat(),
                "totals": {"raw": total}}  # fmt: skip

    assert pooled(report("a", 0, 90), [report("b", 14, 60)])["total"] == 80
    assert pooled(report("a", 0, 90), [report("b", 28, 40)])["total"] == 80
    assert pooled(report("a", 0, 90), [report("b", 31, 90)])["mocks_in_30_days"] == 1


def test_the_adjustment_is_limited_to_fifteen_points() -> None:
    item = {"kind": "recall", "planned": 10, "topic": "t", "marks": {"reached": True, "total": 90}}
    table = {"t": {"self_sum": 9000, "self_n": 100, "machine_sum": 0, "machine_n": 100}}
    assert adjusted(90, [item], table) == 75
    assert adjusted(90, [{**item, "kind": "choice"}], table) == 90
    assert adjusted(90, [item], {}) == 90


def test_calibration_by_topic_needs_eight_answers(reports: list[dict]) -> None:
    found = topic_calibration(reports)
    assert all(row["items"] >= 8 for row in found.values())
    assert topic_calibration(reports[:1]) == {}


def test_every_tenth_answer_returns_blind_after_three_days(reports: list[dict]) -> None:
    late = datetime(2026, 4, 1, tzinfo=UTC)
    answers = sum(i["kind"] in IN_WORDS and bool(i["typed"].strip()) for r in reports for i in r["items"])
    queue = archive.blind_queue(reports, late)
    assert len(queue) == answers // archive.EVERY
    assert archive.blind_queue(reports, EVENING + timedelta(days=1)) == []
    if queue:
        name, number = queue[0]
        document = {**next(report for report in reports if report["id"] == name)}
        points = document["items"][number]["marking"]["points"]
        archive.remark(document, number, [point["held"] for point in points], late)
        rest = [document if report["id"] == name else report for report in reports]
        assert (name, number) not in archive.blind_queue(rest, late)
        assert archive.drift(rest)["drift"] == 0.0


def test_a_friend_who_agrees_gives_the_same_total_and_one_who_denies_all_a_lower(reports: list[dict]) -> None:
    def held_points(report: dict) -> int:
        return sum(point["held"] > 0 for item in to_mark(report) for point in item["marking"]["points"])

    report = max(reports, key=held_points)
    items = to_mark(report)
    assert held_points(report)

    def column(item: dict, held: float | None) -> dict:
        marking = item["marking"]
        return {
            "points": [point["held"] if held is None else held for point in marking["points"]],
            "misconceptions": [wrong["stated"] for wrong in marking["misconceptions"]],
            "probes": [probe["held"] if held is None else held for probe in marking["probes"]],
        }

    same = review(report, "Ada", {str(item["number"]): column(item, None) for item in items})
    none = review(report, "Bob", {str(item["number"]): column(item, 0.0) for item in items})
    assert same["total"] == report["totals"]["raw"]
    assert same["agreement"]["percent"] == 100
    assert none["total"] < same["total"]


def test_reports_are_found_by_the_beginning_of_their_id(tmp_path: Path) -> None:
    with study(tmp_path, small_bank()) as made:
        interview, hand = begin(made, "research-engineer", 30, seed=1, code=False)
        with pytest.raises(UnknownName, match="not finished"):
            archive.report(made, interview.id)
        sit(interview, hand, 1)
        interview.session.end("early")
        interview.record()
        assert archive.report(made, interview.id[:4])["id"] == interview.id
        assert archive.running(made) is None
        with pytest.raises(UnknownName):
            archive.report(made, "nothing")
