"""The scorecard of a finished interview."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from quizapp import paths
from quizapp.interview import archive
from quizapp.interview.report.model import Band, MarkedQuestion, Report, best, costliest
from quizapp.interview.report.next_steps import target_of
from quizapp.interview.report.text import (
    BANDS,
    STATES,
    confidence_side,
    interval_text,
    minutes_text,
    name_topics,
    reviews_line,
    title_line,
)
from quizapp.interview.rounds.loop import LOOP, loop_of, next_text
from quizapp.scheduling.views import EVERYTHING, CardFilter
from quizapp.tui import actions
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.markdown import phrase
from quizapp.tui.screens.base import Place
from quizapp.tui.screens.exercise.begin_run import begin_stages
from quizapp.tui.screens.incidents.scorecard import RUN_PARTS
from quizapp.tui.widgets.meter import meter
from quizapp.tui.widgets.ruler import ruler
from quizapp.tui.widgets.score_card import LEVEL_COLORS, ScoreCard, next_steps
from quizapp.util.sanitize import one_line
from quizapp.util.text import plural

_BAND = {Band.STRONG: "$success", Band.PASS: "$success", Band.BELOW: "$warning"}


def _result(report: Report, width: int) -> list[Content]:
    totals, interval = report.totals, report.interval
    few = totals.items_reached < totals.items
    color = _BAND[report.band.name]
    name = BANDS[report.band.name]
    change = totals.adjusted - totals.raw
    provisional = "  provisional" if report.pooled.provisional else ""
    head = Content.assemble(
        (f"{totals.raw}", f"bold {color}"), (" of 100  ", "$text-muted"), (name, f"bold {color}"),
        (provisional, "$text-muted"),
    )  # fmt: skip
    line = ruler(totals.raw, interval.low, interval.high, report.pass_mark, min(width, 60))
    spread = interval_text(report)
    reached = f" Over the {totals.items_reached} of {totals.items} reached: {totals.reached}."
    facts = (
        f"{f'{spread}, pass' if spread else 'Pass'} mark {report.pass_mark}. "
        f"Adjusted {totals.adjusted} ({change:+d}).{reached if few else ''}"
    )
    why = f"{report.band.why[0].upper()}{report.band.why[1:]}."
    muted = [
        *Content.styled(facts, "$text-muted").wrap(width),
        *Content.styled(why, "$text-muted").wrap(width),
    ]
    return [head, line, *muted, *_compared(report)]


def _compared(report: Report) -> list[Content]:
    comparison = report.comparison
    if not comparison.last:
        return []
    before = ", ".join(str(row.total) for row in reversed(comparison.last))
    pooled = report.pooled.total
    text = f"Before: {before}; now {comparison.difference:+d} against their mean; pooled {pooled}."
    return [Content.styled(text, "$text-muted")]


def _dimensions(report: Report, width: int) -> list[Content]:
    lines = [Content.styled("Dimensions", "bold")]
    bar = max(8, min(40, width - 34))
    for name, row in report.dimensions.items():
        color = LEVEL_COLORS[row.level]
        line = Content(f"{name.capitalize():17}").append(meter([(row.percent / 100, color, "█")], bar))
        line = line.append(f" {row.percent:>3} ")
        lines.append(line.append(Content.styled(f"level {row.level}", color)))
    return lines


def _moments(report: Report, width: int) -> list[Content]:
    seconds = max(1, report.planned_seconds)
    lines = [Content.styled("Costliest", "bold")]
    for question in costliest(report.questions)[:3]:
        if question.lost:
            cost = f"-{question.lost / seconds:.1f}  "
            lines += hanging(Content.styled(f"{cost:>7}", "$error"), _moment(question, width), width)
    good = best(report.questions)
    if good:
        lines += [Content(""), Content.styled("Best", "bold")]
    for question in good:
        gain = f"+{question.asked.planned * question.marks.total / seconds:.1f}  "
        lines += hanging(Content.styled(f"{gain:>7}", "$success"), _moment(question, width), width)
    return lines


def _moment(question: MarkedQuestion, width: int) -> Content:
    asked = question.asked
    name = asked.title
    state = "" if asked.state == "frozen" else f", {STATES[asked.state]}"
    mark = Content.styled(f"  {question.marks.total}{state}", "$text-muted")
    room = max(30, width - 7 - mark.cell_length)
    return phrase(one_line(name)).truncate(room, ellipsis=True).append(mark)


def _time(report: Report, width: int) -> list[Content]:
    lines = [Content.styled("Time", "bold")]
    bar = max(8, min(30, width - 36))
    for phase in report.phases:
        share = phase.used_ms / max(1, 1000 * phase.seconds)
        used = f"{minutes_text(phase.used_ms)} of {minutes_text(1000 * phase.seconds)}"
        color = "$primary" if share <= 1 else "$warning"
        line = Content(f"{phase.title:17}").append(meter([(min(1, share), color, "█")], bar))
        lines.append(line.append(Content.styled(f" {used}", "$text-muted")))
    return lines


def _confidence(report: Report, width: int) -> list[Content]:
    calibration = report.calibration
    if calibration.brier is None or calibration.bias is None:
        return []
    text = (
        f"Confidence: Brier {calibration.brier:.2f}, bias {calibration.bias:+.0f} points "
        f"({confidence_side(calibration.bias)}) over {plural(calibration.items, 'answer')}."
    )
    return Content(text).wrap(width)


def _next(report: Report, width: int) -> list[Content]:
    lines = [Content.styled("Next", "bold")]
    first = plural(len(report.tomorrow), "card")
    lines += Content(f"Reviews: {reviews_line(report)}. First in tomorrow's queue: {first}.").wrap(width)
    return [*lines, *next_steps(report, width)]


INTERVIEW_PARTS = (_result, _dimensions, _moments, _time, _confidence, _next)


class CardScreen(Place):
    """The scorecard of ``report``, which opens the whole report and its arithmetic."""

    place = "mockcard"
    BINDINGS: ClassVar[list[object]] = actions.bindings("mockcard")  # type: ignore[assignment]
    CSS_PATH = "styles/scorecard.tcss"

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report
        self._phase = Phase.READY

    def body(self) -> ComposeResult:
        """The head, then the card."""
        what, date = title_line(self.report), self.report.started[:10]
        yield Static(f"{what.removeprefix('Mock interview: ')}, {date}", id="head", classes="bar title",
                     markup=False)  # fmt: skip
        with VerticalScroll(id="scroll", can_focus=False):
            yield self._card()

    def _card(self) -> ScoreCard:
        parts = INTERVIEW_PARTS if self.report.form.has_total else RUN_PARTS
        return ScoreCard(self.named, parts, id="card")

    @property
    def named(self) -> Report:
        """The report with the names of its topics."""
        return name_topics(self.report, self.quiz.bank.topics)

    def scroller(self) -> Widget:
        """The card."""
        return self.query_one("#scroll")

    def action_report(self) -> None:
        """Show the whole report."""
        from quizapp.interview.report.markdown import as_markdown

        self.quiz.read("Report", as_markdown(self.named))

    def action_explain(self) -> None:
        """Show how the marks were computed."""
        from quizapp.interview.report.explain import explain

        self.quiz.read("Arithmetic", explain(self.named), markdown=False)

    def action_loop(self) -> None:
        """Show the one report of the loop that this round belongs to."""
        from quizapp.interview.report.loop_report import loop_report, rendered_loop

        loop = loop_of(self.quiz.study, self.report)
        if loop is None:
            self.quiz.say("It is not a round of a loop.")
            return
        one = loop_report(loop.id, loop.rounds, loop.reports)
        text = rendered_loop(one, "md", self.quiz.bank.topics)
        self.quiz.read("Loop", f"{next_text(loop)}\n\n{text}")

    def offers(self, act: actions.Act) -> bool:
        """Offer the report of the loop only where there is one."""
        return (act.action != "loop" or bool(self.report.loop)) and super().offers(act)

    def action_export(self) -> None:
        """Write the report as HTML, Markdown and JSON."""
        from quizapp.interview.report.files import write_reports

        folder = paths.home() / "exports"
        try:
            written = write_reports(self.report, folder, self.quiz.bank.topics)
        except OSError as error:
            self.quiz.say(f"{folder} cannot be written: {error.strerror}.", bad=True)
            return
        self.quiz.say(f"Written to {folder}: {', '.join(path.name for path in written)}.")

    def action_step(self, number: int) -> None:
        """Open one of the next steps."""
        steps = self.report.next_steps
        target = target_of(steps[number]) if number < len(steps) else None
        if target is None:
            return
        match target.kind:
            case "card" if target.name in self.quiz.bank.questions:
                self.quiz.go("drill", flt=CardFilter(ids=frozenset({target.name}), extra=EVERYTHING))
            case "exercise" if target.name in self.quiz.bank.exercises:
                self.quiz.go("exercise", slug=target.name)
            case "stages" if target.name in self.quiz.bank.exercises:
                begin_stages(self.quiz, self.quiz.bank.exercises[target.name], restart=False)
            case "review" if target.name in self.quiz.bank.exercises:
                self.quiz.go("review", slug=target.name)
            case "incident":
                self.quiz.go("incident", wanted=target.name or None)
            case "drill":
                self.quiz.go("drill", topic=target.name)
            case "mock":
                kind = LOOP if self.report.loop else self.report.round_name
                self.quiz.go("mock", role=self.report.role, round_name=kind)
            case _:
                self.quiz.say("It is no longer in the bank.")

    def action_undo(self) -> None:
        """Undo the marks and their reviews, unless something else was done since then."""
        if not archive.undo_marks(self.quiz.study, self.report):
            self.quiz.say("These marks are not the last thing you did; undo what came later in the drill.")
            return
        self.quiz.say(f"Undone: the marks and reviews of this {self.report.form.noun}.")
        self.quiz.go_back(self)
