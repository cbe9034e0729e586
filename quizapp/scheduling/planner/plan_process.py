"""Computes a plan in a process of its own: it takes seconds of computing, which would slow every key down.

The process reads pickled inputs and writes the pickled plan. Both ends are this program.
"""

import contextlib
import os
import pickle
import subprocess
import sys

from quizapp.scheduling.planner.plan import PlanInputs, StudyPlan


def start() -> "subprocess.Popen[bytes]":
    """Start the process, which waits for `finish` or for its end. Raises `OSError` if it cannot start."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "quizapp.scheduling.planner.plan_process"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip


def finish(process: "subprocess.Popen[bytes]", inputs: PlanInputs) -> StudyPlan | None:
    """Send the inputs and wait for the plan; None if the process was ended or failed."""
    pickled, _ = process.communicate(pickle.dumps(inputs))
    if process.returncode:
        return None
    plan = pickle.loads(pickled)  # noqa: S301 - written by our own process
    assert isinstance(plan, StudyPlan)
    return plan


def main() -> None:
    """Read the inputs, compute, and write the plan."""
    with contextlib.suppress(AttributeError, OSError):
        os.nice(5)
    inputs = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by our own process
    pickle.dump(inputs.plan(), sys.stdout.buffer)


if __name__ == "__main__":
    main()
