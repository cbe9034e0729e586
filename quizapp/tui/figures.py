"""The texts of the statistics pages, and their export as CSV."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from textual.content import Content

from quizapp.memory.facts import Group, Stats
from quizapp.memory.study import Study
from quizapp.tui.text import duration, one_line
from quizapp.tui.widgets.meter import meter

PAGES = ("Overview", "Retention", "Load", "Topics", "Exercises")


def percent(share: float | None) -> str:
    """A share in percent, or a dash where there is none."""
    return "–" if share is None else f"{share:.0%}"


def overview(stats: Stats, width: int) -> Content:
    """The figures that matter most, and the ratings given."""
    pairs = (
        ("Reviews", f"{stats.reviews}"),
        ("Time", duration(stats.seconds)),
        ("Days in a row", f"{stats.streak}"),
        ("Due now", f"{stats.due}"),
        ("Seen, learned", f"{stats.seen}, {stats.learned}"),
        ("New today", f"{stats.new}"),
        ("Recalled, as predicted", f"{percent(stats.retention)}, {percent(stats.predicted)}"),
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
    return Content("\n").join(lines)


def calibration(stats: Stats) -> Content:
    """Predicted against true recall, in bins."""
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
    lines += [Content(f"{item.predicted:>10.0%} {item.recalled:>9.0%} {item.reviews:>8}") for item in filled]
    return Content("\n").join(lines)


def load(stats: Stats) -> Content:
    """The forecast in a sentence."""
    week = sum(cards for _, cards in stats.forecast[:7])
    month = sum(cards for _, cards in stats.forecast[:30])
    past = sum(cards for _, cards in stats.per_day[-7:])
    return Content.assemble(
        (f"{past}", "bold"), " reviews in the last 7 days.  Coming: ", (f"{week}", "bold $accent"),
        " cards in 7 days, ", (f"{month}", "bold $accent"), " in 30.",
    )  # fmt: skip


def groups(stats: Stats, names: Mapping[str, str], width: int) -> Content:
    """Per topic and per level: a bar of learned and seen, and the retention."""
    lines: list[Content] = []
    for title, found in (("Topics", stats.topics), ("Levels", stats.levels)):
        lines += [Content.styled(title, "bold $primary")] if not lines else [
            Content(""), Content.styled(title, "bold $primary")
        ]  # fmt: skip
        lines += [_group(names.get(name, name), group, width) for name, group in found.items()]
    lines += [
        Content(""),
        Content.styled("█ learned  ▒ seen  ░ new; then cards, reviews, recalled", "$text-muted"),
    ]
    return Content("\n").join(lines)


def _group(name: str, group: Group, width: int) -> Content:
    column = 28 if width >= 74 else 20
    total = max(1, group.total)
    bar = meter(
        [(group.learned / total, "$success", "█"), ((group.seen - group.learned) / total, "$warning", "▒")],
        max(8, min(50, width - column - 26)),
    )
    text = Content(one_line(name)).truncate(column, ellipsis=True)
    pad = " " * (column - text.cell_length)
    figures = f" {group.total:>5} {group.reviews:>6} {percent(group.retention):>6}"
    return Content.assemble(text, pad, " ", bar, (figures, "$text-muted"))


def exercises(study: Study) -> Content:
    """Exercises by state, and the submissions needed."""
    states = study.exercise_states()
    lines = []
    for name, style in (
        ("passed", "$success"),
        ("due", "$accent"),
        ("started", "$primary"),
        ("new", "$text-muted"),
    ):
        count = sum(state.state == name for state in states.values())
        bar = meter([(count / max(1, len(states)), style, "█")], 30)
        lines.append(Content.assemble(f"{name:<10}", bar, f" {count:>4}"))
    lines.append(Content(""))
    for slug, state in states.items():
        if state.submissions:
            title = one_line(study.bank.exercises[slug].title)
            when = f"{state.passed_at.astimezone():%Y-%m-%d}" if state.passed_at else "not passed"
            lines.append(
                Content.assemble(
                    f"{title:<36.36} ",
                    (f"{state.submissions:>3} submissions  best {state.best:.0%}  {when}", "$text-muted"),
                )
            )
    mocks = study.mocks("done")
    lines += [Content(""), Content.styled(f"Mock interviews: {len(mocks)}", "bold $primary")]
    return Content("\n").join(lines)


def export(stats: Stats, folder: Path, svg: str) -> Sequence[Path]:
    """Write the figures and the page; raises `OSError` where the folder cannot be written."""
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
        for kind, found in (("topic", stats.topics), ("level", stats.levels)):
            for name, g in found.items():
                writer.writerow([kind, name, g.total, g.seen, g.learned, g.reviews, g.retention])
    picture = folder / "statistics.svg"
    picture.write_text(svg, encoding="utf-8")
    return days, topics, picture
