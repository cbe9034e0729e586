"""The texts of the statistics pages, and their export as CSV."""

import csv
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from textual.content import Content

from quizapp.interview import archive
from quizapp.scheduling.service import Study
from quizapp.scheduling.views import GroupFigures, StudyStatistics
from quizapp.tui.widgets.meter import REST, meter
from quizapp.util.sanitize import one_line
from quizapp.util.text import duration, percent, plural

PAGES = ("Overview", "Retention", "Load", "Topics", "Exercises")


def steps(most: int, rows: int) -> list[int]:
    """Axis ticks from 0 to ``most``, a round number apart: about four, or one per three rows if more fit."""
    wanted = max(4, rows // 3)
    sizes = (base * 10**power for power in range(12) for base in (1, 2, 5))
    return list(range(0, most + 1, next(size for size in sizes if size * wanted >= most)))


def overview(stats: StudyStatistics, width: int) -> Content:
    """The figures that matter most, and the ratings given."""
    pairs = (
        ("Reviews", f"{stats.reviews}"),
        ("Time", duration(stats.seconds)),
        ("Days in a row", f"{stats.streak}"),
        ("Due now", f"{stats.due}"),
        ("New today", f"{stats.new}"),
        ("Cards seen", f"{stats.seen}"),
        ("Learned", f"{stats.learned}"),
        ("Recalled", f"{percent(stats.retention)} (predicted {percent(stats.predicted)})"),
        ("Memory model", stats.model),
    )
    lines = [
        Content.assemble((f"{name:<24}", "$text-muted"), (one_line(value), "bold")) for name, value in pairs
    ]
    lines += [Content(""), Content.styled("Ratings", "bold $primary")]
    total = sum(stats.ratings.values())
    styles = {"again": "$error", "hard": "$warning", "good": "$success", "easy": "$primary"}
    for name, count in stats.ratings.items():
        bar = meter(
            [(count / total if total else 0, styles.get(name.casefold(), "$accent"), "█")],
            min(40, width - 24),
        )
        lines.append(Content.assemble(f"{name.capitalize():<8}", bar, (f" {count:>6}", "$text-muted")))
    return Content("\n").join([*lines, *_models(stats, width)])


def _models(stats: StudyStatistics, width: int) -> list[Content]:
    """FSRS-6 against FSRS-7: a bar of each one's log loss, and a sentence."""
    comparison = stats.comparison
    if comparison is None:
        return []
    used = stats.model.partition("/")[0]
    most = max(comparison.losses.values()) or 1.0
    lines = [
        Content(""),
        Content.styled("Memory models, by the log loss of their predictions", "bold $primary"),
    ]
    for name, loss in comparison.losses.items():
        style = "$success" if name == used else "$text-muted"
        bar = meter([(loss / most, style, "█")], min(40, width - 24))
        lines.append(Content.assemble(f"{name:<8}", bar, (f" {loss:>6.3f}", "$text-muted")))
    return [*lines, Content(comparison.sentence(used))]


def calibration(stats: StudyStatistics) -> Content:
    """Predicted against actual recall, in bins."""
    lines = [
        Content.assemble(
            ("Recalled ", "$text-muted"), (percent(stats.retention), "bold $success"),
            ("   predicted ", "$text-muted"), (percent(stats.predicted), "bold"),
        ),
        Content(""),
    ]  # fmt: skip
    filled = [item for item in stats.calibration if item.reviews]
    if not filled:
        lines.append(
            Content.styled(
                "Bins of predicted recall appear after the first reviews of learned cards.", "$text-muted"
            )
        )
        return Content("\n").join(lines)
    lines.append(Content.styled(f"{'predicted':>10} {'recalled':>9} {'reviews':>8}", "bold"))
    lines += [
        Content(f"{percent(item.predicted):>10} {percent(item.recalled):>9} {item.reviews:>8}")
        for item in filled
    ]
    lines += [Content(""), Content.styled("Recalled (up) against predicted (across), in percent", "bold")]
    return Content("\n").join(lines)


def load(stats: StudyStatistics, today: date, marks: tuple[str, str]) -> Content:
    """The forecast in a sentence, and a legend with ``marks``, the characters of the plot's two bars."""
    week = sum(cards for _, cards in stats.forecast[:7])
    month = sum(cards for _, cards in stats.forecast[:30])
    past = sum(reviews for day, reviews in stats.per_day if (today - day).days < 7)
    done, due = marks
    return Content.assemble(
        _counted(past, "review", "bold"), " in the last 7 days.  Coming: ",
        _counted(week, "card", "bold $accent"), " in 7 days, ", (f"{month}", "bold $accent"), " in 30.\n\n",
        (f"{done} Reviews done", "bold $primary"), (", ", "bold"),
        (f"{due} cards falling due", "bold $accent"), (", days from today", "bold"),
    )  # fmt: skip


def _counted(number: int, noun: str, style: str) -> Content:
    figure = f"{number}"
    return Content.assemble((figure, style), plural(number, noun).removeprefix(figure))


def groups(stats: StudyStatistics, names: Mapping[str, str], width: int) -> Content:
    """A line per topic and per level: a bar of learned and seen cards, and the retention."""
    column = 32 if width >= 84 else 28 if width >= 74 else 20
    bar = max(8, min(50, width - column - 26))
    colors = Content.assemble(
        ("█", "$success"), " learned  ", ("▒", "$warning"), " learning  ", ("░", REST), " not seen yet"
    )
    beside = bar > colors.cell_length
    lines: list[Content] = [] if beside else [colors]
    for title, by_name in (("Topics", stats.topics), ("Levels", stats.levels)):
        if lines:
            lines.append(Content(""))
        legend = colors if beside and not lines else Content("")
        head = Content.styled(f"{title:<{column}} ", "bold $primary").append(legend)
        pad = " " * (column + 1 + bar - head.cell_length)
        figures = f"{pad} {'cards':>5} {'reviews':>7} {'recalled':>8}"
        lines.append(head.append(Content.styled(figures, "$text-muted")))
        lines += [_group(names.get(name, name), group, column, bar) for name, group in by_name.items()]
    return Content("\n").join(lines)


def _group(name: str, group: GroupFigures, column: int, width: int) -> Content:
    total = max(1, group.total)
    bar = meter(
        [(group.learned / total, "$success", "█"), ((group.seen - group.learned) / total, "$warning", "▒")],
        width,
    )
    text = Content(one_line(name)).truncate(column, ellipsis=True)
    pad = " " * (column - text.cell_length)
    figures = f" {group.total:>5} {group.reviews:>7} {percent(group.retention):>8}"
    return Content.assemble(text, pad, " ", bar, (figures, "$text-muted"))


def exercises(study: Study, width: int) -> Content:
    """Exercises by state, the submissions to each, and the finished mock interviews."""
    states = study.exercise_states()
    lines = []
    for name, style in (
        ("complete", "$success"),
        ("passed", "$success"),
        ("due", "$accent"),
        ("started", "$primary"),
        ("new", "$box"),
    ):
        count = sum(state.state == name for state in states.values())
        bar = meter([(count / max(1, len(states)), style, "█")], 30)
        lines.append(Content.assemble(f"{name:<10}", bar, f" {count:>4}"))
    lines.append(Content(""))
    for slug, state in states.items():
        if state.submissions:
            when = f"{state.passed_at.astimezone():%Y-%m-%d}" if state.passed_at else "not passed"
            figures = f"  {plural(state.submissions, 'submission'):>14}  {percent(state.best):>5}  {when:<10}"
            room = max(12, min(60, width - len(figures)))
            title = Content(one_line(study.bank.exercises[slug].title)).truncate(room, ellipsis=True)
            pad = " " * (room - title.cell_length)
            lines.append(Content.assemble(title, pad, (figures, "$text-muted")))
    return Content("\n").join([*lines, Content(""), *_mocks(study, width)])


def _mocks(study: Study, width: int) -> list[Content]:
    """The finished interviews, newest first: day, marks, whether passed, role."""
    reports = archive.done(study)
    lines = [Content.styled(f"Mock interviews: {len(reports)}", "bold $primary")]
    for report in reports:
        row = Content.assemble(
            report.started[:10], (f"  {report.totals.raw:>3} of 100", "bold"),
            (f"  {report.band.name}  {report.minutes} min  {one_line(report.title)}", "$text-muted"),
        )  # fmt: skip
        lines.append(row.truncate(width, ellipsis=True))
    return lines


def export(stats: StudyStatistics, folder: Path, svg: str) -> Sequence[Path]:
    """Write two CSV files and the page as SVG; return their paths. Raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    days = folder / "reviews-per-day.csv"
    with days.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["date", "reviews", "due"])
        done, due = dict(stats.per_day), dict(stats.forecast)
        for day in sorted({*done, *due}):
            writer.writerow([day.isoformat(), done.get(day, ""), due.get(day, "")])
    topics = folder / "topics.csv"
    with topics.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["group", "name", "total", "seen", "learned", "reviews", "retention"])
        for kind, by_name in (("topic", stats.topics), ("level", stats.levels)):
            for name, group in by_name.items():
                figures = (group.total, group.seen, group.learned, group.reviews, group.retention)
                writer.writerow([kind, name, *figures])
    picture = folder / "statistics.svg"
    picture.write_text(svg, encoding="utf-8")
    return days, topics, picture
