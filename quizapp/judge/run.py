"""Runs a submission's probes in forked child processes and reads back their transcripts."""

import contextlib
import importlib.util
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from quizapp.bank.model import Exercise
from quizapp.judge.record import Record, probe_names, run_probes
from quizapp.judge.transcript import MAX_BYTES, MAX_HEADER, TranscriptError, decode, encode

_DATA_LIMIT = 2 << 30


@dataclass
class Run:
    """The evidence of one run: values and errors by path, or why there is none."""

    values: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, Any] = field(default_factory=dict)
    status: str = ""
    problem: str = ""


def warm() -> None:
    """Import what a submission's first optimizer, backward and linear layer would import lazily."""
    torch.set_num_threads(1)
    layer = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(torch.ones(1, 2)).sum().backward()
    optimizer.step()


def run_submission(
    exercise: Exercise,
    probes: ModuleType,
    source: bytes,
    given: Any,
    *,
    seed: int,
    timeout: float,
    device: str = "cpu",
) -> Run:
    """One run of every probe: a single process, then one group of processes per size in ``ranks``."""
    message = encode(given)
    deadline = time.monotonic() + timeout
    run = Run()
    groups = [(1, probe_names(probes, distributed=False))]
    groups += [(world, probe_names(probes, distributed=True)) for world in exercise.ranks]
    for world, names in groups:
        if not names or run.status:
            continue
        with tempfile.TemporaryDirectory(prefix="quizapp-") as scratch:
            job = _Job(exercise, probes, source, message, names, seed, device, Path(scratch), world)
            _collect(run, [_fork(job, rank) for rank in range(world)], deadline)
    return run


@dataclass
class _Job:
    exercise: Exercise
    probes: ModuleType
    source: bytes
    given: bytes
    names: list[str]
    seed: int
    device: str
    scratch: Path
    world: int


def _fork(job: _Job, rank: int) -> tuple[int, int]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    try:
        os.close(reader)
        os.setpgid(0, 0)
        _child(job, rank, writer)
    finally:
        os._exit(0)


def _child(job: _Job, rank: int, writer: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    resource.setrlimit(resource.RLIMIT_DATA, (_DATA_LIMIT, _DATA_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if job.world > 1:
        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{job.scratch}/store", rank=rank, world_size=job.world
        )
    path = job.scratch / f"rank{rank}" / job.exercise.module
    path.parent.mkdir()
    path.write_bytes(job.source)
    os.chdir(path.parent)
    record = Record(torch.device(job.device), str(path), rank, job.world)
    problem: dict[str, Any] | None = None
    try:
        code = _import(path)
    except BaseException as error:  # noqa: BLE001 - importing a submission may raise anything
        problem = record.describe(error)
    else:
        run_probes(code, job.probes, job.names, lambda: decode(job.given), record, job.seed)
    try:
        message = encode({"values": record.values, "errors": record.errors, "import": problem})
    except TranscriptError as error:
        message = encode({"values": {}, "errors": {}, "import": None, "problem": str(error)})
    with os.fdopen(writer, "wb") as pipe:
        pipe.write(message)


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _collect(run: Run, workers: list[tuple[int, int]], deadline: float) -> None:
    buffers = {reader: bytearray() for _, reader in workers}
    waiting = set(buffers)
    while waiting and time.monotonic() < deadline:
        ready, _, _ = select.select(list(waiting), [], [], max(0.0, deadline - time.monotonic()))
        for reader in ready:
            part = os.read(reader, 1 << 20)
            buffers[reader] += part
            if not part or len(buffers[reader]) > MAX_BYTES + MAX_HEADER:
                waiting.discard(reader)
    for pid, reader in workers:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reader)
    if waiting:
        run.status, run.problem = "timeout", "Your code did not finish in time."
        return
    for rank, (_, reader) in enumerate(workers):
        _merge(run, bytes(buffers[reader]), rank, len(workers))


def _merge(run: Run, message: bytes, rank: int, world: int) -> None:
    try:
        evidence = decode(message)
        values, errors, problem = evidence["values"], evidence["errors"], evidence["import"]
    except (TranscriptError, KeyError, TypeError):
        run.status, run.problem = "error", "Your code ended the process before the probes were done."
        return
    if problem is not None:
        run.status = "error"
        run.problem = f"{problem['types'][0]} on import: {problem['message']} (line {problem['line']})"
        return
    for source, target in ((values, run.values), (errors, run.errors)):
        for path, value in source.items():
            name, _, rest = path.partition("/")
            target[f"{name}/world{world}/rank{rank}/{rest}".rstrip("/") if world > 1 else path] = value


def remove_tree(path: Path) -> None:
    """Delete a scratch folder, whatever a submission left in it."""
    shutil.rmtree(path, ignore_errors=True)
