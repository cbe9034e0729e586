"""Compares two checkouts: runs the same measurement in both in turns and prints the ratios as JSON.

``python benchmarks/compare.py BEFORE AFTER [--rounds 5] [--only commands,tui,verdict,store]``. Each checkout
needs its own ``.venv`` with quizapp installed from it. Taking turns spreads the other load of the machine
over both, so a ratio within a few percent of 1 means that nothing changed. ``commands`` is the CPU time of a
whole process.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

COMMANDS = ("--version", "--help", "due --json", "stats --json", "questions --json", "show lr-warmup")
SCRIPTS = {
    "tui": ("tui.py", "--rounds", "3", "--cards", "40"),
    "verdict": ("verdict.py", "--runs", "10"),
    "store": ("store.py", "--quick", "--steps", "200"),
}
Figures = dict[str, float]


def surroundings(home: Path) -> dict[str, str]:
    """The environment of a measured program. It keeps its bytecode, as it does for users."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"QUIZAPP_HOME": str(home)}


def commands(tree: Path, home: Path) -> Figures:
    """Measure the CPU seconds of each command in a fresh process."""
    environment = surroundings(home)
    figures = {}
    for line in COMMANDS:
        process = subprocess.Popen(
            [tree / ".venv/bin/python", "-m", "quizapp", *line.split()],
            cwd=tree,
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        # wait4 reports the CPU time of this child alone; RUSAGE_CHILDREN would add up all of them.
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"`quizapp {line}` failed in {tree}")
        figures[line] = usage.ru_utime + usage.ru_stime
    return figures


def script(arguments: tuple[str, ...]) -> Callable[[Path, Path], Figures]:
    """Make a measurement that runs the checkout's own copy of one of the scripts in this folder."""

    def measure(tree: Path, home: Path) -> Figures:
        done = subprocess.run(
            [tree / ".venv/bin/python", f"benchmarks/{arguments[0]}", *arguments[1:]],
            cwd=tree,
            env=surroundings(home),
            stdout=subprocess.PIPE,
            check=True,
        )
        return dict(numbers(json.loads(done.stdout)))

    return measure


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number in a JSON value with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, f"{path}/{key}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path.lstrip("/"), float(value)


def compare(measure: Callable[[Path, Path], Figures], trees: list[Path], rounds: int) -> dict[str, Any]:
    """Return per figure the medians of both checkouts and their ratio, after / before."""
    runs: dict[str, list[list[float]]] = defaultdict(lambda: [[], []])
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            # Alternate who goes first, because the second run may find warm caches.
            turn = [0, 1] if number % 2 else [1, 0]
            for side in turn:
                home = Path(folder) / str(side)
                for name, figure in measure(trees[side], home).items():
                    runs[name][side].append(figure)
    table = {}
    for name, (before, after) in runs.items():
        if before and after:
            left, right = statistics.median(before), statistics.median(after)
            table[name] = {"before": left, "after": right, "ratio": round(right / left, 3) if left else None}
    return table


def main() -> int:
    """Run the measurements that the command line asks for and print their tables."""
    parser = argparse.ArgumentParser(description="Compare two checkouts of quizapp.")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="commands,tui,verdict,store")
    options = parser.parse_args()
    trees = [options.before.resolve(), options.after.resolve()]
    tables = {}
    for name in options.only.split(","):
        measure = commands if name == "commands" else script(SCRIPTS[name])
        tables[name] = compare(measure, trees, options.rounds)
    json.dump(tables, sys.stdout, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
