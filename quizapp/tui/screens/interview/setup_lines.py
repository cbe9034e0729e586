"""The lines of the screen before an interview: its fields, its shape, and the interviews so far."""

from collections.abc import Mapping, Sequence
from typing import Any

from textual.content import Content
from textual.style import Style

from quizapp.interview import archive, trends
from quizapp.interview.blueprint import InterviewPlan, form_of
from quizapp.tui.rendering.layout import hanging, wrap
from quizapp.util.sanitize import one_line
from quizapp.util.text import clock, plural


def _link(text: Content, action: str) -> Content:
    return text.stylize(Style.from_meta({"@click": f"screen.{action}"}), 0, len(text.plain))


def unfinished(document: Mapping[str, Any], width: int) -> list[Content]:
    """What is said of an interview that was left, with the link that goes on with it."""
    said = (
        "waits to be marked"
        if document["running"]["state"] == "ended"
        else "is not finished; its clock went on"
    )
    sitting = form_of(document).describe(document["title"], document["minutes"])
    text = f"{sitting[0].upper()}{sitting[1:]} {said}."
    told = hanging(Content("! "), Content.styled(text, "bold $warning"), width)
    return [*told, _link(Content.styled("r resume", "bold $primary"), "resume")]


def fields(values: Mapping[str, str], cursor: int) -> list[Content]:
    """The fields with their values, then the button that begins."""
    lines = []
    for index, (name, value) in enumerate(values.items()):
        here = index == cursor
        text = Content.assemble(
            ("▸ " if here else "  ", "$primary bold"), (f"{name:9}", "$text-muted"),
            ("◂ " if here else "  ", "$primary"), (value, "bold" if here else ""),
            (" ▸" if here else "", "$primary"),
        )  # fmt: skip
        lines.append(_link(text, f"at({index})"))
    start = Content.styled("  ▶ Begin (enter)  ", "bold reverse $primary")
    return [*lines, Content(""), _link(start, "begin")]


def shape(plan: InterviewPlan, titles: Mapping[str, str], width: int) -> list[Content]:
    """What the interview will be: for whom, how many questions, the time of each phase."""
    phases = ", ".join(
        f"{titles[phase]} {clock(seconds)}" for phase, seconds in plan.seconds.items() if seconds
    )
    counts = plural(sum(plan.counts.values()) - plan.counts["coding"], "question")
    if plan.counts["coding"]:
        counts += f" and {plural(plan.counts['coding'], 'coding task')}"
    end = f"Passes at {plan.role.pass_mark}. Nothing is revealed before the end."
    text = f"{plan.role.about.rstrip('.')}. {counts}; {phases}. {end}"
    return wrap(Content.styled(text, "$text-muted"), width)


def past_interviews(
    reports: Sequence[Mapping[str, Any]], role: str, cursor: int, first: int, width: int
) -> list[Content]:
    """One line for each report, newest first, with rows counted from ``first``."""
    if not reports:
        return [Content.styled("No interview yet.", "$text-muted")]
    rows = enumerate(reports, first)
    return [
        _trend(reports, role),
        Content(""),
        *(_link(_report(report, row == cursor, width), f"at({row})") for row, report in rows),
    ]


def _report(document: Mapping[str, Any], here: bool, width: int) -> Content:
    total, adjusted = document["totals"]["raw"], document["totals"]["adjusted"]
    band = document["band"]["name"]
    colour = "$success" if band in {"strong", "pass"} else "$warning"
    row = Content.assemble(
        ("▸ " if here else "  ", "$primary bold"), (document["started"][:10], "bold" if here else ""),
        (f"  {total:>3}", f"bold {colour}"), (f"  {band:6}", colour),
        (f"  adjusted {adjusted:>3}" if width >= 70 else "", "$text-muted"),
        (f"  {document['minutes']} min  {one_line(document['title'])}", ""),
    )  # fmt: skip
    return row.truncate(width, ellipsis=True)


def marking(reports: Sequence[Mapping[str, Any]], blind: int, width: int) -> list[Content]:
    """How many old answers wait to be marked again, and how the marks have drifted."""
    lines: list[Content] = []
    if blind:
        text = f"b  {plural(blind, 'old answer')} to mark again blind"
        lines += [Content(""), _link(Content.styled(text, "$primary"), "blind")]
    if drifted := archive.drift_text(reports):
        lines += [Content(""), *wrap(Content.styled(drifted, "$text-muted"), width)]
    return lines


def _trend(reports: Sequence[Mapping[str, Any]], role: str) -> Content:
    totals = trends.total_line(trends.oldest_first(reports, role)).known[-24:]
    title = Content.styled("Interviews so far", "bold").append(Content.styled("  t history", "$primary"))
    title = _link(title, "history")
    if len(totals) < 2:
        return title
    return title.append(Content.styled(f"  {trends.spark(totals)}", "$primary")).append(
        Content.styled(f"  {totals[0]} → {totals[-1]} in this role", "$text-muted")
    )
