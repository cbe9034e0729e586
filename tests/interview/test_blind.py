"""An old answer marked again blind, driven by keys."""

from datetime import timedelta
from pathlib import Path

import pytest

from quizapp.interview import archive
from quizapp.interview.peer.peer_review import answers_to_mark
from quizapp.interview.report.model import Report, load_report
from quizapp.scheduling.study_day import FixedClock
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.interview.blind_marking import BlindScreen
from quizapp.tui.screens.interview.setup import MockScreen
from quizapp.tui.widgets.rubric import Rubric
from tests.interview.mock_kit import EVENING, done, small_bank, study
from tests.interview.reports import report_with

pytestmark = pytest.mark.slow

LONG = "we look at the gradient and then decide what the noise does to it, since it costs memory; " * 30


@pytest.fixture
def made(tmp_path: Path):
    """A study five days after an interview whose tenth answer waits."""
    with study(tmp_path, small_bank(), FixedClock(EVENING + timedelta(days=5))) as found:
        yield found


def ten(tmp_path: Path, made, typed: str = LONG) -> dict:
    """A report with ten answers in words, the first points of the tenth held, stored."""
    report = done(tmp_path / "old", 3, bank=small_bank())
    one = answers_to_mark(load_report(report))[0].as_json()
    points = [dict(p, held=1.0, ticked=True, quote="the phrase") for p in one["marking"]["points"]]
    marking = one["marking"] | {"points": points}
    report["items"] = [dict(one, number=number, typed=typed, marking=marking) for number in range(10)]
    made.save_mock(report, mock_id=report["id"], done=True)
    return report


def stored(made) -> dict:
    return archive.done(made)[0].as_json()


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_every_point_is_seen_and_decided_before_anything_is_stored(tmp_path, made, size) -> None:
    report = ten(tmp_path, made)
    points = len(report["items"][9]["marking"]["points"])
    app = QuizApp("mock", study=made)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("b")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, BlindScreen)
        scroll, rubric = screen.query_one("#scroll"), screen.query_one(Rubric)
        text = "\n".join(line.plain for line in rubric.lines(200))
        assert "[x]" not in text
        assert "the phrase" not in text
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen is screen
        assert stored(made)["remarks"] == []
        for _ in range(points - 1):
            at = rubric.region.y + rubric.span()[0]
            if not scroll.region.y <= at < scroll.region.bottom:  # the first key only brings it into view
                await pilot.press("n")
                await pilot.pause()
                at = rubric.region.y + rubric.span()[0]
                assert len(screen.held) == 0
            assert scroll.region.y <= at < scroll.region.bottom
            await pilot.press("n")
            await pilot.pause()
        assert len(screen.held) == points - 1
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen is screen
        await pilot.press("y", "enter")
        await pilot.pause()
        assert isinstance(app.screen, MockScreen)
        found = stored(made)
        assert [(row["item"], row["held"]) for row in found["remarks"]] == [(9, [0.0] * (points - 1) + [1.0])]
        assert found["totals"] == report["totals"]
        assert found["items"] == report["items"]
        text = app.screen.query_one("#past").visual.plain
        assert "old answer" not in text
        assert f"Blind re-marking of {points} key points" in " ".join(text.split())


async def test_left_half_way_it_waits_on(tmp_path, made) -> None:
    ten(tmp_path, made, "the mean of the batch")
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("b")
        await pilot.pause()
        await pilot.press("y", "escape")
        await pilot.pause()
        assert stored(made)["remarks"] == []
        assert "1 old answer to mark again blind" in app.screen.query_one("#past").visual.plain


def test_drift_says_who_was_kinder() -> None:
    def report(first: list[float], again: list[float]) -> Report:
        points = [{"text": "p", "weight": 1, "kind": "core", "held": held} for held in first]
        item = {"number": 0, "marking": {"points": points}}
        return report_with(items=[item], remarks=[{"item": 0, "at": "", "held": again}] if again else [])

    assert archive.drift_text([report([1.0], [])]) == ""
    kinder = archive.drift_text([report([1.0, 1.0, 0.0, 0.5], [1.0, 0.0, 0.0, 0.5])])
    assert "4 key points" in kinder
    assert "25 of 100 kinder than" in kinder
    assert "25 of 100 stricter than" in archive.drift_text([report([0.5, 0.5], [1.0, 0.5])])
    assert "as kind as" in archive.drift_text([report([1.0, 0.0], [0.0, 1.0])])
