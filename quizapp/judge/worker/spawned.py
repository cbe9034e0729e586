"""A worker with an interpreter of its own, warm before its job comes: where forking is unsafe."""

import os
import threading

from quizapp.judge.server.preload import warm, warm_device
from quizapp.judge.worker.main import work


def main(device: str, job: str, result: str, printed: str) -> int:
    """Load torch and the device, then take one job from the pipes and leave."""
    _end_if_abandoned()
    warm()
    if device != "cpu":
        warm_device(device)
    work(int(job), int(result), int(printed))


def _end_if_abandoned() -> None:
    """Nothing to do on Linux: the kernel ends a worker with its judge; elsewhere the parent is watched."""
    if hasattr(os, "pidfd_open"):
        return
    parent = os.getppid()

    def watch() -> None:
        tick = threading.Event()
        while os.getppid() == parent:
            tick.wait(1.0)
        os._exit(0)

    threading.Thread(target=watch, daemon=True, name="parent-watch").start()
