"""The diagnosis of an incident: cause, place, rejected cause with its evidence, and the state to save."""

from typing import Any

from textual.content import Content

from quizapp.incidents.diagnosis import IncidentSnapshot, StatedDiagnosis, text_of
from quizapp.incidents.live.live_work import LiveWork
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.text import plain
from quizapp.tui.widgets.row_list import RowList

HEADS = {
    "cause": "Cause",
    "place": "Place",
    "decoy": "Rejected",
    "reading": "…by reading",
}
COMMAND = "Reproduce"
_LABEL = 12


class DiagnosisForm(RowList):
    """Four choices, then the states to tick, with one cursor for all lines."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.asked: IncidentSnapshot | None = None
        self.stated = StatedDiagnosis()
        self.live: LiveWork | None = None

    def show(self, asked: IncidentSnapshot, stated: StatedDiagnosis, live: LiveWork | None = None) -> None:
        """Show the incident's form with the diagnosis stated so far, and with a command if it is ``live``."""
        self.live = live
        self.asked, self.stated = asked, stated
        self.keep_cursor()
        self.changed()

    @property
    def rows(self) -> list[tuple[str, str]]:
        """(field, id) of every line; only the lines of states have an id."""
        states = [("states", row.id) for row in self.asked.states] if self.asked else []
        command = [("command", "")] if self.live is not None else []
        return [*((field, "") for field in HEADS), *command, *states]

    @property
    def here(self) -> tuple[str, str]:
        """The line under the cursor."""
        return self.rows[self.cursor]

    def count(self) -> int:
        """How many lines there are."""
        return len(self.rows)

    def row(self, place: int, width: int) -> list[Content]:
        """A field with what was chosen, or a state to tick."""
        field, name = self.rows[place]
        here = place == self.cursor
        first = Content.styled("▸ " if here else "  ", "$primary bold")
        if field == "states":
            return self._state(name, first, width, here=here)
        name = COMMAND if field == "command" else HEADS[field]
        label = first.append(Content.styled(f"{name:{_LABEL}}", "$text-muted"))
        text = self._chosen_text(field)
        body = (
            plain(text, "bold")
            if text
            else Content.styled("not chosen", "$warning" if here else "$text-muted")
        )
        return hanging(label, body, width)

    def _chosen_text(self, field: str) -> str:
        assert self.asked is not None
        if field == "command":
            return self.live.command.text if self.live and self.live.command else ""
        if field == "reading":
            return text_of(self.asked.readings, self.stated.reading)
        if field == "place":
            return text_of(self.asked.places, self.stated.place)
        return text_of(self.asked.causes, self.stated.decoy if field == "decoy" else self.stated.cause)

    def heading(self, place: int, width: int) -> list[Content]:
        """The purpose of the states, above the first of them."""
        del width
        if self.rows[place][0] != "states" or self.rows[place - 1][0] == "states":
            return []
        return [Content(""), Content.styled("  A replay must restore", "$text-muted")]

    def _state(self, name: str, first: Content, width: int, *, here: bool) -> list[Content]:
        assert self.asked is not None
        ticked = name in self.stated.states
        box = Content.styled("[x] ", "$success bold") if ticked else Content("[ ] ")
        text = plain(text_of(self.asked.states, name), "bold" if here else "")
        return hanging(first.append(box), text, width)
