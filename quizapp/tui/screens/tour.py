"""A short tour of three pages for new users."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from quizapp.tui import actions
from quizapp.tui.rendering.markdown import document
from quizapp.tui.screens.base import Place
from quizapp.tui.startup import mark_tour_seen

PAGES = (
    """## Drill

Every morning a few questions are due. Say the answer aloud and press `space`, or type it with `t` and press \
`ctrl+r`.

Tick the key points that you said. The program proposes a rating and says why; `enter` takes it, \
`1` to `4` give another. What you know comes back in days and later in weeks, what you missed in minutes.

Numbers are new each time. `u` takes anything back, and every rating is on disk before the next card.
""",
    """## Practise

Each answer leads to an exercise: `e` opens it. Write the module here or in your own editor with `ctrl+o`.

`ctrl+r` runs hidden tests on your code and says which behaviors hold, and what went wrong in the others. \
`ctrl+t` gives a hint. An exercise that you passed comes back too, to be written again from an empty file.
""",
    """## Rehearse

Some evenings, take a timed mock interview with `m` on the home screen. Its report says where marks were \
lost, and what was weak comes up in the next drills.

Three keys work everywhere: `?` shows what can be done here, `ctrl+p` finds any action by its name, \
and `escape` goes back.
""",
)


class TourScreen(Place):
    """Shown once to a new user; later available from the home screen and the palette."""

    place = "tour"
    needs_data = False
    BINDINGS: ClassVar[list[object]] = actions.bindings("tour")  # type: ignore[assignment]
    CSS_PATH = "tour.tcss"

    def __init__(self) -> None:
        super().__init__()
        self._page = 0

    def body(self) -> ComposeResult:
        """One page at a time."""
        yield Static("", id="head", classes="bar", markup=False)
        with VerticalScroll(id="scroll", can_focus=False):
            yield Static("", id="page", markup=False)

    def on_mount(self) -> None:
        """Show the first page."""
        self._show()

    def _show(self) -> None:
        self.query_one("#page", Static).update(document(PAGES[self._page]))
        dots = "".join("● " if index <= self._page else "○ " for index in range(len(PAGES)))
        head = Content.styled("quizapp", "bold $primary").append(Content.styled(f"   {dots}", "$accent"))
        self.query_one("#head", Static).update(head)

    def scroller(self) -> Widget:
        """The page."""
        return self.query_one("#scroll")

    def action_page(self, direction: int) -> None:
        """Go to another page; after the last one, end the tour."""
        if self._page + direction >= len(PAGES):
            self.action_skip()
            return
        self._page = max(0, self._page + direction)
        self._show()

    def action_skip(self) -> None:
        """End the tour and remember that it was seen."""
        mark_tour_seen()
        self.quiz.go_back(self)
