"""The screens that begin an interview or a broken run: only one clock runs at a time."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from textual.content import Content
from textual.style import Style

from quizapp.interview import archive
from quizapp.interview.blueprint import form_of
from quizapp.tui.rendering.layout import hanging
from quizapp.tui.screens.base import Place
from quizapp.tui.screens.choose import Choose

if TYPE_CHECKING:
    from quizapp.interview.service import Interview
    from quizapp.store.documents import MockDocument


class StartScreen(Place):
    """Begins an interview, or goes on with the one that was left, whichever screen it was begun on."""

    unfinished: "MockDocument | None" = None

    def look_for_unfinished(self) -> None:
        """What was cut off, or waits to be marked."""
        self.unfinished = archive.running(self.quiz.study)

    def returned(self) -> None:
        """Show what is stored now."""
        self.look_for_unfinished()

    def must_finish_first(self) -> bool:
        """Whether something is not finished, also in another window; then it is asked what to do with it."""
        self.look_for_unfinished()
        if self.unfinished is None:
            return False
        what = f"The {form_of(self.unfinished.document).noun}"
        said, entries = "is not finished", [("resume", "Go on with it"), ("end", "End it now and mark it")]
        if self.unfinished.document["running"]["state"] == "ended":
            said, entries = "waits to be marked", [("resume", "Mark it")]

        def chosen(way: str | None) -> None:
            if way:
                self._resume(end=way == "end")

        self.quiz.push_screen(Choose(f"{what} {said}", entries), chosen)
        return True

    def action_resume(self) -> None:
        """Go on with what is not finished."""
        if self.unfinished is None:
            self.quiz.say("Nothing is waiting to be finished.")
            return
        self._resume(end=False)

    def _resume(self, *, end: bool) -> None:
        from quizapp.interview.service import Interview

        self.look_for_unfinished()  # another window may have gone on with it, or finished it
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
        """Show the question in hand, or the marking where the clock has ended."""
        if interview.session.ended:
            from quizapp.tui.screens.interview.marking import MarkScreen

            interview.propose()
            self.quiz.push_screen(MarkScreen(interview))
            return
        from quizapp.tui.screens.interview.running import RunScreen

        self.quiz.push_screen(RunScreen(interview))


def link(text: Content, action: str) -> Content:
    """The text as a link to an action of the screen."""
    return text.stylize(Style.from_meta({"@click": f"screen.{action}"}), 0, len(text.plain))


def unfinished_lines(document: Mapping[str, Any], width: int) -> list[Content]:
    """What is said of an interview that was left, with the link that goes on with it."""
    said = (
        "waits to be marked"
        if document["running"]["state"] == "ended"
        else "is not finished; its clock went on"
    )
    sitting = form_of(document).describe(document["title"], document["minutes"])
    text = f"{sitting[0].upper()}{sitting[1:]} {said}."
    told = hanging(Content("! "), Content.styled(text, "bold $warning"), width)
    return [*told, link(Content.styled("r resume", "bold $primary"), "resume")]
