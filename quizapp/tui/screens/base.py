"""What all screens share: their actions come from the table, their foot is the key bar."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from quizapp.tui import actions
from quizapp.tui.widgets.key_bar import KeyBar

if TYPE_CHECKING:
    from quizapp.tui.app import QuizApp


WITHOUT_DATA = frozenset({"back", "leave_field"})
"""What a screen can do before the data is open."""


class Fleeting:
    """A screen that a burst of keys may close before it is drawn; then it has no parts to fill."""

    async def on_event(self, event: events.Event) -> None:
        """Leave out what would fill a screen that is closed already."""
        fills = isinstance(event, events.Mount | events.Resize | events.ScreenResume)
        if not (fills and cast("Screen[None]", self)._pruning):
            await super().on_event(event)  # type: ignore[misc]

    def call_after_refresh(self, callback: Callable[..., object], *args: Any, **kwargs: Any) -> bool:
        """As Textual's, unless the screen is closed by then."""

        def unless_closed() -> object:
            return None if cast("Screen[None]", self)._pruning else callback(*args, **kwargs)

        asked: bool = super().call_after_refresh(unless_closed)  # type: ignore[misc]
        return asked


class _Placed(Fleeting):
    """The part that full screens and dialogs share."""

    place: ClassVar[str] = ""
    needs_data: ClassVar[bool] = False
    _phase = ""

    @property
    def quiz(self) -> "QuizApp":
        """The app, with its own type."""
        return cast("QuizApp", cast("Screen[None]", self).app)

    @property
    def phase(self) -> str:
        """Which of the place's phases holds now; a focused field counts as typing."""
        screen = cast("Screen[None]", self)
        focused = screen.focused
        # asked of the widget, so that the first frame need not import every kind of field
        typing = focused is not None and focused.check_consume_key("a", "a")
        if typing and actions.TYPING in actions.phases(self.place):
            return actions.TYPING
        return self._phase or actions.phases(self.place)[0]

    def enter_phase(self, phase: str) -> None:
        """Go to a phase: keys and the key bar follow."""
        self._phase = phase
        self.refresh_keys()

    def refresh_keys(self) -> None:
        """Redraw the key bar after the phase or the focus changed."""
        for bar in cast("Screen[None]", self).query(KeyBar):
            bar.refresh()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let an action run only in the phases that the table gives it, and not below another screen."""
        del parameters
        name = action.partition("(")[0]
        if not (self.stands and cast("Screen[None]", self).is_active) or self.waits(name):
            return False
        known = [act for act in actions.of_place(self.place) if act.action.partition("(")[0] == name]
        if not known:
            return True
        return any(act.alive(self.phase) for act in known)

    @property
    def stands(self) -> bool:
        """Whether the screen is drawn and not on its way out: keys that come in a burst find both."""
        screen = cast("Screen[None]", self)
        return screen.is_mounted and screen.is_attached and not (screen._closing or screen._pruning)

    def waits(self, action: str) -> bool:
        """Whether an action of this place must wait for the data, which opens after the first frame."""
        return self.needs_data and not self.quiz.ready and action.partition("(")[0] not in WITHOUT_DATA

    def offers(self, act: "actions.Act") -> bool:
        """Whether an action has something to act on now; the key bar leaves the others out."""
        del act
        return True

    def scroller(self) -> Widget | None:
        """The widget that up, down and page scroll."""
        return None

    def move(self, step: int) -> None:
        """One up (-1) or down (1): scroll, or what a screen with a cursor does instead."""
        if (widget := self.scroller()) is not None:
            (widget.scroll_up if step < 0 else widget.scroll_down)(animate=False)

    def action_up(self) -> None:
        """One up."""
        self.move(-1)

    def action_down(self) -> None:
        """One down."""
        self.move(1)

    def on_descendant_focus(self) -> None:
        """A field took the focus."""
        self.refresh_keys()

    def on_descendant_blur(self) -> None:
        """A field lost the focus."""
        self.refresh_keys()


class Place(_Placed, Screen[None]):
    """A full screen of the app. Those that show no data say so and act at once."""

    needs_data = True
    AUTO_FOCUS = ""

    def compose(self) -> ComposeResult:
        """The body, then the key bar."""
        yield from self.body()
        yield KeyBar()

    def body(self) -> ComposeResult:
        """The widgets between the top and the key bar."""
        yield from ()

    def action_page(self, direction: int) -> None:
        """Scroll a page."""
        if (widget := self.scroller()) is not None:
            widget.scroll_relative(y=direction * max(1, widget.size.height - 2), animate=False)

    def action_back(self) -> None:
        """Return to the screen before, or to home where this one was the first."""
        self.quiz.go_back(self)


class Dialog(_Placed, ModalScreen[None]):
    """A dialog over a screen, with actions from the table and its text in a scroll."""

    AUTO_FOCUS = ""

    def scroller(self) -> VerticalScroll:
        """The text."""
        return self.query_one(VerticalScroll)

    def action_close(self) -> None:
        """Close the dialog."""
        self.dismiss()
