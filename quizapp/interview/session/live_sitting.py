"""The actions of a live incident: commit to a cause, edit the script, run it, state the reproduction."""

from typing import TYPE_CHECKING

from quizapp.incidents.live.live_work import LiveWork, LoggedRun, RunCommand, trimmed_log
from quizapp.interview.session.flow import ClockEventType, SessionEvent
from quizapp.interview.session.question import OPEN, InterviewQuestion

if TYPE_CHECKING:
    from quizapp.interview.session.session import InterviewSession
    from quizapp.judge.protocol.scripts import ScriptRun

RUNNING = "running"
LOST = "lost"
"""The outcomes of a run that has not ended, and of one that ended with the program."""

LOCKED = "The script opens for editing once you have committed to a cause: choose it (f4), then press c."
NO_CAUSE = "Choose the cause and the place first; they are fixed once you commit."
TOO_LATE = "That run costs more time than is left."
MOST_STEPS = "A run has at most {} steps."


class LiveSitting:
    """What a learner can do with the current question of a session, if it is a live incident.

    Whatever an action changes is in the session's document when it returns; the caller stores it.
    """

    def __init__(self, session: "InterviewSession") -> None:
        self._session = session

    @property
    def item(self) -> InterviewQuestion | None:
        """The live incident in hand; None if there is none or its answer is frozen."""
        item = self._session.item
        return item if item is not None and item.live is not None and item.state == OPEN else None

    def _changed(self, item: InterviewQuestion) -> LiveWork:
        if item.first_key_ms is None:
            item.first_key_ms = item.used_ms
        self._session.flow.changed = True
        return item.live_work

    def commit(self) -> str:
        """Fix cause and place, and open the script for editing. Returns why not, or an empty string."""
        item = self.item
        if item is None:
            return TOO_LATE
        if not item.diagnosis.cause or not item.diagnosis.place:
            return NO_CAUSE
        work = self._changed(item)
        if work.committed_ms is None:
            work.committed_ms = self._session.elapsed_ms
        return ""

    def edit(self, source: str) -> bool:
        """Replace the script; False before a cause is committed."""
        item = self.item
        if item is None or source == item.live_work.script(item.live_task):
            return item is not None
        if not item.live_work.edit(item.live_task, source):
            return False
        self._changed(item)
        return True

    def state(self, command: RunCommand) -> None:
        """State the command that reproduces the symptom."""
        if (item := self.item) is not None:
            self._changed(item).command = command

    def problem_with(self, command: RunCommand) -> str:
        """Why a run cannot be made; empty if it can."""
        item = self.item
        if item is None:
            return TOO_LATE
        task = item.live_task
        if not 1 <= command.steps <= task.most_steps:
            return MOST_STEPS.format(task.most_steps)
        return "" if self._session.affords(task.price_of(command.steps)) else TOO_LATE

    def begin_run(self, command: RunCommand) -> tuple[LoggedRun, list[SessionEvent]]:
        """Pay for a run and note that it has begun. Check it with `problem_with` first."""
        item = self.item
        assert item is not None
        work, task = self._changed(item), item.live_task
        price = task.price_of(command.steps)
        run = LoggedRun(
            at_ms=self._session.elapsed_ms,
            steps=command.steps,
            seed=command.seed,
            price=0 if work.practice else price,
            edited=work.edited(task),
            outcome=RUNNING,
        )
        work.add_run(run)
        self._session.flow.note(ClockEventType.RUN, item=item.number, seconds=run.price)
        return run, self._session.charge(price)


def end_run(run: LoggedRun, result: "ScriptRun") -> None:
    """Note how a run ended."""
    run.outcome = result.outcome
    run.text = result.text
    run.seconds = round(result.seconds, 2)
    run.log = trimmed_log(result.log)
    run.checkpoint_hash = result.checkpoint_hash


def lose_runs(item: InterviewQuestion) -> None:
    """Note that the runs which had not ended when the program did are lost."""
    for run in item.live.runs if item.live is not None else ():
        if run.outcome == RUNNING:
            run.outcome, run.text = LOST, "The program ended before this run did; its price was paid."
