"""Measures the time to a verdict: cold, warm with all layers, and warm with limits only.

``python benchmarks/verdict.py [--runs 20] [--exercise lora] [--torch-judge FOLDER]`` prints JSON with medians
in seconds, ratios, and the memory of zygote and judge. pytest on the same hidden tests is measured for
comparison. So is torch-judge, which is not a dependency of the project: FOLDER is a ``pip install --target``
of it, and its LoRA task judges a right submission in a fresh interpreter.
"""

import argparse
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from quizapp import paths
from quizapp.bank.model import Exercise
from quizapp.bank.parse_exercise import load_exercise
from quizapp.judge import JudgeClient, grade
from quizapp.judge.sandbox.tiers import describe
from quizapp.judge.verdict import Verdict

ROOT = Path(__file__).resolve().parents[1]
IMPORT = (
    "import torch; layer = torch.nn.Linear(2, 2); optimizer = torch.optim.AdamW(layer.parameters());"
    "layer(torch.ones(1, 2)).sum().backward(); optimizer.step()"
)
# The LoRA task of torch-judge with a right submission. It is graded in its own process, with fixed inputs.
TORCH_JUDGE = """
import torch
from torch import nn
from torch_judge import check

class LoRALinear(nn.Module):
    def __init__(self, in_features, out_features, rank, alpha=1.0):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features).requires_grad_(False)
        self.lora_A = nn.Parameter(torch.randn(rank, in_features))
        self.lora_B = nn.Parameter(torch.zeros(out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.linear(x) + x @ self.lora_A.T @ self.lora_B.T * self.scale

check("lora")
"""


def timed(call: Callable[[], object]) -> float:
    """Return the wall-clock seconds of one call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def summary(seconds: list[float]) -> dict[str, float]:
    """Return the median, the fastest and the slowest time in seconds, and the number of runs."""
    return {
        "median": round(statistics.median(seconds), 4),
        "min": round(min(seconds), 4),
        "max": round(max(seconds), 4),
        "runs": len(seconds),
    }


def warm(exercise: Exercise, source: bytes, tier: str, runs: int) -> tuple[list[float], dict[str, float]]:
    """Return the seconds from submission to verdict with a warm judge, and the judge's memory."""
    answers: queue.Queue[Verdict] = queue.Queue()
    client = JudgeClient(lambda _, outcome: answers.put(outcome), tier=tier)  # type: ignore[arg-type]
    client.start()
    try:
        seconds = []
        for _ in range(runs + 1):
            begin = time.perf_counter()
            client.submit(exercise, source, device="cpu")
            verdict = answers.get(timeout=120)
            assert verdict.passed, verdict
            seconds.append(time.perf_counter() - begin)
        return seconds[1:], memory(client.pid)  # the first run includes the start of the judge
    finally:
        client.stop()


def memory(judge: int) -> dict[str, float]:
    """Return the proportional set size in MB of the judge and its zygote.

    Both are found by their command line, which is the same.
    """
    line = psutil.Process(judge).cmdline()
    pids = [p.pid for p in psutil.process_iter(["pid", "cmdline"]) if p.info["cmdline"] == line]
    return {
        "processes": len(pids),
        "pss_mb": round(sum(psutil.Process(pid).memory_full_info().pss for pid in pids) / 1e6, 1),
    }


def run(*command: str, env: dict[str, str] | None = None) -> None:
    """Run a command silently. Raises ``CalledProcessError`` if it fails."""
    subprocess.run(
        command, check=True, capture_output=True, stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})}
    )


def compute(exercise: Exercise, source: Path) -> float:
    """Return the seconds of the exercise's own probes and hidden tests in a warm process, without a judge."""
    script = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
import torch
from quizapp.judge.server.exercise_files import load_exercise_code, load_module
from quizapp.judge.testing.draw import Draw
from quizapp.judge.server.test_runner import run_test
from quizapp.judge.testing.checks import Observe
from quizapp.judge.testing.probes import Recorder, run_probes
from quizapp.judge.worker.transcript import decode, encode
from quizapp.judge.worker.preload import warm
warm()
assets = load_exercise_code(Path({str(exercise.folder)!r}))
times = []
for seed in range(5):
    begin = time.perf_counter()
    given = assets.probes.inputs(Draw(seed))
    message = encode(given)
    code = load_module(Path({str(source)!r}), "user")
    record = Recorder(torch.device("cpu"), {str(source)!r})
    run_probes(code, assets.probes, list(assets.probe_names), lambda: decode(message), record, seed)
    observe = Observe(given, record.values, record.errors, "user.py", "cpu")
    for test in assets.tests: run_test(test, observe)
    times.append(time.perf_counter() - begin)
print(sorted(times)[2])
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def measure(options: argparse.Namespace) -> dict[str, object]:
    """Take all measurements."""
    exercise, faults = load_exercise(paths.exercises() / options.exercise)
    assert exercise is not None, faults
    path = exercise.folder / "solution.py"
    source = path.read_bytes()
    best = next(report.name for report in describe() if report.works)
    few = max(3, options.runs // 4)
    figures: dict[str, object] = {"exercise": exercise.slug, "processors": os.cpu_count(), "tier": best}
    call = (sys.executable, "-m", "quizapp", "grade", exercise.slug, str(path))
    pytest = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(exercise.folder / "hidden"))
    base, cold, command, by_pytest = [], [], [], []
    for _ in range(few):  # interleaved, so that a busy moment affects all of them
        base.append(timed(lambda: run(sys.executable, "-c", IMPORT)))
        cold.append(timed(lambda: grade(exercise, path, device="cpu")))
        command.append(timed(lambda: run(*call)))
        by_pytest.append(timed(lambda: run(*pytest, env={"QUIZAPP_SUBMISSION": str(path)})))
    all_layers, pss = warm(exercise, source, best, options.runs)
    limits, _ = warm(exercise, source, "T1", options.runs)
    figures |= {
        "import torch and first optimizer": summary(base),
        "exercise's own compute": round(compute(exercise, path), 4),
        "cold grade": summary(cold),
        "cold command": summary(command),
        "cold pytest": summary(by_pytest),
        f"warm, all layers ({best})": summary(all_layers),
        "warm, limits only (T1)": summary(limits),
        "memory": pss,
    }
    middle = statistics.median
    figures["ratios"] = {
        "cold command / import": round(middle(command) / middle(base), 2),
        "cold pytest / warm": round(middle(by_pytest) / middle(all_layers), 1),
    }
    if options.torch_judge:
        env = {"PYTHONPATH": str(options.torch_judge)}
        other = [timed(lambda: run(sys.executable, "-c", TORCH_JUDGE, env=env)) for _ in range(few)]
        figures["torch-judge"] = summary(other)
        figures["ratios"]["torch-judge / warm"] = round(middle(other) / middle(all_layers), 1)  # type: ignore[index]
    return figures


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--exercise", default="lora")
    parser.add_argument("--torch-judge", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["QUIZAPP_HOME"] = home
        print(json.dumps(measure(options), indent=1))


if __name__ == "__main__":
    main()
