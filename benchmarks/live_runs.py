"""Measures the time from ordering a run of a training script to its first log line, cold and warm.

``python benchmarks/live_runs.py [--runs 10]`` prints JSON: per baseline the seconds to the first line and of
the whole run in a judge that is warm, and to the first line of a plain ``python run.py`` for comparison. The
first run of all also starts the judge.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from quizapp import paths
from quizapp.incidents.live.baseline import DESCRIPTION, SCRIPT, Baseline, load_baseline
from quizapp.judge.client.script_client import ScriptClient
from quizapp.judge.protocol.scripts import ScriptOrder, ScriptRun

SEED = 7


def first_line(client: ScriptClient, baseline: Baseline) -> tuple[float, ScriptRun]:
    """Run a baseline's script; return the seconds to its first line, and the run."""
    begin = time.perf_counter()
    arrivals: list[float] = []
    order = ScriptOrder(
        baseline.folder, baseline.script, SEED, seconds=baseline.seconds, ranks=baseline.ranks, measured=True
    )
    run = client.run(order, lambda _: arrivals.append(time.perf_counter() - begin))
    if not run.ended or not arrivals:
        sys.exit(f"{baseline.name}: {run.outcome}: {run.text}")
    return arrivals[0], run


def plain_first_line(baseline: Baseline) -> float:
    """Start the script in an interpreter of its own; return the seconds to its first line."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        command = [sys.executable, str(baseline.folder / SCRIPT), "--seed", str(SEED)]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            seconds = time.perf_counter() - begin
            process.kill()
    return seconds


def measured(client: ScriptClient, baseline: Baseline, runs: int) -> dict[str, float | int]:
    """The medians of one baseline in a warm judge."""
    pairs = [first_line(client, baseline) for _ in range(runs)]
    result: dict[str, float | int] = {
        "ranks": baseline.ranks,
        "first_line": round(statistics.median(first for first, _ in pairs), 3),
        "first_line_most": round(max(first for first, _ in pairs), 3),
        "run": round(statistics.median(run.seconds for _, run in pairs), 3),
    }
    if baseline.ranks == 1:
        result["plain_first_line"] = round(plain_first_line(baseline), 3)
    return result


def main() -> int:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    folder = paths.content() / "incidents"
    baselines = [load_baseline(path.parent.name) for path in sorted(folder.glob(f"*/{DESCRIPTION}"))]
    with tempfile.TemporaryDirectory() as home:
        os.environ["QUIZAPP_HOME"] = home  # a judge that is already running would not be cold
        with ScriptClient() as client:
            cold, _ = first_line(client, baselines[0])
            figures = {baseline.name: measured(client, baseline, runs) for baseline in baselines}
    sys.stdout.write(json.dumps({"cold_first_line": round(cold, 3), "warm": figures}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
