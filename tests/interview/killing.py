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


ROUND_CHILD = (sys.executable, "-m", "tests.interview.round_child")


class KilledRound(NamedTuple):
    """Seconds of typing lost, what was acknowledged, and the acknowledged lines that are not on the disk.

    ``over`` says that the round was recorded, so that the next child would begin another.
    """

    lost: float
    acknowledged: int
    missing: list[str]
    over: bool


def kill_round(folder: Path, round_name: str, wait: float) -> KilledRound:
    """Run the child of a round until ``wait`` seconds after it began, kill it, and look for what it did."""
    command = [*ROUND_CHILD, str(folder), round_name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        looped = [first] if first.startswith("looped") else []
        first = process.stdout.readline() if looped else first
        if not first.startswith("begun"):
            raise AssertionError(f"the child of {round_name} did not begin")
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        rest = [*looped, *process.stdout.read().splitlines(keepends=True)]
    lines = [line.split() for line in rest if line.endswith("\n") and not line.startswith("begun")]
    with Store.open(folder / "quizapp.db") as store:
        store.db.check()
        study = Study(small_bank(), store, Settings())
        stored = {mock.id: mock for mock in study.mocks()}
        missing = [" ".join(line) for line in lines if line[0] != "words" and not _is_kept(line, stored)]
        words = [line for line in lines if line[0] == "words"]
        lost = 0.0
        if words:
            last = float(lines[-1][2]) if lines[-1][0] == "words" else float(words[-1][2])
            late = [float(line[2]) for line in words if _typed(line, stored) < int(line[4])]
            lost = last - min(late) if late else 0.0
        over = archive.running(study) is None
    return KilledRound(lost, len(lines), missing, over)


def _items(mock_id: str, stored: dict) -> list[dict]:
    document = stored[mock_id].document
    return document["running"]["items"] if "running" in document else document["items"]


def _typed(line: list[str], stored: dict) -> int:
    return len(_items(line[1], stored)[int(line[3])]["typed"])


def _is_kept(line: list[str], stored: dict) -> bool:
    """Whether what a line acknowledges is stored."""
    what, mock_id, *rest = line
    if mock_id not in stored:
        return False
    if what == "looped":
        loop, rounds = rest
        done = [
            mock for mock in stored.values() if mock.state == "done" and mock.document.get("loop") == loop
        ]
        return stored[mock_id].document.get("loop") == loop and len(done) >= int(rounds)
    if what == "recorded":
        return stored[mock_id].state == "done"
    items = _items(mock_id, stored)
    item = items[int(rest[0])]
    if what == "closed":
        return item["state"] in ("frozen", "cut", "probe")
    if what == "submitted":
        return len(item["submissions"]) >= int(rest[1])
    if what == "judged":
        return item.get("judged") is not None
    document = stored[mock_id].document
    marking = document["running"]["marking"][int(rest[0])] if "running" in document else item["marking"]
    return marking["points"][int(rest[1])]["held"] == float(rest[2])
