"""Grades a made-up class with `quizapp cohort`, kills its parts, and compares what comes out.

Each part prints JSON; ``--folder`` keeps the class between them:

- ``python benchmarks/cohort.py make --students 200 --exercises 10``: write the class;
- ``... kills --workers-killed 50 --clients-killed 5``: grade it twice, once undisturbed and once while
  workers and clients are killed at random moments; count what is lost or there twice, and compare the
  gradebooks;
- ``... compare --sample 100``: grade some of it again, one by one and with the same seeds;
- ``... throughput --pairs 3``: one exercise of the class, by two Dask workers and by ``--jobs 2``, in turn.
"""

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psutil

from quizapp import paths
from quizapp.bank.loader import load_bank
from quizapp.bank.model import Exercise
from quizapp.judge.authoring.mutants import wrong_submissions
from quizapp.judge.client.one_shot import grade
from quizapp.judge.client.warm import JudgeClient
from quizapp.judge.cohort.class_folder import read_class
from quizapp.judge.cohort.verdict_log import FILE

SLUGS = (
    *("lora", "warmup", "adamw", "dropout", "layer-norm", "grad-clipping"),
    *("label-smoothing", "rope", "sampling", "initialization"),
)
COHORT = [sys.executable, "-m", "quizapp", "cohort"]
RESULTS = ("gradebook.csv", "gradebook.json", "summary.csv", "similar.json", "similar.md")


def make(folder: Path, students: int, exercises: int, seed: int) -> dict[str, object]:
    """Write a class of right and wrong submissions. Three in five are right."""
    bank = load_bank()
    chooser = random.Random(seed)
    shutil.rmtree(folder, ignore_errors=True)
    right = 0
    for slug in SLUGS[:exercises]:
        exercise = bank.exercises[slug]
        good, bad = pools(exercise)
        for number in range(students):
            place = folder / f"student-{number:03}"
            place.mkdir(parents=True, exist_ok=True)
            is_right = chooser.random() < 0.6
            right += is_right
            name = chooser.choice((f"{slug}.py", exercise.module))
            (place / name).write_text(chooser.choice(good if is_right else bad), encoding="utf-8")
    return {"students": students, "exercises": exercises, "submissions": students * exercises, "right": right}


def pools(exercise: Exercise) -> tuple[list[str], list[str]]:
    """The repository's right and wrong submissions for an exercise."""
    good = [exercise.solution, *(p.read_text("utf-8") for p in sorted(exercise.folder.glob("right/*.py")))]
    wrong, faults = wrong_submissions(exercise.folder)
    assert not faults, faults
    bad = [exercise.starter, "def broken(:\n", *(w.source for w in wrong if "while True" not in w.source)]
    return good, bad


def kills(
    folder: Path, workers_killed: int, clients_killed: int, pause: float, seed: int
) -> dict[str, object]:
    """Grade twice, undisturbed and disturbed, and compare."""
    calm, rough = beside(folder, "calm"), beside(folder, "rough")
    shutil.rmtree(rough, ignore_errors=True)
    pace = beside(folder, "pace.json")  # of the undisturbed run, which later calls need not repeat
    if not pace.exists():
        start = time.monotonic()
        run(folder, calm)
        pace.write_text(json.dumps(time.monotonic() - start))
    calm_seconds = json.loads(pace.read_text())
    chooser = random.Random(seed)
    start = time.monotonic()
    done = {"workers": 0, "clients": 0}
    while not disturb(folder, rough, chooser, done, workers_killed, clients_killed, pause):
        pass
    records = [json.loads(line) for line in (rough / FILE).read_text("utf-8").splitlines()]
    keys = [json.dumps(record["key"], sort_keys=True) for record in records]
    expected = len((calm / FILE).read_text("utf-8").splitlines())
    return {
        "submissions": expected,
        "workers_killed": done["workers"],
        "clients_killed": done["clients"],
        "lost": expected - len(set(keys)),
        "twice": len(keys) - len(set(keys)),
        "gradebooks_equal": all((calm / n).read_bytes() == (rough / n).read_bytes() for n in RESULTS),
        "processes_left": len(left_over(str(rough))),
        "calm_seconds": round(calm_seconds, 1),
        "rough_seconds": round(time.monotonic() - start, 1),
    }


def disturb(
    folder: Path,
    out: Path,
    chooser: random.Random,
    done: dict[str, int],
    workers_killed: int,
    clients_killed: int,
    pause: float,
) -> bool:
    """One run during which workers are killed, and at last the client. Returns whether it was complete."""
    client = subprocess.Popen([*COHORT, str(folder), "--out", str(out)], stdout=subprocess.DEVNULL)
    until_client_dies = pause * workers_killed / (clients_killed + 1)
    kill_client = time.monotonic() + chooser.uniform(0.2, 1.0) * until_client_dies
    while client.poll() is None:
        time.sleep(chooser.uniform(0.2, 1.0) * pause)
        if done["clients"] < clients_killed and time.monotonic() > kill_client:
            children = psutil.Process(client.pid).children(recursive=True)
            client.kill()
            client.wait()
            done["clients"] += 1
            psutil.wait_procs(children, timeout=30)
            return False
        workers = dask_workers(client.pid)
        if workers and done["workers"] < workers_killed:
            chooser.choice(workers).kill()
            done["workers"] += 1
    return client.returncode in (0, 1)


def dask_workers(client: int) -> list[psutil.Process]:
    """The worker processes of a client's local cluster."""
    try:
        children = psutil.Process(client).children()
        return [child for child in children if "spawn_main" in " ".join(child.cmdline())]
    except psutil.NoSuchProcess:
        return []


def left_over(marker: str) -> list[psutil.Process]:
    """Judges and workers of this data folder that nobody has ended."""
    home = str(paths.home())
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if home in " ".join(process.info["cmdline"] or [])
        or marker in " ".join(process.info["cmdline"] or [])
    ]


def compare(folder: Path, sample: int, seed: int) -> dict[str, object]:
    """Grade a sample again by `grade`, with the seeds of the gradebook. Lists what differs."""
    bank = load_bank()
    handed_in = read_class(folder, bank.exercises).submissions
    records = [json.loads(line) for line in (beside(folder, "calm") / FILE).read_text("utf-8").splitlines()]
    verdicts = {(r["key"]["student"], r["key"]["exercise"]): r["verdict"] for r in records}
    chosen = random.Random(seed).sample(handed_in, min(sample, len(handed_in)))
    warm = JudgeClient()  # otherwise each grade would start a judge
    warm.start()
    different = []
    try:
        for submission in chosen:
            again = grade(submission.exercise, submission.source, device="cpu", seed=submission.seed)
            kept = verdicts[submission.student, submission.exercise.slug]
            failing = {test["behaviour"] for test in kept["tests"] if not test["passed"]}
            if (kept["status"], failing) != (str(again.status), again.failing_behaviours):
                different.append([submission.file, kept["status"], str(again.status)])
    finally:
        warm.stop()
    return {"compared": len(chosen), "different": different}


def throughput(folder: Path, pairs: int, slug: str) -> dict[str, object]:
    """The same files by two Dask workers and by two jobs, in turn; seconds, starts included."""
    exercise = load_bank().exercises[slug]
    flat = beside(folder, "flat")
    shutil.rmtree(flat, ignore_errors=True)
    flat.mkdir()
    for submission in read_class(folder, {slug: exercise}).submissions:
        (flat / f"{submission.student}.py").write_bytes(submission.source)
    cluster, jobs = [], []
    out = beside(folder, "timed")
    grade_command = [
        sys.executable,
        "-m",
        "quizapp",
        "grade",
        slug,
        str(flat),
        "--jobs",
        "2",
        "--device",
        "cpu",
    ]
    for _ in range(pairs):
        shutil.rmtree(out, ignore_errors=True)
        cluster.append(timed([*COHORT, str(folder), "--out", str(out), "--exercise", slug, "--workers", "2"]))
        jobs.append(timed(grade_command))
    ratios = [one / other for one, other in zip(cluster, jobs, strict=True)]
    return {
        "files": len(list(flat.iterdir())),
        "cluster_seconds": cluster,
        "jobs_seconds": jobs,
        "median_ratio": round(statistics.median(ratios), 3),
    }


def timed(command: list[str]) -> float:
    """The seconds that a command takes."""
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    assert done.returncode in (0, 1), command
    return round(time.monotonic() - start, 1)


def run(folder: Path, out: Path) -> None:
    """Grade the class, or what is missing of it."""
    done = subprocess.run([*COHORT, str(folder), "--out", str(out)], stdout=subprocess.DEVNULL, check=False)
    assert done.returncode in (0, 1), done.returncode


def beside(folder: Path, name: str) -> Path:
    """A folder for results."""
    return folder.with_name(f"{folder.name}-{name}")


def main() -> None:
    """Parse the arguments and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("make", "kills", "compare", "throughput"))
    parser.add_argument("--folder", type=Path, default=Path("/tmp/quizapp-class/class"))
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--exercises", type=int, default=10)
    parser.add_argument("--workers-killed", type=int, default=50)
    parser.add_argument("--clients-killed", type=int, default=5)
    parser.add_argument("--pause", type=float, default=25.0, help="the longest time between two kills")
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--exercise", default="warmup")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    os.environ["QUIZAPP_HOME"] = str(folder.with_name(f"{folder.name}-home"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parts = {
        "make": lambda: make(folder, options.students, options.exercises, options.seed),
        "kills": lambda: kills(
            folder, options.workers_killed, options.clients_killed, options.pause, options.seed
        ),
        "compare": lambda: compare(folder, options.sample, options.seed),
        "throughput": lambda: throughput(folder, options.pairs, options.exercise),
    }
    print(json.dumps(parts[options.part](), indent=1))


if __name__ == "__main__":
    main()
