"""The head of a running interview: the time left, the time of the current question, and the phases."""

from textual.content import Content
from textual.widget import Widget

from quizapp.interview.blueprint import CUT_SHARE
from quizapp.interview.session.flow import PhaseTime
from quizapp.interview.session.session import InterviewSession
from quizapp.tui.widgets.meter import meter
from quizapp.util.text import clock

ANNOUNCED_FROM = 0.9
"""From this share of the budget on, the time to the cut is shown: from the second warning on."""


class ClockBar(Widget):
    """Two lines that show the state of a session."""

    DEFAULT_CSS = "ClockBar { height: 2; dock: top; padding: 0 1; background: $panel; color: $text; }"

    def __init__(self) -> None:
        super().__init__()
        self.session: InterviewSession | None = None
        self.note = ""
        self._drawn: tuple[object, ...] = ()

    def keep_up(self) -> None:
        """Draw the bar again if it would look different, which is about once a second, not at every tick."""
        content = self.render()
        looks = (content.plain, content.spans)
        if looks != self._drawn:
            self._drawn = looks
            self.refresh()

    def render(self) -> Content:
        """The clocks above, the phases below."""
        session, width = self.session, self.content_size.width
        if session is None:
            return Content("")
        left = session.left_ms / 1000
        style = "bold $error" if left < 60 else "bold $warning" if left < 300 else "bold $primary"
        head = Content.styled(f"{clock(left)} left", style)
        part = self._item(session, width)
        middle = Content.styled(f"  {session.now.title}", "bold").append(self._count(session))
        gap = max(1, width - head.cell_length - middle.cell_length - part.cell_length)
        first = head.append(middle).append(" " * gap).append(part).truncate(width)
        return Content("\n").join([first, self._phases(session, width)])

    @staticmethod
    def _count(session: InterviewSession) -> Content:
        items = session.in_phase()
        item = session.item
        if not items or item is None:
            return Content("")
        return Content.styled(f" {items.index(item) + 1}/{len(items)}", "$text-muted")

    def _item(self, session: InterviewSession, width: int) -> Content:
        """The time that the current question has used."""
        item = session.item
        if item is None:
            return Content.styled(self.note, "$text-muted")
        follow_up = item.open_follow_up
        timed = follow_up or item
        used, budget = timed.used_ms / 1000, timed.budget
        share = used / budget if budget else 1.0
        color = "$success" if share < 0.9 else "$warning" if share <= 1 else "$error"
        name = "follow-up " if follow_up else ""
        text = Content.styled(f"{name}{clock(used)} of {clock(budget)} ", color)
        if share >= ANNOUNCED_FROM:
            left = min(CUT_SHARE * budget - used, session.left_ms / 1000)
            text = Content.styled(f"cut in {clock(max(0.0, left))}  ", "bold $error").append(text)
        return text.append(meter([(min(1.0, share), color, "█")], 12 if width >= 76 else 6))

    def _phases(self, session: InterviewSession, width: int) -> Content:
        """One segment per phase, as wide as its share of the interview."""
        total = sum(phase.seconds for phase in session.phases)
        pieces: list[Content] = []
        room = width - (len(session.phases) - 1)
        used = 0
        for index, phase in enumerate(session.phases):
            last = index == len(session.phases) - 1
            cells = max(1, room - used) if last else max(2, round(room * phase.seconds / total))
            cells = min(cells, max(1, room - used))
            used += cells
            pieces.append(self._phase(phase, cells, now=index == session.phase))
        return Content(" ").join(pieces).truncate(width)

    @staticmethod
    def _phase(phase: PhaseTime, cells: int, *, now: bool) -> Content:
        share = min(1.0, phase.used_ms / (1000 * phase.seconds)) if phase.seconds else 1.0
        full = min(cells, round(share * cells))
        fitting = (name for name in (phase.title, phase.title.split("-")[0]) if len(name) <= cells)
        label = next(fitting, phase.title[:cells] if cells > 4 else "").ljust(cells)
        done, rest = ("bold reverse $primary", "underline $primary") if now else (
            "reverse $text-muted", "underline $text-muted")  # fmt: skip
        return Content.styled(label[:full], done).append(Content.styled(label[full:], rest))
