"""Has a judge run a training script; imports neither torch nor the script."""

import threading
from collections.abc import Callable
from typing import Self

from quizapp.judge.protocol.scripts import ScriptOrder, ScriptRun


class ScriptClient:
    """A connection to a judge that runs scripts: this user's warm judge, or one of its own."""

    def __init__(self, *, tier: str = ""):
        self._tier = tier

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def run(
        self,
        order: ScriptOrder,
        on_line: Callable[[str], None] | None = None,
        canceled: threading.Event | None = None,
    ) -> ScriptRun:
        """Run a script to its end. This blocks; ``on_line`` gets each line that it prints, in this thread.

        Setting ``canceled`` ends the run early. Raises `QuizError` if the judge fails.
        """
        raise NotImplementedError

    def connect(self) -> None:
        """Connect now, so that the judge is warm by the first run."""

    def close(self) -> None:
        """Close the connection, and end the judge if it was started for it."""
