"""The actions of the mock interview's screens, added to the one table."""

from quizapp.tui import actions
from quizapp.tui.actions import TYPING, Act
from quizapp.tui.screens.help import ABOUT

A = Act
CASE = ("readings", "telling", "diagnosis")
LIVE = ("choice", "order", "idle", "coding", TYPING, *CASE)

READY = ("list", "past", "cut-list", "cut-past")

_SETUP = [
    A("mock", "begin", "enter,space", "begin", "Draw the paper and begin.", ("list", "cut-list"), 10),
    A("mock", "open", "enter,space", "open", "Open the scorecard.", ("past", "cut-past"), 10),
    A("mock", "up", "up,k", "up", "One up."),
    A("mock", "down", "down,j", "down", "One down."),
    A("mock", "change(1)", "right,l", "change", "The next value.", ("list", "cut-list"), 9),
    A("mock", "change(-1)", "left,h", "previous value", "The previous value.", ("list", "cut-list")),
    A("mock", "seed", "s", "new seed", "Draw another seed; the same seed and state give the same paper.",
      ("list", "cut-list"), 5),
    A("mock", "type_seed", "n", "type seed", "Type a seed, such as one from an old report.",
      ("list", "cut-list"), 2),
    A("mock", "leave_field", "escape", "cancel", "Keep the seed as it was.", (TYPING,), 9),
    A("mock", "resume", "r", "resume", "Go on with the interview that is not finished; its clock went on.",
      ("cut-list", "cut-past"), 8),
    A("mock", "blind", "b", "re-mark", "Mark old answers again without seeing your first marks.",
      READY, 0),
    A("mock", "history", "t", "history", "All interviews: marks, dimensions and topics over time.", READY, 4),
    A("mock", "back", "q,escape", "back", "Go back.", READY, 7),
]  # fmt: skip
_INCIDENT = [
    A("incident", "begin", "enter,space", "begin", "Start the clock on the run under the cursor.", (), 10),
    A("incident", "up", "up,k", "up", "One up."),
    A("incident", "down", "down,j", "down", "One down."),
    A("incident", "page(-1)", "pageup", "page up", "A page up."),
    A("incident", "page(1)", "pagedown", "page down", "A page down."),
    A("incident", "result", "c", "last result", "The scorecard of the last time that it was sat.", (), 6),
    A("incident", "resume", "r", "resume", "Go on with what is not finished; its clock went on.",
      ("cut",), 8),
    A("incident", "back", "q,escape", "back", "Go back.", rank=7),
]  # fmt: skip
_RUN = [
    A("mockrun", "proceed", "enter,space", "go on", "Go on to the next phase.", ("brief", "wrap"), 10),
    A("mockrun", "answer", "ctrl+r", "answer", "Freeze the answer with its time.", LIVE, 10, True),
    A("mockrun", "answer_here", "enter", "answer", "Freeze the answer with its time.", ("choice", "order")),
    A("mockrun", "pick(0)", "1", "", "Answer with option 1.", ("choice",)),
    A("mockrun", "pick(1)", "2", "", "Answer with option 2.", ("choice",)),
    A("mockrun", "pick(2)", "3", "", "Answer with option 3.", ("choice",)),
    A("mockrun", "pick(3)", "4", "", "Answer with option 4.", ("choice",)),
    A("mockrun", "pick(4)", "5", "", "Answer with option 5.", ("choice",)),
    A("mockrun", "confide(0)", "1", "0 %", "I do not know it.", ("confidence",), 9),
    A("mockrun", "confide(25)", "2", "25 %", "I doubt that it is right.", ("confidence",), 9),
    A("mockrun", "confide(50)", "3", "50 %", "It may be right or wrong.", ("confidence",), 9),
    A("mockrun", "confide(75)", "4", "75 %", "I think that it is right.", ("confidence",), 9),
    A("mockrun", "confide(100)", "5", "100 %", "I am sure.", ("confidence",), 9),
    A("mockrun", "lift(-1)", "K,shift+up", "raise", "Move the step up.", ("order",), 7),
    A("mockrun", "lift(1)", "J,shift+down", "lower", "Move the step down.", ("order",), 7),
    A("mockrun", "up", "up,k", "up", "Go up, or scroll."),
    A("mockrun", "down", "down,j", "down", "Go down, or scroll."),
    A("mockrun", "page(-1)", "pageup", "page up", "Scroll the question up."),
    A("mockrun", "page(1)", "pagedown", "page down", "Scroll the question down."),
    A("mockrun", "skip", "ctrl+n", "skip", "Put the question aside; it stays open until the phase ends.",
      LIVE, 8, True),
    A("mockrun", "return_to", "ctrl+g", "return", "Go to another question of this phase.", LIVE, 5, True),
    A("mockrun", "pane('task')", "f2", "task", "Read the task.", ("coding",), 6, True),
    A("mockrun", "pane('code')", "f3", "code", "Go to the code.", ("coding",), 6, True),
    A("mockrun", "pane('explain')", "f4", "explain", "Explain what must hold in the code.",
      ("coding",), 6, True),
    A("mockrun", "check", "ctrl+t", "own check", "Run your module with its own assertions.",
      ("coding",), 7, True),
    A("mockrun", "judge", "ctrl+s", "submit", "Submit the code to the hidden tests; the last one counts.",
      ("coding",), 7, True),
    A("mockrun", "edit", "ctrl+o", "editor", "Write the code in your own editor; the clock goes on.",
      ("coding",), 3, True),
    A("mockrun", "case('run')", "f2", "run", "The run: set-up, symptom and readings.", CASE, 3, True),
    A("mockrun", "case('answer')", "f3", "write", "Write the answer.", CASE, 3, True),
    A("mockrun", "case('diagnosis')", "f4", "diagnosis",
      "Commit to cause, place, state to save, and what you rejected.", CASE, 3, True),
    A("mockrun", "buy", "enter,space", "take reading",
      "Take the reading under the cursor: say first how it ends, then pay its seconds.", ("readings",), 9),
    A("mockrun", "choose", "enter,space", "choose", "Choose for the line under the cursor.",
      ("diagnosis",), 9),
    *(A("mockrun", f"predict({place})", str(place + 1), "", f"The reading ends as outcome {place + 1} says.",
        ("predict",)) for place in range(5)),
    A("mockrun", "unask", "escape", "not this one", "Do not take the reading.", ("predict",), 9, True),
    A("mockrun", "hint", "ctrl+t", "hint", "Take a hint: it costs 10 marks; there are two.", CASE, 7, True),
    A("mockrun", "end", "ctrl+e", "end early", "End the interview now and mark it.",
      ("brief", "wrap", "confidence", *LIVE), 4, True),
    A("mockrun", "back", "escape", "leave", "Leave the screen; the clock goes on.",
      ("brief", "wrap", "confidence", *LIVE), 6, True),
]  # fmt: skip
_MARK = [
    A("mockmark", "yes", "y,space", "said it", "I said this; without matching words the phrase is asked for.",
      ("marks",), 9),
    A("mockmark", "no", "n", "not said", "I did not say this.", ("marks",), 9),
    A("mockmark", "half", "h", "half", "I said half of it.", ("marks",), 8),
    A("mockmark", "take", "enter", "next", "Take the rest as proposed and go to the next item.",
      ("marks", "shown"), 10),
    A("mockmark", "up", "up,k", "up", "One up.", ("marks", "shown")),
    A("mockmark", "down", "down,j", "down", "One down.", ("marks", "shown")),
    A("mockmark", "page(-1)", "pageup", "page up", "Scroll a page up."),
    A("mockmark", "page(1)", "pagedown", "page down", "Scroll a page down."),
    A("mockmark", "go(-1)", "left,p", "item before", "The item before.", ("marks", "shown"), 4),
    A("mockmark", "go(1)", "right", "next item", "The next item.", ("marks", "shown")),
    A("mockmark", "strong", "s", "strong answer", "Read a strong answer.", ("marks", "shown"), 6),
    A("mockmark", "phrase", "ctrl+r", "take phrase", "The phrase of the answer that says it.", (TYPING,), 9),
    A("mockmark", "leave_field", "escape", "no phrase", "No phrase: the point counts half, as unsupported.",
      (TYPING,), 9),
    A("mockmark", "back", "escape,q", "later", "Leave the marking; it can be taken up again.",
      ("marks", "shown"), 5),
]  # fmt: skip
_CARD = [
    A("mockcard", "report", "r,enter", "report", "Read the whole report.", rank=10),
    A("mockcard", "explain", "a", "arithmetic", "How every mark and the total came about.", rank=9),
    A("mockcard", "export", "x", "export", "Write the report as HTML, Markdown and JSON.", rank=8),
    A("mockcard", "undo", "u", "undo", "Take the marks and their reviews back, both at once.", rank=5),
    A("mockcard", "up", "up,k", "up", "Scroll up."),
    A("mockcard", "down", "down,j", "down", "Scroll down."),
    A("mockcard", "page(-1)", "pageup", "page up", "Scroll a page up."),
    A("mockcard", "page(1)", "pagedown,space", "page down", "Scroll a page down."),
    A("mockcard", "back", "q,escape", "back", "Go back.", rank=7),
]  # fmt: skip
_PAST = [
    A("mockpast", "open", "enter,space", "open", "Open the scorecard of the interview.", ("list",), 10),
    A("mockpast", "report", "r", "report", "Read its whole report.", ("list",), 9),
    A("mockpast", "role(1)", "right,l,tab", "next role", "The interviews of the next role, or of all.",
      ("list",), 8),
    A("mockpast", "role(-1)", "left,h,shift+tab", "role before", "The interviews of the role before.",
      ("list",)),
    A("mockpast", "up", "up,k", "up", "One up; above the list it scrolls."),
    A("mockpast", "down", "down,j", "down", "One down; below the list it scrolls."),
    A("mockpast", "page(-1)", "pageup", "page up", "Scroll a page up."),
    A("mockpast", "page(1)", "pagedown", "page down", "Scroll a page down."),
    A("mockpast", "back", "q,escape", "back", "Go back.", rank=7),
]  # fmt: skip

actions.extend("mock", "Mock", (*READY, TYPING), _SETUP)
actions.extend("incident", "Broken run", ("list", "cut"), _INCIDENT)
actions.extend(
    "mockrun",
    "Mock interview",
    ("brief", TYPING, "idle", "choice", "order", "confidence", "coding", *CASE, "predict", "wrap"),
    _RUN,
)
actions.extend("mockmark", "Marking", ("marks", "shown", TYPING), _MARK)
actions.extend("mockcard", "Scorecard", ("ready",), _CARD)
actions.extend("mockpast", "History", ("list", "empty"), _PAST)
ABOUT.update(
    mock="Choose role, length, code and seed. The same seed and state of your cards draw the same paper.",
    incident="Training runs that were really broken and really measured. First comes what you have not had, "
    "of that the kinds of fault that you are forgetting. Clock and marks are those of an interview's "
    "scenario, but no trend of interviews counts them.",
    mockrun="One clock runs. Answers are frozen as you give them, and nothing is revealed before the end. A "
    "question is cut at one and a half of its time. In a scenario a reading costs seconds of the clock, and "
    "you say first how it ends; answer, cause, place and what you rejected are frozen together.",
    mockmark="Your words beside the key points, one at a time. What your words show is proposed; a point "
    "without matching words asks for the phrase that says it, else it counts half.",
    mockcard="The result with everything that made it. The arithmetic shows each mark's terms.",
    mockpast="Marks over time. Change is the newest against the mean of up to three before it. A topic "
    "counts the questions that were reached. Pooled: an interview weighs half every 14 days; with fewer than "
    "three in 30 days it is provisional.",
)
