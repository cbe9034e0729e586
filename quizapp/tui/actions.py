"""Every action of the interface in one table, from which bindings, key bar, palette and help are made."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from textual.binding import Binding


class Act(NamedTuple):
    """One thing that can be done in a place: its method, its keys, its words, and when it makes sense.

    ``when`` lists the phases of the place in which the action exists (empty: all of them). ``rank`` orders
    the key bar where room is short (0: not in the bar, 1: the first to go). A ``priority`` key reaches the
    screen even while a field has the focus. ``place`` is filled in by `of_place`.
    """

    action: str
    keys: str
    label: str
    help: str
    when: tuple[str, ...] = ()
    rank: int = 0
    priority: bool = False
    place: str = ""

    @property
    def id(self) -> str:
        """The name under which a user's settings can replace the keys."""
        return f"{self.place}.{self.action.replace('(', '-').replace(')', '')}"

    @property
    def call(self) -> str:
        """The action as Textual calls it from anywhere."""
        return f"{'app' if self.place == 'app' else 'screen'}.{self.action}"

    def alive(self, phase: str) -> bool:
        """Whether the action exists in a phase."""
        return not self.when or phase in self.when

    def reachable(self, phase: str) -> bool:
        """Whether one of its keys works in a phase: a focused field swallows printable keys."""
        return self.alive(phase) and (phase not in FIELDS or any(map(_passes_field, self.key_list())))

    def key_for(self, phase: str) -> str:
        """The key to show in a phase: the first that works there."""
        keys = self.key_list()
        if phase in FIELDS:
            return next(filter(_passes_field, keys), keys[0])
        return keys[0]

    def key_list(self) -> tuple[str, ...]:
        """The keys in force: the user's own, or else those of the table."""
        return tuple(key.strip() for key in _overrides.get(self.id, self.keys).split(",") if key.strip())


class PlaceActions(NamedTuple):
    """A screen as the palette and the help name it, the phases it can be in, and what can be done there."""

    title: str
    phases: tuple[str, ...]
    about: str
    acts: tuple[Act, ...]


def _passes_field(key: str) -> bool:
    return "+" in key or key in {"escape", "tab"} or (key.startswith("f") and key[1:].isdigit())


TYPING = "typing"
FIELDS = frozenset({TYPING, "find", "coding", "telling"})
"""Phases in which a focused field may swallow printable keys."""
QUESTION = ("recall", "numeric", "choice", "order", "cloze")
ANSWER = ("answer", "points")
CARD = (*QUESTION, *ANSWER, TYPING, "confidence")
MOCK_SETUP = ("list", "past", "cut-list", "cut-past")
INCIDENT = ("readings", "telling", "diagnosis")
ANSWERABLE = ("choice", "order", "idle", "coding", TYPING, *INCIDENT)
"""Phases of a running interview in which an answer can be given."""

A = Act
SCROLL = (A("up", "up,k", "up", "Scroll up."), A("down", "down,j", "down", "Scroll down."))
SCROLL_PAGES = (
    A("page(-1)", "pageup", "page up", "Scroll a page up."),
    A("page(1)", "pagedown", "page down", "Scroll a page down."),
)
MOVE = (A("up", "up,k", "up", "One up."), A("down", "down,j", "down", "One down."))
MOVE_PAGES = (
    A("page(-1)", "pageup", "page up", "A page up."),
    A("page(1)", "pagedown", "page down", "A page down."),
)
OPTIONS = tuple(
    A(f"pick({place})", str(place + 1), "", f"Answer with option {place + 1}.", ("choice",))
    for place in range(5)
)


def _confidence(*sentences: str) -> tuple[Act, ...]:
    """The five answers to "how sure are you", from 0 to 100 percent."""
    return tuple(
        A(f"confide({25 * step})", str(step + 1), f"{25 * step} %", sentence, ("confidence",), 9)
        for step, sentence in enumerate(sentences)
    )


TABLE: Mapping[str, PlaceActions] = {
    "app": PlaceActions("App", ("",), "", (
        A("command_palette", "ctrl+p", "palette", "Find any action by its name.", rank=2, priority=True),
        A("help", "question_mark,f1", "help", "What can be done here, and by which key.", rank=9),
        A("next_theme", "f9", "theme", "Dark, light, high contrast or terminal colours; it is kept."),
        A("suspend_process", "ctrl+z", "to the shell",
          "Step aside for the shell, fg returns; in a text or code field it undoes typing."),
        A("leave", "ctrl+q", "quit", "Leave the program; everything answered is already on disk."),
    )),
    "home": PlaceActions("Home", ("loading", "ready"),
        "What is due today and the ways onward.", (
        A("start", "enter,space,d", "drill", "Drill what is due, then new cards.", ("ready",), 9),
        A("exercises", "e", "exercises", "The list of exercises.", rank=8),
        A("next_exercise", "n", "next exercise", "Open the exercise that comes next.", ("ready",), 4),
        A("mock", "m", "mock", "A timed mock interview.", rank=5),
        A("incident", "r", "broken run", "A broken training run to diagnose against the clock.", rank=3),
        A("browse", "b", "browse", "All questions, with a filter.", rank=7),
        A("statistics", "s", "statistics", "Retention, forecast, and progress per topic.", rank=6),
        A("settings", "comma", "settings", "Change how the program behaves.", rank=3),
        A("topic", "t", "topic", "Drill one topic, chosen from a list.", ("ready",), 2),
        A("tour", "i", "tour", "A short tour of the program in three screens."),
        *SCROLL,
        A("leave", "q,escape", "quit", "Leave the program.", rank=4),
    )),
    "drill": PlaceActions("Drill", (*CARD, "empty", "done"),
        "Recall the answer, aloud or typed, then reveal it and rate how it went. The proposed rating rests "
        "on what you ticked or answered; enter takes it.", (
        A("reveal", "space,enter", "reveal", "Show the answer.", QUESTION, 10),
        A("check", "ctrl+r", "check", "Check what is typed and show the answer.", (TYPING,), 9, True),
        A("leave_field", "escape", "leave field", "Leave the field and keep its text.", (TYPING,), 8),
        *OPTIONS,
        A("type", "t", "type", "Type an answer before revealing.", ("recall", "numeric", "cloze"), 6),
        A("lift(-1)", "K,shift+up", "raise", "Move the step up.", ("order",), 7),
        A("lift(1)", "J,shift+down", "lower", "Move the step down.", ("order",), 7),
        *_confidence("I do not know it.", "I doubt that I know it.", "It may be right or wrong.",
          "I think that I know it.", "I am sure."),
        A("take", "enter", "take proposed", "Rate as proposed and go on.", ANSWER, 10),
        A("rate(1)", "1", "", "Rate Again: not recalled.", ANSWER),
        A("rate(2)", "2", "", "Rate Hard: recalled with effort or in part.", ANSWER),
        A("rate(3)", "3", "", "Rate Good: recalled.", ANSWER),
        A("rate(4)", "4", "", "Rate Easy: recalled at once.", ANSWER),
        A("tick", "space,x", "tick", "Tick the key point that you said.", ("points",), 9),
        A("tick_all", "a", "tick all", "Tick all key points, or none.", ("points",), 5),
        A("follow_up", "n", "follow-up", "What an interviewer asks next; again shows its answer.", ANSWER, 4),
        A("up", "up,k", "up", "Go up, or scroll.", (*QUESTION, *ANSWER)),
        A("down", "down,j", "down", "Go down, or scroll.", (*QUESTION, *ANSWER)),
        A("page(-1)", "pageup", "page up", "Scroll a page up.", CARD),
        A("page(1)", "pagedown", "page down", "Scroll a page down.", CARD),
        A("undo", "u", "undo", "Take back the last answer, bury, suspend or flag.", rank=6),
        A("redo", "U", "redo", "Take back the undo."),
        A("treat_as_new", "T", "start anew", "Begin a changed question again as new.", QUESTION),
        A("bury", "b", "bury", "Put the card off until tomorrow.", CARD, 3),
        A("suspend", "s", "suspend", "Take the card out of the queue until you resume it.", CARD, 2),
        A("flag", "f", "flag", "Flag the card, or remove its flag.", CARD, 3),
        A("exercise", "e", "exercise", "Open the card's exercise; closing it brings you back here.", CARD, 4),
        A("facts", "i", "facts", "Stability, due date and history of the card.", CARD, 2),
        A("source", "o", "source", "Open the question's file in your editor.", CARD, 1),
        A("copy", "c", "copy", "Copy the question and its answer.", CARD),
        A("search", "slash", "search", "Search all questions.", rank=2),
        A("more", "enter,space", "again", "Look for more cards.", ("empty", "done"), 9),
        A("back", "q,escape", "back", "Go back; every rated card is on disk.",
          (*QUESTION, *ANSWER, "confidence", "empty", "done"), 7),
    )),
    "exercises": PlaceActions("Exercises", ("list", TYPING),
        "Every exercise with its state.", (
        A("open", "enter,space", "open", "Open the exercise.", ("list",), 9),
        *MOVE,
        *MOVE_PAGES,
        A("questions", "l", "questions", "Drill the questions that lead to it.", ("list",), 5),
        A("find", "slash", "filter", "Filter by name, topic, level or state.", ("list",), 6),
        A("leave_field", "escape", "leave field", "Leave the filter.", (TYPING,), 8),
        A("back", "q,escape", "back", "Go back.", ("list",), 7),
    )),
    "exercise": PlaceActions("Exercise", ("idle", TYPING, "judging", "find"),
        "Write the module until every hidden test is green. Your file lies in your own folder; saving "
        "grades it, and your own editor works as well.", (
        A("grade", "ctrl+r", "grade", "Run the hidden tests on your code.", rank=10, priority=True),
        A("save", "ctrl+s", "save", "Save the file and grade it.", rank=5, priority=True),
        A("edit", "ctrl+o", "editor", "Open the file in your editor; a change is graded.",
          rank=7, priority=True),
        A("hint", "ctrl+t", "hint", "Show the next hint.", rank=8, priority=True),
        A("show('prompt')", "f2", "task", "Go to the task.", rank=6, priority=True),
        A("show('code')", "f3", "code", "Go to your code.", rank=6, priority=True),
        A("show('verdict')", "f4", "verdict", "Go to the verdict.", rank=6, priority=True),
        A("device", "f5", "device", "Choose where the code runs: auto, cpu, cuda or mps.",
          rank=2, priority=True),
        A("past", "f6", "past", "Reopen past submissions.", rank=3, priority=True),
        A("diff", "f7", "diff", "What changed since the last submission.", rank=3, priority=True),
        A("solution", "f8", "solution",
          "Show a solution: free after a pass; before it, the card is rated Again.", rank=4, priority=True),
        A("find", "ctrl+f", "find", "Find in your code; again finds the next.", rank=1, priority=True),
        A("cancel", "escape", "cancel", "Stop the grading.", ("judging",), 9, True),
        A("close_find", "escape", "close", "Close the search field.", ("find",), 9, True),
        A("back", "escape", "back", "Save and go back.", ("idle", TYPING), 9, True),
    )),
    "browse": PlaceActions("Browse", ("list", TYPING),
        "The filter understands words and topic:, level:, kind:, exercise:, id:, state:, due:.", (
        A("find", "slash", "filter", "Filter: text, topic:, level:, kind:, state:, due:.", ("list",), 9),
        A("leave_field", "escape", "list", "Leave the filter and go to the list.", (TYPING,), 9),
        *MOVE,
        *MOVE_PAGES,
        A("first", "home,g", "first", "The first question.", ("list",)),
        A("last", "end,G", "last", "The last question.", ("list",)),
        A("read", "enter,space", "read", "Read the question with its answer.", ("list",), 8),
        A("drill", "d", "drill these", "Drill the questions of the filter.", ("list",), 7),
        A("facts", "i", "facts", "Stability, due date and history of the card.", ("list",), 6),
        A("suspend", "s", "suspend", "Suspend the card, or resume it.", ("list",), 5),
        A("flag", "f", "flag", "Flag the card, or remove its flag.", ("list",), 5),
        A("exercise", "e", "exercise", "Open the question's exercise.", ("list",), 4),
        A("source", "o", "source", "Open the question's file in your editor.", ("list",), 3),
        A("copy", "c", "copy", "Copy the question and its answer.", ("list",), 2),
        A("undo", "u", "undo", "Take back the last answer, suspend or flag.", ("list",), 2),
        A("back", "q,escape", "back", "Go back.", ("list",), 7),
    )),
    "statistics": PlaceActions("Statistics", ("ready",),
        "How well you remember, and what is coming.", (
        A("page(1)", "right,tab,l", "next page", "The next page of figures.", rank=9),
        A("page(-1)", "left,shift+tab,h", "previous page", "The previous page.", rank=8),
        *SCROLL,
        A("export", "x", "export", "Write the figures as CSV and the page as SVG.", rank=6),
        A("back", "q,escape", "back", "Go back.", rank=7),
    )),
    "settings": PlaceActions("Settings", ("list", TYPING),
        "Kept in a text file that you may edit by hand.", (
        A("up", "up,k", "up", "One up.", ("list",)),
        A("down", "down,j", "down", "One down.", ("list",)),
        A("change(1)", "enter,space,right", "change", "Change the value, or type a new one.", ("list",), 9),
        A("change(-1)", "left", "previous value", "The previous value.", ("list",), 5),
        A("default", "r", "default", "Back to the default value.", ("list",), 6),
        A("open_file", "o", "file", "Open the settings file in your editor.", ("list",), 4),
        A("reset_model", "w", "reset memory model",
          "Forget what was fitted to your reviews: the weights that FSRS-6 comes with.", ("list",), 3),
        A("leave_field", "escape", "cancel", "Keep the old value.", (TYPING,), 9),
        A("back", "q,escape", "back", "Go back.", ("list",), 7),
    )),
    "tour": PlaceActions("Tour", ("ready",), "", (
        A("page(1)", "enter,space,right", "next", "The next page; after the last, the home screen.", rank=9),
        A("page(-1)", "left", "previous", "The previous page.", rank=5),
        A("skip", "escape,q", "skip", "Skip the tour; it is in the palette and under i.", rank=8),
    )),
    "help": PlaceActions("Help", ("ready",), "", (
        A("up", "up,k", "up", "Scroll up."),
        A("down", "down,j,space", "down", "Scroll down."),
        *SCROLL_PAGES,
        A("close", "escape,q,enter", "close", "Close the help.", rank=9),
    )),
    "pager": PlaceActions("Reading", ("ready",), "", (
        *SCROLL,
        A("page(-1)", "pageup", "page up", "Scroll a page up."),
        A("page(1)", "pagedown,space", "page down", "Scroll a page down.", rank=5),
        A("copy", "c", "copy", "Copy the text.", rank=4),
        A("close", "escape,q,enter", "close", "Close.", rank=9),
    )),
    "mock": PlaceActions("Mock", (*MOCK_SETUP, TYPING),
        "Choose role, length, code and seed. The same seed and state of your cards draw the same paper.", (
        A("begin", "enter,space", "begin", "Draw the paper and begin.", ("list", "cut-list"), 10),
        A("open", "enter,space", "open", "Open the scorecard.", ("past", "cut-past"), 10),
        *MOVE,
        A("change(1)", "right,l", "change", "The next value.", ("list", "cut-list"), 9),
        A("change(-1)", "left,h", "previous value", "The previous value.", ("list", "cut-list")),
        A("seed", "s", "new seed", "Draw another seed; the same seed and state give the same paper.",
          ("list", "cut-list"), 5),
        A("type_seed", "n", "type seed", "Type a seed, such as one from an old report.",
          ("list", "cut-list"), 2),
        A("leave_field", "escape", "cancel", "Keep the seed as it was.", (TYPING,), 9),
        A("resume", "r", "resume", "Go on with the interview that is not finished; its clock went on.",
          ("cut-list", "cut-past"), 8),
        A("blind", "b", "re-mark", "Mark old answers again without seeing your first marks.", MOCK_SETUP, 0),
        A("history", "t", "history", "All interviews: marks, dimensions and topics over time.",
          MOCK_SETUP, 4),
        A("back", "q,escape", "back", "Go back.", MOCK_SETUP, 7),
    )),
    "incident": PlaceActions("Broken run", ("list", "cut"),
        "Training runs that were really broken and really measured. First comes what you have not had, of "
        "that the kinds of fault that you are forgetting. Clock and marks are those of an interview's "
        "scenario, but no trend of interviews counts them.", (
        A("begin", "enter,space", "begin", "Start the clock on the run under the cursor.", (), 10),
        *MOVE,
        *MOVE_PAGES,
        A("result", "c", "last result", "The scorecard of the last time that it was sat.", (), 6),
        A("resume", "r", "resume", "Go on with what is not finished; its clock went on.", ("cut",), 8),
        A("back", "q,escape", "back", "Go back.", rank=7),
    )),
    "mockrun": PlaceActions("Mock interview",
        ("brief", TYPING, "idle", "choice", "order", "confidence", "coding", *INCIDENT, "predict", "wrap"),
        "One clock runs. Answers are frozen as you give them, and nothing is revealed before the end. A "
        "question is cut at one and a half of its time. In a scenario a reading costs seconds of the clock,"
        " and you say first how it ends; answer, cause, place and what you rejected are frozen together.", (
        A("proceed", "enter,space", "go on", "Go on to the next phase.", ("brief", "wrap"), 10),
        A("answer", "ctrl+r", "answer", "Freeze the answer with its time.", ANSWERABLE, 10, True),
        A("answer_here", "enter", "answer", "Freeze the answer with its time.", ("choice", "order")),
        *OPTIONS,
        *_confidence("I do not know it.", "I doubt that it is right.", "It may be right or wrong.",
          "I think that it is right.", "I am sure."),
        A("lift(-1)", "K,shift+up", "raise", "Move the step up.", ("order",), 7),
        A("lift(1)", "J,shift+down", "lower", "Move the step down.", ("order",), 7),
        A("up", "up,k", "up", "Go up, or scroll."),
        A("down", "down,j", "down", "Go down, or scroll."),
        A("page(-1)", "pageup", "page up", "Scroll the question up."),
        A("page(1)", "pagedown", "page down", "Scroll the question down."),
        A("skip", "ctrl+n", "skip", "Put the question aside; it stays open until the phase ends.",
          ANSWERABLE, 8, True),
        A("return_to", "ctrl+g", "return", "Go to another question of this phase.", ANSWERABLE, 5, True),
        A("pane('task')", "f2", "task", "Read the task.", ("coding",), 6, True),
        A("pane('code')", "f3", "code", "Go to the code.", ("coding",), 6, True),
        A("pane('explain')", "f4", "explain", "Explain what must hold in the code.", ("coding",), 6, True),
        A("check", "ctrl+t", "own check", "Run your module with its own assertions.", ("coding",), 7, True),
        A("judge", "ctrl+s", "submit", "Submit the code to the hidden tests; the last one counts.",
          ("coding",), 7, True),
        A("edit", "ctrl+o", "editor", "Write the code in your own editor; the clock goes on.",
          ("coding",), 3, True),
        A("case('run')", "f2", "run", "The run: set-up, symptom and readings.", INCIDENT, 3, True),
        A("case('answer')", "f3", "write", "Write the answer.", INCIDENT, 3, True),
        A("case('diagnosis')", "f4", "diagnosis",
          "Commit to cause, place, state to save, and what you rejected.", INCIDENT, 3, True),
        A("buy", "enter,space", "take reading",
          "Take the reading under the cursor: say first how it ends, then pay its seconds.",
          ("readings",), 9),
        A("choose", "enter,space", "choose", "Choose for the line under the cursor.", ("diagnosis",), 9),
        *(A(f"predict({place})", str(place + 1), "", f"The reading ends as outcome {place + 1} says.",
          ("predict",)) for place in range(5)),
        A("unask", "escape", "not this one", "Do not take the reading.", ("predict",), 9, True),
        A("hint", "ctrl+t", "hint", "Take a hint: it costs 10 marks; there are two.", INCIDENT, 7, True),
        A("end", "ctrl+e", "end early", "End the interview now and mark it.",
          ("brief", "wrap", "confidence", *ANSWERABLE), 4, True),
        A("back", "escape", "leave", "Leave the screen; the clock goes on.",
          ("brief", "wrap", "confidence", *ANSWERABLE), 6, True),
    )),
    "mockmark": PlaceActions("Marking", ("marks", "shown", TYPING),
        "Your words beside the key points, one at a time. What your words show is proposed; a point without"
        " matching words asks for the phrase that says it, else it counts half.", (
        A("yes", "y,space", "said it", "I said this; without matching words the phrase is asked for.",
          ("marks",), 9),
        A("no", "n", "not said", "I did not say this.", ("marks",), 9),
        A("half", "h", "half", "I said half of it.", ("marks",), 8),
        A("take", "enter", "next", "Take the rest as proposed and go to the next item.",
          ("marks", "shown"), 10),
        A("up", "up,k", "up", "One up.", ("marks", "shown")),
        A("down", "down,j", "down", "One down.", ("marks", "shown")),
        *SCROLL_PAGES,
        A("go(-1)", "left,p", "item before", "The item before.", ("marks", "shown"), 4),
        A("go(1)", "right", "next item", "The next item.", ("marks", "shown")),
        A("strong", "s", "strong answer", "Read a strong answer.", ("marks", "shown"), 6),
        A("phrase", "ctrl+r", "take phrase", "The phrase of the answer that says it.", (TYPING,), 9),
        A("leave_field", "escape", "no phrase", "No phrase: the point counts half, as unsupported.",
          (TYPING,), 9),
        A("back", "escape,q", "later", "Leave the marking; it can be taken up again.", ("marks", "shown"), 5),
    )),
    "mockcard": PlaceActions("Scorecard", ("ready",),
        "The result with everything that made it. The arithmetic shows each mark's terms.", (
        A("report", "r,enter", "report", "Read the whole report.", rank=10),
        A("explain", "a", "arithmetic", "How every mark and the total came about.", rank=9),
        A("export", "x", "export", "Write the report as HTML, Markdown and JSON.", rank=8),
        A("undo", "u", "undo", "Take the marks and their reviews back, both at once.", rank=5),
        *SCROLL,
        A("page(-1)", "pageup", "page up", "Scroll a page up."),
        A("page(1)", "pagedown,space", "page down", "Scroll a page down."),
        A("back", "q,escape", "back", "Go back.", rank=7),
    )),
    "mockpast": PlaceActions("History", ("list", "empty"),
        "Marks over time. Change is the newest against the mean of up to three before it. A topic counts "
        "the questions that were reached. Pooled: an interview weighs half every 14 days; with fewer than "
        "three in 30 days it is provisional.", (
        A("open", "enter,space", "open", "Open the scorecard of the interview.", ("list",), 10),
        A("report", "r", "report", "Read its whole report.", ("list",), 9),
        A("role(1)", "right,l,tab", "next role", "The interviews of the next role, or of all.", ("list",), 8),
        A("role(-1)", "left,h,shift+tab", "role before", "The interviews of the role before.", ("list",)),
        A("up", "up,k", "up", "One up; above the list it scrolls."),
        A("down", "down,j", "down", "One down; below the list it scrolls."),
        *SCROLL_PAGES,
        A("back", "q,escape", "back", "Go back.", rank=7),
    )),
}  # fmt: skip
"""By place. The names of places and actions are part of the settings file: users override keys by them."""

_overrides: dict[str, str] = {}


@cache
def of_place(place: str) -> tuple[Act, ...]:
    """The actions of a place, in the order of the table; none where the place is unknown."""
    return tuple(act._replace(place=place) for act in TABLE[place].acts) if place in TABLE else ()


def key_lines() -> list[str]:
    """The table ``[keys]`` of the settings file with the keys as they come, a line for each action."""
    return [f'"{act.id}" = "{act.keys}"  # {act.help}' for place in places() for act in of_place(place)]


def places() -> tuple[str, ...]:
    """All places."""
    return tuple(TABLE)


def phases(place: str) -> tuple[str, ...]:
    """The phases of a place."""
    return TABLE[place].phases


def live(place: str, phase: str) -> list[Act]:
    """What can be done in a phase of a place, the actions of the app itself last."""
    acts = of_place(place) if place == "app" else (*of_place(place), *of_place("app"))
    return [act for act in acts if act.alive(phase) or act.place == "app"]


def bindings(place: str) -> list[Binding]:
    """Textual's bindings of a place."""
    return [
        Binding(act.keys, act.action, act.label or act.help, show=False, priority=act.priority, id=act.id)
        for act in of_place(place)
    ]


def override(user_keys: Mapping[str, str]) -> dict[str, str]:
    """Replace keys by the user's own (``{"drill.undo": "z"}``); returns Textual's keymap."""
    _overrides.clear()
    _overrides.update(user_keys)
    return dict(_overrides)


def unknown(names: Iterable[str]) -> list[str]:
    """The names that no action has."""
    ids = {act.id for place in TABLE for act in of_place(place)}
    return [name for name in names if name not in ids]


_DISPLAY = {
    "escape": "esc", "question_mark": "?", "slash": "/", "comma": ",", "pageup": "pgup",
    "pagedown": "pgdn", "up": "↑", "down": "↓", "left": "←", "right": "→",
}  # fmt: skip


def display(key: str) -> str:
    """A key as the key bar writes it."""
    *modifiers, name = key.split("+")
    short = {"ctrl": "^", "shift": "shift+", "alt": "alt+"}
    return "".join(short.get(part, part) for part in modifiers) + _DISPLAY.get(name, name)
