"""Draws a plan: the expected recall beside the target, the cards of each day, and what today brings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from quizapp.tui.rendering.layout import hanging
from quizapp.tui.widgets.meter import REST
from quizapp.util.text import plural

if TYPE_CHECKING:
    from quizapp.bank.model import Bank
    from quizapp.scheduling.planner.plan import PlannedDay, StudyPlan

_REVIEWS, _NEW = ("█", "$success"), ("▒", "$primary")
_HEIGHT = 6
_WIDEST = 4  # cells of a day


def recall_bar(plan: "StudyPlan", width: int) -> list[Content]:
    """A bar from 0 to 100 %: what is expected, the range that holds it in 8 of 10 cases, and the target."""
    target = min(width - 1, round(plan.target * width))
    good = plan.recall >= plan.target
    cells = []
    for cell in range(width):
        share = (cell + 0.5) / width
        if cell == target:
            cells.append(Content.styled("┃", "bold $accent"))
        elif share <= plan.high:
            cells.append(
                Content.styled("█" if share <= plan.low else "▓", "$success" if good else "$warning")
            )
        else:
            cells.append(Content.styled("░", REST))
    mark = "target"
    place = max(0, min(width - len(mark), target - len(mark) // 2))
    return [Content("").join(cells), Content.styled(" " * place + mark, "$text-muted")]


def day_chart(days: "Sequence[PlannedDay]", width: int) -> list[Content]:
    """The cards of each day as bars, reviews below new cards; many days share a column."""
    per_column = -(-len(days) // width)
    groups = [days[start : start + per_column] for start in range(0, len(days), per_column)]
    cell = max(1, min(_WIDEST, width // len(groups)))
    bars = [
        tuple(sum(getattr(day.done, what) for day in group) / len(group) for what in ("reviews", "new"))
        for group in groups
    ]
    most = max(1.0, *(reviews + new for reviews, new in bars))
    lines = []
    for row in range(_HEIGHT, 0, -1):
        line = Content("")
        for reviews, new in bars:
            mark, style = _cell_at((row - 0.5) / _HEIGHT * most, reviews, new)
            line = line.append(Content.styled(mark * (cell - (cell > 1)) + " " * (cell > 1), style))
        lines.append(line)
    first, last = (f"{day.calendar_day.date.day} {day.calendar_day.date:%b}" for day in (days[0], days[-1]))
    gap = max(1, cell * len(groups) - len(first) - len(last))
    lines.append(Content.styled(f"{first}{' ' * gap}{last}" if len(days) > 1 else first, "$text-muted"))
    legend = Content.assemble(_REVIEWS, (" reviews   ", "$text-muted"), _NEW, (" new cards", "$text-muted"))
    return [*lines, legend.append(Content.styled(f"   at most {round(most)} a day", "$text-muted"))]


def _cell_at(height: float, reviews: float, new: float) -> tuple[str, str]:
    """The mark of a column at a height, counted in cards."""
    if height <= reviews:
        return _REVIEWS
    return _NEW if height <= reviews + new else (" ", "")


def today_lines(plan: "StudyPlan", bank: "Bank", width: int) -> list[Content]:
    """What the plan brings today, in a sentence or two."""
    day = plan.days[0]
    parts = [plural(day.done.reviews, "review"), plural(day.done.new, "new card")]
    if day.calendar_day.rehearsal:
        what = {"mock": "a mock interview", "incident": "a broken run"}[day.calendar_day.rehearsal]
        parts.append(f"{what} of {day.calendar_day.rehearsal_minutes} minutes")
    for slug in dict.fromkeys(slug for slug, _, _ in day.done.code):
        title = bank.exercises[slug].title if slug in bank.exercises else slug
        seconds = sum(seconds for name, seconds, _ in day.done.code if name == slug)
        parts.append(f"{max(1, round(seconds / 60))} minutes of “{title}”")
    text = f"{plural(day.minutes, 'minute')}: {', '.join(parts)}."
    if day.done.topics:
        topics = sorted(day.done.topics, key=lambda topic: -day.done.topics[topic])[:3]
        names = [bank.topics[topic].name if topic in bank.topics else topic for topic in topics]
        text += f" New cards mostly from {', '.join(names)}."
    return hanging(Content(""), Content(text), width)
