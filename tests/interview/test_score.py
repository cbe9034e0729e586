"""The score is the formula: a second program, written from the text alone, finds the same figures."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from quizapp.interview.marking.model import Marking
from quizapp.interview.report.model import DimensionMark, TopicInflation
from quizapp.interview.scoring import score
from quizapp.interview.scoring.arithmetic import half_up, time_share
from quizapp.interview.scoring.calibration import calibration, inflation_of, kappa
from quizapp.interview.scoring.terms import terms_of
from tests.interview import generated, recompute
from tests.interview.mock_kit import begin, done, sit, study
from tests.interview.reports import report_with

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_a_second_program_recomputes_reports_from_their_json(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(score, "DRAWS", 20)
    wrong = {}
    past: list = []
    for seed in range(count):
        report = json.loads(json.dumps(generated.report(seed, past, rules=1 + seed % 2)))
        past = [report, *past[:4]]
        if found := recompute.differences(report):
            wrong[seed] = found
    assert wrong == {}


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in (1, 2))])
def test_an_interview_that_was_sat_is_recomputed_with_the_full_interval(tmp_path: Path, seed: int) -> None:
    assert recompute.differences(json.loads(json.dumps(done(tmp_path, seed)))) == []


@pytest.mark.parametrize(
    ("used", "sure", "share"),
    [(0, False, 0), (0, True, 1), (29_999, False, 0), (30_000, False, 1), (100_000, False, 1),
     (125_000, True, Fraction(1, 2)), (150_000, True, 0), (200_000, True, 0)],
)  # fmt: skip
def test_time_is_full_from_a_third_to_the_budget_and_nothing_at_the_cut(used, sure, share) -> None:
    assert time_share(used, 100, sure=sure) == share


def test_rounding_is_half_up_and_exact() -> None:
    assert [half_up(Fraction(n, 2)) for n in (0, 1, 2, 3, 139)] == [0, 1, 1, 2, 70]


def test_a_dimension_at_level_one_keeps_the_band_below() -> None:
    good = {"correctness": DimensionMark(90, 4)}
    assert score.band(85, 70, good).name == "strong"
    assert score.band(84, 70, good).name == "pass"
    assert score.band(69, 70, good).name == "below"
    result = score.band(90, 70, {**good, "code": DimensionMark(20, 1)})
    assert result.name == "below"
    assert "code" in result.why


def test_inflation_is_shrunk_by_the_number_of_pairs() -> None:
    row = TopicInflation(self_sum=180, self_n=2, machine_sum=250, machine_n=5)
    assert inflation_of(row) == (90 - 50) * Fraction(2, 12)
    row.machine_n = 0
    assert inflation_of(row) == 0


def test_calibration_says_how_far_and_on_which_side() -> None:
    items = [{"confidence": 100, "marks": {"total": 50}}, {"confidence": 0, "marks": {"total": 0}},
             {"confidence": None, "marks": {"total": 9}}]  # fmt: skip
    found = calibration(report_with(items=items).questions)
    assert (found.items, found.brier, found.bias) == (2, 0.125, 25.0)
    assert [row.items for row in found.bins] == [1, 0, 0, 0, 1]


def test_weighted_kappa_of_known_tables() -> None:
    assert kappa([(1.0, 1.0), (0.0, 0.0)]) == 1.0
    assert kappa([(1.0, 0.0), (0.0, 1.0)]) == -1.0
    assert kappa([(1.0, 1.0)]) is None


def test_content_changes_never_alter_an_old_score(tmp_path: Path) -> None:
    with study(tmp_path) as made:
        interview, hand = begin(made, seed=3)
        sit(interview, hand, 3)
        interview.session.end("early")
        before = interview.record().as_json()
        stored = made.mock(before["id"]).document
    from quizapp.interview.session.question import InterviewQuestion

    for row in json.loads(json.dumps(stored))["items"]:
        marking = Marking.from_json(row["kind"], row["marking"])
        mark = score.mark_of(terms_of(InterviewQuestion.from_json(row), marking))
        assert mark == row["marks"]["total"]
