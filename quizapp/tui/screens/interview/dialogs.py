"""What a running interview asks before something cannot be taken back."""

from typing import TYPE_CHECKING

from quizapp.interview.session.question import ESTIMATE, InterviewQuestion
from quizapp.tui.screens.choose import Choose

if TYPE_CHECKING:
    from quizapp.tui.screens.interview.running import RunScreen


def ask_about_empty(screen: "RunScreen", item: InterviewQuestion) -> None:
    """Ask before an empty answer is frozen, because ctrl+r is one key."""
    missing = {"order": "Nothing is moved yet", ESTIMATE: "There is no number yet"}
    what = missing.get(item.kind, "There is no answer yet")
    entries = [("no", "Go on with it"), ("yes", "Leave it without an answer")]
    shown = screen.in_hand()

    def chosen(way: str | None) -> None:
        # The question may have been cut while the dialog was open.
        if way == "yes" and screen.in_hand() == shown:
            screen.save_and_react(screen.session.submit())

    screen.quiz.push_screen(Choose(f"{what}. Freeze it?", entries), chosen)


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
