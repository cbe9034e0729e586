"""Kills the app with SIGKILL in a live incident and looks at what is left; for tests and the benchmark."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from quizapp.interview import archive
from quizapp.scheduling.service import Study
from quizapp.settings.model import Settings
from quizapp.store import Store
from tests.interview.mock_kit import small_bank

CHILD = (sys.executable, "-m", "tests.interview.live_child")
UNTIL = {"typing": "typed", "dialog": "dialog", "running": "running", "measuring": "handed"}
"""The line after which a moment has come."""
PATIENCE_S = 60.0
SLACK_MS = 1500
"""What the clock may lack after a kill: a second that was not yet saved, and the time to reopen."""


class KilledLive(NamedTuple):
    """What was lost of a killed sitting: seconds of typing, acknowledged lines, milliseconds of the clock.

    ``left`` names processes and folders that stayed behind.
    """

    lost: float
    missing: list[str]
    clock_ms: int
    left: list[str]
    acknowledged: int
    ended: bool


def kill_live(folder: Path, moment: str, wait: float) -> KilledLive:
    """Run the child to its moment and ``wait`` seconds further, kill it, and look for what it did."""
    before = _stored(folder)
    scratch = folder / "tmp"
    scratch.mkdir(exist_ok=True)
    environment = os.environ | {"QUIZAPP_HOME": str(folder / "home"), "TMPDIR": str(scratch)}
    with subprocess.Popen(
        [*CHILD, str(folder), moment], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        lines: list[str] = []
        # A sitting that has ended by now waits at its marks.
        while line := process.stdout.readline():
            lines.append(line)
            if line.split()[0] in (UNTIL[moment], "handed"):
                break
        else:
            raise AssertionError(f"the child never came to {moment!r}: it said {lines}")
        time.sleep(wait)
        killed_at = time.time()
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().splitlines(keepends=True)
    said = [line.split() for line in lines if line.endswith("\n")]
    left = _left_behind(folder / "home", scratch)
    after = _stored(folder)
    assert after is not None
    source = _script(folder, after)
    typed = [line for line in said if line[0] == "typed"]
    late = [float(line[1]) for line in typed if len(source) < int(line[2])]
    missing = [" ".join(line) for line in said if not _is_kept(line, after)]
    marked = [line[1] for line in said if line[0] == "marked"]
    # The kill may come when a decision is stored and not yet acknowledged, so that only older ones tell.
    if marked and _ticks(after) != marked[-1] and _ticks(after) in marked:
        missing.append(f"marked {marked[-1]}")
    return KilledLive(
        lost=killed_at - min(late) if late else 0.0,
        missing=missing,
        clock_ms=_clock_lack(before, after, said, killed_at),
        left=left,
        acknowledged=len(said),
        ended=after["running"]["items"][0]["state"] != "open",
    )


def _stored(folder: Path) -> dict[str, Any] | None:
    """The document of the sitting, if one has begun."""
    if not (folder / "quizapp.db").exists():
        return None
    with Store.open(folder / "quizapp.db") as store:
        store.db.check()
        study = Study(small_bank(), store, Settings())
        assert study.stats().reviews == 0, "a review was invented"
        known = archive.running(study)
        return None if known is None else dict(known.document)


def _script(folder: Path, document: dict[str, Any]) -> str:
    """The script as the next sitting begins with it: the file is written first, so it may be newer."""
    item = document["running"]["items"][0]
    path = folder / "home" / "live" / item["question"]["live"]["name"] / "run.py"
    return (
        path.read_text()
        if path.exists()
        else item["live"].get("source") or item["question"]["live"]["broken"]
    )


def _is_kept(line: list[str], document: dict[str, Any]) -> bool:
    """Whether what a line acknowledges is stored."""
    live = document["running"]["items"][0]["live"]
    match line[0]:
        case "committed":
            return live["committed_ms"] is not None
        case "running" | "line":
            return len(live["runs"]) >= int(line[1])
        case "ended":
            return live["runs"][int(line[1]) - 1]["outcome"] == "ended"
        case "handed":
            return document["running"]["items"][0]["state"] != "open"
        case "measured":
            return live["measured"] is not None
    return True


def _ticks(document: dict[str, Any]) -> str:
    return "".join(str(int(point["ticked"])) for point in document["running"]["marking"][0]["points"])


def _clock_lack(
    before: dict[str, Any] | None, after: dict[str, Any], said: list[list[str]], killed_at: float
) -> int:
    """How many milliseconds the stored clock lacks of the time that really passed, with the prices of runs.

    The time from the last save to the kill is counted when the sitting is resumed, by the wall clock.
    """
    if before is None or before["running"]["items"][0]["state"] != "open":
        return 0
    item, earlier = after["running"]["items"][0], before["running"]["items"][0]
    if item["state"] != "open":
        return 0
    passed = int(after["running"]["wall_ms"]) - int(before["running"]["wall_ms"])
    paid = 1000 * sum(run["price"] for run in item["live"]["runs"][len(earlier["live"]["runs"]) :])
    unsaved = int(1000 * killed_at) - int(after["running"]["wall_ms"])
    lack = passed + paid - (item["used_ms"] - earlier["used_ms"])
    return max(lack, unsaved - 5000, 0)


def _left_behind(home: Path, scratch: Path) -> list[str]:
    """Processes of this home and scratch folders that are still there after a while."""
    deadline = time.monotonic() + PATIENCE_S
    # What torch and the discovery of a judge keep there is nobody's scratch folder.
    while (left := [*_processes(home), *map(str, scratch.glob("quizapp-judge-*"))]) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.05)
    return left


def _processes(home: Path) -> list[str]:
    wanted = f"QUIZAPP_HOME={home}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in path.read_bytes().split(b"\0"):
                found.append(f"process {path.parent.name}: {(path.parent / 'cmdline').read_bytes()[:80]!r}")
        except OSError:
            continue  # it ended meanwhile, or belongs to somebody else
    return found
