"""The untrusted side: one process that runs a submission's probes once and ends.

The submission may have forged the evidence that this process sends. Hidden tests therefore rely only on
numbers, which only a solution can compute.
"""

import contextlib
import faulthandler
import importlib.util
import marshal
import os
import random
import signal
import sys
import tempfile
import threading
from pathlib import Path
from types import CodeType, ModuleType
from typing import NoReturn

import torch

from quizapp.judge.sandbox import layers
from quizapp.judge.sandbox.seccomp import STACK_SIGNAL
from quizapp.judge.sandbox.syscalls import COLUMN, adopt_orphans, die_with_parent
from quizapp.judge.testing.probes import Recorder, run_probes
from quizapp.judge.worker import call_guard, introspection_guard
from quizapp.judge.worker.job import HELLO, HELLO_MAGIC, WorkerAnswer, WorkerJob, WorkerProblem, read_job
from quizapp.judge.worker.preload import warm, warm_device
from quizapp.judge.worker.transcript import TranscriptError, decode, encode

# Bound before the submission runs, which may replace them in the module os.
_leave = os._exit
_write = os.write


def work(job_pipe: int, result_pipe: int, printed_pipe: int, *, own_network: bool = False) -> NoReturn:
    """Read one job from its pipe, run it, write the transcript, and end the process without any cleanup."""
    try:
        _detach(printed_pipe)
        result = _hide_result_pipe(job_pipe, result_pipe)
        _write(result, HELLO.pack(HELLO_MAGIC, host_pid()))
        job = read_job(job_pipe)
        os.close(job_pipe)
        if job is not None:
            _answer(job, result, own_network=own_network)
    finally:
        _leave(0)


def _detach(printed_pipe: int) -> None:
    with contextlib.suppress(OSError):  # a spawned worker already leads a session
        os.setsid()
    if COLUMN >= 0:
        die_with_parent(signal.SIGKILL)
        adopt_orphans()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    for stream in (1, 2):
        os.dup2(printed_pipe, stream)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - descriptors, for good
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        setattr(sys, name, open(descriptor, "w", 1, "utf-8", "backslashreplace", closefd=False))  # noqa: SIM115


def _hide_result_pipe(job_pipe: int, result_pipe: int) -> int:
    """Move the result pipe to a descriptor that is hard to guess, and close all other inherited ones."""
    result = random.SystemRandom().randint(100, 220)
    os.dup2(result_pipe, result)
    os.set_inheritable(result, False)
    kept = sorted({job_pipe, result})
    for low, high in zip([2, *kept], [*kept, 4096], strict=True):
        os.closerange(low + 1, high)
    return result


def host_pid() -> int:
    """This process's id in the namespace of /proc, which is the id that the judge sees."""
    try:
        return int(Path("/proc/self").readlink().name)
    except (OSError, ValueError):
        return os.getpid()


def _answer(job: WorkerJob, result: int, *, own_network: bool) -> None:
    try:
        message = encode(_run(job, own_network=own_network).as_message())
    except TranscriptError:
        message = _problem(job, WorkerProblem.TOO_MUCH)
    except _Unprepared:
        message = _problem(job, WorkerProblem.NO_SCRATCH)
    except BaseException:  # noqa: BLE001 - the submission has changed what is needed here
        message = _problem(job, WorkerProblem.BROKEN)
    view = memoryview(message)
    while view:  # a pipe may accept only a part at a time
        view = view[_write(result, view) :]


def _problem(job: WorkerJob, problem: WorkerProblem) -> bytes:
    return encode(WorkerAnswer(job.nonce, problem=problem).as_message())


class _Unprepared(Exception):
    """The scratch folder cannot be used. This is not the submission's fault."""


def _write_submission(job: WorkerJob, base: Path) -> Path:
    """Write the submission to its place in the scratch folder, and make that the current folder."""
    place = base / "work" / f"rank{job.rank}"
    try:
        _arrange_stack_dump(base / f"stack{job.rank}")
        place.mkdir(mode=0o700)
        path = place / job.module
        path.write_bytes(job.source)
    except OSError as error:
        raise _Unprepared from error
    os.chdir(place)
    return path


def _run(job: WorkerJob, *, own_network: bool) -> WorkerAnswer:
    base = Path(job.base)
    path = _write_submission(job, base)
    place = path.parent
    os.environ.update({"TMPDIR": str(place), "HOME": str(place)})
    tempfile.tempdir = None  # tempfile remembers the folder that it chose before TMPDIR changed
    if job.world > 1:
        os.environ["GLOO_SOCKET_IFNAME"] = "lo" if sys.platform == "linux" else "lo0"
        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{base}/work/store", rank=job.rank, world_size=job.world
        )
        torch.distributed.barrier()  # no rank may run, and perhaps end, while another is still connecting
    probes = _load_probes(job)
    device = torch.device(job.device)
    record = Recorder(device, str(path), job.rank, job.world)
    layers.apply(job.tier, base / "work", job.seconds, sockets=own_network and job.world > 1)
    call_guard.install(job.forbidden, str(path))
    introspection_guard.install(probes)
    try:
        code = _import(path)
    except BaseException as error:  # noqa: BLE001 - importing a submission may raise anything
        return WorkerAnswer(job.nonce, import_error=record.describe(error))
    run_probes(code, probes, list(job.names), lambda: decode(job.given), record, job.seed)
    return WorkerAnswer(job.nonce, record.values, record.errors)


def _arrange_stack_dump(path: Path) -> None:
    """Write every thread's stack to a file outside the work folder on the judge's signal or on a crash."""
    stack = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    faulthandler.enable(stack, all_threads=True)
    faulthandler.register(STACK_SIGNAL, stack, all_threads=True, chain=False)


def _load_probes(job: WorkerJob) -> ModuleType:
    module = ModuleType("_probes")
    module.__builtins__ = vars(introspection_guard.copy_of_builtins())  # type: ignore[attr-defined]
    sys.modules["_probes"] = module
    code = marshal.loads(job.probes)  # noqa: S302 - from the judge, which compiled it
    assert isinstance(code, CodeType)
    exec(code, vars(module))  # noqa: S102 - the exercise's own probes
    return module


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A submission may replace builtins, but only its own.
    sys.modules["builtins"] = shown = introspection_guard.copy_of_builtins()
    module.__builtins__ = vars(shown)  # type: ignore[attr-defined]
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def main(device: str, job: str, result: str, printed: str) -> int:
    """Run a worker in an interpreter of its own, as is needed if forking is unsafe.

    Loads torch and the device ahead of time, then waits for its one job and ends. The arguments are the
    device and the descriptors of the pipes for the job, the result and the output.
    """
    _end_if_abandoned()
    warm()
    if device != "cpu":
        warm_device(device)
    work(int(job), int(result), int(printed))


def _end_if_abandoned() -> None:
    """End this process when the judge has gone. The kernel does that on Linux; elsewhere, poll the parent."""
    if hasattr(os, "pidfd_open"):
        return
    parent = os.getppid()

    def watch() -> None:
        tick = threading.Event()
        while os.getppid() == parent:
            tick.wait(1.0)
        os._exit(0)

    threading.Thread(target=watch, daemon=True, name="parent-watch").start()
