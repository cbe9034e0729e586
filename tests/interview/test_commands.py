"""The commands around mock interviews, outside a terminal."""

import io
import json
import os
import re
import sys

import pytest

from quizapp import paths
from quizapp.cli.main import main
from quizapp.scheduling.service import Study
from tests.interview.mock_kit import begin, sit

pytestmark = pytest.mark.slow


@pytest.fixture
def report(home) -> dict:
    with Study.open() as made:
        interview, hand = begin(made, "applied-fine-tuning", 30, seed=2, code=False)
        sit(interview, hand, 2)
        interview.session.end("early")
        return interview.record().as_json()


def test_not_in_a_terminal_it_says_one_line_and_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mock"]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert len(out.err.strip().splitlines()) == 1


def test_list_report_and_explain(report: dict, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mock", "list"]) == 0
    assert report["id"] in capsys.readouterr().out
    assert main(["mock", "report", report["id"], "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["totals"] == report["totals"]
    assert main(["mock", "report", report["id"][:5]]) == 0
    assert capsys.readouterr().out.startswith("# Mock interview")
    assert main(["mock", "report", report["id"], "--format", "html", "--redact"]) == 0
    assert capsys.readouterr().out.startswith("<!DOCTYPE html>")
    assert main(["mock", "--explain", report["id"]]) == 0
    assert f"-> {report['totals']['raw']}" in capsys.readouterr().out


def test_an_unknown_interview_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mock", "report", "zzz"]) == 2
    assert "zzz" in capsys.readouterr().err
    assert main(["mock", "report"]) == 2


def test_a_friend_marks_without_seeing_the_own_marks(report: dict, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Ada\n" + "y\n" * 400))
    assert main(["mock", "review", report["id"]]) == 0
    out = capsys.readouterr().out
    before = out[: out.index("Agreement")]
    assert "you said" not in before
    assert re.search(r"Agreement on \d+ key points: \d+ %", out)
    with Study.open() as made:
        stored = made.mock(report["id"])
        assert stored.state == "done"
        assert stored.document["reviews"][0]["by"] == "Ada"
        assert stored.document["totals"] == report["totals"]
    assert os.path.exists(paths.database())  # noqa: PTH110
