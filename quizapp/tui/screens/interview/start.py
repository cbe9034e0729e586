"""The base of the screens that begin an interview or a broken run; only one can run at a time."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from textual.content import Content

from quizapp.interview import archive
from quizapp.interview.blueprint import form_of
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.rendering.text import link
from quizapp.tui.screens.base import Place
from quizapp.tui.screens.choose import Choose

if TYPE_CHECKING:
    from quizapp.interview.service import Interview
    from quizapp.store.documents import MockDocument


class StartScreen(Place):
    """Begins an interview, or resumes the unfinished one, no matter on which screen it began."""

    unfinished: "MockDocument | None" = None

    def look_for_unfinished(self) -> None:
        """Find the interview that was cut off or waits to be marked."""
        self.unfinished = archive.running(self.quiz.study)

    def returned(self) -> None:
        """Show what is stored now."""
        self.look_for_unfinished()

    def must_finish_first(self) -> bool:
        """Whether an interview is unfinished, in any window; if so, ask what to do with it."""
        self.look_for_unfinished()
        if self.unfinished is None:
            return False
        what = f"The {form_of(self.unfinished.document).noun}"
        state, entries = "is not finished", [("resume", "Resume it"), ("end", "End it now and mark it")]
        if self.unfinished.document["running"]["state"] == "ended":
            state, entries = "waits to be marked", [("resume", "Mark it")]
        elif archive.can_discard(self.unfinished.document):
            entries.append(("discard", "Discard it: it leaves no trace"))

        def chosen(way: str | None) -> None:
            if way == "discard" and self.unfinished is not None:
                self.quiz.study.discard_mock(self.unfinished.id)
                self.returned()
            elif way:
                self._resume(end=way == "end")

        self.quiz.push_screen(Choose(f"{what} {state}", entries), chosen)
        return True

    def action_resume(self) -> None:
        """Resume what is not finished."""
        if self.unfinished is None:
            self.quiz.say("Nothing is left unfinished.")
            return
        self._resume(end=False)

    def _resume(self, *, end: bool) -> None:
        from quizapp.interview.service import Interview

        self.look_for_unfinished()  # another window may have resumed or finished it
        if self.unfinished is None:
            self.quiz.say("It was finished in another window.")
            self.returned()
            return
        interview = Interview.resume(self.quiz.study, self.unfinished.document)
        if end and not interview.session.ended:
            interview.session.end("early")
            interview.save()
        self.sit(interview)

    def sit(self, interview: "Interview") -> None:
        """Show the current question, or the marking if the interview has ended."""
        if interview.session.ended:
            from quizapp.tui.screens.interview.marking import MarkScreen

            interview.propose()
            self.quiz.push_screen(MarkScreen(interview))
            return
        from quizapp.tui.screens.interview.running import RunScreen

        self.quiz.push_screen(RunScreen(interview))


def unfinished_lines(document: Mapping[str, Any], width: int) -> list[Content]:
    """Say that an interview is unfinished, with a link that resumes it."""
    state = (
        "waits to be marked"
        if document["running"]["state"] == "ended"
        else "is not finished; its clock kept running"
    )
    sitting = form_of(document).describe(document["title"], document["minutes"])
    text = f"{sitting[0].upper()}{sitting[1:]} {state}."
    lines = hanging(Content("! "), Content.styled(text, "bold $warning"), width)
    return [*lines, link("r resume", "screen.resume", "bold $primary")]
