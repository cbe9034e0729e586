"""A running interview survives SIGKILL and SIGSTOP, with a real process and the real clock."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quizapp.interview import archive
from quizapp.interview.service import Interview
from quizapp.scheduling.service import Study
from quizapp.settings.model import Settings
from quizapp.store import Store
from tests.interview.killing import CHILD, kill_once
from tests.interview.mock_kit import small_bank

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")]


def test_a_kill_loses_at_most_two_seconds_of_typing(tmp_path: Path) -> None:
    rng = random.Random(4)
    for _ in range(3):
        killed = kill_once(tmp_path, rng.uniform(0.0, 1.8))
        assert killed.readable
        assert killed.lost <= 2.0
    with Store.open(tmp_path / "quizapp.db") as store:
        study = Study(small_bank(), store, Settings())
        interview = Interview.resume(study, archive.running(study).document)
        interview.session.end("early")
        rated = [row for row in interview.record().as_json()["items"] if row["effect"]["rating"]]
        assert study.stats().reviews == len(rated)


def test_a_kill_loses_no_reading_that_was_shown(tmp_path: Path) -> None:
    shown = 0
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        killed = kill_once(folder, 0.3 + 0.2 * number, scenario=True)
        assert killed.readable
        assert killed.readings_lost == 0
        shown += killed.readings
    assert shown
    with Store.open(folder / "quizapp.db") as store:
        study = Study(small_bank(), store, Settings())
        session = Interview.resume(study, archive.running(study).document).session
        paid = sum(row.seconds for item in session.items for row in item.bought)
        assert session.elapsed_ms >= 1000 * paid


def test_the_clock_goes_on_while_the_process_is_stopped(tmp_path: Path) -> None:
    command = [*CHILD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        started = float(process.stdout.readline().split()[1])
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(4)
        os.kill(process.pid, signal.SIGCONT)
        lines = [process.stdout.readline() for _ in range(120)]
        ended = float(lines[-1].split()[1])
        time.sleep(1.5)
        process.kill()
        lines += process.stdout.readlines()
    with Store.open(tmp_path / "quizapp.db") as store:
        running = archive.running(Study(small_bank(), store, Settings())).document["running"]
    saved = running["wall_ms"] / 1000 - started
    assert ended - started > 4
    assert abs(running["elapsed_ms"] / 1000 - saved) < 2.5  # the brief's and the start's share
