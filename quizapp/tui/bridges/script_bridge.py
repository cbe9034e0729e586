"""Runs a learner's script beside the interface. Lines are fetched, never pushed, so that no log slows a key.

A thread of the app waits for the judge and puts each line into a queue. The interface takes what there is
when it redraws, and never more than it can draw.
"""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from quizapp.errors import QuizError
from quizapp.tui.workers import call_on_ui, run_in_thread

if TYPE_CHECKING:
    from quizapp.judge.client.script_client import ScriptClient
    from quizapp.judge.protocol.scripts import ScriptOrder, ScriptRun
    from quizapp.tui.app import QuizApp

MOST_LINES = 400
"""The most lines that one redraw takes; the others wait for the next one."""

OnEnd = Callable[["ScriptRun | QuizError"], None]


def _connect() -> "ScriptClient":
    from quizapp.judge.client.script_client import ScriptClient  # too slow before the first frame

    return ScriptClient()


class ScriptBridge:
    """One run at a time. Every method is called in the interface's thread and returns at once."""

    def __init__(self, app: "QuizApp", connect: Callable[[], "ScriptClient"] = _connect) -> None:
        self._app = app
        self._connect = connect
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._canceled = threading.Event()
        self._open = ExitStack()
        self._client: ScriptClient | None = None
        self._lock = threading.Lock()
        self.busy = False

    def warm(self) -> None:
        """Connect to the judge in the background, so that the first run begins sooner."""

        def work() -> None:
            with self._lock:
                try:
                    self._ensure_client().connect()
                except (QuizError, OSError):
                    return  # the first run reports the same error

        run_in_thread(self._app, work, "script-warm")

    def run(self, order: "ScriptOrder", on_end: OnEnd) -> None:
        """Run a script; ``on_end`` is called in the interface's thread. One run must end before the next."""
        assert not self.busy
        self.busy = True
        lines: SimpleQueue[str] = SimpleQueue()
        self._lines = lines
        self._canceled = canceled = threading.Event()

        def work() -> None:
            with self._lock:
                outcome = self._run(order, lines, canceled)
            call_on_ui(self._app, self._ended, on_end, outcome)

        run_in_thread(self._app, work, "script")

    def stop(self) -> None:
        """Stop the run; it ends as canceled."""
        self._canceled.set()

    def close(self) -> None:
        """Stop the run and end the judge, without waiting for either."""
        self.stop()

        def work() -> None:
            with self._lock:
                self._open.close()

        threading.Thread(target=work, daemon=True).start()

    def lines(self) -> list[str]:
        """The lines that the run has printed since the last call, not more than can be drawn at once."""
        fetched: list[str] = []
        try:
            while len(fetched) < MOST_LINES:
                fetched.append(self._lines.get_nowait())
        except Empty:
            pass
        return fetched

    def _ended(self, on_end: OnEnd, outcome: "ScriptRun | QuizError") -> None:
        self.busy = False
        on_end(outcome)

    # in the thread of a run

    def _ensure_client(self) -> "ScriptClient":
        if self._client is None:
            self._client = self._open.enter_context(self._connect())
        return self._client

    def _run(
        self, order: "ScriptOrder", lines: "SimpleQueue[str]", canceled: threading.Event
    ) -> "ScriptRun | QuizError":
        try:
            return self._ensure_client().run(order, on_line=lines.put, canceled=canceled)
        except QuizError as error:
            return error
        except OSError as error:
            return QuizError(f"The judge cannot be started: {error.strerror}.")
