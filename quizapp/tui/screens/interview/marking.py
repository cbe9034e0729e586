"""The marking after an interview."""

from typing import TYPE_CHECKING

from quizapp.errors import QuizError, TakenOver
from quizapp.tui.screens.interview.deciding import Marking

if TYPE_CHECKING:
    from quizapp.interview.service import Interview


class MarkScreen(Marking):
    """The marking of an interview that has ended; at its end the marks and reviews are stored."""

    def __init__(self, interview: "Interview") -> None:
        super().__init__(interview.session.items, interview.markings)
        self.interview = interview

    def changed(self) -> None:
        """Every decision is on disk."""
        self.interview.save()
        if self.interview.taken:
            self.call_later(self._leave_taken)

    def finish(self) -> None:
        """Store marks and reviews in one transaction, then show the scorecard."""
        from quizapp.tui.screens.interview.scorecard import CardScreen

        try:
            document = self.interview.record()
        except TakenOver as error:
            self.interview.taken = str(error)
            self._leave_taken()
            return
        except QuizError as error:
            self.quiz.say(str(error), bad=True)
            return
        self.quiz.switch_screen(CardScreen(document))

    def _leave_taken(self) -> None:
        if self.app.screen is not self:
            return
        self.quiz.say(self.interview.taken, bad=True)
        self.quiz.go_back(self)
