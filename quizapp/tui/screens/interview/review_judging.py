"""Has the judge run code reviews and live incidents while the learner marks the answers."""

from typing import TYPE_CHECKING

from quizapp.errors import QuizError
from quizapp.incidents.live.live_work import HandIn, unmeasured
from quizapp.interview.code_review.model import JudgedReview
from quizapp.interview.code_review.review_steps import ReviewSteps
from quizapp.interview.session.question import InterviewQuestion
from quizapp.tui.screens.choose import Choose
from quizapp.tui.workers import call_on_ui, run_in_thread
from quizapp.util.text import plural

if TYPE_CHECKING:
    from quizapp.bank.model import Exercise
    from quizapp.tui.screens.interview.marking import MarkScreen

WAITING = "The judge is still running {}; the marks follow."


class ReviewJudging:
    """Judges one answer after the other, in a thread. A result is stored as soon as it is there."""

    def __init__(self, screen: "MarkScreen") -> None:
        self._screen = screen
        self._runs = False
        self._problem = ""

    def start(self) -> None:
        """Judge the next answer that was not judged yet, if the judge is free."""
        if self._runs:
            return
        item = next(iter(self._waiting()), None)
        if item is None:
            return
        self._runs, self._problem = True, ""
        if item.live is not None:
            self._measure(item)
        else:
            self._judge(item, self._screen.quiz.bank.exercises[item.exercise])

    def _waiting(self) -> list[InterviewQuestion]:
        """The answers to judge. Without its exercise a review cannot be run; its decision still counts."""
        exercises = self._screen.quiz.bank.exercises
        return [
            item
            for item in self._screen.interview.unjudged()
            if item.live is not None or item.exercise in exercises
        ]

    def _measure(self, item: InterviewQuestion) -> None:
        quiz = self._screen.quiz

        def work() -> None:
            from quizapp.incidents.live.live_judging import measure_with_client

            try:
                result: HandIn | QuizError = measure_with_client(
                    item.live_task, item.live_work, number=item.seed, healthy=item.incident.false_alarm
                )
            except QuizError as error:
                result = error
            call_on_ui(quiz, self._ended, item.number, result)

        run_in_thread(quiz, work, "review-judge")

    def _judge(self, item: InterviewQuestion, exercise: "Exercise") -> None:
        review = item.reviewed.review
        answer = ReviewSteps(review, item.review_answer).submitted()
        quiz = self._screen.quiz

        def work() -> None:
            from quizapp.interview.code_review.judging import run_with_client

            try:
                outcome: JudgedReview | QuizError = run_with_client(review, exercise, answer)
            except QuizError as error:
                outcome = error
            call_on_ui(quiz, self._ended, item.number, outcome)

        run_in_thread(quiz, work, "review-judge")

    def _ended(self, number: int, outcome: "JudgedReview | HandIn | QuizError") -> None:
        self._runs = False
        if isinstance(outcome, QuizError):
            self._problem = str(outcome)
            self._screen.quiz.say(f"{self._problem} enter on the last answer tries again.", bad=True)
            return
        if isinstance(outcome, HandIn):
            self._screen.interview.measured(number, outcome)
        else:
            self._screen.interview.judged(number, outcome)
        if self._screen.stands:
            self._screen.refresh_findings(number)
        self.start()

    def finished(self) -> bool:
        """Whether the marks can be stored. If not, say why, or offer to go on without the judge."""
        left = self._waiting()
        if not left:
            return True
        if not self._problem:
            self.start()
            self._screen.quiz.say(WAITING.format(plural(len(left), "answer")))
            return False
        self._ask_again()
        return False

    def _ask_again(self) -> None:
        def chosen(way: str | None) -> None:
            if way == "again":
                self.start()
            elif way == "without":
                for item in self._screen.interview.unjudged():
                    if item.live is not None:
                        self._screen.interview.measured(item.number, unmeasured())
                    else:
                        self._screen.interview.judged(item.number, JudgedReview())
                self._screen.finish()

        ways = [
            ("again", "Try again"),
            ("later", "Mark it later; everything is stored"),
            ("without", "Go on; tests and fixes do not count"),
        ]
        self._screen.quiz.push_screen(Choose("The judge could not run your tests and fixes", ways), chosen)
