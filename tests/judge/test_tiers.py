"""The tiers are tried for real, kept per boot, and the best one not above the wish is used."""

import sys
from pathlib import Path

import pytest

from quizapp.judge.sandbox.tiers import TierReport, best, describe


def test_every_tier_is_reported_highest_first_and_kept(tmp_path: Path) -> None:
    reports = describe(tmp_path)
    assert [report.name for report in reports] == ["T3", "T2", "T1", "T0"]
    assert all(report.text for report in reports)
    assert reports[-1].works
    kept = (tmp_path / "tiers.json").read_text(encoding="utf-8")
    assert describe(tmp_path) == reports
    assert (tmp_path / "tiers.json").read_text(encoding="utf-8") == kept


@pytest.mark.skipif(sys.platform != "linux", reason="layers are Linux's")
def test_resource_limits_work_everywhere_on_linux(tmp_path: Path) -> None:
    assert next(report for report in describe(tmp_path) if report.name == "T1").works


def test_a_damaged_record_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "tiers.json").write_text('{"key": 1', encoding="utf-8")
    assert len(describe(tmp_path)) == 4


def test_best_respects_wish_and_failure() -> None:
    reports = [TierReport(n, works=n != "T3", text="") for n in ("T3", "T2", "T1", "T0")]
    assert best(reports).name == "T2"
    assert best(reports, "T3").name == "T2"
    assert best(reports, "T1").name == "T1"
