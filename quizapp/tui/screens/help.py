"""The help: all actions of the screen below, made from the table of actions."""

from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.style import Style

from quizapp.tui import actions
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.screens.base import Dialog, QuizScreen, place_and_phase
from quizapp.tui.widgets.key_bar import KeyBar
from quizapp.tui.widgets.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def help_lines(
    place: str, phase: Phase | None, offers: "Callable[[actions.Act], bool]" = lambda _: True
) -> "Iterator[tuple[str, str, bool]]":
    """Yield (keys, sentence, possible now) for the actions of a place, those of the app last.

    ``offers`` says whether an action of the place has something to act on, such as a fifth option.
    """
    for act in acts(place):
        pressed = " ".join(map(actions.display, act.key_list()))
        yield pressed, act.help, act.place == "app" or (act.alive(phase) and offers(act))


def acts(place: str) -> list[actions.Act]:
    """The actions in the help of a place, in the order of `help_lines`."""
    return [act for source in dict.fromkeys((place, "app")) for act in actions.of_place(source)]


class HelpTable(Lines):
    """What is possible now, then what is possible at other moments."""

    def __init__(self, place: str, phase: Phase | None, offers: "Callable[[actions.Act], bool]") -> None:
        super().__init__()
        self._place = place
        self._rows = list(help_lines(place, phase, offers))

    def lines(self, width: int) -> list[Content]:
        """A sentence about the place, then a line per action."""
        lines: list[Content] = []
        if about := actions.TABLE[self._place].about:
            lines += [*Content(about).wrap(width), Content("")]
        column = min(22, max(len(row[0]) for row in self._rows) + 2)
        later = [row for row in self._rows if not row[2]]
        for number, (pressed, sentence, now) in enumerate(self._rows):
            if now:
                click = Style.from_meta({"@click": f"screen.run({number})"})
                row = hanging(
                    Content.styled(f"{pressed:<{column}}", "$primary bold"), Content(sentence), width
                )
                lines += [line.stylize(click, 0, len(line.plain)) for line in row]
        if later:
            lines += [Content(""), Content.styled("At other moments", "bold")]
        for pressed, sentence, _ in later:
            first = Content.styled(f"{pressed:<{column}}", "$text-muted")
            lines += hanging(first, Content.styled(sentence, "$text-muted"), width)
        return lines


class HelpScreen(Dialog):
    """A dialog with keys and sentences; what is not possible now is dimmed, what is can be clicked."""

    place = "help"
    BINDINGS: ClassVar[list[object]] = actions.bindings("help", "leave", "next_theme")  # type: ignore[assignment]
    CSS_PATH = "styles/help.tcss"

    def __init__(self, below: Screen[Any]) -> None:
        super().__init__()
        self._below = below
        self._place, self._below_phase = place_and_phase(below)

    def compose(self) -> ComposeResult:
        """The table in a scroll."""
        with Vertical(classes="box") as box:
            box.border_title = f"Help: {actions.TABLE[self._place].title}"
            with VerticalScroll(can_focus=False):
                below = self._below
                offers = below.offers if isinstance(below, QuizScreen) else lambda _: True
                yield HelpTable(self._place, self._below_phase, offers)
            yield KeyBar()

    def action_run(self, number: int) -> None:
        """Run the action of a clicked row on the screen below."""
        act = acts(self._place)[number]
        below = self._below
        self.dismiss()
        self.quiz.call_later(self.quiz.run_action, act.action, self.quiz if act.place == "app" else below)
