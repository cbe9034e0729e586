"""Connects the interface to the judge without ever blocking a key. Only the latest submission counts.

Three threads meet here. The interface submits and cancels. A thread of the bridge passes these commands on to
the judge's client in the same order. The client answers from a thread of its own.

An answer names a ticket, and it may arrive before the call that returns this ticket. Each submission
therefore carries its source, so that a verdict on older code is never shown for newer code.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from quizapp.errors import QuizError

if TYPE_CHECKING:
    from quizapp.bank.model import Exercise
    from quizapp.judge.client.warm import JudgeClient
    from quizapp.judge.verdict import Verdict

SHUTDOWN_TIMEOUT_S = 0.3
"""How long leaving the program waits for the judge to stop."""

OnResult = Callable[["PendingSubmission", "Verdict | QuizError"], None]


ClientFactory = Callable[[Callable[[int, "Verdict | QuizError"], None]], "JudgeClient"]


@dataclass(frozen=True, slots=True, eq=False)
class PendingSubmission:
    """Code that waits for a verdict, and the function that receives the verdict or an error."""

    exercise: "Exercise"
    source: str
    device: str
    on_result: OnResult
    stages: int | None = None


def _make_warm_client(on_verdict: Callable[[int, "Verdict | QuizError"], None]) -> "JudgeClient":
    from quizapp.judge.client.warm import JudgeClient  # too slow to import before the first frame

    return JudgeClient(on_verdict)


class JudgeBridge:
    """One warm judge for the whole interface. A new submission or a cancel voids the one before it.

    ``call_on_ui`` runs a function in the interface's thread; ``on_crash`` receives unexpected errors.
    """

    def __init__(
        self,
        call_on_ui: Callable[..., None],
        on_crash: Callable[[Exception], None],
        make_client: ClientFactory = _make_warm_client,
    ) -> None:
        self._call_on_ui = call_on_ui
        self._on_crash = on_crash
        self._make_client = make_client
        self._client: JudgeClient | None = None
        self._thread: threading.Thread | None = None
        self._commands: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._stopped = False
        # Read and written in the interface's thread; the bridge's thread only compares it.
        self._current: PendingSubmission | None = None
        # Both threads use these two: the newest ticket with its submission, and answers to unknown tickets.
        self._lock = threading.Lock()
        self._ticketed: tuple[int, PendingSubmission] | None = None
        self._early: dict[int, Verdict | QuizError] = {}

    # called by the interface

    @property
    def is_warm(self) -> bool:
        """Whether the judge has imported PyTorch and can grade at once."""
        return self._client is not None and self._client.ready

    def warm(self) -> None:
        """Start the judge in the background."""
        self._run(self._start)

    def submit(
        self,
        exercise: "Exercise",
        source: str,
        device: str,
        on_result: OnResult,
        stages: int | None = None,
    ) -> None:
        """Grade ``source``; ``on_result`` receives the outcome unless the submission is void by then.

        ``stages`` runs the tests of that many leading stages only.
        """
        submission = PendingSubmission(exercise, source, device, on_result, stages)
        self._current = submission
        self._run(lambda: self._submit(submission))

    def cancel(self) -> None:
        """Void the latest submission; the judge stops what it runs."""
        if self._current is not None:
            self._current = None
            self._run(self._cancel)

    def stop(self) -> None:
        """Stop the judge, waiting only briefly: one that is still warming up ends when its socket closes."""
        self._stopped = True
        self._current = None
        self._commands.put(lambda: None)  # wakes the bridge's thread, which then ends
        if self._client is not None:
            ending = threading.Thread(target=self._client.stop, daemon=True)
            ending.start()
            ending.join(SHUTDOWN_TIMEOUT_S)

    # in the bridge's thread, in the order in which the interface asked

    def _run(self, command: Callable[[], None]) -> None:
        self._commands.put(command)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="judge bridge", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while not self._stopped:
            try:
                self._commands.get()()
            except Exception as error:  # noqa: BLE001 - handed on
                self._on_crash(error)

    def _ensure_client(self) -> "JudgeClient":
        if self._client is None:
            self._client = self._make_client(self._on_verdict)
        return self._client

    def _start(self) -> None:
        try:
            self._ensure_client().start()
        except (QuizError, OSError):
            return  # the first submission will report the same error

    def _submit(self, submission: PendingSubmission) -> None:
        if submission is not self._current:  # void before its turn came
            return
        try:
            source = submission.source.encode()
            ticket = self._ensure_client().submit(
                submission.exercise, source, device=submission.device, stages=submission.stages
            )
        except QuizError as error:
            self._call_on_ui(self._deliver, submission, error)
        except OSError as error:
            fault = QuizError(f"The judge cannot be started: {error.strerror}.")
            self._call_on_ui(self._deliver, submission, fault)
        else:
            self._ticket_known(ticket, submission)

    def _ticket_known(self, ticket: int, submission: PendingSubmission) -> None:
        with self._lock:
            self._ticketed = ticket, submission
            outcome = self._early.pop(ticket, None)
            self._early.clear()
        if outcome is not None:
            self._call_on_ui(self._deliver, submission, outcome)

    def _cancel(self) -> None:
        # A submission made since then has voided the old one already, and a cancel would void the new one.
        if self._current is None and self._client is not None:
            self._client.cancel()

    # in a thread of the client

    def _on_verdict(self, ticket: int, outcome: "Verdict | QuizError") -> None:
        with self._lock:
            if self._ticketed is None or self._ticketed[0] != ticket:
                self._early[ticket] = outcome
                return
            submission = self._ticketed[1]
        self._call_on_ui(self._deliver, submission, outcome)

    # in the interface's thread again

    def _deliver(self, submission: PendingSubmission, outcome: "Verdict | QuizError") -> None:
        if submission is self._current:
            self._current = None
            submission.on_result(submission, outcome)
