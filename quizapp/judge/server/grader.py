"""The trusted judge: sends fresh inputs to the workers, gets evidence back, and puts the verdict together.

What the evidence means is decided by the examiner, a process of the judge that may be killed.
"""

import contextlib
import itertools
import platform
import random
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256

import torch

import quizapp
from quizapp.errors import QuizError
from quizapp.judge.protocol.orders import GradeOrder
from quizapp.judge.sandbox.devices import resolve
from quizapp.judge.sandbox.tiers import TierReport, best
from quizapp.judge.server.examiner import (
    CarriedReply,
    CarryRequest,
    EvidenceReply,
    EvidenceRequest,
    PreparedGrade,
    PrepareRequest,
    RunResult,
    RunTranscripts,
    TestReply,
    TestRequest,
)
from quizapp.judge.server.examiner_link import ExaminerLink, ExaminerLost, ExaminerOverrun
from quizapp.judge.server.feedback import RunFailure, explain_failure
from quizapp.judge.server.workers.collector import WorkerReport, WorkerState
from quizapp.judge.server.workers.worker_groups import run_worker_groups
from quizapp.judge.server.workers.worker_pool import WorkerPool
from quizapp.judge.server.workers.zygote_link import ZygoteLost
from quizapp.judge.verdict import NO_CUDA_NOTE, StageResult, Verdict, VerdictStatus
from quizapp.judge.worker.job import WorkerJob
from quizapp.util.sanitize import escape_unprintable
from quizapp.util.turns import Turns

_ZYGOTE_LOST = RunFailure(
    VerdictStatus.ERROR,
    "The process that starts workers died twice while your code ran; code must not kill its parent.",
)
_OVERRUN = RunFailure(
    VerdictStatus.ERROR,
    "Looking at your code and at what it returned took the judge too much time; return only what is asked "
    "for, and submit the exercise's module alone.",
)
_EXAMINER_LOST = RunFailure(
    VerdictStatus.ERROR,
    "The process that looks at what your code returned died more than once; return only what is asked for, "
    "and leave other processes alone.",
)
_SECOND_SEED = 0x5DEECE66D  # XORed with the first seed, so that one number reproduces both runs
_ATTEMPTS = 3  # at a grade whose examiner died: another grade's evidence may have been the reason


@dataclass(frozen=True)
class GradingTask:
    """A submission and what all its runs share. ``seconds`` is the time limit of each run."""

    session: str
    exercise: PreparedGrade
    source: bytes
    device: str
    tier: str
    seconds: float
    canceled: threading.Event

    @property
    def text(self) -> str:
        """The source as text."""
        return self.source.decode("utf-8-sig")


@dataclass
class GradedRun:
    """One run of a submission with the inputs of one seed, as the workers get them.

    The second run of a grade (``number`` 1) has its probes in reverse order. ``groups`` holds the transcripts
    of each group of workers. ``failure`` says why there is no evidence, and ``result`` what the tests say.
    """

    number: int
    seed: int
    inputs: list[bytes]
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))
    printed: str = ""
    groups: list[tuple[tuple[str, ...], list[bytes]]] = field(default_factory=list)
    failure: RunFailure | None = None
    result: RunResult | None = None

    @property
    def worker_seed(self) -> int:
        """A seed for the worker, from which it cannot reconstruct what ``seed`` generated."""
        return int.from_bytes(sha256(f"worker {self.seed}".encode()).digest()[:4])

    @property
    def passed(self) -> bool:
        """Whether every hidden test passes on this run's evidence."""
        return self.failure is None and self.result is not None and self.result.passed

    def given(self, rank: int) -> bytes:
        """The encoded inputs of one rank."""
        return self.inputs[rank] if len(self.inputs) > 1 else self.inputs[0]

    def fail(self, failure: RunFailure) -> None:
        """Note why there is no evidence. Only the first reason is kept."""
        if self.failure is None:
            self.failure = failure

    def outcome(self, stages: Iterable[str] = ()) -> RunResult:
        """What the tests say; without evidence, why there is none, and that none of ``stages`` holds."""
        if self.failure is None and self.result is not None:
            return self.result
        failure = self.failure or _EXAMINER_LOST
        held = tuple(StageResult(name, passed=False) for name in stages)
        return RunResult(failure.status, escape_unprintable(failure.text), stages=held, failure=failure)


@dataclass(frozen=True)
class _Group:
    """Probes that each run executes together in ``world`` workers: one, or the ranks of a process group."""

    names: tuple[str, ...]
    world: int = 1
    new_process: bool = False
    without_submission: bool = False


class GradingEngine:
    """Grades submissions. Safe for several threads.

    It forks its examiner, so create it while this process has a single thread.
    """

    def __init__(self, pool: WorkerPool, tiers: list[TierReport]):
        self._pool = pool
        self._tiers = tiers
        self.examiner = ExaminerLink(pool)
        self._turns = Turns()

    def grade(self, order: GradeOrder, canceled: threading.Event | None = None) -> Verdict:
        """Grade one submission. Raises `QuizError` if the device is absent or the exercise is broken."""
        begin = time.monotonic()
        device, notes = resolve(order.device)
        if order.device == "auto" and device == "cpu":
            notes += (NO_CUDA_NOTE,)
        seed = random.SystemRandom().getrandbits(31) if order.seed is None else order.seed
        seeds = [seed, seed ^ _SECOND_SEED]
        task, runs = self._run(order, device, seeds, canceled or threading.Event())
        deciding = next((run for run in runs if not run.passed), runs[0])
        outcome = deciding.outcome(task.exercise.stages)
        if task.tier == "T0" and device != "cpu":
            notes += (f"On {device} a submission runs with a deadline only, without further isolation.",)
        return Verdict(
            exercise=task.exercise.slug,
            file=order.file,
            device=device,
            status=outcome.status,
            tests=outcome.tests,
            stages=outcome.stages,
            seconds=time.monotonic() - begin,
            seed=seed,
            tier=task.tier,
            error=outcome.error or None,
            printed=runs[0].printed,
            notes=notes,
            versions=_versions(order.source),
        )

    def judge_once(self, order: GradeOrder, seed: int) -> GradedRun:
        """Run a submission once under one seed and test it, as the check of an exercise needs."""
        _, runs = self._run(order, resolve(order.device)[0], [seed], threading.Event())
        return runs[0]

    def close(self) -> None:
        """End the examiner."""
        self.examiner.close()

    def _run(
        self, order: GradeOrder, device: str, seeds: list[int], canceled: threading.Event
    ) -> tuple[GradingTask, list[GradedRun]]:
        """Run a submission under each seed and test it. Begin again if the examiner dies meanwhile."""
        for attempt in range(_ATTEMPTS):
            with self._session(order, device, seeds, canceled) as (task, runs):
                try:
                    self._run_all(task, runs, parallel=order.parallel)
                except ExaminerOverrun:
                    runs[0].fail(_OVERRUN)
                except ExaminerLost:
                    if attempt + 1 < _ATTEMPTS:
                        continue
                    runs[0].fail(_EXAMINER_LOST)
                return task, runs
        raise AssertionError

    def _run_all(self, task: GradingTask, runs: list[GradedRun], *, parallel: bool) -> None:
        if parallel:
            self._observe(task, runs)
            self._test(task, runs)
            return
        for run in runs:
            self._observe(task, [run])
            self._test(task, [run])
            if not run.passed:
                return

    @contextlib.contextmanager
    def _session(
        self, order: GradeOrder, device: str, seeds: list[int], canceled: threading.Event
    ) -> Iterator[tuple[GradingTask, list[GradedRun]]]:
        """A session of the examiner for one grade. Raises `QuizError` if the exercise is broken."""
        session = secrets.token_hex(8)
        tier = best(self._tiers, order.tier).name if device == "cpu" else "T0"
        request = PrepareRequest(session, str(order.folder), order.source, device, seeds, order.stages)
        try:
            exercise = self._prepare(request)
            self._pool.preload(tier, exercise.preload, [n for rule in exercise.forbidden for n in rule[0]])
            seconds = exercise.timeout if order.timeout is None else order.timeout
            task = GradingTask(session, exercise, order.source, device, tier, seconds, canceled)
            yield task, [GradedRun(n, seeds[n], inputs) for n, inputs in enumerate(exercise.inputs)]
        finally:
            self.examiner.close_session(session)

    def _prepare(self, request: PrepareRequest) -> PreparedGrade:
        for _ in range(_ATTEMPTS):
            try:
                return self.examiner.ask(request, PreparedGrade)
            except ExaminerOverrun:
                break
            except ExaminerLost:
                continue
        raise QuizError(
            f"{request.folder}: loading its files or generating its inputs takes too much time or memory, or "
            "ends the process; correct probes.py or hidden/."
        )

    def _observe(self, task: GradingTask, runs: list[GradedRun]) -> None:
        """Run the probes of every run: plain ones, those of each group size, those in a new process."""
        left = task.seconds
        exercise = task.exercise
        groups = [_Group(exercise.names)]
        groups += [_Group(exercise.distributed_names, world) for world in exercise.ranks]
        groups += [_Group(exercise.reference_names, without_submission=True)]
        groups += [_Group(exercise.new_process_names, new_process=True)]
        for group in groups:
            if not group.names or any(run.failure for run in runs):
                continue
            if group.new_process:
                for run in runs:
                    self._carry(task, run)
            if not any(run.failure for run in runs):
                left -= self._observe_group(task, runs, group, left)

    def _carry(self, task: GradingTask, run: GradedRun) -> None:
        """Add what the first process hands on to the inputs of a run. If that is too much, the run fails."""
        reply = self.examiner.ask(CarryRequest(task.session, run.number), CarriedReply)
        run.inputs = [reply.inputs]
        if reply.failure is not None:
            run.fail(reply.failure)

    def _observe_group(self, task: GradingTask, runs: list[GradedRun], group: _Group, left: float) -> float:
        """Run one group of workers per run, within ``left`` seconds. Returns how many of them that took.

        If the zygote dies, try again once, alone: whoever killed it will do so again, and no other grade may
        be blamed for it.
        """
        for turn in (self._turns.together, self._turns.alone):
            with turn():
                begin = time.monotonic()
                jobs = [[_job(task, run, group, rank) for rank in range(group.world)] for run in runs]
                try:
                    reports = run_worker_groups(self._pool, jobs, left, task.canceled)
                except ZygoteLost:
                    continue
                self._add_evidence(task, runs, reports, group)
                return time.monotonic() - begin
        runs[0].fail(_ZYGOTE_LOST)
        return left

    def _add_evidence(
        self, task: GradingTask, runs: list[GradedRun], all_reports: list[list[WorkerReport]], group: _Group
    ) -> None:
        failed = None
        undecided = (WorkerState.COMPLETE, WorkerState.STOPPED)
        decided: list[tuple[GradedRun, list[WorkerReport]]] = []
        for run, reports in zip(runs, all_reports, strict=True):
            if task.canceled.is_set() or any(report.state not in undecided for report in reports):
                failed = run
            if failed is run or all(report.state == WorkerState.COMPLETE for report in reports):
                decided.append((run, reports))
        self._add_groups(task, decided, group.names)
        if failed is None or failed.failure is None:
            return
        for run, reports in zip(runs, all_reports, strict=True):
            if any(report.state == WorkerState.STOPPED for report in reports):
                # It was stopped because the other run failed, so it gets the same reason.
                run.fail(failed.failure)

    def _add_groups(
        self,
        task: GradingTask,
        decided: list[tuple[GradedRun, list[WorkerReport]]],
        probes: tuple[str, ...],
    ) -> None:
        """Pass the transcripts of each run to the examiner, or note why there are none."""
        complete: list[tuple[GradedRun, RunTranscripts]] = []
        for run, reports in decided:
            run.printed += "".join(report.printed_text(len(reports)) for report in reports)
            failure = explain_failure(reports, task.exercise.module, task.text, task.seconds)
            if failure is not None:
                run.fail(failure)
                continue
            transcripts = [report.transcript for report in reports]
            run.groups.append((probes, transcripts))
            scratch = str(reports[0].worker.scratch.base)
            complete.append((run, RunTranscripts(run.number, run.nonce, transcripts, probes, scratch)))
        if complete:
            request = EvidenceRequest(task.session, [transcripts for _, transcripts in complete])
            failures = self.examiner.ask(request, EvidenceReply).failures
            for (run, _), failure in zip(complete, failures, strict=True):
                if failure is not None:
                    run.fail(failure)

    def _test(self, task: GradingTask, runs: list[GradedRun]) -> None:
        """Run the hidden tests on the evidence of each run, up to the first one that fails."""
        judged = list(itertools.takewhile(lambda run: run.failure is None, runs))
        if judged:
            request = TestRequest(task.session, [run.number for run in judged])
            results = self.examiner.ask(request, TestReply).results
            for run, result in zip(judged, results, strict=False):  # none after the first that fails
                run.result = result


def _job(task: GradingTask, run: GradedRun, group: _Group, rank: int) -> WorkerJob:
    return WorkerJob(
        module=task.exercise.module,
        # Reversed in the second run, so that any two probes are seen in both orders.
        names=group.names[::-1] if run.number else group.names,
        forbidden=task.exercise.forbidden,
        seed=run.worker_seed,
        device=task.device,
        rank=rank,
        world=group.world,
        tier=task.tier,
        seconds=task.seconds,
        nonce=run.nonce,
        source=b"" if group.without_submission else task.source,
        probes=task.exercise.probe_code,
        given=run.given(rank),
    )


def _versions(source: bytes) -> dict[str, str]:
    """What a verdict depends on: the source's hash and the versions of the engine, torch and Python."""
    return {
        "source": sha256(source).hexdigest(),
        "engine": quizapp.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
