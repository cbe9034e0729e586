"""The bases of all screens: their actions come from the table, and a key bar is at their foot."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from textual import events
from textual.actions import parse
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from quizapp.tui import actions
from quizapp.tui.actions import Phase
from quizapp.tui.widgets.key_bar import KeyBar

if TYPE_CHECKING:
    from quizapp.tui.app import QuizApp
    from quizapp.tui.widgets.table import Table

WITHOUT_DATA = frozenset({"back", "leave_field"})
"""The actions that work before the data is open."""

Result = TypeVar("Result")
Row = TypeVar("Row")


class QuizScreen(Screen[Result]):
    """A screen whose actions, with their phases, come from the table of `quizapp.tui.actions`.

    A burst of keys may close a screen before it is drawn. It then has no widgets to fill, so it ignores the
    events that would fill them and the callbacks that were to run after drawing.
    """

    place: ClassVar[str] = ""
    needs_data: ClassVar[bool] = False
    AUTO_FOCUS = ""
    _phase: Phase | None = None

    @property
    def quiz(self) -> "QuizApp":
        """The app, with its own type."""
        return cast("QuizApp", self.app)

    async def on_event(self, event: events.Event) -> None:
        """Ignore events that would fill a screen that is already closed."""
        if not (isinstance(event, events.Mount | events.Resize | events.ScreenResume) and self._pruning):
            await super().on_event(event)

    def on_screen_suspend(self) -> None:
        """Leave the notices to the dialog on top, which shows them again; this screen stays in sight."""
        for rack in self.query("ToastRack"):
            rack.display = False

    def call_after_refresh(self, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
        """Like Textual's method, but do nothing if the screen is closed by then."""

        def unless_closed() -> object:
            return None if self._pruning else callback(*args, **kwargs)

        return super().call_after_refresh(unless_closed)

    @property
    def stands(self) -> bool:
        """Whether the screen is mounted and not closing; a burst of keys may find it in either state."""
        return self.is_mounted and self.is_attached and not (self._closing or self._pruning)

    # phases and actions

    @property
    def phase(self) -> Phase | None:
        """The current phase of the place, None without a place; a focused field counts as typing."""
        if not self.place:
            return None
        # Asking the widget instead of testing its type spares the first frame the import of every field.
        typing = self.focused is not None and self.focused.check_consume_key("a", "a")
        if typing and Phase.TYPING in actions.phases(self.place):
            return Phase.TYPING
        return self._phase or actions.phases(self.place)[0]

    def enter_phase(self, phase: Phase) -> None:
        """Enter a phase, and update the keys and the key bar."""
        self._phase = phase
        self.refresh_keys()

    def refresh_keys(self) -> None:
        """Redraw the key bar after the phase or the focus changed."""
        for bar in self.query(KeyBar):
            bar.refresh()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow an action only in its phases, and only while this screen is on top.

        Several actions may have one name and different parameters; each has its own phases.
        """
        name = action.partition("(")[0]
        if not (self.stands and self.is_active) or self.waits(name):
            return False
        acts = [(act, parse(act.action)) for act in actions.of_place(self.place)]
        named = [(act, parsed[2]) for act, parsed in acts if parsed[1] == name]
        exact = [act for act, values in named if values == parameters]
        return not named or any(act.alive(self.phase) for act in exact or [act for act, _ in named])

    def waits(self, action: str) -> bool:
        """Whether an action of this place must wait for the data, which opens after the first frame."""
        return self.needs_data and not self.quiz.ready and action.partition("(")[0] not in WITHOUT_DATA

    def offers(self, act: "actions.Act") -> bool:
        """Whether an action has something to act on now, such as an option; the key bar omits the others."""
        return not act.action.startswith("pick(") or int(act.action[5:-1]) < self.options

    @property
    def options(self) -> int:
        """How many options the question on the screen has, each with a digit as its key."""
        return 0

    def key_text(self, act: "actions.Act") -> str:
        """How the key bar writes the key of an action; one entry stands for the digits of all options."""
        if act.action == "pick(0)" and self.options > 1 and act.key_list() == ("1",):
            return f"1-{self.options}"
        return actions.display(act.key_for(self.phase))

    def label_of(self, act: "actions.Act") -> str:
        """What the key bar calls an action."""
        return act.label

    def on_descendant_focus(self) -> None:
        """A field took the focus."""
        self.refresh_keys()

    def on_descendant_blur(self) -> None:
        """A field lost the focus."""
        self.refresh_keys()

    # moving

    def scroller(self) -> Widget | None:
        """The widget that up, down and page scroll."""
        return None

    def move(self, step: int) -> None:
        """Scroll a line up (-1) or down (1); a screen with a cursor moves the cursor instead."""
        if (widget := self.scroller()) is not None:
            widget.scroll_relative(y=step, animate=False)

    def action_up(self) -> None:
        """Move up."""
        self.move(-1)

    def action_down(self) -> None:
        """Move down."""
        self.move(1)

    def action_page(self, direction: int) -> None:
        """Scroll a page, keeping one line for orientation."""
        if (widget := self.scroller()) is not None:
            widget.scroll_relative(y=direction * max(1, widget.size.height - 1), animate=False)


class Place(QuizScreen[None]):
    """A full screen of the app. One that shows no data sets ``needs_data`` to False and works at once."""

    needs_data = True

    def compose(self) -> ComposeResult:
        """The body, then the key bar."""
        yield from self.body()
        yield KeyBar()

    def body(self) -> ComposeResult:
        """The widgets between the top and the key bar."""
        yield from ()

    def action_back(self) -> None:
        """Return to the screen before, or to home where this one was the first."""
        self.quiz.go_back(self)


class TablePlace(Place, Generic[Row]):
    """A place with a table ``#table``, whose cursor the keys move."""

    @property
    def table(self) -> "Table[Row]":
        """The table."""
        return cast("Table[Row]", self.query_one("#table"))

    def move(self, step: int) -> None:
        """Move to the next row."""
        self.table.move(step)

    def action_page(self, direction: int) -> None:
        """Move a page up or down."""
        self.table.move_page(direction)


class Dialog(ModalScreen[None], QuizScreen[None]):
    """A dialog over a screen, with actions from the table and its text in a scroll."""

    # `ModalScreen` comes first because Textual takes style sheets from the first base class only.

    def scroller(self) -> VerticalScroll:
        """The text."""
        return self.query_one(VerticalScroll)

    def action_close(self) -> None:
        """Close the dialog."""
        self.dismiss()


def place_and_phase(screen: Screen[Any]) -> tuple[str, Phase | None]:
    """The place of any screen and its phase; the app's own for a screen that is not in the table."""
    if isinstance(screen, QuizScreen) and screen.place:
        return screen.place, screen.phase
    return "app", None
