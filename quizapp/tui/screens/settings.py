"""Settings: a list made from the schema; each change is written to the commented file at once."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Label, Static

from quizapp import paths
from quizapp.errors import QuizError
from quizapp.settings.file import (
    Value,
    begin_file,
    next_choice,
    on_screen,
    shown_value,
    typed_value,
)
from quizapp.settings.model import DEFAULTS, Setting, Settings, load_settings
from quizapp.tui import actions
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.text import plain
from quizapp.tui.screens.base import Place
from quizapp.tui.widgets.row_list import RowList

_TITLE = 26
SHOWN = on_screen()


class SettingsList(RowList):
    """All settings with their values; the one under the cursor explains itself."""

    def __init__(self) -> None:
        super().__init__()
        self.settings = Settings()

    def count(self) -> int:
        """How many settings there are."""
        return len(SHOWN)

    def heading(self, place: int, width: int) -> list[Content]:
        """The name of a group, above its first setting."""
        del width
        group = SHOWN[place].group
        if place and SHOWN[place - 1].group == group:
            return []
        return [*([Content("")] if place else []), Content.styled(group, "bold $primary")]

    def row(self, place: int, width: int) -> list[Content]:
        """A setting; under the cursor also its help."""
        setting = SHOWN[place]
        here = place == self.cursor
        value = getattr(self.settings, setting.key)
        default = value == getattr(DEFAULTS, setting.key)
        title = Content.assemble(
            ("▸ " if here else "  ", "$primary bold"),
            (f"{setting.title:<{_TITLE}}", "bold" if here else ""),
        )
        shown = plain(shown_value(setting, value), "$text-muted" if default else "bold $accent")
        if here and setting.choices:
            shown = Content.assemble(("‹ ", "$primary"), shown, (" ›", "$primary"))
        lines = hanging(title, shown, width)
        if here:
            lines += hanging(Content("    "), Content.styled(setting.help, "$text-muted"), width)
        return lines

    def footer(self, width: int) -> list[Content]:
        """Who else reads typed answers, which is changed in the file only."""
        voice = self.settings.voice
        title = Content.styled(f"  {'Second voice':<{_TITLE}}", "$text-muted")
        shown = f"{voice.model} at {voice.host}" if voice.endpoint else "off"
        value = plain(shown, "bold $accent" if voice.endpoint else "$text-muted")
        how = Content.styled("  (o: [voice])", "$text-muted")
        return [Content(""), *hanging(title, value.append(how), width)]


class SettingsScreen(Place):
    """Change how the program behaves."""

    place = "settings"
    BINDINGS: ClassVar[list[object]] = actions.bindings("settings")  # type: ignore[assignment]
    CSS_PATH = "styles/settings.tcss"

    def body(self) -> ComposeResult:
        """A head line, a field for typed values, the list."""
        yield Static("", id="head", classes="bar", markup=False)
        with Horizontal(id="entry"):
            yield Label("", id="name", markup=False)
            yield Input(id="value", compact=True)
        with VerticalScroll(id="scroll", can_focus=False):
            yield SettingsList()

    def on_mount(self) -> None:
        """Show the settings in force."""
        head = Content.styled("Settings", "bold $primary")
        head = head.append(Content.styled(f"  {paths.config()}", "$text-muted"))
        self.query_one("#head", Static).update(head)
        self.query_one("#entry").display = False
        self.watch(self.app, "theme", self._retheme, init=False)
        if self.quiz.ready:
            self.opened()

    def _retheme(self) -> None:
        """Show the new theme after a key of the app changed it."""
        if self.quiz.ready:
            self.opened()

    def opened(self) -> None:
        """Show the settings in force."""
        self._list.settings = self.quiz.study.settings
        self._list.changed()

    @property
    def _list(self) -> SettingsList:
        return self.query_one(SettingsList)

    @property
    def _chosen(self) -> Setting:
        return SHOWN[self._list.cursor]

    def move(self, step: int) -> None:
        """Move to the next setting."""
        self._list.move(step)
        scroll = self.query_one("#scroll")
        if self._list.cursor == self._list.count() - 1:
            scroll.scroll_end(animate=False)  # with what stands below the last setting
        else:
            self._list.keep_cursor_in_view(scroll)

    def on_row_list_picked(self, event: RowList.Picked) -> None:
        """Go to the clicked setting, or change its value if the cursor is there already."""
        if event.place == self._list.cursor:
            self.action_change(1)
        else:
            self._list.move(event.place - self._list.cursor)

    def action_change(self, direction: int) -> None:
        """Step to the next choice, or open a field for a new value."""
        setting = self._chosen
        value = getattr(self._list.settings, setting.key)
        if setting.choices:
            self._write(next_choice(setting, value, direction))
            return
        field = self.query_one("#value", Input)
        field.value = ", ".join(value) if isinstance(value, tuple) else str(value)
        field.placeholder = "empty: " + shown_value(setting, getattr(DEFAULTS, setting.key))
        self.query_one("#name", Label).update(f"{setting.title} (enter saves):")
        self.query_one("#entry").display = True
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Save the typed value."""
        setting = self._chosen
        try:
            value = typed_value(setting, event.value)
        except ValueError:
            self.quiz.say(f"{setting.title} cannot be {event.value!r}.", bad=True)
            return
        if self._write(value):
            self.action_leave_field()

    def action_leave_field(self) -> None:
        """Close the field."""
        self.query_one("#entry").display = False
        self.set_focus(None)

    def action_default(self) -> None:
        """Restore the default value."""
        self._write(getattr(DEFAULTS, self._chosen.key))

    def _write(self, value: Value) -> bool:
        written = self.quiz.save_settings({self._chosen.key: value})
        self.opened()
        return written

    def action_reset_model(self) -> None:
        """Restore the default weights of the memory model, after a confirmation."""
        from quizapp.tui.screens.choose import Choose

        study = self.quiz.study
        if study.model.endswith("/default"):
            self.quiz.say("Nothing has been fitted to your reviews yet; the memory model is the default one.")
            return

        def chosen(way: str | None) -> None:
            if way == "yes":
                study.reset_weights()
                self.quiz.say("The default memory model is back; reviews and scheduled dates stay.")

        entries = [("no", "No, keep what was fitted to my reviews"), ("yes", "Back to the weights of FSRS-6")]
        self.quiz.push_screen(Choose("Reset the memory model?", entries), chosen)

    def action_open_file(self) -> None:
        """Edit the settings file, then apply it."""
        from quizapp.tui.terminal import edit_file

        path = paths.config()
        try:
            begin_file(path, actions.key_lines())
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        if not edit_file(self.quiz, path):
            return
        try:
            self.quiz.change_settings(load_settings(path))
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
        self.opened()
