"""The app: opens the data after the first frame, applies settings, and moves between screens."""

import asyncio
import contextlib
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events
from textual.app import App
from textual.binding import Binding
from textual.screen import Screen

from quizapp.errors import DONE, INTERNAL, QuizError
from quizapp.tui import actions, startup, terminal, theme
from quizapp.tui.bridges.judge_bridge import JudgeBridge
from quizapp.tui.bridges.plan_bridge import PlanBridge
from quizapp.tui.registry import PLACES
from quizapp.tui.workers import call_on_ui

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

    from textual.command import Provider
    from textual.content import Content
    from textual.driver import Driver

    from quizapp.bank.model import Bank
    from quizapp.scheduling.service import Study
    from quizapp.settings.file import PlanValue, Value
    from quizapp.settings.model import Settings

HERE = Path(__file__).parent
_OPEN_AFTER_S = 0.5
"""Seconds after which the data is opened even if no frame has been reported."""
_FIELD_TIMEOUT_S = 2.0
"""Seconds that a priority key waits for the focused field."""
READ_PER_S = 15
"""Characters that a person reads per second; it decides how long a notice stays."""


def _commands() -> "type[Provider]":
    from quizapp.tui.palette import QuizCommands

    return QuizCommands


class QuizApp(App[int]):
    """The terminal interface. Tests pass ``study``; otherwise the data is opened after the first frame.

    ``driver_class``, ``scheme`` ("dark" or "light") and ``browser_keeps_keys`` are given where the app runs
    in a browser.
    """

    TITLE = "quizapp"
    COMMANDS: ClassVar[set[Any]] = {_commands}
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - declared by Textual
        (0, "-narrow"), (76, "-normal"), (118, "-wide"), (170, "-very-wide"),
    ]  # fmt: skip
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012 - declared by Textual
        (0, "-short"), (23, "-medium"), (36, "-tall"),
    ]  # fmt: skip
    BINDINGS: ClassVar[list[Any]] = [
        *actions.bindings("app"),
        Binding("ctrl+c", "copy_or_hint", show=False),
    ]
    COMMAND_PALETTE_BINDING = "ctrl+p"

    def __init__(
        self,
        start: str = "home",
        *,
        study: "Study | None" = None,
        driver_class: "type[Driver] | None" = None,
        scheme: str = "dark",
        browser_keeps_keys: bool = False,
        **options: Any,
    ) -> None:
        # This screen replaces Textual's empty first one, so its style sheet would not be loaded otherwise.
        self.first = "tour" if start == "home" and startup.tour_due() else start
        first = [HERE / "screens" / "styles" / f"{self.first}.tcss"] if start == "home" else []
        super().__init__(driver_class, css_path=[HERE / "quizapp.tcss", *first])
        self.scheme = scheme
        self.browser_keeps_keys = browser_keeps_keys
        self.start = start
        self.options = options
        self.study_or_none = study
        self.opened_here = study is None
        self.opening = study is not None
        self.judge = JudgeBridge(partial(call_on_ui, self), lambda error: call_on_ui(self, self.broke, error))
        self.plans = PlanBridge(self)
        self.drafts: dict[str, tuple[str, ...]] = {}
        """What was typed for cards and not answered yet, by card."""
        self.early_keys = startup.EarlyKeys(self)
        self.refitting: subprocess.Popen[bytes] | None = None
        for ours in theme.OURS:
            self.register_theme(ours)
        self.use_theme(study.settings.theme if study is not None else "")
        # Reset the keys, because the table is global and an earlier app may have overridden them.
        self._use_keys(study.settings.keys if study is not None else {})
        if theme.needs_ascii():
            from quizapp.tui.rendering.text import AsciiFilter

            self._filters.append(AsciiFilter())

    @property
    def study(self) -> "Study":
        """The open data; available once `ready` is true."""
        assert self.study_or_none is not None
        return self.study_or_none

    @property
    def bank(self) -> "Bank":
        """The bank behind the data."""
        return self.study.bank

    @property
    def ready(self) -> bool:
        """Whether the data is open."""
        return self.study_or_none is not None

    def warm_judge(self) -> None:
        """Start the judge in the background, because an exercise will probably need it."""
        self.judge.warm()

    # starting and ending

    def get_default_screen(self) -> Screen[Any]:
        """Home, or the tour of a new user, instead of Textual's empty screen, which would be drawn first."""
        return PLACES[self.first]() if self.start == "home" else super().get_default_screen()

    def on_mount(self) -> None:
        """Show the requested screen, and open the data after the first frame."""
        if self.start != "home":
            self.push_screen(PLACES[self.start](**self.options))
        if not self.ready:  # a screen that finds the data open fills itself
            self.call_after_refresh(self.open_data)
            # A screen that a key opens before the first frame can keep that callback waiting with home.
            self.set_timer(_OPEN_AFTER_S, self.open_data)
        if not self.is_headless:
            terminal.watch_for_hangup(self)

    def open_data(self) -> None:
        """Open the data in a thread, once."""
        if not self.opening:
            self.opening = True
            startup.begin(self)

    def apply_settings(self, settings: "Settings") -> None:
        """Apply theme and keys. Unknown actions and themes are reported with their line in the file."""
        self.use_theme(settings.theme)
        self._use_keys(settings.keys)
        wrong = {f"there is no action {name!r}": name for name in actions.unknown(settings.keys)}
        if not theme.is_available(settings.theme, frozenset(self.available_themes)):
            wrong[f"there is no theme {settings.theme!r}"] = "theme"
        for sentence, key in wrong.items():
            from quizapp import paths
            from quizapp.settings.model import place_of

            self.say(f"{place_of(paths.config(), key)}: {sentence}.", bad=True)

    def _use_keys(self, user_keys: "Mapping[str, str]") -> None:
        keys = actions.browser_keys(user_keys) if self.browser_keeps_keys else user_keys
        self.set_keymap(actions.override(keys))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Defaults of our own style variables, for themes that do not define them."""
        hint = "not bold" if theme.without_color() else "dim not bold"
        return {"box": "ansi_bright_black" if self.current_theme.ansi else "#5c6370", "hint-style": hint}

    def use_theme(self, setting: str) -> None:
        """Switch to the theme that a setting asks for."""
        wanted = theme.choose(setting, frozenset(self.available_themes), self.scheme)
        if self.available_themes[wanted].ansi:
            # Terminal colors cannot be blended, so the screen below a dialog is drawn dim instead.
            self.SUSPENDED_SCREEN_CLASS = "-screen-suspended"  # type: ignore[misc]
        if self.is_running or self.available_themes[wanted].ansi:
            self.theme = wanted
        elif wanted != self.theme:
            # Before the start no style sheet has been parsed. Setting the theme without its watcher avoids
            # a second parse, which takes 15 ms.
            self.set_reactive(App.theme, wanted)
            self.stylesheet.set_variables(self.get_css_variables())
        if self.no_color:
            from textual.filter import Monochrome

            from quizapp.tui.rendering.text import Uncolored

            self._filters = [Uncolored() if isinstance(f, Monochrome) else f for f in self._filters]

    def change_settings(self, settings: "Settings") -> None:
        """Apply changed settings; a new schedule over the same store replaces the old one."""
        self.study_or_none = self.study.with_settings(settings)
        self.apply_settings(settings)

    def save_settings(
        self, values: "Mapping[str, Value]", plan: "Mapping[str, PlanValue] | None" = None
    ) -> bool:
        """Write settings and keys of ``[plan]`` to the file and apply them; False, with a notice, if not."""
        from quizapp import paths
        from quizapp.settings.file import begin_file, write_plan, write_setting
        from quizapp.settings.model import changed

        try:
            begin_file(paths.config(), actions.key_lines())
            for key, value in values.items():
                write_setting(paths.config(), key, value)
            if plan:
                write_plan(paths.config(), plan)
        except QuizError as error:
            self.say(str(error), bad=True)
            return False
        self.change_settings(changed(self.study.settings, values, plan or {}))
        return True

    def fail(self, sentence: str, code: int) -> None:
        """End with a sentence on standard error."""
        from rich.text import Text

        from quizapp.util.sanitize import one_line

        self.exit(code, return_code=code, message=Text(f"quizapp: {one_line(sentence)}"))

    async def on_unmount(self) -> None:
        """Stop the judge and close the data."""
        self.judge.stop()
        self.plans.stop()
        if self.opened_here and self.study_or_none is not None:
            self.study_or_none.close()

    def _handle_exception(self, error: Exception) -> None:
        from quizapp.util.log import write_crash

        if isinstance(error, QuizError):  # such as a database that became unwritable while a screen was open
            self.fail(str(error), error.exit_code)
            return
        if self.is_headless:  # tests want the traceback
            super()._handle_exception(error)
            return
        path = write_crash(error)
        if self._exit:  # the first error was reported; later ones on the way out only go to the log
            return
        self.fail(f"stopped by an internal error; every rated card is saved; details: {path}", INTERNAL)

    @property
    def leaving(self) -> bool:
        """Whether the app is about to end."""
        return self._exit

    def broke(self, error: Exception) -> None:
        """End because of an error: with its sentence if the user can act on it, else with a log entry."""
        self._handle_exception(error)

    # moving between screens

    def go(self, place: str, **options: Any) -> None:
        """Open a screen on top of the current one."""
        self.push_screen(PLACES[place](**options))

    def open_exercise(self, slug: str) -> None:
        """Open the exercise of a question."""
        if slug in self.bank.exercises:
            self.go("exercise", slug=slug)
        elif not slug:
            self.say("This card has no exercise.")
        else:
            self.say(f"The exercise {slug!r} is not in the bank.", bad=True)

    def open_next_exercise(self, slug: str) -> None:
        """Open the exercise that comes next in place of the one on the screen, ``slug``."""
        following = self.study.next_exercise()
        if following in {None, slug}:
            self.say("No exercise is next: you have passed all that are due.")
        else:
            self.replace_screen("exercise", slug=following)

    def go_back(self, leaving: Screen[Any]) -> None:
        """Close a screen if it is the current one; home replaces the last one."""
        if self.screen is not leaving:
            return
        if len(self.screen_stack) <= (1 if self.first == "home" else 2):
            self.replace_screen("home")
            return
        below = self.screen_stack[-2]
        self.pop_screen()
        returned = getattr(below, "returned", None)
        if returned is not None and self.ready:
            below.call_later(returned)

    def replace_screen(self, place: str, **options: Any) -> None:
        """Open a screen instead of the current one."""
        if len(self.screen_stack) > 1:
            self.switch_screen(PLACES[place](**options))
        else:  # the screen that a new user begins with; Textual cannot replace the first one
            self.go(place, **options)

    def read(self, title: str, source: "str | Content", *, markdown: bool = True) -> None:
        """Show a long text in a dialog."""
        from quizapp.tui.screens.pager import Pager

        self.push_screen(Pager(title, source, markdown=markdown))

    async def on_event(self, event: events.Event) -> None:
        """Drop keys and clicks after the last screen has closed, and delay priority keys."""
        if isinstance(event, events.InputEvent) and (self._exit or not self._screen_stack):
            return
        if isinstance(event, events.Key) and not event.is_forwarded:
            if self.early_keys.hold(event) or self._split_alt(event):
                return
            await self._await_typing(event)
        await super().on_event(event)

    def _split_alt(self, event: events.Key) -> bool:
        """Press escape and a letter one after the other if they came so fast that they read as alt.

        Terminals send the same bytes for both, and no action of ours has a key with alt.
        """
        letter = event.key.removeprefix("alt+")
        if letter == event.key or len(letter) != 1 or actions.is_bound(event.key):
            return False
        self.early_keys.press(events.Key("escape", None), events.Key(letter, letter))
        return True

    async def _await_typing(self, event: events.Key) -> None:
        """Delay priority keys until the focused field has processed earlier keystrokes.

        Otherwise ctrl+r would grade less than what was typed.
        """
        field, place = self.focused, getattr(self.screen, "place", "")
        beats = any(act.priority and event.key in act.key_list() for act in actions.of_place(place))
        handled = asyncio.Event()
        if field is None or not beats or not field.call_later(handled.set):
            return
        with contextlib.suppress(TimeoutError):  # the field may itself wait for the app
            await asyncio.wait_for(handled.wait(), _FIELD_TIMEOUT_S)

    # actions of the whole app

    def action_command_palette(self) -> None:
        """Find any action by its name."""
        from quizapp.tui.palette import Palette

        if not Palette.is_open(cast("App[object]", self)):
            self.push_screen(Palette(id="--command-palette"))

    def action_help(self) -> None:
        """Show the actions of the current screen."""
        from quizapp.tui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.screen))

    def action_next_theme(self) -> None:
        """Switch to the next of our themes and save the choice."""
        from quizapp.tui.theme import next_theme

        next_theme(self)

    def save_typed(self) -> None:
        """Save the code in every open exercise."""
        for screen in self.screen_stack:
            closing = getattr(screen, "closing", None)
            if closing is not None:
                closing()

    def action_leave(self) -> None:
        """Save the code in open exercises and leave the program."""
        self.save_typed()
        self.exit(DONE)

    def action_suspend_process(self) -> None:
        """Suspend the program and return to the shell."""
        terminal.suspend_to_shell(self)

    def action_copy_or_hint(self) -> None:
        """Copy the selected text; without a selection, say how to leave, which was probably intended."""
        chosen = self.screen.get_selected_text()
        if chosen is not None:
            self.copy_to_clipboard(chosen)
        else:
            self.say("ctrl+q leaves the program; every answer is on disk.")

    async def action_quit(self) -> None:
        """Leave the program; Textual itself calls this name."""
        self.action_leave()

    def on_input_changed(self) -> None:
        """Take away complaints about what was typed: it is being changed."""
        for notice in [notice for notice in self._notifications if notice.severity == "error"]:
            self._unnotify(notice)

    def say(self, text: str, *, bad: bool = False) -> None:
        """Show a short notice, with no markup in it interpreted. A repeated notice replaces the first one."""
        for shown in [notice for notice in self._notifications if notice.message == text]:
            self._unnotify(shown)
        seconds = max(6.0 if bad else 3.0, len(text) / READ_PER_S)
        self.notify(text, severity="error" if bad else "information", timeout=seconds, markup=False)


def run(start: str = "home", **options: Any) -> int:
    """Run the interface, beginning with the screen ``start``; return the exit code."""
    import sys

    stdout = sys.__stdout__
    if stdout is None or not stdout.isatty():
        sys.stderr.write("quizapp: the interface needs a terminal; try `quizapp due` or `quizapp --help`.\n")
        return 2
    if os.environ.get("TERM") == "dumb":
        sys.stderr.write("quizapp: TERM=dumb cannot place a cursor; try `quizapp due` or `quizapp --help`.\n")
        return 2
    app = QuizApp(start, **options)
    result = app.run()
    return app.return_code or (result or DONE)
