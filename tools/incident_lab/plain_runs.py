"""Runs scripts as plain child processes, without the judge: fast, for authors who write a baseline.

The children are forked off this process, which has loaded torch, so a run costs nothing but its own time.
"""

import contextlib
import os
import runpy
import signal
import socket
import sys
import tempfile
import time
import traceback
from pathlib import Path

import torch

from quizapp.judge.protocol.scripts import ScriptOrder, ScriptOutcome, ScriptRun
from quizapp.judge.server.script_evidence import SCRIPT, measure_checkpoint, read_record
from quizapp.judge.testing.checkpoint import hash_tensors
from quizapp.judge.worker.script_probe import CHECKPOINT, read_checkpoint


class PlainRunner:
    """Runs scripts as the judge's client does, but as children of this process, without any isolation."""

    def run(self, order: ScriptOrder) -> ScriptRun:
        """Run a script to its end and measure its checkpoint."""
        torch.set_num_threads(1)  # a child that is forked after a multi-threaded operation hangs
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            arguments = [] if order.steps is None else ["--steps", str(order.steps)]
            outcome, text = ScriptOutcome.ENDED, ""
            if order.resume and order.steps is not None and order.steps > 1:
                outcome, text = self._start(order, folder, ["--steps", str(order.steps // 2)])
                arguments.append("--resume")
            if outcome == ScriptOutcome.ENDED:
                outcome, text = self._start(order, folder, arguments)
            log = (folder / "log").read_text("utf-8", "replace")
            record = read_checkpoint(folder / CHECKPOINT)
        seconds = time.monotonic() - begun
        evidence = read_record(record)
        if outcome == ScriptOutcome.ENDED:
            outcome, text = evidence.outcome, evidence.text
        if evidence.checkpoint is None:
            return ScriptRun(outcome, text, log, seconds, order.seed)
        metrics, changed = measure_checkpoint(order.folder, evidence.checkpoint, order.seed, order.options)
        digest = hash_tensors(evidence.checkpoint.tensors)
        step = evidence.checkpoint.step
        return ScriptRun(outcome, text, log, seconds, order.seed, step, digest, metrics, changed)

    def _start(self, order: ScriptOrder, folder: Path, arguments: list[str]) -> tuple[ScriptOutcome, str]:
        (folder / SCRIPT).write_text(order.source, encoding="utf-8")
        port = _free_port()
        pids = [_fork(order, folder, rank, port, arguments) for rank in range(order.ranks)]
        return _wait(pids, order.seconds, folder / "log")


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _fork(order: ScriptOrder, folder: Path, rank: int, port: int, arguments: list[str]) -> int:
    """Start one rank in a child process and return its id. The ranks share the folder and its log."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for stream in (1, 2):
            os.dup2(log, stream)
        sys.stdout, sys.stderr = (os.fdopen(stream, "w", 1) for stream in (1, 2))
        os.chdir(folder)
        os.environ.update(
            {"RANK": str(rank), "WORLD_SIZE": str(order.ranks), "LOCAL_RANK": str(rank)}
            | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
        )
        sys.argv = [SCRIPT, "--seed", str(order.seed), *arguments]
        runpy.run_path(SCRIPT, run_name="__main__")
        status = 0
    except SystemExit as leaving:
        status = 0 if leaving.code in (None, 0) else 1
    except BaseException:  # noqa: BLE001 - a script may raise anything
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(status)


def _wait(pids: list[int], seconds: float, log: Path) -> tuple[ScriptOutcome, str]:
    """Wait for all ranks. One that fails or exceeds the limit ends the others."""
    limit = time.monotonic() + seconds
    outcome, text = ScriptOutcome.ENDED, ""
    running = set(pids)
    while running:
        for pid in sorted(running):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                running.discard(pid)
                if status and outcome == ScriptOutcome.ENDED:
                    outcome, text = ScriptOutcome.FAILED, _last_line(log)
        if running and outcome == ScriptOutcome.ENDED and time.monotonic() > limit:
            outcome, text = ScriptOutcome.TIMEOUT, f"The script did not end within {seconds:g} s."
        if outcome != ScriptOutcome.ENDED:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    return outcome, text


def _last_line(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
    return lines[-1] if lines else "The script failed without a word."
