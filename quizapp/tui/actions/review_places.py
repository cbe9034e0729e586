"""The actions of a code review."""

from collections.abc import Mapping

from quizapp.tui.actions.act import Act, PlaceActions
from quizapp.tui.actions.phase import Phase
from quizapp.tui.actions.rows import CONFIDENCE

A, P = Act, Phase
_OPEN = (P.DECIDE, P.CONFIDENCE, P.POINT, P.CODE, P.TYPING)
_ANSWERING = (P.POINT, P.CODE, P.TYPING)
_MOVING = (P.DECIDE, P.CONFIDENCE, P.POINT, P.CODE, P.REVEAL, P.DONE)

REVIEW_PLACES: Mapping[str, PlaceActions] = {
    "review": PlaceActions("Code review", (*_OPEN, P.JUDGING, P.REVEAL, P.DONE),
        "Decide whether the code is correct, point at the line, say what goes wrong for a user, prove it "
        "with a test, and fix it. Everything is saved as you go.", (
        A("decide('correct')", "c", "correct", "Say that the code is correct.", (P.DECIDE,), 10),
        A("decide('faulty')", "x", "faulty", "Say that the code has a fault.", (P.DECIDE,), 10),
        *CONFIDENCE,
        A("reconsider", "escape", "change", "Change the decision.", (P.CONFIDENCE,), 8),
        A("point", "space", "point", "Point at the line under the cursor, or take it back.", (P.POINT,), 10),
        A("next_step", "enter,ctrl+n", "next", "Go to the next step.", (P.POINT, P.CODE), 9),
        A("next_field", "ctrl+n", "next", "Go to the next step.", (P.TYPING,), 9, True),
        A("run_test", "ctrl+r", "run test", "Run your test on the code shown, or on your fix.", _ANSWERING, 7,
          True),
        A("show('code')", "f2", "code", "Go to the code and its lines.", _ANSWERING, 6, True),
        A("show('say')", "f3", "say", "Say what goes wrong for a user.", _ANSWERING, 5, True),
        A("show('prove')", "f4", "test", "Write the test.", _ANSWERING, 5, True),
        A("show('fix')", "f5", "fix", "Fix the code.", _ANSWERING, 5, True),
        A("hand_in", "ctrl+s", "hand in", "Hand in what is there; it asks before.", _ANSWERING, 8, True),
        A("up", "up,k", "up", "Move up, or scroll.", _MOVING),
        A("down", "down,j", "down", "Move down, or scroll.", _MOVING),
        A("page(-1)", "pageup", "page up", "Move up a page.", _MOVING),
        A("page(1)", "pagedown", "page down", "Move down a page.", _MOVING),
        A("credit(0)", "1", "credit", "Change the credit for the consequence of fault 1.", (P.REVEAL,), 6),
        A("credit(1)", "2", "", "Change the credit for the consequence of fault 2.", (P.REVEAL,)),
        A("credit(2)", "3", "", "Change the credit for the consequence of fault 3.", (P.REVEAL,)),
        A("finish", "enter", "finish", "Accept the marks and schedule the next review.", (P.REVEAL,), 10),
        A("another", "n", "another", "Begin another review.", (P.DONE,), 8),
        A("exercise", "e", "exercise", "Open the exercise.", (P.DONE,), 7),
        A("back", "q,escape", "back", "Go back; the review can be continued.",
          (P.DECIDE, P.POINT, P.CODE, P.JUDGING, P.REVEAL, P.DONE), 4),
        A("leave_field", "escape", "to the code", "Leave the field and keep its text.", (P.TYPING,), 4),
    )),
}  # fmt: skip
