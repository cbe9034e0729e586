"""The field of a numeric question."""

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, Label

from quizapp.bank.units import not_a_number, parse_number
from quizapp.tui.rendering.text import plain
from quizapp.util.text import number_text

_SHOWN_S = 4


class NumberField(Vertical):
    """A field for a number, with the unit and a line that says how the number is understood."""

    DEFAULT_CSS = """
    NumberField { height: auto; }
    NumberField Horizontal { height: 3; }
    NumberField Input { width: 32; }
    NumberField #unit { padding: 1 1; }
    NumberField #understood { width: 100%; }
        """

    _unit = ""

    class Given(Message):
        """Enter was pressed in the field, and what it holds is a number or nothing."""

    def compose(self) -> ComposeResult:
        """The field, the unit, and how the number is understood."""
        with Horizontal():
            yield Input(placeholder="your number; enter checks")
            yield Label("", id="unit", markup=False)
        yield Label("", id="understood", classes="muted", markup=False)

    def show(self, unit: str) -> None:
        """Empty the field for a question with this unit."""
        self._unit = unit
        field = self.query_one(Input)
        field.value = ""
        self.query_one("#unit", Label).update(plain(unit))
        self._show_reading("")

    def _show_reading(self, typed: str) -> None:
        unit = self._unit
        number = parse_number(typed, unit)
        if not typed.strip():
            others = f"; other units are converted, as in 12 {_sibling(unit)}" if _sibling(unit) else ""
            text = f"1234, 1.2e3, 1/3, 2**10 and 6*7e9 are understood{others}"
        elif number is None:
            text = not_a_number(unit)
        else:
            text = f"understood as {number_text(number)} {unit}"
        self.query_one("#understood", Label).update(plain(text))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show how the number is understood before it is checked."""
        self._show_reading(event.value)

    @property
    def text(self) -> str:
        """The typed text."""
        return self.query_one(Input).value

    @property
    def understood(self) -> bool:
        """Whether the typed text is a number that can be converted to the unit."""
        return parse_number(self.text, self._unit) is not None

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Report that enter was pressed, except after a typing error."""
        event.stop()
        if self.text.strip() and not self.understood:
            message = "Correct the number, or press ctrl+r to go on with it as it is."
            self.notify(message, timeout=_SHOWN_S, markup=False)
        else:
            self.post_message(self.Given())


def _sibling(unit: str) -> str:
    near = {"GB": "GiB", "GiB": "GB", "MB": "MiB", "MiB": "MB", "TB": "TiB", "s": "ms", "ms": "s", "h": "min"}
    return near.get(unit, "")
