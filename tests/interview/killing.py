"""Kills a running interview and looks at what is left; used by the tests and by the benchmark."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from quizapp.interview import archive
from quizapp.scheduling.service import Study
from quizapp.settings.model import Settings
from quizapp.store import Store
from tests.interview.mock_kit import small_bank

CHILD = (sys.executable, "-m", "tests.interview.running_child")


class Killed(NamedTuple):
    """Seconds of typing lost, whether the interview can be read, readings shown, and those not on disk."""

    lost: float
    readable: bool
    readings: int = 0
    readings_lost: int = 0


def kill_once(folder: Path, wait: float, *, scenario: bool = False) -> Killed:
    """Run the child until ``wait`` seconds after its first word and kill it."""
    command = [*CHILD, str(folder), *(["scenario"] if scenario else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        while first.startswith("resumed running"):
            first = process.stdout.readline()
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        lines = [first, *process.stdout.read().splitlines(keepends=True)]
    words = [line.split() for line in lines if line.endswith("\n") and line.startswith("words")]
    with Store.open(folder / "quizapp.db") as store:
        study = Study(small_bank(), store, Settings())
        known = archive.running(study)
        if known is None:
            return Killed(0.0, readable=False)
        store.db.check()
        items = known.document["running"]["items"]
        lost = 0.0
        if words:
            end = float(words[-1][1])
            unsaved = [
                float(at) for _, at, number, size in words if len(items[int(number)]["typed"]) < int(size)
            ]
            lost = end - min(unsaved) if unsaved else 0.0
        kept = {row["reading"] for item in items for row in item["bought"]}
        shown = {line.split()[1] for line in lines if line.endswith("\n") and line.startswith("bought")}
        return Killed(lost, study.stats().reviews == 0, len(shown), len(shown - kept))
