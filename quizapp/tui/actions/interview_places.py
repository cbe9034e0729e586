"""The actions of mock interviews and broken runs, from the setup to the report."""

from collections.abc import Mapping

from quizapp.tui.actions.act import Act, PlaceActions
from quizapp.tui.actions.phase import Phase
from quizapp.tui.actions.rows import (
    ANSWERABLE,
    CONFIDENCE,
    INCIDENT,
    LIST,
    MOVE,
    OPTIONS,
    REVIEWING,
    RUNNING,
    SCROLL,
    SCROLL_PAGES,
    STEPS,
    SURE,
)

A, P = Act, Phase
MOCK_SETUP = (P.LIST, P.PAST, P.CUT_LIST, P.CUT_PAST)
MOCK_FIELDS = (P.LIST, P.CUT_LIST)
_DECIDED = (P.REVIEW_POINT, P.REVIEW_WRITE)

INTERVIEW_PLACES: Mapping[str, PlaceActions] = {
    "mock": PlaceActions("Mock", (*MOCK_SETUP, P.TYPING),
        "Choose the role, the length, code or no code, and the seed. The same seed with the same state of "
        "your cards gives the same paper.", (
        A("begin", "enter,space", "begin", "Begin the interview.", MOCK_FIELDS, 10),
        A("open", "enter,space", "open", "Open the scorecard.", (P.PAST, P.CUT_PAST), 10),
        *MOVE,
        A("change(1)", "right,l", "change", "Change to the next value.", MOCK_FIELDS, 9),
        A("change(-1)", "left,h", "previous value", "Change to the previous value.", MOCK_FIELDS),
        A("seed", "s", "new seed", "Pick a random seed; a seed repeats a paper.", MOCK_FIELDS, 5),
        A("type_seed", "n", "type seed", "Type a seed, such as an old report's.", MOCK_FIELDS, 2),
        A("leave_field", "escape", "cancel", "Keep the seed as it was.", (P.TYPING,), 9),
        A("resume", "r", "resume", "Resume the unfinished one; its clock kept running.",
          (P.CUT_LIST, P.CUT_PAST), 8),
        A("blind", "b", "re-mark", "Mark old answers again without seeing your first marks.", MOCK_SETUP, 0),
        A("history", "t", "history", "See all interviews: marks over time.", MOCK_SETUP, 4),
        A("back", "q,escape", "back", "Go back.", MOCK_SETUP, 7),
    )),
    "incident": PlaceActions("Broken run", (P.LIST, P.CUT),
        "Training runs that were really broken and really measured. Runs you have not seen come first, "
        "starting with the kinds of fault that you are forgetting. Clock and marks are those of a scenario "
        "in an interview, but these runs do not count in your interview history.", (
        A("begin", "enter,space", "begin", "Start the clock on the run under the cursor.", (), 10),
        *LIST,
        A("result", "c", "last result", "Open the scorecard of your last attempt.", (), 6),
        A("resume", "r", "resume", "Resume what is not finished; its clock kept running.", (P.CUT,), 8),
        A("back", "q,escape", "back", "Go back.", rank=7),
    )),
    "mockrun": PlaceActions("Mock interview",
        (P.BRIEF, P.TYPING, P.IDLE, P.CHOICE, P.ORDER, P.CONFIDENCE, P.CODING, *INCIDENT, P.PREDICT,
         *REVIEWING, P.WRAP),
        "One clock runs for the whole interview. Answers are frozen as you give them, and nothing is "
        "revealed before the end. A question is cut at one and a half times its budget. In a scenario each "
        "reading costs seconds of the clock, and you predict its outcome before you see it. Answer, cause, "
        "place and rejected cause are frozen together.", (
        A("proceed", "enter,space", "go on", "Go on to the next phase.", (P.BRIEF, P.WRAP), 10),
        A("answer", "ctrl+r", "answer", "Freeze the answer and its time.", ANSWERABLE, 10, True),
        A("answer_here", "enter", "answer", "Freeze the answer and its time.", (P.CHOICE, P.ORDER)),
        *OPTIONS,
        *CONFIDENCE,
        A("revise", "backspace,c", "change", "Change the answer before you say how sure you are.",
          (P.CONFIDENCE,), 8),
        *STEPS,
        A("up", "up,k", "up", "Go up, or scroll."),
        A("down", "down,j", "down", "Go down, or scroll."),
        A("page(-1)", "pageup", "page up", "Scroll the question up."),
        A("page(1)", "pagedown", "page down", "Scroll the question down."),
        A("skip", "ctrl+n", "skip", "Put the question aside until later in the phase.", ANSWERABLE, 8, True),
        A("return_to", "ctrl+g", "return", "Go to another question of this phase.", ANSWERABLE, 5, True),
        A("pane('task')", "f2", "task", "Read the task.", (P.CODING,), 6, True),
        A("pane('code')", "f3", "code", "Go to the code.", (P.CODING,), 6, True),
        A("pane('explain')", "f4", "explain", "Explain what must hold in the code.", (P.CODING,), 6, True),
        A("check", "ctrl+t", "check", "Run your module with your own assertions, or your test of a review.",
          (P.CODING, *_DECIDED), 7, True),
        A("judge", "ctrl+s", "submit", "Submit to the hidden tests; the last one counts.", (P.CODING,), 7,
          True),
        A("edit", "ctrl+o", "editor", "Use your own editor; the clock keeps running.", (P.CODING,), 3, True),
        A("case('run')", "f2", "run", "Show the run: setup, symptom and readings.", INCIDENT, 3, True),
        A("case('answer')", "f3", "write", "Write the answer.", INCIDENT, 3, True),
        A("case('diagnosis')", "f4", "diagnosis", "Commit to cause, place, state to save and rejected cause.",
          INCIDENT, 3, True),
        A("buy", "enter,space", "take reading", "Predict how the reading ends, pay for it and read it.",
          (P.READINGS,), 9),
        A("case('numbers')", "n", "numbers", "Show or hide the numbers of the curves.", (P.READINGS,), 2),
        A("choose", "enter,space", "choose", "Choose for the line under the cursor.", (P.DIAGNOSIS,), 9),
        *(A(f"predict({place})", str(place + 1), "", f"Predict outcome {place + 1}.",
          (P.PREDICT,)) for place in range(5)),
        A("unask", "escape", "not this one", "Do not take the reading.", (P.PREDICT,), 9, True),
        A("hint", "ctrl+t", "hint", "Take one of two hints, for 10 marks each.", INCIDENT, 7, True),
        A("review('correct')", "c", "correct", "Say that the code is correct.", (P.REVIEW_DECIDE,), 10),
        A("review('faulty')", "x", "faulty", "Say that the code has a fault.", (P.REVIEW_DECIDE,), 10),
        *(A(f"review('sure', {25 * step})", str(step + 1), f"{25 * step} %", sentence, (P.REVIEW_SURE,), 9)
          for step, sentence in enumerate(SURE)),
        A("review('reconsider')", "backspace", "change", "Change the decision.", (P.REVIEW_SURE,), 8),
        A("review('point')", "space", "point", "Point at the line under the cursor, or take it back.",
          (P.REVIEW_POINT,), 10),
        A("review('next')", "enter", "next", "Go to the next step.", (P.REVIEW_POINT,), 9),
        A("review('code')", "f2", "code", "Go to the code and its lines.", _DECIDED, 6, True),
        A("review('say')", "f3", "say", "Say what goes wrong for a user.", _DECIDED, 6, True),
        A("review('prove')", "f4", "test", "Write the test.", _DECIDED, 6, True),
        A("review('fix')", "f5", "fix", "Fix the code.", _DECIDED, 6, True),
        A("end", "ctrl+e", "end early", "End it and mark it; before the first answer, discard it.",
          RUNNING, 4, True),
        A("back", "escape", "leave", "Leave the screen; the clock keeps running.", RUNNING, 6, True),
    )),
    "mockmark": PlaceActions("Marking", (P.MARKS, P.SHOWN, P.TYPING),
        "Your words beside the key points, one at a time. Points that your words show are proposed. For any"
        " other point that you claim, name the phrase that says it; without one it counts half.", (
        A("yes", "y,space", "said it", "I said this; name the phrase if no words match.", (P.MARKS,), 9),
        A("no", "n", "not said", "I did not say this.", (P.MARKS,), 9),
        A("half", "h", "half", "I said half of it.", (P.MARKS,), 8),
        A("take", "enter", "as proposed", "Decide the line as it stands; after the last one, go on.",
          (P.MARKS, P.SHOWN), 10),
        A("up", "up,k", "up", "Move up.", (P.MARKS, P.SHOWN)),
        A("down", "down,j", "down", "Move down.", (P.MARKS, P.SHOWN)),
        *SCROLL_PAGES,
        A("go(-1)", "left,p", "previous", "Go to the previous question.", (P.MARKS, P.SHOWN), 4),
        A("go(1)", "right", "next question", "Go to the next question.", (P.MARKS, P.SHOWN)),
        A("strong", "s", "strong answer", "Read a strong answer.", (P.MARKS, P.SHOWN), 6),
        A("transcript", "t", "transcript", "Read the transcript of a spoken round.", (P.MARKS, P.SHOWN), 3),
        A("phrase", "ctrl+r", "use phrase", "Use this phrase of your answer as evidence.", (P.TYPING,), 9),
        A("leave_field", "escape", "no phrase", "No phrase: the point counts half.", (P.TYPING,), 9),
        A("back", "escape,q", "later", "Leave the marking; you can resume it later.", (P.MARKS, P.SHOWN), 5),
    )),
    "mockcard": PlaceActions("Scorecard", (P.READY,),
        "The result and everything behind it. The arithmetic shows how each mark was computed.", (
        A("report", "r,enter", "report", "Read the whole report.", rank=10),
        A("explain", "a", "arithmetic", "See how every mark and the total were computed.", rank=9),
        A("loop", "l", "loop", "See the one report of the loop, and what comes next in it.", rank=9),
        A("export", "x", "export", "Write the report as HTML, Markdown and JSON.", rank=8),
        A("undo", "u", "undo", "Undo the marks and their reviews together.", rank=5),
        A("step(0)", "1", "first step", "Open the first of the next steps.", rank=6),
        *(A(f"step({n})", str(n + 1), "", f"Open next step {n + 1}.") for n in range(1, 7)),
        *SCROLL,
        A("page(-1)", "pageup", "page up", "Scroll a page up."),
        A("page(1)", "pagedown,space", "page down", "Scroll a page down."),
        A("back", "q,escape", "back", "Go back.", rank=7),
    )),
    "mockpast": PlaceActions("History", (P.LIST, P.EMPTY),
        "Marks over time. Change compares the newest interview with the mean of up to three before it. "
        "Topics count only questions that you reached. In the pooled mark an interview loses half its "
        "weight every 14 days; with fewer than three in 30 days it is provisional.", (
        A("open", "enter,space", "open", "Open the scorecard of the interview.", (P.LIST,), 10),
        A("report", "r", "report", "Read its whole report.", (P.LIST,), 9),
        A("role(1)", "right,l,tab", "next role", "Show the next role, or all of them.", (P.LIST,), 8),
        A("role(-1)", "left,h,shift+tab", "previous role", "Show the previous role.", (P.LIST,)),
        A("up", "up,k", "up", "Move up; above the list, scroll."),
        A("down", "down,j", "down", "Move down; below the list, scroll."),
        *SCROLL_PAGES,
        A("back", "q,escape", "back", "Go back.", rank=7),
    )),
}  # fmt: skip
