"""A hand-in measured by the real judge, for a shipped incident."""

import pytest

from quizapp.incidents.live.live_judging import measure_with_client
from quizapp.incidents.live.live_program import LiveProgram
from quizapp.incidents.live.live_work import LiveWork, RunCommand
from quizapp.incidents.live.make_task import make_task
from quizapp.incidents.loader import load_library

pytestmark = [pytest.mark.slow, pytest.mark.judge, pytest.mark.exhaustive]


def test_the_reference_repair_with_its_guard_earns_all_that_is_measured() -> None:
    library = load_library()
    incident = library.incidents["huge-lr"]
    program, task = LiveProgram(incident), make_task(incident, library)
    work = LiveWork(committed_ms=1, command=RunCommand(task.minimal_steps, task.seed))
    assert work.edit(task, program.guarded(program.healthy))
    counted: list[tuple[int, int]] = []
    result = measure_with_client(
        task, work, number=5, healthy=False, on_run=lambda done, count: counted.append((done, count))
    )
    assert (result.shown, result.same) == (3, True), result.replay_text
    assert result.repaired, result.fix_text
    assert result.nodes == task.repair_nodes
    assert (result.guard_failed, result.guard_held) == (True, True), result.guard_text
    assert counted[-1] == (9, 9)
