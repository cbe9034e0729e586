"""What a running interview says, and what it asks before something cannot be taken back."""

from textwrap import shorten
from typing import TYPE_CHECKING

from quizapp.interview.session.question import ESTIMATE, REVIEW, InterviewQuestion
from quizapp.tui.actions import Phase
from quizapp.tui.screens.choose import Choose
from quizapp.util.sanitize import one_line

if TYPE_CHECKING:
    from quizapp.tui.screens.interview.running import RunScreen

NOTICES = {
    "mark-50": "Half of the time for this question is used.",
    "mark-90": "90 % of the time for this question is used.",
    "lost": "The terminal was suspended; the clock kept running.",
    "last": "No other question of this phase is open.",
}
CUT = "What you wrote stands and counts; the next question is open."
OVER = "The time for this {} is over; now you mark what you answered."
WHERE_TO_WRITE: dict[Phase | None, str] = {
    Phase.READINGS: "f3 is where you write; here you take readings.",
    Phase.DIAGNOSIS: "f3 is where you write; here you choose and tick.",
    Phase.CODING: "f3 is where you write the code, f4 where you explain it.",
    Phase.REVIEW_POINT: "f3 is where you say what goes wrong, f4 where you write the test.",
}
"""Hints for a learner who types in a pane without a field, by phase."""


def close_dialogs_over(screen: "RunScreen") -> None:
    """Close the dialogs over a running interview, which are about a question that is closed now."""
    stack = screen.app.screen_stack
    while screen in stack and screen.app.screen is not screen:
        screen.app.pop_screen()


def ask_about_empty(screen: "RunScreen", item: InterviewQuestion) -> None:
    """Ask before an empty answer is frozen, because ctrl+r is one key."""
    missing = {
        "order": "Nothing is moved yet",
        ESTIMATE: "There is no number yet",
        REVIEW: "There is no decision yet",
    }
    what = missing.get(item.kind, "There is no answer yet")
    entries = [("no", "Back to the answer"), ("yes", "Leave it without an answer")]
    shown = screen.in_hand()

    def chosen(way: str | None) -> None:
        # The question may have been cut while the dialog was open.
        if way == "yes" and screen.in_hand() == shown:
            screen.save_and_react(screen.session.submit())

    screen.quiz.push_screen(Choose(f"{what}. Leave it like that?", entries), chosen)


def ask_to_end(screen: "RunScreen") -> None:
    """Ask whether to end early, or to discard what has no answer yet."""
    what = screen.interview.form.noun
    entries = [("no", "No, go on"), ("yes", f"End the {what} and mark it")]
    if screen.interview.can_discard:
        entries.append(("discard", f"Discard the {what}: it leaves no trace"))

    def chosen(answer: str | None) -> None:
        if answer == "discard" and screen.interview.can_discard:
            screen.discard()
        elif answer == "yes":
            screen.collect()
            screen.save_and_react(screen.session.end("early"))

    screen.quiz.push_screen(Choose(f"End the {what} now?", entries), chosen)


def choose_question(screen: "RunScreen") -> None:
    """Ask which open question of the phase comes next."""
    session = screen.session
    open_items = [item for item in session.in_phase() if session.can_open(item.number)]
    if not open_items:
        screen.quiz.say(NOTICES["last"])
        return
    entries = [(str(item.number), shorten(one_line(item.title), 70, placeholder=" …")) for item in open_items]

    def chosen(value: str | None) -> None:
        if value:
            screen.collect()
            screen.save_and_react(session.open(int(value)))

    screen.quiz.push_screen(Choose("Which question?", entries), chosen)
