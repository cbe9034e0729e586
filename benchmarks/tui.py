"""Measures the TUI in a pseudo-terminal: first frame, key press to next card, and memory. Prints JSON.

The first frame of the home screen is compared with that of a minimal Textual app. Starts of both are
interleaved, so that their ratio does not depend on the machine's load. ``--grading`` measures the keys once
more while the judge grades in the background.
"""

import argparse
import json
import os
import pty
import re
import select
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

MINIMAL = """
from textual.app import App
from textual.widgets import Static
class Minimal(App):
    def compose(self):
        yield Static("marker-text")
Minimal().run()
"""
HOME = "from quizapp.tui.app import run; run()"
DRILL = """
from quizapp.scheduling.views import CardFilter
from quizapp.tui.app import run
run('drill', flt=CardFilter(topic='bench'))
"""
CARDS = 400


class Terminal:
    """A program in a pseudo-terminal of 120 x 40 cells, by default with this checkout's packages."""

    def __init__(self, code: str | list[str], home: Path, environment: dict[str, str] | None = None) -> None:
        if environment is None:
            environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
        # Users' programs keep their bytecode, whatever this environment asks for.
        kept = {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment = kept | {
            "QUIZAPP_HOME": str(home), "TERM": "xterm-256color", "COLORTERM": "truecolor",
            "COLUMNS": "120", "LINES": "40",
        }  # fmt: skip
        self.master, slave = pty.openpty()
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-c", code] if isinstance(code, str) else code,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)

    def wait_for(self, pattern: bytes, seconds: float = 30.0) -> float:
        """Wait until the program writes ``pattern`` and return the time. Raises `TimeoutError`."""
        seen = b""
        deadline = time.perf_counter() + seconds
        while time.perf_counter() < deadline:
            if select.select([self.master], [], [], 0.05)[0]:
                seen += os.read(self.master, 65536)
                if re.search(pattern, seen):
                    return time.perf_counter()
        raise TimeoutError(f"{pattern!r} not seen in {seen[-300:]!r}")

    def drain(self, quiet: float) -> None:
        """Read until there is no output for ``quiet`` seconds, or for at most four times as long.

        The limit is needed because a clock on the screen may write every second.
        """
        end = time.perf_counter() + 4 * quiet
        while time.perf_counter() < end and select.select([self.master], [], [], quiet)[0]:
            os.read(self.master, 65536)

    def press(self, keys: bytes) -> float:
        """Send keys and return the time."""
        sent = time.perf_counter()
        os.write(self.master, keys)
        return sent

    def memory(self) -> float:
        """Return the resident memory in MB."""
        return psutil.Process(self.process.pid).memory_info().rss / 1e6

    def close(self) -> None:
        """End the program."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.master)


def deck(folder: Path) -> None:
    """Write a deck of plain recall cards, and settings that show all of them in one day."""
    questions = [
        {
            "id": f"bench-{n}", "level": "easy", "kind": "recall", "exercise": "lora", "say": "Yes.",
            "prompt": f"Card number {n}: what does `x[{n}]` hold, and why does it matter in training?",
            "answer": "It holds it.\n\n```python\nassert [1][0] == 1\n```\n\n" + "A sentence. " * 60,
            "key_points": [{"text": f"Point {p} of the answer.", "terms": [f"point{p}"]} for p in range(5)],
        }
        for n in range(CARDS)
    ]  # fmt: skip
    (folder / "deck").mkdir(parents=True)
    (folder / "deck" / "bench.yaml").write_text(
        json.dumps({"topic": "bench", "name": "Bench", "about": "Cards.", "questions": questions})
    )
    (folder / "config.toml").write_text(f'decks = ["{folder / "deck"}"]\nnew_per_day = {CARDS}\n')
    (folder / "tour-seen").touch()


def first_frames(home: Path, rounds: int) -> dict[str, float]:
    """Measure seconds from process start to the first frame of a minimal app, home and drill."""
    times: dict[str, list[float]] = {"minimal": [], "home": [], "drill": []}
    for _ in range(rounds):
        for name, code, pattern in (
            ("minimal", MINIMAL, rb"marker-text"),
            ("home", HOME, rb"Today"),
            ("drill", DRILL, rb"Card number"),
        ):
            terminal = Terminal(code, home)
            times[name].append(terminal.wait_for(pattern) - terminal.started)
            terminal.close()
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    return {f"{name}_s": round(median, 3) for name, median in medians.items()} | {
        f"{name}_ratio": round(medians[name] / medians["minimal"], 2) for name in ("home", "drill")
    }


def peers(home: Path, named: Sequence[str], rounds: int) -> dict[str, dict[str, float]]:
    """Measure first frame and memory of other apps, each interleaved with the home screen."""
    figures = {}
    for name, pattern, command in (peer.split("|", 2) for peer in named):
        theirs: list[float] = []
        ours: list[float] = []
        sizes: list[float] = []
        for _ in range(rounds):
            terminal = Terminal(HOME, home)
            ours.append(terminal.wait_for(rb"Today") - terminal.started)
            terminal.close()
            terminal = Terminal(shlex.split(command), home)
            theirs.append(terminal.wait_for(pattern.encode()) - terminal.started)
            terminal.drain(1.0)
            sizes.append(terminal.memory())
            terminal.close()
        base, mine = statistics.median(theirs), statistics.median(ours)
        figures[name] = {
            "first_frame_s": round(base, 3),
            "home_s": round(mine, 3),
            "ratio": round(base / mine, 2),
            "rss_mb": round(statistics.median(sizes), 1),
        }
    return figures


def keys(home: Path, cards: int) -> dict[str, float]:
    """Measure milliseconds from the key of a rating to the text of the next card in the terminal."""
    terminal = Terminal(DRILL, home)
    try:
        terminal.wait_for(rb"Card number")
        times = []
        for _ in range(cards):
            terminal.drain(0.12)
            terminal.press(b" ")
            terminal.wait_for(rb"Good")
            terminal.drain(0.12)
            sent = terminal.press(b"4")
            times.append(1000 * (terminal.wait_for(rb"Card number") - sent))
        rss = terminal.memory()
    finally:
        terminal.close()
    times.sort()
    return {
        "median_ms": round(statistics.median(times), 1),
        "p95_ms": round(times[int(0.95 * (len(times) - 1))], 1),
        "rss_mb": round(rss, 1),
    }


def home_memory(home: Path) -> float:
    """Return the resident memory in MB at the home screen once the data is open."""
    terminal = Terminal(HOME, home)
    try:
        terminal.wait_for(rb"minutes")
        terminal.drain(0.3)
        return round(terminal.memory(), 1)
    finally:
        terminal.close()


SAVES = """
import queue
from quizapp import paths
from quizapp.bank.parse_exercise import load_exercise
from quizapp.judge import JudgeClient
exercise, _ = load_exercise(paths.exercises() / "lora")
source = (exercise.folder / "solution.py").read_bytes()
answers = queue.Queue()
client = JudgeClient(lambda _, verdict: answers.put(verdict))
client.start()
while True:
    client.submit(exercise, source, device="cpu")
    answers.get()
    print("graded", flush=True)
"""


def grading(home: Path) -> "subprocess.Popen[bytes]":
    """Start a process with a warm judge that grades a solution over and over."""
    environment = os.environ | {"QUIZAPP_HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[1])}
    process = subprocess.Popen(
        [sys.executable, "-c", SAVES], env=environment, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    process.stdout.readline()  # the first verdict shows that the judge is warm
    # Keep reading, or the process would block once the pipe is full.
    threading.Thread(target=process.stdout.read, daemon=True).start()
    return process


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="starts of each app")
    parser.add_argument("--cards", type=int, default=60, help="cards rated")
    parser.add_argument("--grading", action="store_true", help="also while the judge grades")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME|PATTERN|COMMAND",
        help="also another app, whose first frame shows PATTERN",
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        deck(home)
        warm = Terminal(HOME, home)  # the first start compiles the bank, which must not be measured
        warm.wait_for(rb"minutes", 120)
        warm.close()
        figures: dict[str, object] = {
            "first_frame": first_frames(home, options.rounds),
            "home_rss_mb": home_memory(home),
            "next_card": keys(home, options.cards),
        }
        if options.peer:
            figures["peers"] = peers(home, options.peer, options.rounds)
        if options.grading:
            judge = grading(home)
            try:
                figures["next_card_while_grading"] = keys(home, options.cards)
            finally:
                os.killpg(judge.pid, signal.SIGKILL)
                judge.wait()
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
