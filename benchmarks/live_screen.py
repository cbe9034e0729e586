"""Measures how long the interface is deaf to keys while a run streams its log into the live desk.

``python benchmarks/live_screen.py [INCIDENT] [--runs 3] [--beside 0]`` sits an incident in the real app,
120 by 40, has the real judge run its script, and prints JSON: the time between two turns of the event loop
beyond the 5 ms that were asked for (median, 99th percentile, longest, in ms), and the processor time of the
interface's thread in them, which does not depend on what else the machine does. ``--beside`` starts
processes that only compute.
"""

import argparse
import asyncio
import gc
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quizapp.bank.loader import load_bank
from quizapp.incidents.live.live_work import LiveMode, LoggedRun, RunCommand
from quizapp.interview.service import Interview
from quizapp.scheduling.service import Study
from quizapp.tui.app import QuizApp
from quizapp.tui.screens.interview.running import RunScreen

TURN_S = 0.005
LONG_MS = 50.0


class LoopTurns:
    """The gaps between the turns of the event loop, in ms: wall time, and this thread's processor time."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    async def watch(self) -> None:
        """Take a turn again and again until canceled."""
        wall, cpu = time.perf_counter(), time.thread_time()
        while True:
            await asyncio.sleep(TURN_S)
            now, used = time.perf_counter(), time.thread_time()
            self.wall.append(1000 * max(0.0, now - wall - TURN_S))
            self.cpu.append(1000 * (used - cpu))
            wall, cpu = now, used

    def as_json(self) -> dict[str, Any]:
        """The figures of all turns."""
        return {"turns": len(self.wall), "wall_ms": _summary(self.wall), "cpu_ms": _summary(self.cpu)}


def _summary(values: Sequence[float]) -> dict[str, float]:
    ranked = sorted(values)
    return {
        "median": round(ranked[len(ranked) // 2], 2),
        "p99": round(ranked[int(0.99 * len(ranked))], 1),
        "max": round(ranked[-1], 1),
        "over_50": sum(value > LONG_MS for value in values),
    }


async def measure(study: Study, incident: str, runs: int) -> dict[str, Any]:
    """Sit an incident and run its script, twice as long as usual."""
    interview = Interview.begin_incident(study, incident, live=LiveMode.PRACTICE)
    interview.start()
    app = QuizApp("incident", study=study)
    turns = LoopTurns()
    async with app.run_test(size=(120, 40)):
        screen = RunScreen(interview)
        await app.push_screen(screen)
        item = interview.session.items[0]
        while item.live_work.broken_run is None:  # noqa: ASYNC110 - the app offers no event for it
            await asyncio.sleep(0.05)
        gc.freeze()  # as the app does once its data is open
        screen.incident.go("log")
        desk, watching = screen.incident.desk, asyncio.create_task(turns.watch())
        for seed in range(runs):
            run = _begin(screen, RunCommand(2 * item.live_task.steps, seed))
            while desk.is_running:  # noqa: ASYNC110 - nor for this
                await asyncio.sleep(0.05)
            if run.outcome != "ended":
                sys.exit(f"{incident}: {run.outcome}: {run.text}")
        watching.cancel()
    return turns.as_json()


def _begin(screen: RunScreen, command: RunCommand) -> LoggedRun:
    """Begin a run as the dialog does."""
    desk = screen.incident.desk
    item = screen.session.items[0]
    run, _ = desk.sitting.begin_run(command)
    desk.other_run(len(item.live_work.runs))
    desk._start(item, run, item.live_task.broken)
    return run


def _compute() -> None:
    while True:
        pass


def main() -> int:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("incident", nargs="?", default="gpt-no-causal-mask")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--beside", type=int, default=0)
    options = parser.parse_args()
    busy = [multiprocessing.Process(target=_compute, daemon=True) for _ in range(options.beside)]
    with tempfile.TemporaryDirectory() as home:
        os.environ["QUIZAPP_HOME"] = str(Path(home))
        with Study.open(load_bank([])) as study:
            for process in busy:
                process.start()
            figures = asyncio.run(measure(study, options.incident, options.runs))
    for process in busy:
        process.kill()
    load = round(os.getloadavg()[0], 1)
    sys.stdout.write(json.dumps({"incident": options.incident, "load": load} | figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
