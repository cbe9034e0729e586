"""Every action of the interface in one table. Bindings, key bar, palette and help are made from it."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from textual.binding import Binding


class Act(NamedTuple):
    """One action of a place: the method it calls, its keys and texts, and the phases in which it exists.

    ``when`` lists these phases; empty means all. ``rank`` decides what stays in the key bar if room is short
    (0: never shown, 1: the first to go). A ``priority`` key reaches the screen even while a field has the
    focus. ``place`` is filled in by `of_place`.
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
        """The name of the action in the user's ``[keys]`` settings."""
        return f"{self.place}.{self.action.replace('(', '-').replace(')', '')}"

    @property
    def call(self) -> str:
        """The action in the form that Textual can call from anywhere, such as ``screen.undo``."""
        return f"{'app' if self.place == 'app' else 'screen'}.{self.action}"

    def alive(self, phase: str) -> bool:
        """Whether the action exists in a phase."""
        return not self.when or phase in self.when

    def reachable(self, phase: str) -> bool:
        """Whether one of its keys works in a phase: a focused field swallows printable keys."""
        return self.alive(phase) and (phase not in FIELDS or any(map(_passes_field, self.key_list())))

    def key_for(self, phase: str) -> str:
        """The key to show in a phase: the first one that works there."""
        keys = self.key_list()
        return next(filter(_passes_field, keys), keys[0]) if phase in FIELDS else keys[0]

    def key_list(self) -> tuple[str, ...]:
        """The current keys: the user's if the settings replace them, otherwise those of the table."""
        return tuple(key.strip() for key in _overrides.get(self.id, self.keys).split(",") if key.strip())


class PlaceActions(NamedTuple):
    """A screen: its title in palette and help, its phases, a sentence about it, and its actions."""

    title: str
    phases: tuple[str, ...]
    about: str
    acts: tuple[Act, ...]


def _passes_field(key: str) -> bool:
    # A text field uses up every printable key, so only modified and special keys get past it.
    return "+" in key or key in {"escape", "tab"} or (key.startswith("f") and key[1:].isdigit())


TYPING = "typing"
FIELDS = frozenset({TYPING, "find", "coding", "telling"})
"""Phases in which a focused field may swallow printable keys."""
QUESTION = ("recall", "numeric", "choice", "order", "cloze")
UNSEEN = (*QUESTION, TYPING)
ANSWER = ("answer", "points")
CARD = (*UNSEEN, *ANSWER, "confidence")
MOCK_SETUP = ("list", "past", "cut-list", "cut-past")
MOCK_FIELDS = ("list", "cut-list")
INCIDENT = ("readings", "telling", "diagnosis")
ANSWERABLE = ("choice", "order", "idle", "coding", TYPING, *INCIDENT)
"""Phases of a running interview in which an answer can be given."""
RUNNING = ("brief", "wrap", "confidence", *ANSWERABLE)

A = Act
SCROLL = (A("up", "up,k", "up", "Scroll up."), A("down", "down,j", "down", "Scroll down."))
SCROLL_PAGES = (
    A("page(-1)", "pageup", "page up", "Scroll a page up."),
    A("page(1)", "pagedown", "page down", "Scroll a page down."),
)
MOVE = (A("up", "up,k", "up", "Move up."), A("down", "down,j", "down", "Move down."))
LIST = (
    *MOVE,
    A("page(-1)", "pageup", "page up", "Move up a page."),
    A("page(1)", "pagedown", "page down", "Move down a page."),
)
STEPS = (
    A("lift(-1)", "K,shift+up", "raise", "Move the step up.", ("order",), 7),
    A("lift(1)", "J,shift+down", "lower", "Move the step down.", ("order",), 7),
)
RATINGS = ("Again: not recalled", "Hard: recalled with effort", "Good: recalled", "Easy: recalled at once")
SURE = ("I do not know it.", "I doubt it.", "It could go either way.", "I think so.", "I am sure.")
CONFIDENCE = tuple(
    A(f"confide({25 * step})", str(step + 1), f"{25 * step} %", sentence, ("confidence",), 9)
    for step, sentence in enumerate(SURE)
)
OPTIONS = (
    A("pick(0)", "1", "answer", "Answer with option 1.", ("choice",), 10),  # the key bar shows "1-4 answer"
    *(A(f"pick({n})", str(n + 1), "", f"Answer with option {n + 1}.", ("choice",)) for n in range(1, 5)),
)

TABLE: Mapping[str, PlaceActions] = {
    "app": PlaceActions("App", ("",), "", (
        A("command_palette", "ctrl+p", "palette", "Find any action by its name.", (), 2, True),
        A("help", "question_mark,f1", "help", "Show what you can do here, with the keys.", rank=9),
        A("next_theme", "f9", "theme", "Switch between dark, light, high contrast and terminal colors."),
        A("suspend_process", "ctrl+z", "to the shell", "Go to the shell (fg returns); in a field, undo."),
        A("leave", "ctrl+q", "quit", "Leave the program; every answer is already on disk."),
    )),
    "home": PlaceActions("Home", ("loading", "ready"), "What is due today, and where to go from here.", (
        A("start", "enter,space,d", "drill", "Drill what is due, then new cards.", ("ready",), 9),
        A("exercises", "e", "exercises", "Open the list of exercises.", rank=8),
        A("next_exercise", "n", "next exercise", "Open the exercise that comes next.", ("ready",), 4),
        A("mock", "m", "mock", "Take a timed mock interview.", rank=5),
        A("incident", "r", "broken run", "Diagnose a broken training run against the clock.", rank=3),
        A("browse", "b", "browse", "Browse all questions, with a filter.", rank=7),
        A("statistics", "s", "statistics", "See retention, forecast, and progress by topic.", rank=6),
        A("settings", "comma", "settings", "Change how the program behaves.", rank=3),
        A("topic", "t", "topic", "Drill one topic, chosen from a list.", ("ready",), 2),
        A("tour", "i", "tour", "Take a short tour of the program in three screens."),
        *SCROLL,
        A("leave", "q,escape", "quit", "Leave the program.", rank=4),
    )),
    "drill": PlaceActions("Drill", (*CARD, "empty", "done"),
        "Recall the answer, out loud or typed, then reveal it and rate how it went. The proposed rating "
        "rests on what you ticked or answered; enter accepts it.", (
        A("reveal", "space,enter", "reveal", "Show the answer.", ("recall", "numeric", "order", "cloze"), 10),
        A("choose", "enter", "", "Answer with the option that you moved to.", ("choice",)),
        A("look", "space", "show answer", "Show the answer without choosing.", ("choice",), 8),
        A("dont_know", "0,ctrl+n", "don't know", "Say that you do not know, and see the answer.", UNSEEN, 5),
        A("check", "ctrl+r", "check", "Check what is typed and show the answer.", (TYPING,), 9, True),
        A("leave_field", "escape", "leave field", "Leave the field and keep its text.", (TYPING,), 8),
        *OPTIONS,
        A("type", "t", "type", "Type an answer before you reveal it.", ("recall", "numeric", "cloze"), 6),
        *STEPS,
        *CONFIDENCE,
        A("take", "enter", "accept", "Rate as proposed and go on.", ANSWER, 10),
        *(A(f"rate({number})", str(number), "", f"Rate {text}.",
          ANSWER) for number, text in enumerate(RATINGS, 1)),
        A("tick", "space,x", "tick", "Tick a key point that you said.", ("points",), 9),
        A("tick_all", "a", "tick all", "Tick all key points, or none.", ("points",), 5),
        A("follow_up", "n", "follow-up", "See what is asked next; again for its answer.", ANSWER, 4),
        A("up", "up,k", "up", "Go up, or scroll.", (*QUESTION, *ANSWER)),
        A("down", "down,j", "down", "Go down, or scroll.", (*QUESTION, *ANSWER)),
        A("page(-1)", "pageup", "page up", "Scroll a page up.", CARD),
        A("page(1)", "pagedown", "page down", "Scroll a page down.", CARD),
        A("undo", "u", "undo", "Undo the last answer, bury, suspend or flag.", rank=6),
        A("redo", "U", "redo", "Redo what you undid."),
        A("treat_as_new", "T", "start over", "Treat a changed question as new.", QUESTION),
        A("bury", "b", "bury", "Put the card off until tomorrow.", CARD, 3),
        A("suspend", "s", "suspend", "Take the card out of the queue until you resume it.", CARD, 2),
        A("flag", "f", "flag", "Flag the card, or remove its flag.", CARD, 3),
        A("exercise", "e", "exercise", "Open the card's exercise; leaving it returns here.", CARD, 4),
        A("facts", "i", "facts", "See stability, due date and history of the card.", CARD, 2),
        A("source", "o", "source", "Open the question's file in your editor.", CARD, 1),
        A("copy", "c", "copy", "Copy the question and its answer.", CARD),
        A("search", "slash", "search", "Search all questions.", rank=2),
        A("more", "enter,space", "again", "Look for more cards.", ("empty", "done"), 9),
        A("back", "q,escape", "back", "Go back; every rated card is on disk.",
          (*QUESTION, *ANSWER, "confidence", "empty", "done"), 7),
    )),
    "exercises": PlaceActions("Exercises", ("list", TYPING), "Every exercise with its state.", (
        A("open", "enter,space", "open", "Open the exercise.", ("list",), 9),
        *LIST,
        A("questions", "l", "questions", "Drill the questions that lead to it.", ("list",), 5),
        A("find", "slash", "filter", "Filter by name, topic, level or state.", ("list",), 6),
        A("leave_field", "escape", "leave field", "Leave the filter.", (TYPING,), 8),
        A("back", "q,escape", "back", "Go back.", ("list",), 7),
    )),
    "exercise": PlaceActions("Exercise", ("idle", TYPING, "judging", "find"),
        "Write the module until every hidden test passes. The file is yours, in your own folder; saving "
        "grades it, and your own editor works too.", (
        A("grade", "ctrl+r", "grade", "Run the hidden tests on your code.", (), 10, True),
        A("save", "ctrl+s", "save", "Save the file and grade it.", (), 5, True),
        A("edit", "ctrl+o", "editor", "Open the file in your editor; a change is graded.", (), 7, True),
        A("hint", "ctrl+t", "hint", "Show the next hint.", (), 8, True),
        A("show('prompt')", "f2", "task", "Go to the task.", (), 6, True),
        A("show('code')", "f3", "code", "Go to your code.", (), 6, True),
        A("show('verdict')", "f4", "verdict", "Go to the verdict.", (), 6, True),
        A("device", "f5", "device", "Choose where the code runs: auto, cpu, cuda or mps.", (), 2, True),
        A("past", "f6", "past", "Reopen past submissions.", (), 3, True),
        A("diff", "f7", "diff", "See what changed since the last submission.", (), 3, True),
        A("solution", "f8", "solution", "Show a solution; before a pass this rates the card Again.", (), 4,
          True),
        A("find", "ctrl+f", "find", "Find in your code; press again for the next match.", (), 1, True),
        A("cancel", "escape", "cancel", "Stop grading.", ("judging",), 9, True),
        A("close_find", "escape", "close", "Close the search field.", ("find",), 9, True),
        A("back", "escape", "back", "Save and go back.", ("idle", TYPING), 9, True),
    )),
    "browse": PlaceActions("Browse", ("list", TYPING),
        "The filter understands words and topic:, level:, kind:, exercise:, id:, state:, due:.", (
        A("find", "slash", "filter", "Filter by text, topic:, level:, kind:, state:, due:.", ("list",), 9),
        A("leave_field", "escape", "list", "Leave the filter and go to the list.", (TYPING,), 9),
        *LIST,
        A("first", "home,g", "first", "Go to the first question.", ("list",)),
        A("last", "end,G", "last", "Go to the last question.", ("list",)),
        A("read", "enter,space", "read", "Read the question with its answer.", ("list",), 8),
        A("drill", "d", "drill these", "Drill the questions of the filter.", ("list",), 7),
        A("facts", "i", "facts", "See stability, due date and history of the card.", ("list",), 6),
        A("suspend", "s", "suspend", "Suspend the card, or resume it.", ("list",), 5),
        A("flag", "f", "flag", "Flag the card, or remove its flag.", ("list",), 5),
        A("exercise", "e", "exercise", "Open the question's exercise.", ("list",), 4),
        A("source", "o", "source", "Open the question's file in your editor.", ("list",), 3),
        A("copy", "c", "copy", "Copy the question and its answer.", ("list",), 2),
        A("undo", "u", "undo", "Undo the last answer, suspend or flag.", ("list",), 2),
        A("back", "q,escape", "back", "Go back.", ("list",), 7),
    )),
    "statistics": PlaceActions("Statistics", ("ready",), "How well you remember, and what is coming.", (
        A("page(1)", "right,tab,l", "next page", "Go to the next page.", rank=9),
        A("page(-1)", "left,shift+tab,h", "previous page", "Go to the previous page.", rank=8),
        *SCROLL,
        A("export", "x", "export", "Write the figures as CSV and the page as SVG.", rank=6),
        A("back", "q,escape", "back", "Go back.", rank=7),
    )),
    "settings": PlaceActions("Settings", ("list", TYPING),
        "Kept in a text file that you can also edit by hand.", (
        A("up", "up,k", "up", "Move up.", ("list",)),
        A("down", "down,j", "down", "Move down.", ("list",)),
        A("change(1)", "enter,space,right", "change", "Change the value, or type a new one.", ("list",), 9),
        A("change(-1)", "left", "previous value", "Change to the previous value.", ("list",), 5),
        A("default", "r", "default", "Restore the default value.", ("list",), 6),
        A("open_file", "o", "file", "Open the settings file in your editor.", ("list",), 4),
        A("reset_model", "w", "reset memory model", "Discard your fitted weights and use those of FSRS-6.",
          ("list",), 3),
        A("leave_field", "escape", "cancel", "Keep the old value.", (TYPING,), 9),
        A("back", "q,escape", "back", "Go back.", ("list",), 7),
    )),
    "tour": PlaceActions("Tour", ("ready",), "", (
        A("page(1)", "enter,space,right", "next", "Go to the next page, then to the home screen.", rank=9),
        A("page(-1)", "left", "previous", "Go to the previous page.", rank=5),
        A("skip", "escape,q", "skip", "Skip the tour; i on the home screen brings it back.", rank=8),
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
        "Choose the role, the length, code or no code, and the seed. The same seed with the same state of "
        "your cards gives the same paper.", (
        A("begin", "enter,space", "begin", "Begin the interview.", MOCK_FIELDS, 10),
        A("open", "enter,space", "open", "Open the scorecard.", ("past", "cut-past"), 10),
        *MOVE,
        A("change(1)", "right,l", "change", "Change to the next value.", MOCK_FIELDS, 9),
        A("change(-1)", "left,h", "previous value", "Change to the previous value.", MOCK_FIELDS),
        A("seed", "s", "new seed", "Pick a random seed; a seed repeats a paper.", MOCK_FIELDS, 5),
        A("type_seed", "n", "type seed", "Type a seed, such as an old report's.", MOCK_FIELDS, 2),
        A("leave_field", "escape", "cancel", "Keep the seed as it was.", (TYPING,), 9),
        A("resume", "r", "resume", "Resume the unfinished one; its clock ran on.", ("cut-list", "cut-past"),
          8),
        A("blind", "b", "re-mark", "Mark old answers again without seeing your first marks.", MOCK_SETUP, 0),
        A("history", "t", "history", "See all interviews: marks over time.", MOCK_SETUP, 4),
        A("back", "q,escape", "back", "Go back.", MOCK_SETUP, 7),
    )),
    "incident": PlaceActions("Broken run", ("list", "cut"),
        "Training runs that were really broken and really measured. Runs you have not seen come first, "
        "starting with the kinds of fault that you are forgetting. Clock and marks are those of a scenario "
        "in an interview, but these runs do not count in your interview history.", (
        A("begin", "enter,space", "begin", "Start the clock on the run under the cursor.", (), 10),
        *LIST,
        A("result", "c", "last result", "Open the scorecard of your last attempt.", (), 6),
        A("resume", "r", "resume", "Resume what is not finished; its clock kept running.", ("cut",), 8),
        A("back", "q,escape", "back", "Go back.", rank=7),
    )),
    "mockrun": PlaceActions("Mock interview",
        ("brief", TYPING, "idle", "choice", "order", "confidence", "coding", *INCIDENT, "predict", "wrap"),
        "One clock runs for the whole interview. Answers are frozen as you give them, and nothing is "
        "revealed before the end. A question is cut at one and a half times its budget. In a scenario each "
        "reading costs seconds of the clock, and you predict its outcome before you see it. Answer, cause, "
        "place and rejected cause are frozen together.", (
        A("proceed", "enter,space", "go on", "Go on to the next phase.", ("brief", "wrap"), 10),
        A("answer", "ctrl+r", "answer", "Freeze the answer and its time.", ANSWERABLE, 10, True),
        A("answer_here", "enter", "answer", "Freeze the answer and its time.", ("choice", "order")),
        *OPTIONS,
        *CONFIDENCE,
        *STEPS,
        A("up", "up,k", "up", "Go up, or scroll."),
        A("down", "down,j", "down", "Go down, or scroll."),
        A("page(-1)", "pageup", "page up", "Scroll the question up."),
        A("page(1)", "pagedown", "page down", "Scroll the question down."),
        A("skip", "ctrl+n", "skip", "Put the question aside until later in the phase.", ANSWERABLE, 8, True),
        A("return_to", "ctrl+g", "return", "Go to another question of this phase.", ANSWERABLE, 5, True),
        A("pane('task')", "f2", "task", "Read the task.", ("coding",), 6, True),
        A("pane('code')", "f3", "code", "Go to the code.", ("coding",), 6, True),
        A("pane('explain')", "f4", "explain", "Explain what must hold in the code.", ("coding",), 6, True),
        A("check", "ctrl+t", "check", "Run your module with your own assertions.", ("coding",), 7, True),
        A("judge", "ctrl+s", "submit", "Submit to the hidden tests; the last one counts.", ("coding",), 7,
          True),
        A("edit", "ctrl+o", "editor", "Use your own editor; the clock keeps running.", ("coding",), 3, True),
        A("case('run')", "f2", "run", "Show the run: setup, symptom and readings.", INCIDENT, 3, True),
        A("case('answer')", "f3", "write", "Write the answer.", INCIDENT, 3, True),
        A("case('diagnosis')", "f4", "diagnosis", "Commit to cause, place, state to save and rejected cause.",
          INCIDENT, 3, True),
        A("buy", "enter,space", "take reading", "Predict how the reading ends, pay for it and read it.",
          ("readings",), 9),
        A("choose", "enter,space", "choose", "Choose for the line under the cursor.", ("diagnosis",), 9),
        *(A(f"predict({place})", str(place + 1), "", f"Predict outcome {place + 1}.",
          ("predict",)) for place in range(5)),
        A("unask", "escape", "not this one", "Do not take the reading.", ("predict",), 9, True),
        A("hint", "ctrl+t", "hint", "Take one of two hints, for 10 marks each.", INCIDENT, 7, True),
        A("end", "ctrl+e", "end early", "End the interview now and mark it.", RUNNING, 4, True),
        A("back", "escape", "leave", "Leave the screen; the clock keeps running.", RUNNING, 6, True),
    )),
    "mockmark": PlaceActions("Marking", ("marks", "shown", TYPING),
        "Your words beside the key points, one at a time. Points that your words show are proposed. For any"
        " other point that you claim, name the phrase that says it; without one it counts half.", (
        A("yes", "y,space", "said it", "I said this; name the phrase if no words match.", ("marks",), 9),
        A("no", "n", "not said", "I did not say this.", ("marks",), 9),
        A("half", "h", "half", "I said half of it.", ("marks",), 8),
        A("take", "enter", "next", "Accept what is proposed and go on.", ("marks", "shown"), 10),
        A("up", "up,k", "up", "Move up.", ("marks", "shown")),
        A("down", "down,j", "down", "Move down.", ("marks", "shown")),
        *SCROLL_PAGES,
        A("go(-1)", "left,p", "previous", "Go to the previous question.", ("marks", "shown"), 4),
        A("go(1)", "right", "next question", "Go to the next question.", ("marks", "shown")),
        A("strong", "s", "strong answer", "Read a strong answer.", ("marks", "shown"), 6),
        A("phrase", "ctrl+r", "use phrase", "Use this phrase of your answer as evidence.", (TYPING,), 9),
        A("leave_field", "escape", "no phrase", "No phrase: the point counts half.", (TYPING,), 9),
        A("back", "escape,q", "later", "Leave the marking; you can resume it later.", ("marks", "shown"), 5),
    )),
    "mockcard": PlaceActions("Scorecard", ("ready",),
        "The result and everything behind it. The arithmetic shows how each mark was computed.", (
        A("report", "r,enter", "report", "Read the whole report.", rank=10),
        A("explain", "a", "arithmetic", "See how every mark and the total were computed.", rank=9),
        A("export", "x", "export", "Write the report as HTML, Markdown and JSON.", rank=8),
        A("undo", "u", "undo", "Undo the marks and their reviews together.", rank=5),
        *SCROLL,
        A("page(-1)", "pageup", "page up", "Scroll a page up."),
        A("page(1)", "pagedown,space", "page down", "Scroll a page down."),
        A("back", "q,escape", "back", "Go back.", rank=7),
    )),
    "mockpast": PlaceActions("History", ("list", "empty"),
        "Marks over time. Change compares the newest interview with the mean of up to three before it. "
        "Topics count only questions that you reached. In the pooled mark an interview loses half its "
        "weight every 14 days; with fewer than three in 30 days it is provisional.", (
        A("open", "enter,space", "open", "Open the scorecard of the interview.", ("list",), 10),
        A("report", "r", "report", "Read its whole report.", ("list",), 9),
        A("role(1)", "right,l,tab", "next role", "Show the next role, or all of them.", ("list",), 8),
        A("role(-1)", "left,h,shift+tab", "previous role", "Show the previous role.", ("list",)),
        A("up", "up,k", "up", "Move up; above the list, scroll."),
        A("down", "down,j", "down", "Move down; below the list, scroll."),
        *SCROLL_PAGES,
        A("back", "q,escape", "back", "Go back.", rank=7),
    )),
}  # fmt: skip
"""By place. Do not rename places or actions: users' settings files refer to them to override keys."""

_overrides: dict[str, str] = {}


@cache
def of_place(place: str) -> tuple[Act, ...]:
    """The actions of a place, in the order of the table; none for an unknown place."""
    return tuple(act._replace(place=place) for act in TABLE[place].acts) if place in TABLE else ()


def key_lines() -> list[str]:
    """The lines of ``[keys]`` in a new settings file: one line per action with its default keys."""
    return [f'"{act.id}" = "{act.keys}"  # {act.help}' for place in TABLE for act in of_place(place)]


def phases(place: str) -> tuple[str, ...]:
    """The phases of a place."""
    return TABLE[place].phases


def live(place: str, phase: str) -> list[Act]:
    """The actions that exist in a phase of a place, followed by those of the app itself."""
    return [*(act for act in of_place(place) if place != "app" and act.alive(phase)), *of_place("app")]


def bindings(place: str, *also: str) -> list[Binding]:
    """Textual's bindings of a place, and of the app's actions ``also``, which a dialog would hide."""
    from_app = [(act.call, act) for act in of_place("app") if act.action in also]
    return [
        Binding(act.keys, call, act.label or act.help, show=False, priority=act.priority, id=act.id)
        for call, act in [*((act.action, act) for act in of_place(place)), *from_app]
    ]


def override(user_keys: Mapping[str, str]) -> dict[str, str]:
    """Replace keys by the user's own, such as ``{"drill.undo": "z"}``; return Textual's keymap."""
    _overrides.clear()
    _overrides.update(user_keys)
    return dict(_overrides)


def unknown(names: Iterable[str]) -> list[str]:
    """Those of the names that belong to no action."""
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
