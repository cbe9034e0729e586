"""A real local cluster: the same verdicts as alone, through the death of workers and of the client."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from quizapp.errors import QuizError
from quizapp.judge.authoring.mutants import wrong_submission
from quizapp.judge.client.one_shot import grade
from quizapp.judge.cohort.class_folder import StudentSubmission
from quizapp.judge.cohort.cluster import ClusterOptions, GradingCluster
from quizapp.judge.cohort.cluster_messages import ClusterOrder
from quizapp.judge.cohort.grading_version import exercise_version, judge_version
from quizapp.judge.cohort.verdict_log import FILE
from tests.judge.cohort.classes import exercises, hand_in

pytestmark = pytest.mark.exhaustive

PATIENCE_S = 120.0
STUDENTS = 6


@pytest.fixture
def spring(tmp_path: Path) -> Path:
    folder = tmp_path / "spring"
    warmup = exercises()["warmup"]
    wrong = wrong_submission(warmup.folder, "off_by_one").source
    for number in range(STUDENTS):
        hand_in(folder, f"s{number}/warmup.py", wrong if number % 2 else warmup.solution)
    return folder


def start(folder: Path, out: Path, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "quizapp", "cohort", str(folder), "--out", str(out), "--json", *options]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def finish(client: "subprocess.Popen[str]") -> tuple[int, list[dict[str, object]], str]:
    out, err = client.communicate(timeout=PATIENCE_S)
    return client.returncode, [json.loads(line) for line in out.splitlines()], err


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def workers_of(client: int) -> list[psutil.Process]:
    found = []
    for child in psutil.Process(client).children():
        try:
            if "spawn_main" in " ".join(child.cmdline()) and any(
                "judge.server.main" in " ".join(judge.cmdline()) for judge in child.children()
            ):
                found.append(child)
        except psutil.NoSuchProcess:
            continue
    return found


def gone(processes: list[psutil.Process]) -> bool:
    return not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)


def test_verdicts_are_those_of_grade_through_kills_of_workers_and_client(
    spring: Path, tmp_path: Path
) -> None:
    code, rows, err = finish(start(spring, tmp_path / "calm", "--workers", "2"))
    assert code == 1, err
    assert sorted(row["file"] for row in rows) == [f"s{n}/warmup.py" for n in range(STUDENTS)]
    warmup = exercises()["warmup"]
    first = next(row for row in rows if row["file"] == "s1/warmup.py")
    submission = StudentSubmission("s1", warmup, "s1/warmup.py", (spring / "s1/warmup.py").read_bytes())
    alone = grade(warmup, submission.source, device="cpu", seed=submission.seed)
    assert (first["status"], first["seed"]) == (alone.status, alone.seed)
    failing = {int(number) for number, passed in first["behaviours"].items() if passed is False}
    assert failing == alone.failing_behaviours

    rough = tmp_path / "rough"
    log = rough / FILE
    client = start(spring, rough, "--workers", "1")
    wait_until(lambda: bool(workers_of(client.pid)))
    worker = workers_of(client.pid)[0]
    judges = worker.children(recursive=True)
    worker.kill()
    wait_until(lambda: gone(judges))  # nothing that ran for a dead worker stays
    wait_until(lambda: log.exists() and bool(log.read_bytes()))
    everyone = psutil.Process(client.pid).children(recursive=True)
    client.kill()
    client.communicate()
    wait_until(lambda: gone(everyone))

    kept = len(log.read_bytes().splitlines())
    code, rows, err = finish(start(spring, rough, "--workers", "1"))
    assert code == 1, err
    assert len(rows) == STUDENTS
    keys = [json.loads(line)["key"]["student"] for line in log.read_text().splitlines()]
    assert sorted(keys) == [f"s{n}" for n in range(STUDENTS)]
    assert kept >= 1
    for name in ("gradebook.csv", "gradebook.json", "summary.csv"):
        assert (tmp_path / "calm" / name).read_bytes() == (rough / name).read_bytes()


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(spring: Path, tmp_path: Path) -> None:
    # The last student keeps the grader busy until the time is up: the run cannot end before the signal.
    hand_in(spring, "zoe/warmup.py", "import time\ntime.sleep(1000)\n")
    client = start(spring, tmp_path / "out", "--workers", "1")
    assert client.stdout is not None
    client.stdout.readline()
    os.killpg(client.pid, signal.SIGINT)  # as a terminal does, which reaches the workers, too
    _, err = client.communicate(timeout=PATIENCE_S)
    assert client.returncode == 130, err
    assert "the same command goes on" in err
    assert "Traceback" not in err
    assert json.loads((tmp_path / "out" / "gradebook.json").read_text())["complete"] is False


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """A scheduler with two workers, of which one offers the resource KITE."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", worker_dashboard_address=":0", name="lab"
    ) as cluster:
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
        options = ["--name", "kite", "--resources", "KITE=1", "--nthreads", "1", "--no-dashboard"]
        environment = {**os.environ, "DASK_TEMPORARY_DIRECTORY": str(tmp_path)}
        process = subprocess.Popen(
            [*worker, *options], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            cluster.wait_for_workers(2)
            yield str(cluster.scheduler_address)
        finally:
            process.terminate()
            process.wait()


def test_a_labs_cluster_grades_where_the_resource_is(spring: Path, tmp_path: Path, lab: str) -> None:
    out = tmp_path / "out"
    code, _, err = finish(start(spring, out, "--scheduler", lab, "--resource", "KITE"))
    assert code == 1, err
    records = [json.loads(line) for line in (out / FILE).read_text().splitlines()]
    assert {record["worker"] for record in records} == {"kite"}
    code, _, err = finish(start(spring, tmp_path / "no", "--scheduler", lab, "--resource", "BOAT"))
    assert code == 2
    assert "offers the resource BOAT" in err


def test_a_scheduler_that_dies_is_one_sentence_and_nothing_is_lost(spring: Path, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--scheduler-file", str(file)]
    scheduler = subprocess.Popen(
        [*program, "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"], **quiet
    )
    worker = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            "--scheduler-file",
            str(file),
            "--nthreads",
            "1",
        ],
        cwd=tmp_path,
        **quiet,
    )
    try:
        wait_until(lambda: file.exists() and bool(file.read_bytes()))
        client = start(spring, tmp_path / "out", "--scheduler", json.loads(file.read_text())["address"])
        assert client.stdout is not None
        client.stdout.readline()
        scheduler.kill()
        _, err = client.communicate(timeout=PATIENCE_S)
        assert client.returncode == 3
        assert "has gone; the verdicts so far are kept, and the same command goes on" in err
        assert "Traceback" not in err
        assert (tmp_path / "out" / FILE).read_bytes().count(b"\n") >= 1
    finally:
        for process in (worker, scheduler):
            process.terminate()
            process.wait()


def test_a_worker_refuses_other_versions_in_a_sentence() -> None:
    warmup = exercises()["warmup"]
    source = warmup.solution.encode()
    good = ClusterOrder("warmup", "ada/warmup.py", source, 1, exercise_version(warmup), judge_version())
    bad = [
        (ClusterOrder("warmup", "a", source, 1, "other", judge_version()), "another version of the exercise"),
        (ClusterOrder("warmup", "a", source, 1, good.exercise_version, "0.0"), "the client 0.0"),
        (ClusterOrder("nothing", "a", source, 1, "other", judge_version()), "no exercise 'nothing'"),
    ]
    with GradingCluster(ClusterOptions(workers=1)) as cluster:
        assert cluster.tiers() <= {"T0", "T1", "T2", "T3"}
        ((ticket, reply),) = cluster.grade(iter([(5, good)]))
        assert ticket == 5
        assert reply.verdict is not None
        assert reply.verdict.passed
        for order, sentence in bad:
            with pytest.raises(QuizError, match=sentence):
                list(cluster.grade(iter([(1, order)])))
