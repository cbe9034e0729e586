"""The end of a drill: its summary, why no card follows, and the ways to go on, each with its key."""

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from quizapp.scheduling.views import CardFilter, DayRest
from quizapp.tui.rendering.markdown import Document
from quizapp.tui.screens.drill.session_summary import MORE, DrillSession

if TYPE_CHECKING:
    from quizapp.scheduling.service import Study


class DrillEnd(VerticalScroll):
    """Shown in place of a card where nothing is left."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__(id="end")
        self._rest: DayRest | None = None
        self._left = 0

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static("", id="summary", markup=False)

    def show(self, study: "Study", session: DrillSession, flt: CardFilter, clock: float, over: bool) -> None:
        """Say how the drill went, why it is over, and how to go on.

        ``over`` tells that the limit of the session ended it, whatever the day still has.
        """
        self._left = study.counts(flt).total if over else 0
        self._rest = study.queue.rest(flt)
        text = session.end_text(study, clock, self._rest, flt, left=self._left)
        self.query_one("#summary", Static).update(Document(text))

    def offers(self, way: str) -> bool:
        """Whether a way to go on leads to any card."""
        rest = self._rest or DayRest(0, 0, 0, (), 0, 0)
        ways = {"more": self._left or rest.reviews or rest.new, "ahead": rest.ahead, "related": rest.apart}
        return bool(ways.get(way, True))

    def wider(self, study: "Study", flt: CardFilter, way: str) -> CardFilter:
        """The selection with the cards that a way brings; the same one if it brings none."""
        if not self.offers(way) or (way == "more" and self._left):
            return flt
        if way == "more":
            return study.queue.with_more(flt, MORE)
        return study.queue.with_later(flt) if way == "ahead" else study.queue.with_related(flt)
