"""A cloze question: its text, and one field for all gaps."""

import re
from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Label

from quizapp.bank.answers import GAP
from quizapp.tui.rendering.text import plain
from quizapp.tui.widgets.lines import Lines
from quizapp.util.sanitize import escape_controls


class ClozeText(Lines):
    """The text with the typed words in its gaps."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.answers: list[str] = []
        self.marks: tuple[bool, ...] | None = None
        self.active = -1

    def lines(self, width: int) -> list[Content]:
        """The text wrapped, each gap numbered, filled, and marked once revealed."""
        pieces: list[Content] = []
        end = 0
        for index, match in enumerate(GAP.finditer(self.text)):
            pieces += [plain(re.sub(r"\s+", " ", self.text[end : match.start()])), self._gap(index, match[1])]
            end = match.end()
        pieces.append(plain(re.sub(r"\s+", " ", self.text[end:].rstrip())))
        return Content("").join(pieces).wrap(width)

    def _gap(self, index: int, accepted: str) -> Content:
        given = escape_controls(self.answers[index]) if index < len(self.answers) else ""
        if self.marks is None:
            shown = given or "____"
            # No space inside the brackets, because a narrow screen would break the gap there.
            return Content.styled(
                f"[{index + 1}:{shown}]", "$primary bold" + (" underline" * (index == self.active))
            )
        right = escape_controls(accepted.split("|", maxsplit=1)[0].strip())
        if index < len(self.marks) and self.marks[index]:
            return Content.styled(f"[{given}]", "$success bold")
        wrong = Content.styled(f"[{given or '–'}]", "$error strike")
        return wrong.append(Content.styled(f" [{right}]", "$success bold"))


class GapInput(Input):
    """One field for all gaps; tab and the arrows move between gaps."""

    class Go(Message):
        """The user asks for another gap, ``step`` gaps further on."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    async def _on_key(self, event: events.Key) -> None:
        """Let tab and the arrows choose the gap; pass other keys to the field."""
        step = {"tab": 1, "down": 1, "shift+tab": -1, "up": -1}.get(event.key)
        if step is None:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        self.post_message(self.Go(step))


class Cloze(Vertical):
    """The text and one field; what is typed appears in the gap."""

    DEFAULT_CSS = """
    Cloze { height: auto; }
    Cloze Horizontal { height: 1; margin-top: 1; }
    Cloze Label { width: 8; color: $primary; text-style: bold; }
    Cloze Input { width: 48; background: $surface; padding: 0 1; }
    Cloze Input:focus { background: $panel; }
    """

    class Given(Message):
        """Enter was pressed in the last gap."""

    count = 0

    def compose(self) -> ComposeResult:
        """The text, then the field with the number of its gap."""
        yield ClozeText()
        with Horizontal():
            yield Label("", markup=False)
            yield GapInput(compact=True)

    def show(self, text: str, gaps: int) -> None:
        """Show a text with ``gaps`` empty gaps, and begin at the first."""
        self.count = gaps
        shown = self.query_one(ClozeText)
        shown.text, shown.answers, shown.marks, shown.active = text, [""] * gaps, None, 0
        self.query_one(Horizontal).display = True
        self._go(0)

    def fill(self, answers: Sequence[str]) -> None:
        """Put answers into the gaps, as if they had been typed."""
        self.query_one(ClozeText).answers = [*answers, *[""] * self.count][: self.count]
        self._go(0)

    def _go(self, gap: int) -> None:
        shown = self.query_one(ClozeText)
        shown.active = gap
        field = self.query_one(GapInput)
        with self.prevent(Input.Changed):
            field.value = shown.answers[gap]
        field.cursor_position = len(field.value)
        self.query_one(Label).update(f"{gap + 1} of {self.count}")
        last = gap + 1 == self.count
        field.placeholder = "type here; enter checks" if last else "type here; enter goes to the next gap"
        shown.changed()

    @property
    def answers(self) -> list[str]:
        """The typed words, gap by gap."""
        return self.query_one(ClozeText).answers

    def settle(self, marks: Sequence[bool]) -> None:
        """Show which gaps are right, and hide the field."""
        shown = self.query_one(ClozeText)
        shown.marks = tuple(marks)
        self.query_one(Horizontal).display = False
        shown.changed()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the words in the text as they are typed."""
        event.stop()
        shown = self.query_one(ClozeText)
        if shown.marks is None:
            shown.answers[shown.active] = event.value
            shown.changed()

    def on_gap_input_go(self, event: GapInput.Go) -> None:
        """Go to another gap."""
        event.stop()
        shown = self.query_one(ClozeText)
        self._go(max(0, min(self.count - 1, shown.active + event.step)))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next gap; in the last gap, check the answer."""
        event.stop()
        shown = self.query_one(ClozeText)
        if shown.active + 1 < self.count:
            self._go(shown.active + 1)
        else:
            self.post_message(self.Given())
