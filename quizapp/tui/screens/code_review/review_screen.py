"""A code review: the code with a cursor, the steps of the answer with a clock, and the reveal."""

from collections.abc import Callable
from time import monotonic
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static, TextArea

from quizapp import paths
from quizapp.bank.model import Exercise
from quizapp.errors import QuizError
from quizapp.interview.code_review import running_review
from quizapp.interview.code_review.model import Decision, ReviewResult
from quizapp.interview.code_review.review_marks import decide_consequence
from quizapp.interview.code_review.review_steps import ReviewStep
from quizapp.interview.code_review.running_review import RunningReview, load_running
from quizapp.interview.code_review.service import next_review, record_result, remark
from quizapp.judge.verdict import ProgramOutcome, ProgramRun
from quizapp.tui import actions
from quizapp.tui.actions import Phase
from quizapp.tui.rendering.text import plain
from quizapp.tui.screens.base import Place
from quizapp.tui.screens.choose import Choose
from quizapp.tui.screens.code_review.reveal import ReviewReveal
from quizapp.tui.screens.code_review.review_head import ENDS_SOON_S, head_line, task_text
from quizapp.tui.screens.code_review.review_panes import PANE_OF_STEP, PHASES, STEP_OF_PANE, ReviewPanes
from quizapp.tui.workers import call_on_ui, run_in_thread
from quizapp.util.sanitize import one_line

_VERBS = {ProgramOutcome.HELD: "holds", ProgramOutcome.FAILED: "fails", ProgramOutcome.TIMEOUT: "times out"}


class ReviewScreen(Place):
    """``slug`` names the exercise to review (None: the one that comes next), ``seed`` repeats a review."""

    place = "review"
    BINDINGS: ClassVar[list[object]] = actions.bindings("review")  # type: ignore[assignment]
    CSS_PATH = "review_screen.tcss"

    def __init__(
        self, slug: str | None = None, seed: int | None = None, *, clock: Callable[[], float] = monotonic
    ) -> None:
        super().__init__()
        self._slug = slug
        self._seed = seed
        self._clock = clock
        self._sitting: RunningReview | None = None
        self._saved_at = 0.0
        self._warned = False
        self._judging = False
        self._phase = Phase.DECIDE

    def body(self) -> ComposeResult:
        """Head, task, the panes or the reveal, and a line of output."""
        yield Static("", id="head", classes="bar", markup=False)
        yield Static("", id="task", markup=False)
        yield ReviewPanes(id="panes")
        with VerticalScroll(id="reveal", can_focus=False):
            yield ReviewReveal(id="result")
        yield Static("", id="output", markup=False)

    @property
    def sitting(self) -> RunningReview:
        """The review, once it is open."""
        assert self._sitting is not None
        return self._sitting

    @property
    def exercise(self) -> Exercise:
        """The exercise of the review."""
        return self.quiz.bank.exercises[self.sitting.review.exercise]

    @property
    def panes(self) -> ReviewPanes:
        """The code and the fields."""
        return self.query_one(ReviewPanes)

    # opening and leaving

    def on_mount(self) -> None:
        """Open the review once the data is open."""
        self.set_interval(0.25, self._tick)
        if self.quiz.ready:
            self.opened()

    def opened(self) -> None:
        """Continue the review that is open, or begin one."""
        if self._sitting is not None:
            return
        running = load_running(paths.running_review(), self._clock)
        if running is not None and running.review.exercise not in self.quiz.bank.exercises:
            running = None
        if running is None or running.can_discard:
            self._begin()
        elif self._slug in (None, running.review.exercise):
            self._open(running)
        else:
            self._ask_which(running)

    def _ask_which(self, running: RunningReview) -> None:
        def chosen(way: str | None) -> None:
            if way == "new":
                self._begin()
            else:
                self._open(running)

        title = one_line(running.review.title)
        ways = [("old", f"Continue the open review: {title}"), ("new", "Discard that one and begin this one")]
        self.quiz.push_screen(Choose("A review is still open", ways), chosen)

    def _begin(self) -> None:
        try:
            review = next_review(self.quiz.study, self._slug, self._seed)
            running = RunningReview.begin(review, paths.running_review(), self._clock)
        except (QuizError, OSError) as error:
            self._give_up(f"The review cannot be opened: {error}")
            return
        self._open(running)

    def _open(self, running: RunningReview) -> None:
        self._sitting = running
        self._warned = False
        self.set_class(running.result is not None, "-revealed")
        self.quiz.warm_judge()
        self.panes.load(running.answer)
        self._show_step()
        if running.step == ReviewStep.JUDGE:
            self._judge()

    def _give_up(self, sentence: str) -> None:
        self.quiz.say(sentence, bad=True)
        self.call_later(self.quiz.go_back, self)

    def waits(self, action: str) -> bool:
        """Whether an action must wait until the review is open."""
        return (self._sitting is None and action.partition("(")[0] != "back") or super().waits(action)

    def closing(self) -> None:
        """Save what was typed when the program ends."""
        if self._sitting is not None:
            self._keep()

    def action_back(self) -> None:
        """Save and leave; a review without an answer is discarded."""
        running = self._sitting
        if running is not None and self._phase != Phase.DONE:
            self._keep()
            if running.can_discard:
                running.close()
        self.quiz.go_back(self)

    # the steps

    def action_decide(self, decision: str) -> None:
        """Decide; the confidence comes next."""
        self.sitting.decide(Decision(decision))
        self._show_step()

    def action_reconsider(self) -> None:
        """Back to the decision."""
        self.sitting.go(ReviewStep.DECIDE)
        self._show_step()

    def action_confide(self, confidence: int) -> None:
        """Give the confidence, which makes the decision final."""
        self.sitting.confide(confidence)
        self._show_step()

    def action_at(self, line: int) -> None:
        """Click on a line: the cursor goes there."""
        self.panes.move(line - self.panes.shown.cursor)

    def action_point(self) -> None:
        """Point at the line under the cursor, or no longer."""
        self.sitting.toggle_line(self.panes.shown.cursor)
        self.panes.show_code(self.sitting.at)

    def action_next_step(self) -> None:
        """Go to the next step, or hand in after the last one."""
        self._keep()
        following = self.sitting.at.next_step()
        if following is None:
            self.action_hand_in()
        else:
            self.sitting.go(following)
            self._show_step()

    def action_next_field(self) -> None:
        """Go to the next step from a field."""
        self.action_next_step()

    def action_show(self, pane: str) -> None:
        """Go to a step by its pane; the code can be read at every step."""
        self._keep()
        step = STEP_OF_PANE[pane]
        if step in self.sitting.at.steps:
            self.sitting.go(step)
            self._show_step()
        elif pane == "code":
            self.panes.show_pane("code")
            self.enter_phase(Phase.CODE)
        else:
            self.quiz.say("You said that the code is correct, so there is nothing to say or fix.")

    def action_leave_field(self) -> None:
        """Back to the code."""
        self.action_show("code")

    def action_hand_in(self) -> None:
        """Ask, then hand in."""
        self._keep()
        missing = self.sitting.at.missing()
        rest = f"; still missing: {', '.join(missing)}" if missing else ""

        def chosen(way: str | None) -> None:
            if way == "yes":
                self.sitting.hand_in()
                self._show_step()
                self._judge()

        ways = [("no", f"Go on answering{rest}"), ("yes", "Hand in: the judge marks what is there")]
        self.quiz.push_screen(Choose("Hand in?", ways, "no" if missing else "yes"), chosen)

    def action_run_test(self) -> None:
        """Run the test on the code shown, or on the fix while that is being written."""
        self._keep()
        problem = self.sitting.at.test_problem()
        if problem:
            self._say_output(problem)
            return
        fixing = self.sitting.step == ReviewStep.FIX
        source = self.sitting.answer.fixed if fixing else self.sitting.review.shown
        target = "your fix" if fixing else "the code shown"
        exercise, test = self.exercise, self.sitting.answer.check
        self._say_output(f"Running your test on {target} …")

        def work() -> None:
            from quizapp.interview.code_review.judging import run_on

            try:
                run = run_on(exercise, test, source)
            except QuizError as error:
                run = ProgramRun(ProgramOutcome.ERROR, str(error))
            call_on_ui(self.quiz, self._test_ran, target, run)

        run_in_thread(self.quiz, work, "review-test", exclusive=True)

    def _test_ran(self, target: str, run: ProgramRun) -> None:
        text = f"Your test {_VERBS.get(run.outcome, 'ends in an error')} on {target}"
        self._say_output(f"{text}." if run.held else f"{text}: {run.text}.")

    def _say_output(self, text: str) -> None:
        if self.stands:
            self.query_one("#output", Static).update(plain(text))

    # judging and the reveal

    def _judge(self) -> None:
        if self._judging:
            return
        self._judging = True
        running, exercise = self.sitting, self.exercise

        def work() -> None:
            from quizapp.interview.code_review.judging import judge_with_client

            try:
                result = judge_with_client(running.review, exercise, running.at.submitted())
            except QuizError as error:
                call_on_ui(self.quiz, self._judge_failed, error)
            else:
                call_on_ui(self.quiz, self._judged, running, result)

        run_in_thread(self.quiz, work, "review-judge")

    def _judge_failed(self, error: QuizError) -> None:
        self._judging = False
        self.quiz.say(f"{error} The review is saved; open it again to have it judged.", bad=True)
        self.quiz.go_back(self)

    def _judged(self, running: RunningReview, result: ReviewResult) -> None:
        self._judging = False
        running.judged(result)
        if self.stands:
            self._show_step()

    def action_credit(self, number: int) -> None:
        """Change the credit for a consequence: not said, half, said."""
        result = self.sitting.result
        if result is None or number >= len(result.consequences):
            return
        mark = result.consequences[number]
        most = 1.0 if mark.sentence else 0.5
        held = 0.0 if mark.held >= most else mark.held + 0.5
        result.consequences[number] = decide_consequence(mark, held)
        remark(result)
        self.sitting.save()
        self._show_result()

    @property
    def options(self) -> int:
        """How many faults have a credit that can be changed."""
        return len(self._sitting.review.faults) if self._sitting is not None else 0

    def offers(self, act: actions.Act) -> bool:
        """Offer credits only for faults that exist."""
        return not act.action.startswith("credit(") or int(act.action[7:-1]) < self.options

    def action_finish(self) -> None:
        """Write the review to the log and say when the next one is due."""
        result = self.sitting.result
        if result is None:
            return
        recorded = record_result(self.quiz.study, result)
        self.sitting.close()
        scheduled = "Stored; the next review of this exercise stays where it is."
        if recorded is not None:
            scheduled = f"{recorded.rating.label}: the next review of this exercise is in {recorded.text}."
        self._show_result(scheduled)
        self.enter_phase(Phase.DONE)

    def action_another(self) -> None:
        """Begin another review."""
        self._sitting, self._slug, self._seed = None, None, None
        self.remove_class("-revealed")
        self._begin()

    def action_exercise(self) -> None:
        """Open the exercise."""
        self.quiz.open_exercise(self.sitting.review.exercise)

    # showing

    def _show_step(self) -> None:
        running = self.sitting
        step = running.step
        self.set_class(step == ReviewStep.REVEAL, "-revealed")
        if step == ReviewStep.REVEAL:
            self._show_result()
        else:
            self.panes.show_code(running.at)
            self.panes.show_pane(PANE_OF_STEP.get(step, "code"))
        self.query_one("#task", Static).update(plain(task_text(running.at, "ctrl+s"), "bold"))
        self._show_head()
        self.enter_phase(PHASES.get(step, Phase.CODE))

    def _show_result(self, scheduled: str = "") -> None:
        if self.sitting.result is not None:
            self.set_focus(None)
            self.query_one("#result", ReviewReveal).show(self.sitting.result, self.exercise, scheduled)

    def on_resize(self) -> None:
        """The head line is laid out by width."""
        self._show_head()

    def _show_head(self) -> None:
        if self._sitting is not None:
            self.query_one("#head", Static).update(head_line(self._sitting, self.size.width - 2))

    # time and typing

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Typing is stored by the tick."""
        event.stop()

    def _keep(self) -> None:
        if self.sitting.is_timed:
            words, check, fixed = self.panes.texts()
            self.sitting.keep(words=words, check=check, fixed=fixed)

    def _tick(self) -> None:
        running = self._sitting
        if running is None or self._phase in (Phase.DONE, Phase.REVEAL) or not self.stands:
            return
        over = running.is_timed and self._let_time_pass(running)
        self._show_head()
        if over:
            self.quiz.say("Time is up: what is there is handed in.")
            self._show_step()
            self._judge()

    def _let_time_pass(self, running: RunningReview) -> bool:
        """Count the time and store what was typed each second. Returns whether the time is over."""
        if running.seconds_left < ENDS_SOON_S and not self._warned:
            self._warned = True
            self.quiz.say("One minute left; then what is there is handed in.")
        now = self._clock()
        try:
            if now - self._saved_at >= running_review.SAVE_EVERY_S:
                self._saved_at = now
                self._keep()
            return running.tick()
        except QuizError as error:
            self._sitting = None
            self._give_up(str(error))
            return False

    # moving

    def scroller(self) -> Widget | None:
        """The reveal, or the code."""
        return self.query_one("#reveal") if self.has_class("-revealed") else self.panes.view

    def move(self, step: int) -> None:
        """Move the cursor while pointing; scroll otherwise."""
        if self._sitting is None or self.sitting.step != ReviewStep.POINT:
            super().move(step)
            return
        self.panes.move(step)

    def action_page(self, direction: int) -> None:
        """Move the cursor by a page while pointing; scroll otherwise."""
        if self._sitting is None or self.sitting.step != ReviewStep.POINT:
            super().action_page(direction)
        else:
            self.panes.move_page(direction)
