"""The line at the foot of a screen with the actions that are possible now, each clickable."""

from typing import TYPE_CHECKING

from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from quizapp.tui import actions
from quizapp.tui.widgets.meter import meter

if TYPE_CHECKING:
    from quizapp.tui.screens.base import Place


class KeyBar(Widget):
    """Shows the possible actions of its screen; less important ones only if there is room."""

    DEFAULT_CSS = """
    KeyBar {
        height: 1; dock: bottom; background: $panel; color: $text; padding: 0 1;
    }
    """

    auto_links = False  # otherwise Textual would give the clickable parts the color of links

    reading: float | None = None
    """The share of the content that is read, during the first reading only."""

    def render(self) -> Content:
        """The parts that fit, or the progress of the first reading."""
        if self.reading is not None:
            bar = meter([(self.reading, "$primary", "█")], 16)
            return Content("Reading the questions, the first time only  ").append(bar)
        place: Place = self.screen  # type: ignore[assignment]
        shown = [act for act in actions.live(place.place, place.phase) if act.rank and act.label]
        shown = [act for act in shown if act.reachable(place.phase)]
        shown = [act for act in shown if act.place == "app" or not place.waits(act.action)]
        if place.place == "help":
            shown = [act for act in shown if act.place != "app"]
        shown = [act for act in shown if place.offers(act)]
        parts = {act.id: self._part(act, place.key_text(act), place.label_of(act)) for act in shown}
        # Drop the least important action, and the last of equals, until the line fits.
        while shown and sum(parts[act.id].cell_length + 2 for act in shown) - 2 > self.content_size.width:
            shown.remove(min(reversed(shown), key=lambda act: act.rank))
        return Content("  ").join(parts[act.id] for act in shown)

    @staticmethod
    def _part(act: actions.Act, key: str, label: str) -> Content:
        text = f"{key} {label}"
        length = len(text) - len(label) - 1
        part = Content(text).stylize("$primary bold", 0, length)
        return part.stylize(Style.from_meta({"@click": act.call}), 0, len(text))
