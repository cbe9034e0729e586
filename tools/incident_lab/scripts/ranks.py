"""Runs scripts on several ranks and records on each what a log does not say.

The probe is put between a script's definitions and its start. It keeps the gradients that the optimizer
uses, the parameters at the end, the rows that were read, and when each part of a step ran.
"""

import functools
import io
import multiprocessing
import os
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

START = 'if __name__ == "__main__":'
TIMEOUT_S = 300.0
KEPT_GRADIENTS = 20


@dataclass(frozen=True)
class Span:
    """When a part of a step ran, in seconds of a clock, and on which thread (main, store or link)."""

    name: str
    lane: str
    begin: float
    end: float


@dataclass
class RankProbe:
    """What one rank recorded."""

    gradients: list[Tensor] = field(default_factory=list)
    parameters: Tensor | None = None
    rows: set[float] = field(default_factory=set)
    spans: list[Span] = field(default_factory=list)

    def watch(self, script: dict[str, Any]) -> None:
        """Wrap the parts of a script that are recorded."""
        loader, averager = script["Loader"], script["GradientAverager"]
        loader.batch = self._keep_rows(self._keep_span("data", loader.batch))
        loader.fetch = self._keep_span("fetch", loader.fetch, "store")
        averager.finish = self._keep_span("wait", averager.finish)
        averager.sum_over_ranks = self._keep_span("sum", averager.sum_over_ranks, "link")
        nn.Sequential.forward = self._keep_span("forward", nn.Sequential.forward)  # type: ignore[method-assign]
        Tensor.backward = self._keep_span("backward", Tensor.backward)  # type: ignore[method-assign]
        torch.optim.SGD.step = self._keep_tensors(torch.optim.SGD.step)  # type: ignore[method-assign]

    def _keep_span(self, name: str, original: Callable[..., Any], helper: str = "") -> Callable[..., Any]:
        """Record when a function runs. ``helper`` names its thread where that is not the main one."""

        def timed(*args: Any) -> Any:
            begin = time.perf_counter()
            result = original(*args)
            main = threading.current_thread() is threading.main_thread()
            self.spans.append(Span(name, "main" if main else helper, begin, time.perf_counter()))
            return result

        return timed

    def _keep_rows(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def batch(*args: Any) -> Any:
            inputs, kinds = original(*args)
            self.rows |= set(inputs.double().sum(1).tolist())
            return inputs, kinds

        return batch

    def _keep_tensors(self, original: Callable[..., Any]) -> Callable[..., Any]:
        # The optimizer looks at the attributes of its method `step`, which `wraps` keeps.
        @functools.wraps(original)
        def step(optimizer: torch.optim.Optimizer, *args: Any) -> Any:
            parameters = optimizer.param_groups[0]["params"]
            if len(self.gradients) < KEPT_GRADIENTS:
                self.gradients.append(torch.cat([p.grad.flatten() for p in parameters]))
            result = original(optimizer, *args)
            self.parameters = torch.cat([p.detach().flatten() for p in parameters])
            return result

        return step


@dataclass(frozen=True)
class RankRun:
    """The log of rank 0, its checkpoint (empty without one), how the run failed, and a probe by rank."""

    log: str
    checkpoint: dict[str, Any]
    error: str
    probes: tuple[RankProbe, ...]


@lru_cache(64)
def run_ranks(source: str, seed: int, world: int = 2, steps: int | None = None) -> RankRun:
    """Run a script once on every rank, each in an empty folder. A failure is recorded, not raised."""
    # Ranks are forked from a process that has imported torch and nothing else: an import for each rank would
    # take longer than the run.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "torch.distributed"])
    command = ["run.py", "--seed", str(seed), *(["--steps", str(steps)] if steps is not None else [])]
    with tempfile.TemporaryDirectory() as folder:
        ranks = [
            context.Process(target=_rank, args=(source, command, folder, rank, world))
            for rank in range(world)
        ]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join(TIMEOUT_S)
            process.kill()
            process.join()
        results = [_result(Path(folder, str(rank))) for rank in range(world)]
        path = Path(folder, "0", "checkpoint.pt")
        checkpoint = torch.load(path, weights_only=True) if path.exists() else {}
    error = next((result["error"] for result in results if result["error"]), "")
    return RankRun(results[0]["log"], checkpoint, error, tuple(result["probe"] for result in results))


def _result(folder: Path) -> dict[str, Any]:
    path = folder / "result.pt"
    if not path.exists():
        return {"log": "", "error": "the rank ended without a result", "probe": RankProbe()}
    return dict(torch.load(path, weights_only=False))  # written by `_rank`


def _rank(source: str, command: list[str], folder: str, rank: int, world: int) -> None:
    place = Path(folder, str(rank))
    place.mkdir()
    os.chdir(place)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world), "GLOO_SOCKET_IFNAME": "lo"}
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
    dist.barrier()
    probe, log, error = RankProbe(), io.StringIO(), ""
    sys.argv, sys.stdout = command, log
    program = source.replace(START, f"_watch(globals())\n{START}")
    try:
        exec(compile(program, "run.py", "exec"), {"__name__": "__main__", "_watch": probe.watch})  # noqa: S102 - scripts of this repository
        dist.barrier()
    except Exception as problem:  # noqa: BLE001 - a broken script may raise anything
        error = "".join(traceback.format_exception_only(problem)).strip()
    torch.save({"log": log.getvalue(), "error": error, "probe": probe}, "result.pt")
    # Ends without waiting for the other rank's connection, which may be gone.
    os._exit(0)
