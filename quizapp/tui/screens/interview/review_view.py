"""A code review in a running interview: the code, the steps of the answer, and runs of the learner's test."""

from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from quizapp.errors import QuizError
from quizapp.interview.code_review.model import Decision
from quizapp.interview.code_review.review_steps import ReviewStep, ReviewSteps, empty_answer
from quizapp.interview.session.question import REVIEW, InterviewQuestion
from quizapp.judge.verdict import ProgramOutcome, ProgramRun
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.text import plain
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.code_review.review_head import step_names, task_text
from quizapp.tui.screens.code_review.review_panes import PANE_OF_STEP, STEP_OF_PANE, ReviewPanes
from quizapp.tui.workers import call_on_ui, run_in_thread
from quizapp.util.sanitize import one_line

if TYPE_CHECKING:
    from quizapp.interview.service import Interview
    from quizapp.tui.screens.interview.running import RunScreen

_PHASES = {
    ReviewStep.DECIDE: Phase.REVIEW_DECIDE,
    ReviewStep.CONFIDENCE: Phase.REVIEW_SURE,
    ReviewStep.POINT: Phase.REVIEW_POINT,
}
_ENDINGS = {ProgramOutcome.HELD: "holds", ProgramOutcome.FAILED: "fails", ProgramOutcome.TIMEOUT: "times out"}


class ReviewView(Container):
    """The steps of a review above its panes. Nothing of the judge's is shown before the end."""

    def __init__(self, interview: "Interview", *, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.interview = interview
        self.session = interview.session
        self.loaded: int | None = None
        self.at: ReviewSteps | None = None

    def compose(self) -> ComposeResult:
        """The steps, what to do, the panes, and a line of output."""
        yield Static("", id="review-steps", markup=False)
        yield Static("", id="review-task", markup=False)
        yield ReviewPanes(id="review-panes")
        yield Static("", id="review-output", markup=False)

    @property
    def run_screen(self) -> "RunScreen":
        """The screen, with its own type."""
        return cast("RunScreen", self.screen)

    @property
    def panes(self) -> ReviewPanes:
        """Code and fields."""
        return self.query_one(ReviewPanes)

    def scroller(self) -> Widget:
        """The code."""
        return self.panes.view

    # showing

    def show(self, item: InterviewQuestion) -> Phase:
        """Show a review and return the phase. Its fields are loaded only the first time."""
        if self.loaded != item.number or self.at is None:
            self.loaded = item.number
            review = item.reviewed.review
            answer = item.review_answer if item.review is not None else empty_answer(review)
            self.at = ReviewSteps(review, answer)
            self.panes.shown.cursor = 1
            self.panes.load(answer)
            self.panes.view.scroll_home(animate=False)
            self._output("")
        return self._show_step()

    def _show_step(self) -> Phase:
        at = self.at
        assert at is not None
        self.panes.show_code(at)
        self.panes.show_pane(PANE_OF_STEP.get(at.step, "code"))
        self._show_steps()
        self.query_one("#review-task", Static).update(plain(task_text(at, "ctrl+r"), "bold"))
        return _PHASES.get(at.step, Phase.REVIEW_WRITE)

    def _show_steps(self) -> None:
        """Show the steps and, as far as there is room, the title before them."""
        if self.at is not None:
            steps = Content("  ").join(step_names(self.at))
            room = max(0, self.screen.size.width - 4 - steps.cell_length)
            title = Content.styled(one_line(self.at.review.title), "bold $primary")
            title = title.truncate(room, ellipsis=True).append("  ") if room >= 8 else Content("")
            self.query_one("#review-steps", Static).update(title.append(steps))

    def on_resize(self) -> None:
        """The steps are laid out by width."""
        self._show_steps()

    def _output(self, text: str) -> None:
        self.query_one("#review-output", Static).update(plain(text, "$text-muted"))

    # answering

    def collect(self, item: InterviewQuestion) -> None:
        """Hand the answer so far to the session."""
        if self.loaded != item.number or self.at is None:
            return
        answer = self.at.answer
        answer.words, answer.check, answer.fixed = self.panes.texts()
        self.session.answer_review(answer)

    def act(self, name: str, percent: int) -> None:
        """Do one of the review's own actions; only ``sure`` has a ``percent``."""
        at = self.at
        if at is None:
            return
        match name:
            case "correct" | "faulty":
                at.decide(Decision(name))
            case "reconsider":
                at.go(ReviewStep.DECIDE)
            case "sure":
                at.confide(percent)
            case "point":
                at.toggle_line(self.panes.shown.cursor)
            case "next":
                if (following := at.next_step()) is not None:
                    at.go(following)
            case _:
                self._go(at, name)
                return
        self._changed()

    def _go(self, at: ReviewSteps, pane: str) -> None:
        """Go to a pane. Once the code is called correct, its pane is only for reading."""
        if at.go(STEP_OF_PANE[pane]):
            self._changed()
        elif pane == "code":
            self.panes.show_pane("code")
            self.run_screen.enter_phase(Phase.REVIEW_WRITE)
        elif at.is_decided:
            self.run_screen.quiz.say("You said that the code is correct, so there is nothing to say or fix.")
        else:
            self.run_screen.quiz.say("Decide first: c for correct, x for faulty.")

    def ask_to_hand_in(self) -> None:
        """Ask before the answer is frozen, and name what is missing."""
        at, shown = self.at, self.run_screen.in_hand()
        assert at is not None
        missing = at.missing() if at.is_decided else ["the confidence"]
        rest = f"; still missing: {', '.join(missing)}" if missing else ""
        ways = [("no", f"Go on answering{rest}"), ("yes", "Hand in what is there; the next question opens")]

        def chosen(way: str | None) -> None:
            # The question may have been cut while the dialog was open.
            if way == "yes" and self.run_screen.in_hand() == shown:
                self.run_screen.collect()
                self.run_screen.save_and_react(self.session.submit())

        self.run_screen.quiz.push_screen(Choose("Hand in?", ways, "no" if missing else "yes"), chosen)

    def _changed(self) -> None:
        """Store the answer before its effect is shown."""
        self.run_screen.collect()
        self.interview.save()
        self.run_screen.enter_phase(self._show_step())

    def move(self, step: int) -> None:
        """Move the cursor while pointing; scroll otherwise."""
        if self.at is not None and self.at.step == ReviewStep.POINT:
            self.panes.move(step)
        else:
            self.scroller().scroll_relative(y=step, animate=False)

    def move_to(self, line: int) -> None:
        """Move the cursor to a line."""
        self.panes.move(line - self.panes.shown.cursor)

    # running the test

    def run_test(self) -> None:
        """Run the test on the code shown, or on the fix while that is being written."""
        item, at = self.session.item, self.at
        if item is None or item.kind != REVIEW or at is None:
            return
        self.run_screen.collect()
        problem = at.test_problem()
        exercise = self.run_screen.quiz.bank.exercises.get(item.exercise)
        if problem or exercise is None:
            self._output(problem or "The exercise is no longer in the bank.")
            return
        fixing = at.step == ReviewStep.FIX
        source, target = (at.answer.fixed, "your fix") if fixing else (at.review.shown, "the code shown")
        test = at.answer.check
        self._output(f"Running your test on {target} …")

        def work() -> None:
            from quizapp.interview.code_review.judging import run_on

            try:
                run = run_on(exercise, test, source)
            except QuizError as error:
                run = ProgramRun(ProgramOutcome.ERROR, str(error))
            call_on_ui(self.run_screen.quiz, self._test_ran, item.number, target, run)

        run_in_thread(self.run_screen.quiz, work, "review-test", exclusive=True)

    def _test_ran(self, number: int, target: str, run: ProgramRun) -> None:
        item = self.session.item
        if item is None or item.number != number or not self.run_screen.stands:
            return
        text = f"Your test {_ENDINGS.get(run.outcome, 'ends in an error')} on {target}"
        self._output(f"{text}." if run.held else f"{text}: {run.text}.")
