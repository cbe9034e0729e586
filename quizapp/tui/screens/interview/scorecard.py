"""The scorecard of a finished interview."""

from collections.abc import Mapping
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from quizapp import paths
from quizapp.interview.blueprint import form_of
from quizapp.interview.report.build import best, costliest, lost
from quizapp.interview.report.text import BANDS, STATES, title_line
from quizapp.interview.report.topic_names import named
from quizapp.tui import actions
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.markdown import phrase
from quizapp.tui.screens.base import Place
from quizapp.tui.screens.incidents.scorecard import RUN_PARTS
from quizapp.tui.widgets.meter import meter
from quizapp.tui.widgets.ruler import ruler
from quizapp.tui.widgets.score_card import LEVEL_COLORS, Report, ScoreCard, next_steps
from quizapp.util.sanitize import one_line
from quizapp.util.text import clock, plural

_BAND = {"strong": "$success", "pass": "$success", "below": "$warning"}


def _result(report: Report, width: int) -> list[Content]:
    totals, interval = report["totals"], report["interval"]
    colour = _BAND[report["band"]["name"]]
    name = BANDS[report["band"]["name"]]
    change = totals["adjusted"] - totals["raw"]
    provisional = "  provisional" if report["pooled"]["provisional"] else ""
    head = Content.assemble(
        (f"{totals['raw']}", f"bold {colour}"), (" of 100  ", "$text-muted"), (name, f"bold {colour}"),
        (provisional, "$text-muted"),
    )  # fmt: skip
    line = ruler(totals["raw"], interval["low"], interval["high"], report["pass_mark"], min(width, 60))
    facts = (
        f"80 % interval {interval['low']} to {interval['high']}, pass mark {report['pass_mark']}. "
        f"Adjusted {totals['adjusted']} ({change:+d}). "
        f"Over the {totals['items_reached']} of {totals['items']} reached: {totals['reached']}."
    )
    why = f"{report['band']['why'][0].upper()}{report['band']['why'][1:]}."
    muted = [
        *Content.styled(facts, "$text-muted").wrap(width),
        *Content.styled(why, "$text-muted").wrap(width),
    ]
    return [head, line, *muted, *_compared(report)]


def _compared(report: Report) -> list[Content]:
    comparison = report["comparison"]
    if not comparison["last"]:
        return []
    before = ", ".join(str(row["total"]) for row in reversed(comparison["last"]))
    pooled = report["pooled"]["total"]
    text = f"Before: {before}; now {comparison['difference']:+d} against their mean; pooled {pooled}."
    return [Content.styled(text, "$text-muted")]


def _dimensions(report: Report, width: int) -> list[Content]:
    lines = [Content.styled("Dimensions", "bold")]
    bar = max(8, min(40, width - 34))
    for name, row in report["dimensions"].items():
        colour = LEVEL_COLORS[row["level"]]
        line = Content(f"{name.capitalize():17}").append(meter([(row["percent"] / 100, colour, "█")], bar))
        line = line.append(f" {row['percent']:>3} ")
        lines.append(line.append(Content.styled(f"level {row['level']}", colour)))
    return lines


def _moments(report: Report, width: int) -> list[Content]:
    items = report["items"]
    seconds = max(1, sum(item["planned"] for item in items))
    lines = [Content.styled("Costliest", "bold")]
    for item in costliest(items)[:3]:
        if lost(item):
            cost = f"-{lost(item) / seconds:.1f}  "
            lines += hanging(Content.styled(f"{cost:>7}", "$error"), _moment(item, width), width)
    good = best(items)
    if good:
        lines += [Content(""), Content.styled("Best", "bold")]
    for item in good:
        gain = item["planned"] * item["marks"]["total"] / seconds
        lines += hanging(Content.styled(f"{f'+{gain:.1f}  ':>7}", "$success"), _moment(item, width), width)
    return lines


def _moment(item: Mapping[str, Any], width: int) -> Content:
    name = item["question"].get("title") or item["question"]["prompt"]
    state = "" if item["state"] == "frozen" else f", {STATES[item['state']]}"
    mark = Content.styled(f"  {item['marks']['total']}{state}", "$text-muted")
    room = max(30, width - 7 - mark.cell_length)
    return phrase(one_line(name)).truncate(room, ellipsis=True).append(mark)


def _time(report: Report, width: int) -> list[Content]:
    lines = [Content.styled("Time", "bold")]
    bar = max(8, min(30, width - 36))
    for phase in report["phases"]:
        share = phase["used_ms"] / max(1, 1000 * phase["seconds"])
        used = f"{clock(phase['used_ms'] / 1000)} of {clock(phase['seconds'])}"
        colour = "$primary" if share <= 1 else "$warning"
        line = Content(f"{phase['title']:17}").append(meter([(min(1, share), colour, "█")], bar))
        lines.append(line.append(Content.styled(f" {used}", "$text-muted")))
    return lines


def _confidence(report: Report, width: int) -> list[Content]:
    calibration = report["calibration"]
    if not calibration["items"]:
        return []
    side = "too sure" if calibration["bias"] > 0 else "too modest" if calibration["bias"] < 0 else "even"
    text = (
        f"Confidence: Brier {calibration['brier']:.2f}, bias {calibration['bias']:+.0f} points ({side}) "
        f"over {plural(calibration['items'], 'answer')}."
    )
    return Content(text).wrap(width)


def _next(report: Report, width: int) -> list[Content]:
    lines = [Content.styled("Next", "bold")]
    rated = [item["effect"]["rating"] for item in report["items"] if item["effect"]]
    counts = [(name, rated.count(name)) for name in ("Again", "Hard", "Good", "Easy")]
    said = ", ".join(f"{number} {name}" for name, number in counts if number) or "none"
    first = plural(len(report["tomorrow"]), "card")
    lines += Content(f"Reviews: {said}. First in tomorrow's queue: {first}.").wrap(width)
    return [*lines, *next_steps(report, width)]


INTERVIEW_PARTS = (_result, _dimensions, _moments, _time, _confidence, _next)


class CardScreen(Place):
    """``document`` is a finished report."""

    place = "mockcard"
    BINDINGS: ClassVar[list[object]] = actions.bindings("mockcard")  # type: ignore[assignment]
    CSS_PATH = "scorecard.tcss"

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__()
        self.document = document
        self._phase = "ready"

    def body(self) -> ComposeResult:
        """The head, then the card."""
        what, date = title_line(self.document), self.document["started"][:10]
        yield Static(f"{what.removeprefix('Mock interview: ')}, {date}", id="head", classes="bar title",
                     markup=False)  # fmt: skip
        with VerticalScroll(id="scroll", can_focus=False):
            yield self._card()

    def _card(self) -> ScoreCard:
        parts = INTERVIEW_PARTS if form_of(self.document).has_total else RUN_PARTS
        return ScoreCard(self.named, parts, id="card")

    @property
    def named(self) -> Mapping[str, Any]:
        """The report as it is read."""
        return named(self.document, self.quiz.bank.topics)

    def scroller(self) -> Widget:
        """The card."""
        return self.query_one("#scroll")

    def action_report(self) -> None:
        """The whole report."""
        from quizapp.interview.report.markdown import as_markdown

        self.quiz.read("Report", as_markdown(self.named))

    def action_explain(self) -> None:
        """The arithmetic."""
        from quizapp.interview.report.explain import explain

        self.quiz.read("Arithmetic", explain(self.named), markdown=False)

    def action_export(self) -> None:
        """Write the report in all three forms."""
        from quizapp.interview.report.files import write_reports

        folder = paths.home() / "exports"
        try:
            written = write_reports(self.document, folder, self.quiz.bank.topics)
        except OSError as error:
            self.quiz.say(f"{folder} cannot be written: {error.strerror}.", bad=True)
            return
        self.quiz.say(f"Written: {', '.join(path.name for path in written)} in {folder}")

    def action_undo(self) -> None:
        """Take the interview back, while nothing was done since."""
        undone = self.quiz.study.undo()
        if undone is None:
            self.quiz.say("Nothing to undo.")
        elif undone.type != "mock_mark":
            self.quiz.study.redo()
            self.quiz.say("Something else was done since; undo that first, in the drill.")
        else:
            self.quiz.say(f"Undone: the marks and reviews of this {form_of(self.document).noun}.")
            self.quiz.go_back(self)
