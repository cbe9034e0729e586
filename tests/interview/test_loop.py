"""A loop: the rounds of a role on one day, and their one report."""

import json
from dataclasses import replace
from fractions import Fraction as F
from math import floor
from pathlib import Path

import pytest

from quizapp.errors import QuizError, UnknownName
from quizapp.interview.report.files import rendered
from quizapp.interview.report.loop_report import loop_report, rendered_loop
from quizapp.interview.report.model import load_report
from quizapp.interview.rounds.loop import check_loop_options, current_loop, find_loop, minutes_of, next_text
from quizapp.interview.rounds.round_table import ROUNDS
from quizapp.scheduling.study_day import FixedClock
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.interview.scorecard import CardScreen
from quizapp.tui.screens.interview.setup import MockScreen
from tests.interview.mock_kit import (
    EVENING,
    answer_now,
    begin,
    blueprint,
    later,
    real_bank,
    sit,
    small_bank,
    study,
)
from tests.tui.drawn import text
from tests.tui.waiting import until

ROLE = replace(blueprint().role("post-training"), rounds=("quiz", "napkin"))


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(EVENING)


@pytest.fixture
def made(tmp_path: Path, clock: FixedClock):
    with study(tmp_path, small_bank(), clock) as one:
        yield one


def sit_next(made, seed: int = 1):
    """Sit the next round of the loop and return its report."""
    loop = current_loop(made, ROLE)
    kind = loop.next_round
    interview, hand = begin(made, ROLE.name, minutes_of(kind), round_name=kind.name, seed=seed, loop=loop)
    sit(interview, hand, seed)
    if not interview.session.ended:
        answer_now(interview) if interview.session.item else None
        interview.session.end("early")
    return interview.record()


def half_up(value: F) -> int:
    return floor(value + F(1, 2))


def test_the_rounds_come_one_after_the_other_and_the_report_is_over_all_their_questions(made) -> None:
    reports = [sit_next(made), sit_next(made, 2)]
    assert [report.round for report in reports] == ["quiz", "napkin"]
    assert len({report.loop for report in reports}) == 1
    loop = find_loop(made, reports[0].loop[:5])
    assert loop.next_round is None
    one = json.loads(rendered_loop(loop_report(loop.id, loop.rounds, loop.reports), "json"))
    assert one["schema"] == "quizapp.loop/1"
    assert [row["id"] for row in one["rounds"]] == [report.id for report in reports]
    rows = [
        (item["planned"], item["marks"]["total"]) for report in reports for item in report.as_json()["items"]
    ]
    assert one["total"] == half_up(F(sum(a * m for a, m in rows), sum(a for a, _ in rows)))


def test_a_round_left_out_is_named_and_does_not_count(made) -> None:
    first = sit_next(made)
    loop = find_loop(made, first.loop)
    one = loop_report(loop.id, loop.rounds, loop.reports)
    assert (one.missing, one.total) == (["napkin"], first.totals.raw)
    for form in ("md", "html"):
        assert "napkin" in rendered_loop(one, form)
    assert "Take a break of 10 minutes; then round 2 of 2 of the loop: napkin" in next_text(loop)


def test_a_loop_lasts_a_day(made, clock: FixedClock) -> None:
    first = sit_next(made)
    later(clock, hours=23)
    assert current_loop(made, ROLE).id == first.loop
    later(clock, hours=2)
    assert current_loop(made, ROLE).id != first.loop


def test_an_undone_round_is_sat_again(made) -> None:
    sit_next(made)
    made.undo()
    assert current_loop(made, ROLE).next_round.name == "quiz"


def test_a_report_of_a_round_keeps_its_loop(made) -> None:
    report = sit_next(made)
    stored = json.loads(rendered(report, "json"))
    assert stored["loop"] == report.loop
    assert load_report(stored).loop_rounds == ["quiz", "napkin"]
    with pytest.raises(UnknownName, match="no loop 'none'"):
        find_loop(made, "none")


@pytest.mark.parametrize("role", blueprint().roles.values(), ids=lambda role: role.name)
def test_every_role_has_a_loop_of_four_or_five_rounds_of_a_day(role) -> None:
    assert len(role.rounds) in (4, 5)
    assert sum(minutes_of(ROUNDS[name]) for name in role.rounds) <= 8 * 60


@pytest.mark.parametrize(
    ("minutes", "code", "says"), [(45, True, "leave --minutes out"), (None, False, "leave --no-code out")]
)
def test_an_option_that_a_loop_does_not_have_is_refused(minutes, code: bool, says: str) -> None:
    with pytest.raises(QuizError, match=says):
        check_loop_options(minutes, code=code)


async def test_the_scorecard_leads_to_the_next_round(tmp_path: Path) -> None:
    made = study(tmp_path, real_bank())
    app = QuizApp("mock", study=made)
    async with app.run_test(size=(80, 24)) as pilot:
        report = sit_next(made)
        app.push_screen(CardScreen(report))
        await pilot.pause()
        await pilot.press("l")
        await until(pilot, lambda: "Loop: Post-training, 1 of 2 rounds" in text(app))
        await pilot.press("q")
        await pilot.press(str(len(report.next_steps)))
        await until(pilot, lambda: isinstance(app.screen, MockScreen))
        await until(pilot, lambda: "Loop, round 2 of 4: Concepts" in text(app))
