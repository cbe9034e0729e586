"""The one table of actions: bindings, key bar, command palette and help are all made from it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from textual.binding import Binding

TYPING = "typing"
FIELDS = frozenset({TYPING, "find", "coding", "telling"})  # phases in which a field may take printable keys
QUESTION = ("recall", "numeric", "choice", "order", "cloze")
ANSWER = ("answer", "points")
CARD = (*QUESTION, *ANSWER, TYPING, "confidence")

PHASES: Mapping[str, tuple[str, ...]] = {
    "app": ("",),
    "home": ("loading", "ready"),
    "drill": (*CARD, "empty", "done"),
    "exercises": ("list", TYPING),
    "exercise": ("idle", TYPING, "judging", "find"),
    "browse": ("list", TYPING),
    "statistics": ("ready",),
    "settings": ("list", TYPING),
    "tour": ("ready",),
    "help": ("ready",),
    "pager": ("ready",),
}
AREAS = {
    "app": "App", "home": "Home", "drill": "Drill", "exercises": "Exercises", "exercise": "Exercise",
    "browse": "Browse", "statistics": "Statistics", "settings": "Settings", "tour": "Tour",
    "help": "Help", "pager": "Reading",
}  # fmt: skip
"""The name of each place as the palette and the help write it; mock screens add theirs with `extend`."""


@dataclass(frozen=True, slots=True)
class Act:
    """One thing that can be done in a place: its method, keys, words, and when it means something.

    ``when`` holds the phases of the place in which the action exists (empty: all). ``rank`` orders the
    key bar where room is short (0: not in the bar, 1: first to go). ``priority`` beats a focused field.
    """

    place: str
    action: str
    keys: str
    label: str
    help: str
    when: tuple[str, ...] = ()
    rank: int = 0
    priority: bool = False

    @property
    def id(self) -> str:
        """The name under which a user's settings can replace the keys."""
        return f"{self.place}.{self.action.replace('(', '-').replace(')', '')}"

    @property
    def call(self) -> str:
        """The action as Textual calls it from anywhere."""
        return f"{'app' if self.place == 'app' else 'screen'}.{self.action}"

    def alive(self, phase: str) -> bool:
        """Whether the action means something in a phase."""
        return not self.when or phase in self.when

    def reachable(self, phase: str) -> bool:
        """Whether its key reaches it in a phase: a field being typed in takes printable keys."""
        fields = phase in FIELDS
        return self.alive(phase) and not (fields and not any(map(_passes_field, self.key_list())))

    def key_for(self, phase: str) -> str:
        """The key to show in a phase: the first that reaches the action there."""
        keys = self.key_list()
        if phase in FIELDS:
            return next(filter(_passes_field, keys), keys[0])
        return keys[0]

    def key_list(self) -> tuple[str, ...]:
        """The keys now in force, the user's own replacing the table's."""
        return tuple(key.strip() for key in _overrides.get(self.id, self.keys).split(",") if key.strip())


def _passes_field(key: str) -> bool:
    return "+" in key or key in {"escape", "tab"} or (key.startswith("f") and key[1:].isdigit())


_overrides: dict[str, str] = {}

A = Act
_TABLE: list[Act] = [
    A("app", "command_palette", "ctrl+p", "palette", "Find any action by its name.", rank=2, priority=True),
    A("app", "help", "question_mark,f1", "help", "What can be done here, and by which key.", rank=9),
    A("app", "next_theme", "f9", "theme", "Dark, light, high contrast or terminal colours; it is kept."),
    A("app", "suspend_process", "ctrl+z", "to the shell",
      "Step aside for the shell, fg returns; in a text or code field it undoes typing."),
    A("app", "leave", "ctrl+q", "quit", "Leave the program; everything answered is already on disk."),
    # from home
    A("home", "start", "enter,space,d", "drill", "Drill what is due, then new cards.", ("ready",), 9),
    A("home", "exercises", "e", "exercises", "The list of exercises.", rank=8),
    A("home", "next_exercise", "n", "next exercise", "Open the exercise that comes next.", ("ready",), 4),
    A("home", "mock", "m", "mock", "A timed mock interview.", rank=5),
    A("home", "incident", "r", "broken run", "A broken training run to diagnose against the clock.", rank=3),
    A("home", "browse", "b", "browse", "All questions, with a filter.", rank=7),
    A("home", "statistics", "s", "statistics", "Retention, forecast, and progress per topic.", rank=6),
    A("home", "settings", "comma", "settings", "Change how the program behaves.", rank=3),
    A("home", "topic", "t", "topic", "Drill one topic, chosen from a list.", ("ready",), 2),
    A("home", "tour", "i", "tour", "A short tour of the program in three screens."),
    A("home", "up", "up,k", "up", "Scroll up."),
    A("home", "down", "down,j", "down", "Scroll down."),
    A("home", "leave", "q,escape", "quit", "Leave the program.", rank=4),
    # drill: before the answer
    A("drill", "reveal", "space,enter", "reveal", "Show the answer.", QUESTION, 10),
    A("drill", "check", "ctrl+r", "check", "Check what is typed and show the answer.", (TYPING,), 9, True),
    A("drill", "leave_field", "escape", "leave field", "Leave the field and keep its text.", (TYPING,), 8),
    A("drill", "pick(0)", "1", "", "Answer with option 1.", ("choice",)),
    A("drill", "pick(1)", "2", "", "Answer with option 2.", ("choice",)),
    A("drill", "pick(2)", "3", "", "Answer with option 3.", ("choice",)),
    A("drill", "pick(3)", "4", "", "Answer with option 4.", ("choice",)),
    A("drill", "pick(4)", "5", "", "Answer with option 5.", ("choice",)),
    A("drill", "type", "t", "type", "Type an answer before revealing.", ("recall", "numeric", "cloze"), 6),
    A("drill", "lift(-1)", "K,shift+up", "raise", "Move the step up.", ("order",), 7),
    A("drill", "lift(1)", "J,shift+down", "lower", "Move the step down.", ("order",), 7),
    A("drill", "confide(0)", "1", "0 %", "I do not know it.", ("confidence",), 9),
    A("drill", "confide(25)", "2", "25 %", "I doubt that I know it.", ("confidence",), 9),
    A("drill", "confide(50)", "3", "50 %", "It may be right or wrong.", ("confidence",), 9),
    A("drill", "confide(75)", "4", "75 %", "I think that I know it.", ("confidence",), 9),
    A("drill", "confide(100)", "5", "100 %", "I am sure.", ("confidence",), 9),
    # drill: after the answer
    A("drill", "take", "enter", "take proposed", "Rate as proposed and go on.", ANSWER, 10),
    A("drill", "rate(1)", "1", "", "Rate Again: not recalled.", ANSWER),
    A("drill", "rate(2)", "2", "", "Rate Hard: recalled with effort or in part.", ANSWER),
    A("drill", "rate(3)", "3", "", "Rate Good: recalled.", ANSWER),
    A("drill", "rate(4)", "4", "", "Rate Easy: recalled at once.", ANSWER),
    A("drill", "tick", "space,x", "tick", "Tick the key point that you said.", ("points",), 9),
    A("drill", "tick_all", "a", "tick all", "Tick all key points, or none.", ("points",), 5),
    A("drill", "follow_up", "n", "follow-up", "What an interviewer asks next; again shows its answer.",
      ANSWER, 4),
    A("drill", "up", "up,k", "up", "Go up, or scroll.", (*QUESTION, *ANSWER)),
    A("drill", "down", "down,j", "down", "Go down, or scroll.", (*QUESTION, *ANSWER)),
    A("drill", "page(-1)", "pageup", "page up", "Scroll a page up.", CARD),
    A("drill", "page(1)", "pagedown", "page down", "Scroll a page down.", CARD),
    # drill, at any time
    A("drill", "undo", "u", "undo", "Take back the last answer, bury, suspend or flag.", rank=6),
    A("drill", "redo", "U", "redo", "Take back the undo."),
    A("drill", "treat_as_new", "T", "start anew", "Begin a changed question again as new.", QUESTION),
    A("drill", "bury", "b", "bury", "Put the card off until tomorrow.", CARD, 3),
    A("drill", "suspend", "s", "suspend", "Take the card out of the queue until you resume it.", CARD, 2),
    A("drill", "flag", "f", "flag", "Flag the card, or remove its flag.", CARD, 3),
    A("drill", "exercise", "e", "exercise", "Open the card's exercise; closing it brings you back here.",
      CARD, 4),
    A("drill", "facts", "i", "facts", "Stability, due date and history of the card.", CARD, 2),
    A("drill", "source", "o", "source", "Open the question's file in your editor.", CARD, 1),
    A("drill", "copy", "c", "copy", "Copy the question and its answer.", CARD),
    A("drill", "search", "slash", "search", "Search all questions.", rank=2),
    A("drill", "more", "enter,space", "again", "Look for more cards.", ("empty", "done"), 9),
    A("drill", "back", "q,escape", "back", "Go back; every rated card is on disk.",
      (*QUESTION, *ANSWER, "confidence", "empty", "done"), 7),
    # exercises
    A("exercises", "open", "enter,space", "open", "Open the exercise.", ("list",), 9),
    A("exercises", "up", "up,k", "up", "One up."),
    A("exercises", "down", "down,j", "down", "One down."),
    A("exercises", "page(-1)", "pageup", "page up", "A page up."),
    A("exercises", "page(1)", "pagedown", "page down", "A page down."),
    A("exercises", "questions", "l", "questions", "Drill the questions that lead to it.", ("list",), 5),
    A("exercises", "find", "slash", "filter", "Filter by name, topic, level or state.", ("list",), 6),
    A("exercises", "leave_field", "escape", "leave field", "Leave the filter.", (TYPING,), 8),
    A("exercises", "back", "q,escape", "back", "Go back.", ("list",), 7),
    # exercise
    A("exercise", "grade", "ctrl+r", "grade", "Run the hidden tests on your code.", rank=10, priority=True),
    A("exercise", "save", "ctrl+s", "save", "Save the file and grade it.", rank=5, priority=True),
    A("exercise", "edit", "ctrl+o", "editor", "Open the file in your editor; a change is graded.", rank=7,
      priority=True),
    A("exercise", "hint", "ctrl+t", "hint", "Show the next hint.", rank=8, priority=True),
    A("exercise", "show('prompt')", "f2", "task", "Go to the task.", rank=6, priority=True),
    A("exercise", "show('code')", "f3", "code", "Go to your code.", rank=6, priority=True),
    A("exercise", "show('verdict')", "f4", "verdict", "Go to the verdict.", rank=6, priority=True),
    A("exercise", "device", "f5", "device", "Choose where the code runs: auto, cpu, cuda or mps.", rank=2,
      priority=True),
    A("exercise", "past", "f6", "past", "Reopen past submissions.", rank=3, priority=True),
    A("exercise", "diff", "f7", "diff", "What changed since the last submission.", rank=3, priority=True),
    A("exercise", "solution", "f8", "solution",
      "Show a solution: free after a pass; before it, the card is rated Again.", rank=4, priority=True),
    A("exercise", "find", "ctrl+f", "find", "Find in your code; again finds the next.", rank=1,
      priority=True),
    A("exercise", "cancel", "escape", "cancel", "Stop the grading.", ("judging",), 9, True),
    A("exercise", "close_find", "escape", "close", "Close the search field.", ("find",), 9, True),
    A("exercise", "back", "escape", "back", "Save and go back.", ("idle", TYPING), 9, True),
    # browse
    A("browse", "find", "slash", "filter", "Filter: text, topic:, level:, kind:, state:, due:.",
      ("list",), 9),
    A("browse", "leave_field", "escape", "list", "Leave the filter and go to the list.", (TYPING,), 9),
    A("browse", "up", "up,k", "up", "One up."),
    A("browse", "down", "down,j", "down", "One down."),
    A("browse", "page(-1)", "pageup", "page up", "A page up."),
    A("browse", "page(1)", "pagedown", "page down", "A page down."),
    A("browse", "first", "home,g", "first", "The first question.", ("list",)),
    A("browse", "last", "end,G", "last", "The last question.", ("list",)),
    A("browse", "read", "enter,space", "read", "Read the question with its answer.", ("list",), 8),
    A("browse", "drill", "d", "drill these", "Drill the questions of the filter.", ("list",), 7),
    A("browse", "facts", "i", "facts", "Stability, due date and history of the card.", ("list",), 6),
    A("browse", "suspend", "s", "suspend", "Suspend the card, or resume it.", ("list",), 5),
    A("browse", "flag", "f", "flag", "Flag the card, or remove its flag.", ("list",), 5),
    A("browse", "exercise", "e", "exercise", "Open the question's exercise.", ("list",), 4),
    A("browse", "source", "o", "source", "Open the question's file in your editor.", ("list",), 3),
    A("browse", "copy", "c", "copy", "Copy the question and its answer.", ("list",), 2),
    A("browse", "undo", "u", "undo", "Take back the last answer, suspend or flag.", ("list",), 2),
    A("browse", "back", "q,escape", "back", "Go back.", ("list",), 7),
    # statistics
    A("statistics", "page(1)", "right,tab,l", "next page", "The next page of figures.", rank=9),
    A("statistics", "page(-1)", "left,shift+tab,h", "previous page", "The previous page.", rank=8),
    A("statistics", "up", "up,k", "up", "Scroll up."),
    A("statistics", "down", "down,j", "down", "Scroll down."),
    A("statistics", "export", "x", "export", "Write the figures as CSV and the page as SVG.", rank=6),
    A("statistics", "back", "q,escape", "back", "Go back.", rank=7),
    # settings
    A("settings", "up", "up,k", "up", "One up.", ("list",)),
    A("settings", "down", "down,j", "down", "One down.", ("list",)),
    A("settings", "change(1)", "enter,space,right", "change", "Change the value, or type a new one.",
      ("list",), 9),
    A("settings", "change(-1)", "left", "previous value", "The previous value.", ("list",), 5),
    A("settings", "default", "r", "default", "Back to the default value.", ("list",), 6),
    A("settings", "open_file", "o", "file", "Open the settings file in your editor.", ("list",), 4),
    A("settings", "reset_model", "w", "reset memory model",
      "Forget what was fitted to your reviews: the weights that FSRS-6 comes with.", ("list",), 3),
    A("settings", "leave_field", "escape", "cancel", "Keep the old value.", (TYPING,), 9),
    A("settings", "back", "q,escape", "back", "Go back.", ("list",), 7),
    # tour
    A("tour", "page(1)", "enter,space,right", "next", "The next page; after the last, the home screen.",
      rank=9),
    A("tour", "page(-1)", "left", "previous", "The previous page.", rank=5),
    A("tour", "skip", "escape,q", "skip", "Skip the tour; it is in the palette and under i.", rank=8),
    # help and reading
    A("help", "up", "up,k", "up", "Scroll up."),
    A("help", "down", "down,j,space", "down", "Scroll down."),
    A("help", "page(-1)", "pageup", "page up", "Scroll a page up."),
    A("help", "page(1)", "pagedown", "page down", "Scroll a page down."),
    A("help", "close", "escape,q,enter", "close", "Close the help.", rank=9),
    A("pager", "up", "up,k", "up", "Scroll up."),
    A("pager", "down", "down,j", "down", "Scroll down."),
    A("pager", "page(-1)", "pageup", "page up", "Scroll a page up."),
    A("pager", "page(1)", "pagedown,space", "page down", "Scroll a page down.", rank=5),
    A("pager", "copy", "c", "copy", "Copy the text.", rank=4),
    A("pager", "close", "escape,q,enter", "close", "Close.", rank=9),
]  # fmt: skip
_EXTRA_PHASES: dict[str, tuple[str, ...]] = {}


def extend(place: str, area: str, phases: tuple[str, ...], acts: Iterable[Act]) -> None:
    """Add a place with its actions; for screens that live in modules of their own."""
    if place in AREAS:
        return
    AREAS[place] = area
    _EXTRA_PHASES[place] = phases
    _TABLE.extend(acts)
    of_place.cache_clear()


@lru_cache(64)
def of_place(place: str) -> tuple[Act, ...]:
    """The actions of a place, in the table's order."""
    return tuple(act for act in _TABLE if act.place == place)


def places() -> tuple[str, ...]:
    """All places."""
    return (*PHASES, *_EXTRA_PHASES)


def phases(place: str) -> tuple[str, ...]:
    """The phases of a place."""
    return _EXTRA_PHASES.get(place) or PHASES[place]


def live(place: str, phase: str) -> list[Act]:
    """What can be done in a phase of a place, the app's own actions last."""
    acts = of_place(place) if place == "app" else (*of_place(place), *of_place("app"))
    return [act for act in acts if act.alive(phase) or act.place == "app"]


def bindings(place: str) -> list[Binding]:
    """Textual bindings of a place."""
    return [
        Binding(act.keys, act.action, act.label or act.help, show=False, priority=act.priority,
                id=act.id)
        for act in of_place(place)
    ]  # fmt: skip


def override(user_keys: Mapping[str, str]) -> dict[str, str]:
    """Take the user's keys (``{"drill.undo": "z"}``) and return Textual's keymap."""
    _overrides.clear()
    _overrides.update(user_keys)
    return dict(_overrides)


def unknown(names: Iterable[str]) -> list[str]:
    """Names that no action has; those of places that are not open yet (mock) pass."""
    known = {act.id for act in _TABLE}
    return [name for name in names if name not in known and name.partition(".")[0] in {*PHASES, ""}]


_DISPLAY = {
    "escape": "esc", "question_mark": "?", "slash": "/", "comma": ",", "pageup": "pgup",
    "pagedown": "pgdn", "up": "↑", "down": "↓", "left": "←", "right": "→",
}  # fmt: skip


def display(key: str) -> str:
    """A key as the key bar writes it."""
    *modifiers, name = key.split("+")
    short = {"ctrl": "^", "shift": "shift+", "alt": "alt+"}
    return "".join(short.get(part, part) for part in modifiers) + _DISPLAY.get(name, name)
