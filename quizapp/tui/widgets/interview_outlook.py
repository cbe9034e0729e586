"""How long until the interview, and whether the learner is on track for it."""

from datetime import date
from typing import TYPE_CHECKING

from textual.content import Content

from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.text import link
from quizapp.tui.widgets.lines import Lines
from quizapp.tui.widgets.meter import meter
from quizapp.util.text import percent, plural

if TYPE_CHECKING:
    from quizapp.scheduling.planner.outlook import Outlook


class InterviewOutlook(Lines):
    """Shows the date, the expected recall as a bar, and what would help."""

    def __init__(self) -> None:
        super().__init__()
        self._today: date | None = None
        self._until: date | None = None
        self._outlook: Outlook | None = None

    def show(self, today: date, until: date | None, outlook: "Outlook | None") -> None:
        """Show a date, with an outlook if it is known by now."""
        self._today, self._until, self._outlook = today, until, outlook
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """The date and the outlook, or how to set a date."""
        if self._today is None:
            return [Content.styled("…", "$text-muted")]
        if self._until is None:
            text = "No date is set. With one, you see here whether you are on track."
            return [*_wrapped(text, "$text-muted", width), Content(""), _plan_key("set a date")]
        days = (self._until - self._today).days
        when = f"{self._until:%A}, {self._until.day} {self._until:%B}"
        if days < 0:
            text = f"It was on {when}. A new date brings the plan back."
            return [*_wrapped(text, "$text-muted", width), Content(""), _plan_key("set a date")]
        lines = _wrapped(f"{when}: {days_text(days)}", "bold", width)
        if days == 0:
            return [*lines, *_wrapped("Good luck. Every card that you see today is a bonus.", "", width)]
        return [*lines, *outlook_lines(self._outlook, width), _plan_key("plan")]


def outlook_lines(outlook: "Outlook | None", width: int) -> list[Content]:
    """The expected recall beside what is wanted, and what would help."""
    if outlook is None:
        return _wrapped("Working out whether you are on track…", "$text-muted", width)
    good = outlook.on_track
    style = "$success" if good else "$warning"
    wanted = max(0.0, outlook.target - outlook.recall)
    # The part up to the target stays visible, so that the distance can be seen.
    bar = meter([(outlook.recall, style, "█"), (wanted, "$text-muted", "▒")], min(width, 50))
    verdict = "On track" if good else "Off track"
    text = f"{verdict}: {percent(outlook.recall)} expected, {percent(outlook.target)} wanted."
    lines = [bar, *_wrapped(text, f"bold {style}", width)]
    return [*lines, *_wrapped(outlook.help, "", width)] if outlook.help else lines


def days_text(days: int) -> str:
    """The days until the interview, in words."""
    return {0: "today", 1: "tomorrow"}.get(days, f"in {plural(days, 'day')}")


def _plan_key(label: str) -> Content:
    return link("p ", "screen.plan", "bold $primary").append(link(label, "screen.plan"))


def _wrapped(text: str, style: str, width: int) -> list[Content]:
    return hanging(Content(""), Content.styled(text, style), width)
