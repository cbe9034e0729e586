"""The training scripts of live incidents: what the same command promises, before anything is broken."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from quizapp.incidents.live.baseline import load_baseline

INCIDENTS = Path(__file__).parents[2] / "content" / "incidents"

pytestmark = pytest.mark.exhaustive


def start(baseline: str, folder: Path, *arguments: str) -> str:
    """Run the script of ``baseline`` on all its ranks in ``folder`` and return the log of rank 0."""
    script = INCIDENTS / baseline / "run.py"
    world = load_baseline(baseline).ranks
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(script), "--seed", "3", *arguments],
            cwd=folder,
            env={**os.environ, **shared, "RANK": str(rank), "WORLD_SIZE": str(world)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]
    logs = [rank.communicate()[0] for rank in ranks]
    assert not any(rank.returncode for rank in ranks)
    return logs[0]


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    return torch.load(folder / "checkpoint.pt")["model"]


def losses(log: str) -> list[str]:
    return [line.split()[3] for line in log.splitlines()]


@pytest.mark.parametrize("baseline", ["mlp", "ddp"])
def test_a_run_that_was_interrupted_goes_on_to_the_last_bit(baseline: str, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    log = start(baseline, whole, "--steps", "24")
    first = start(baseline, parts, "--steps", "9")
    second = start(baseline, parts, "--steps", "24", "--resume")

    assert losses(first + second) == losses(log)
    expected, resumed = tensors(whole), tensors(parts)
    assert expected.keys() == resumed.keys()
    assert all(torch.equal(expected[name], resumed[name]) for name in expected)
