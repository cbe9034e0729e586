"""Interviews over time: in `quizapp mock list` and on the history screen."""

from datetime import timedelta
from pathlib import Path

import pytest

from quizapp.cli.main import main
from quizapp.interview import trends
from quizapp.interview.report.model import Report, load_report
from quizapp.scheduling.service import Study
from quizapp.scheduling.study_day import FixedClock
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.interview.past import PastLines, PastScreen
from quizapp.tui.screens.interview.scorecard import CardScreen
from quizapp.tui.screens.interview.setup import MockScreen
from tests.interview.mock_kit import EVENING, small_bank, study
from tests.interview.reports import complete
from tests.tui.waiting import shows, until

pytestmark = pytest.mark.slow

TOTALS = (40, 50, 60, 90)
ROLE, OTHER = "research-engineer", "applied-fine-tuning"


def report(number: int, total: int, role: str = ROLE, days: int = 0) -> dict:
    """A short interview: two topics, the second question of the second topic not reached."""

    def item(topic: str, mark: int, *, reached: bool = True, number: int = 0) -> dict:
        marks = {"total": mark if reached else 0, "reached": reached, "terms": []}
        return {
            "number": number,
            "topic": topic,
            "kind": "recall",
            "typed": "",
            "planned": 60,
            "marks": marks,
        }

    dims = {"correctness": {"percent": total, "level": 3}, "depth": {"percent": 100 - total, "level": 2}}
    if number % 2:
        dims["code"] = {"percent": 10 * number, "level": 1}
    return complete(
        id=f"{number:08x}", role=role, title=role.replace("-", " ").capitalize(), minutes=30,
        started=(EVENING + timedelta(days=days)).isoformat(), finished=EVENING.isoformat(),
        pass_mark=70, totals={"raw": total, "adjusted": total - 2}, dimensions=dims,
        interval={"low": total - 10, "high": total + 10},
        band={"name": "pass" if total >= 70 else "below", "why": "so"},
        items=[item("optimizers", 90), item("gradient-flow", total // 2),
               item("gradient-flow", 0, reached=False)],
    )  # fmt: skip


def several() -> list[dict]:
    """Four of one role, five days apart, and one of another role, newest first as the store gives them."""
    made = [report(number, total, days=5 * number) for number, total in enumerate(TOTALS)]
    return [*made, report(9, 70, OTHER, days=1)][::-1]


def typed(documents: list[dict]) -> list[Report]:
    return [load_report(document) for document in documents]


def store(made: Study, reports: list[dict]) -> None:
    for document in reports:
        made.save_mock(document, mock_id=document["id"], done=True)


def test_change_is_against_the_mean_of_up_to_three_before() -> None:
    assert trends.TrendLine("total", (10, 40, 50, 60, 90)).change == 40
    assert trends.TrendLine("code", (None, 20, None, 30)).change == 10
    assert trends.TrendLine("code", (None, 20)).change is None
    assert trends.TrendLine("code", ()).change is None


def test_topics_count_what_was_reached_and_the_weakest_has_three_questions() -> None:
    reports = trends.oldest_first(typed(several()), ROLE)
    topics = trends.topic_lines(reports)
    assert [(row.topic, row.number, row.mean) for row in topics] == [
        ("gradient-flow", 4, 30),
        ("optimizers", 4, 90),
    ]
    assert topics[0].line.percents == (20, 25, 30, 45)
    rare = trends.TopicTrend("rare", 1, 5, trends.TrendLine("rare", (5,)))
    assert trends.weakest([rare, *topics]).topic == "gradient-flow"
    assert trends.weakest([rare]) == rare
    assert "too few to trust" in trends.weakest_text([rare])
    assert trends.weakest([]) is None


def test_a_role_stands_by_totals_that_halve_in_fourteen_days() -> None:
    reports = typed([report(1, 60, days=-14), report(2, 90), report(3, 10, days=-40)])
    now = EVENING + timedelta(days=1)
    found = trends.standings(reports[:2], now)[0]
    assert (found.pooled, found.interviews, found.recent, found.provisional) == (80, 2, 2, True)
    assert trends.standings(reports, now)[0].recent == 2
    late = trends.standings(reports[:2], EVENING + timedelta(days=31))[0]
    assert (late.pooled, late.recent) == (80, 0)


def test_a_dimension_that_was_not_asked_leaves_a_gap() -> None:
    lines = {line.name: line for line in trends.dimension_lines(trends.oldest_first(typed(several()), ROLE))}
    assert lines["code"].percents == (None, 10, None, 30)
    assert "debugging" not in lines
    assert trends.spark((None, 0, 49, 100)) == "·▁▄█"


def test_mock_list_shows_interviews_and_how_they_move(home: Path, capsys) -> None:
    assert main(["mock", "list"]) == 0
    assert "no mock interview yet" in capsys.readouterr().out
    with Study.open() as made:
        store(made, several())
        running = several()[0] | {"id": "cafecafe"}
        made.save_mock(running, mock_id="cafecafe")
    assert main(["mock", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert any(line.startswith("cafecafe") and "not finished" in line for line in lines)
    best = next(line for line in lines if line.startswith("00000003"))
    for part in ("2026-03-17", ROLE, "90", "88", "80-100", "pass"):
        assert part in best
    total = next(line for line in lines if line.startswith("  total "))
    assert total.split()[2:] == ["40", "50", "60", "90", "+40", "against", "the", "3", "before"]
    assert any("pooled" in line and "Research engineer: 4 interviews" in line for line in lines)
    assert any(line.split()[:4] == ["Gradient", "flow", "5", "31"] for line in lines)
    assert lines[-1] == "Weakest: Gradient flow, mean 31 over 5 questions."


def app_with(made: Study) -> QuizApp:
    return QuizApp("mock", study=made)


def shown(app: QuizApp) -> str:
    lines = app.screen.query_one(PastLines)
    return "\n".join(line.plain for line in lines.lines(lines.content_size.width))


@pytest.mark.parametrize(
    "size", [(80, 24), *(pytest.param(size, marks=pytest.mark.exhaustive) for size in ((60, 20), (120, 40)))]
)
@pytest.mark.parametrize("number", [1, 5, 40])
async def test_history_fits_and_every_interview_can_be_opened(
    tmp_path: Path, size: tuple[int, int], number: int
) -> None:
    reports = several() if number == 5 else [report(n, n % 90, days=n) for n in range(number)]
    with study(tmp_path, small_bank(), FixedClock(EVENING + timedelta(days=41))) as made:
        store(made, reports)
        app = app_with(made)
        async with app.run_test(size=size) as pilot:
            await pilot.press("t")
            await pilot.pause()
            screen = app.screen
            assert isinstance(screen, PastScreen)
            lines, scroll = screen.query_one(PastLines), screen.query_one("#scroll")
            width = lines.content_size.width
            assert all(line.cell_length <= width for line in lines.lines(width))
            assert scroll.virtual_size.width <= size[0]
            for _ in range(len(screen.reports) - 1):
                await pilot.press("down")
            at = lines.cursor_line(width) + lines.styles.padding.top
            assert lines.lines(width)[lines.cursor_line(width)].plain.startswith("▸")
            await until(
                pilot, lambda: scroll.scroll_offset.y <= at < scroll.scroll_offset.y + scroll.size.height
            )
            oldest = screen.reports[0]
            assert oldest.started[:10] in lines.lines(width)[lines.cursor_line(width)].plain
            for _ in range(40):
                await pilot.press("down")
            assert scroll.scroll_offset.y == scroll.max_scroll_y


async def test_another_role_another_history_and_enter_opens_the_scorecard(tmp_path: Path) -> None:
    from tests.interview.mock_kit import done

    real = done(tmp_path / "real", 2, bank=small_bank()) | {"title": "Real"}
    with study(tmp_path, small_bank()) as made:
        store(made, [*several(), real | {"role": "training-infrastructure"}])
        app = app_with(made)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("t")
            await pilot.pause()
            screen = app.screen
            titles = {row.title for row in screen.reports}
            seen = [titles]
            for _ in range(3):
                await pilot.press("right")
                titles = {row.title for row in screen.reports}
                seen.append(titles)
            assert sorted(map(len, seen)) == [1, 1, 1, 3]
            while {row.title for row in screen.reports} != {"Real"}:
                await pilot.press("right")
            assert "training-infrastructure" not in shown(app)
            await pilot.press("enter")
            await pilot.pause()
            assert isinstance(app.screen, CardScreen)
            assert app.screen.report.id == real["id"]
            await pilot.press("q")
            await pilot.pause()
            assert app.screen is screen
            await pilot.press("r")
            await pilot.pause()
            assert "Mock interview: Real" in app.screen._source
            await pilot.press("q", "q")
            await pilot.pause()
            assert isinstance(app.screen, MockScreen)


async def test_without_interviews_it_says_so(tmp_path: Path) -> None:
    with study(tmp_path, small_bank()) as made:
        app = app_with(made)
        async with app.run_test(size=(60, 20)) as pilot:
            await pilot.press("t")
            await pilot.pause()
            await shows(pilot, "No interviews yet")
            await pilot.press("enter", "r", "right", "down", "q")
            await pilot.pause()
            assert isinstance(app.screen, MockScreen)
