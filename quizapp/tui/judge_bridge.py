"""Grading without blocking a key: the judge answers in its own time, only the last order counts."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from quizapp.errors import QuizError
from quizapp.tui.workers import call_on_ui, run_in_thread

if TYPE_CHECKING:
    from quizapp.bank.model import Exercise
    from quizapp.judge.client.warm import JudgeClient
    from quizapp.judge.verdict import Verdict
    from quizapp.tui.app import QuizApp

Told = Callable[["Verdict | QuizError"], None]

PATIENCE = 0.3
"""Seconds that leaving waits for the judge."""


class Grader:
    """One warm judge for the app, one order at a time; a new order or a cancel voids the one before it."""

    def __init__(self, app: "QuizApp") -> None:
        self._app = app
        self._client: JudgeClient | None = None
        self._order = 0
        self._told: Told | None = None

    @property
    def client(self) -> "JudgeClient":
        """The judge's client, made on first use; the judge itself is another process."""
        if self._client is None:
            from quizapp.judge.client.warm import JudgeClient

            self._client = JudgeClient(self._heard)
        return self._client

    @property
    def is_warm(self) -> bool:
        """Whether the judge has imported PyTorch and answers at once."""
        return self._client is not None and self._client.ready

    def warm(self) -> None:
        """Start the judge in the background."""
        run_in_thread(self._app, self._start, "judge", exclusive=True)

    def _start(self) -> None:
        try:
            self.client.start()
        except (QuizError, OSError) as error:  # the first grade says so; warming up is only a courtesy
            self._app.log.warning(str(error))

    def submit(self, exercise: "Exercise", source: bytes, device: str, told: Told) -> None:
        """Grade ``source``; ``told`` hears the verdict or the fault, unless the order is void by then."""
        self._order += 1
        self._told = told
        order = self._order

        def work() -> None:
            try:
                self.client.submit(exercise, source, device=device)
            except QuizError as error:
                call_on_ui(self._app, self._tell, order, error)
            except OSError as error:
                fault = QuizError(f"The judge cannot be started: {error.strerror}.")
                call_on_ui(self._app, self._tell, order, fault)

        run_in_thread(self._app, work, "grade")

    def _heard(self, ticket: int, found: "Verdict | QuizError") -> None:
        """The judge's answer, in a thread of its client; the client drops answers to older tickets."""
        del ticket
        call_on_ui(self._app, self._tell, self._order, found)

    def _tell(self, order: int, found: "Verdict | QuizError") -> None:
        if order == self._order and self._told is not None:
            told, self._told = self._told, None
            told(found)

    def cancel(self) -> None:
        """Void the running order; the judge ends what it runs."""
        self._order += 1
        if self._told is not None and self._client is not None:
            run_in_thread(self._app, self._client.cancel, "grade")
        self._told = None

    def stop(self) -> None:
        """End the judge; one that is still warming up is not waited for, it ends with its socket."""
        self._told = None
        if self._client is not None:
            ending = threading.Thread(target=self._client.stop, daemon=True)
            ending.start()
            ending.join(PATIENCE)
