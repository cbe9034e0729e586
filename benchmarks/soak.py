"""Saves a file hundreds of times in watch mode, to find leaks of descriptors, processes and memory.

``python benchmarks/soak.py [--saves 500]`` prints JSON with the figures before and after.
"""

import argparse
import json
import os
import random
import tempfile
import threading
import time
from pathlib import Path

import psutil

from quizapp import paths
from quizapp.bank.parse_exercise import load_exercise
from quizapp.judge.client.watch import watch
from quizapp.judge.verdict import Verdict

RIGHT, WRONG = "solution", "starter"


def state(marker: str) -> dict[str, float]:
    """Return descriptors, processes, threads and memory (MB) of this process and its judge.

    ``marker`` is a text in the command lines of the judge's processes.
    """
    processes = [p for p in psutil.process_iter(["cmdline"]) if marker in " ".join(p.info["cmdline"] or [])]
    everyone = [*processes, psutil.Process()]
    return {
        "processes": len(processes),
        "descriptors": sum(p.num_fds() for p in everyone),
        "threads": sum(p.num_threads() for p in everyone),
        # Private memory only, because the shared part depends on the other programs that run.
        "uss_mb": round(sum(p.memory_full_info().uss for p in everyone) / 1e6, 1),
        "scratch_folders": len(list(Path(tempfile.gettempdir()).glob("quizapp-judge-*/*"))),
    }


def soak(saves: int, home: Path) -> dict[str, object]:
    """Save ``saves`` times at random moments. Every verdict must match the last save."""
    exercise, faults = load_exercise(paths.exercises() / "warmup")
    assert exercise is not None, faults
    sources = {name: (exercise.folder / f"{name}.py").read_text(encoding="utf-8") for name in (RIGHT, WRONG)}
    path = home / exercise.module
    path.write_text(sources[WRONG], encoding="utf-8")
    verdicts: list[tuple[float, Verdict]] = []
    stale = 0
    settled = threading.Event()

    def listen() -> None:
        nonlocal stale
        for verdict in watch(exercise, path, device="cpu"):
            verdicts.append((time.monotonic(), verdict))
            # Within a second of a save, a verdict may still belong to the save before it.
            stale += verdict.passed != (last == RIGHT) and last_at < time.monotonic() - 1.0
            settled.set()

    last, last_at = WRONG, time.monotonic()
    threading.Thread(target=listen, daemon=True).start()
    settled.wait(120)
    randomness = random.Random(0)
    before: dict[str, float] = {}
    for number in range(saves):
        if number == min(20, saves // 2):
            settled.clear()
            settled.wait(5)
            before = state(str(home))
        last, last_at = randomness.choice((RIGHT, WRONG)), time.monotonic()
        path.write_text(f"# save {number}\n{sources[last]}", encoding="utf-8")
        time.sleep(randomness.choice((0.01, 0.05, 0.15, 0.4)))
    limit = time.monotonic() + 30
    while time.monotonic() < limit and verdicts[-1][0] < last_at + 0.5:
        time.sleep(0.1)
    time.sleep(1.0)
    return {
        "saves": saves,
        "verdicts": len(verdicts),
        "stale_verdicts": stale,
        "last_save_won": verdicts[-1][1].passed == (last == RIGHT),
        "before": before,
        "after": state(str(home)),
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--saves", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["QUIZAPP_HOME"] = home
        print(json.dumps(soak(options.saves, Path(home)), indent=1), flush=True)
        os._exit(0)  # the watching thread never ends by itself


if __name__ == "__main__":
    main()
