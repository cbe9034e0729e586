"""The trusted judge: sends fresh inputs to the workers, gets evidence back, and decides the verdict."""

import platform
import random
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

import quizapp
from quizapp.bank.model import Forbidden, Stage
from quizapp.judge.devices import resolve
from quizapp.judge.protocol import GradeOrder
from quizapp.judge.sandbox.scratch import ScratchFolder
from quizapp.judge.sandbox.tiers import TierReport, best
from quizapp.judge.server.collector import WorkerReport, WorkerState, collect_reports
from quizapp.judge.server.evidence import SeededRun
from quizapp.judge.server.exercise_files import ExerciseCache, LoadedExercise
from quizapp.judge.server.feedback import RunFailure, problem_failure
from quizapp.judge.server.name_rules import check_names
from quizapp.judge.server.test_runner import HiddenTest, behaviour_of, run_tests
from quizapp.judge.server.worker_pool import RunningWorker, WorkerPool
from quizapp.judge.server.worker_view import depends_on_rank, strip_expected_answers
from quizapp.judge.server.zygote_link import ZygoteLost
from quizapp.judge.testing.checks import Observe
from quizapp.judge.testing.draw import Draw
from quizapp.judge.verdict import StageResult, Verdict, VerdictStatus
from quizapp.judge.worker.job import WorkerJob, WorkerProblem
from quizapp.judge.worker.transcript import TranscriptError, encode
from quizapp.util.sanitize import escape_unprintable

_ZYGOTE_LOST = RunFailure(
    VerdictStatus.ERROR,
    "The process that starts workers died twice while your code ran; code must not kill its parent.",
)
_SECOND_SEED = 0x5DEECE66D  # XORed with the first seed, so that one number reproduces both runs


@dataclass(frozen=True)
class GradingTask:
    """A submission and what all its runs share. ``seconds`` is the time limit of each run."""

    loaded: LoadedExercise
    source: bytes
    device: str
    tier: str
    seconds: float
    canceled: threading.Event
    stages: tuple[Stage, ...]

    @property
    def behaviours(self) -> set[int]:
        """The behaviors of the stages that were asked for; 0, the check of the allowed means, is included."""
        return {0}.union(*(stage.behaviours for stage in self.stages))

    @property
    def tests(self) -> list[HiddenTest]:
        """The hidden tests of the stages that were asked for."""
        asked = self.behaviours
        return [test for test in self.loaded.tests if behaviour_of(test) in asked]

    @property
    def forbidden(self) -> list[Forbidden]:
        """The rules about allowed means of the stages that were asked for."""
        asked = self.behaviours
        return [rule for rule in self.loaded.exercise.forbidden if rule.behaviour in asked]

    @property
    def text(self) -> str:
        """The source as text."""
        return self.source.decode("utf-8-sig")

    @property
    def module(self) -> str:
        """The file name of the user's module."""
        return self.loaded.exercise.module


@dataclass(frozen=True)
class _Group:
    """Probes that each run executes together in ``world`` workers: one, or the ranks of a process group."""

    names: tuple[str, ...]
    world: int = 1
    new_process: bool = False


class GradingEngine:
    """Grades submissions. Safe for several threads."""

    def __init__(self, pool: WorkerPool, tiers: list[TierReport]):
        self._pool = pool
        self._tiers = tiers
        self._exercises = ExerciseCache()
        # Generating inputs and hidden tests may use torch's global random state, so one thread at a time.
        self._lock = threading.Lock()

    def grade(self, order: GradeOrder, canceled: threading.Event | None = None) -> Verdict:
        """Grade one submission. Raises `QuizError` if the device is absent or the exercise is broken."""
        begin = time.monotonic()
        device, notes = resolve(order.device)
        task = self._task(order, device, canceled or threading.Event())
        seed = random.SystemRandom().getrandbits(31) if order.seed is None else order.seed
        runs = [self._new_run(task, seed), self._new_run(task, seed ^ _SECOND_SEED, second=True)]
        if order.parallel:
            self._observe(task, runs)
            self._test(task, runs)
        else:
            for run in runs:
                self._observe(task, [run])
                self._test(task, [run])
                if not run.passed:
                    break
        deciding = next((run for run in runs if not run.passed), runs[0])
        status, error = deciding.outcome(task.module)
        if task.tier == "T0" and device != "cpu":
            notes += (f"On {device} a submission runs with a deadline only, without further isolation.",)
        return Verdict(
            exercise=task.loaded.exercise.slug,
            file=order.file,
            device=device,
            status=status,
            tests=tuple(
                replace(
                    test,
                    message=escape_unprintable(test.message),
                    stage=task.loaded.exercise.stage_of(test.behaviour),
                )
                for test in deciding.tests
            ),
            stages=_stage_results(task, deciding),
            seconds=time.monotonic() - begin,
            seed=seed,
            tier=task.tier,
            error=escape_unprintable(error) or None,
            printed=runs[0].evidence.printed,
            notes=notes,
            versions=_versions(order.source),
        )

    def judge_once(self, order: GradeOrder, seed: int) -> SeededRun:
        """Run a submission once under one seed and test it, as the check of an exercise needs."""
        task = self._task(order, resolve(order.device)[0], threading.Event())
        run = self._new_run(task, seed)
        self._observe(task, [run])
        self._test(task, [run])
        return run

    def _task(self, order: GradeOrder, device: str, canceled: threading.Event) -> GradingTask:
        loaded = self._exercises.load(order.folder)
        tier = best(self._tiers, order.tier).name if device == "cpu" else "T0"
        seconds = loaded.exercise.timeout if order.timeout is None else order.timeout
        forbidden = [name for rule in loaded.exercise.forbidden for name in rule.names]
        self._pool.preload(tier, loaded.preload, forbidden)
        stages = loaded.exercise.stages[: order.stages]
        return GradingTask(loaded, order.source, device, tier, seconds, canceled, stages)

    def _new_run(self, task: GradingTask, seed: int, *, second: bool = False) -> SeededRun:
        with self._lock:
            return SeededRun(seed, task.loaded.probes.inputs(Draw(seed)), second)

    def _observe(self, task: GradingTask, runs: list[SeededRun]) -> None:
        """Run the probes of every run: plain ones, those of each group size, those in a new process."""
        left = task.seconds
        groups = [_Group(task.loaded.probe_names)]
        groups += [_Group(task.loaded.distributed_names, world) for world in task.loaded.exercise.ranks]
        groups += [_Group(task.loaded.new_process_names, new_process=True)]
        size = max(group.world for group in groups)
        inputs = [_encoded_inputs(run.given, size) for run in runs]
        for group in groups:
            if group.names and not any(run.evidence.failure for run in runs):
                begin = time.monotonic()
                if group.new_process:
                    inputs = [_inputs_with_carried(run) for run in runs]
                if all(inputs):
                    self._observe_group(task, runs, inputs, group, left)
                left -= time.monotonic() - begin

    def _observe_group(
        self, task: GradingTask, runs: list[SeededRun], inputs: list[list[bytes]], group: _Group, left: float
    ) -> None:
        """Run one group of workers per run, within ``left`` seconds. Try again once if the zygote dies."""
        for _ in range(2):
            try:
                reports = self._run_workers(task, runs, inputs, group, left)
            except ZygoteLost:
                continue
            self._add_evidence(task, runs, reports)
            return
        runs[0].evidence.fail(_ZYGOTE_LOST)

    def _run_workers(
        self, task: GradingTask, runs: list[SeededRun], inputs: list[list[bytes]], group: _Group, left: float
    ) -> list[list[WorkerReport]]:
        workers: list[RunningWorker] = []
        scratches: list[ScratchFolder] = []
        try:
            for run, given in zip(runs, inputs, strict=True):
                scratch = self._pool.scratch().prepare()
                scratches.append(scratch)
                for rank in range(group.world):
                    job = _job(task, run, group, rank, given[rank], scratch)
                    workers.append(self._pool.start(job, scratch))
            # Start the clock only now, because a spawned worker may have had to load torch first.
            reports = collect_reports(workers, task.module, time.monotonic() + left, task.canceled)
            workers.clear()
        finally:
            for worker in workers:
                worker.abandon()
            for scratch in scratches:
                scratch.remove()
        return [reports[i * group.world : (i + 1) * group.world] for i in range(len(runs))]

    def _add_evidence(
        self, task: GradingTask, runs: list[SeededRun], reports: list[list[WorkerReport]]
    ) -> None:
        failed = None
        undecided = (WorkerState.COMPLETE, WorkerState.STOPPED)
        for run, group in zip(runs, reports, strict=True):
            if task.canceled.is_set() or any(report.state not in undecided for report in group):
                failed = run
            if failed is run or all(report.state == WorkerState.COMPLETE for report in group):
                run.evidence.add_reports(group, run.nonce, task.module, task.text, task.seconds)
        if failed is None or failed.evidence.failure is None:
            return
        for run, group in zip(runs, reports, strict=True):
            if any(report.state == WorkerState.STOPPED for report in group):
                # It was stopped because the other run failed, so it gets the same reason.
                run.evidence.fail(failed.evidence.failure)

    def _test(self, task: GradingTask, runs: Iterable[SeededRun]) -> None:
        """Run the hidden tests on the evidence of each run, up to the first one that fails."""
        for run in runs:
            evidence = run.evidence
            if evidence.failure is None:
                observe = Observe(run.given, evidence.values, evidence.errors, task.module, task.device)
                with self._lock:
                    run.tests = run_tests(task.tests, observe)
                run.tests += check_names(task.forbidden, task.source)
            if not run.passed:
                return


def _stage_results(task: GradingTask, run: SeededRun) -> tuple[StageResult, ...]:
    """Which of the stages that were asked for hold. Without evidence, none does."""
    exercise = task.loaded.exercise
    failed = {exercise.stage_of(test.behaviour) for test in run.tests if not test.passed}
    judged = run.evidence.failure is None
    return tuple(StageResult(stage.name, judged and stage.name not in failed) for stage in task.stages)


def _encoded_inputs(given: Any, size: int) -> list[bytes]:
    """The inputs as the worker of each of ``size`` ranks gets them."""
    if not depends_on_rank(given):
        return [encode(strip_expected_answers(given))] * size
    return [encode(strip_expected_answers(given, rank)) for rank in range(size)]


def _inputs_with_carried(run: SeededRun) -> list[bytes]:
    """The inputs and what the first process hands on. If that is too much, the run fails: an empty list."""
    try:
        return [encode(strip_expected_answers(run.given) | {"carried": run.evidence.carried})]
    except TranscriptError:
        run.evidence.fail(problem_failure(WorkerProblem.TOO_MUCH, Path()))
        return []


def _job(
    task: GradingTask, run: SeededRun, group: _Group, rank: int, given: bytes, scratch: ScratchFolder
) -> WorkerJob:
    return WorkerJob(
        module=task.module,
        # Reversed in the second run, so that any two probes are seen in both orders.
        names=group.names[::-1] if run.second else group.names,
        forbidden=tuple((rule.names, rule.says) for rule in task.loaded.exercise.forbidden),
        seed=run.worker_seed,
        device=task.device,
        rank=rank,
        world=group.world,
        base=str(scratch.base),
        tier=task.tier,
        seconds=task.seconds,
        nonce=run.nonce,
        source=task.source,
        probes=task.loaded.probe_code,
        given=given,
    )


def _versions(source: bytes) -> dict[str, str]:
    """What a verdict depends on: the source's hash and the versions of the engine, torch and Python."""
    return {
        "source": sha256(source).hexdigest(),
        "engine": quizapp.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
