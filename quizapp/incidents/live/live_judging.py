"""Has this user's judge measure what was handed in for a live incident."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from quizapp.incidents.live.hand_in import count_runs, measure_hand_in
from quizapp.incidents.live.live_work import HandIn, LiveTask, LiveWork, RunCommand
from quizapp.incidents.live.make_task import script_order

if TYPE_CHECKING:
    from quizapp.judge.protocol.scripts import ScriptRun


def measure_with_client(
    task: LiveTask,
    work: LiveWork,
    *,
    number: int,
    healthy: bool,
    on_run: Callable[[int, int], None] | None = None,
) -> HandIn:
    """Measure the work; starts a judge if this user has no warm one. Takes up to a minute.

    ``number`` is the seed of the sitting, ``healthy`` says that the incident is a false alarm. ``on_run``
    gets how many runs have ended, of at most how many. Raises `QuizError` if the judge fails.
    """
    from quizapp.judge.client.script_client import ScriptClient

    count, done = count_runs(task, work, healthy=healthy), 0
    with ScriptClient() as client:

        def run(source: str, command: RunCommand, measured: bool) -> "ScriptRun":
            nonlocal done
            result = client.run(script_order(task, source, command, measured=measured))
            done += 1
            if on_run is not None:
                on_run(done, count)
            return result

        return measure_hand_in(task, work, run, number=number, healthy=healthy)
