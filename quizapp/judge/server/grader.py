"""The trusted judge: fresh inputs in, evidence back from workers, a verdict out."""

import os
import random
import secrets
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from quizapp.judge.devices import resolve
from quizapp.judge.sandbox.scratch import ScratchFolder
from quizapp.judge.sandbox.tiers import TierReport, best
from quizapp.judge.server.collector import COMPLETE, STOPPED, WorkerReport, collect_reports
from quizapp.judge.server.evidence import RunEvidence
from quizapp.judge.server.exercise_files import ExerciseCache, LoadedExercise
from quizapp.judge.server.outcome import cleaned, not_allowed, outcome, versions
from quizapp.judge.server.test_runner import run_tests
from quizapp.judge.server.worker_pool import RunningWorker, WorkerPool
from quizapp.judge.server.worker_view import strip_expected_answers
from quizapp.judge.server.zygote_link import ZygoteLost
from quizapp.judge.testing.checks import Observe
from quizapp.judge.testing.draw import Draw
from quizapp.judge.verdict import ERROR, TestResult, Verdict
from quizapp.judge.worker.job import WorkerJob
from quizapp.judge.worker.transcript import encode
from quizapp.util.sanitize import escape_unprintable

_LOST = "The process that starts workers died twice while your code ran; code must not kill its parent."
_SECOND = 0x5DEECE66D


@dataclass(frozen=True)
class GradeOrder:
    """What a client asks for: grade ``source``, which the verdict calls ``file``.

    ``beside`` runs the second seed at the same time instead of after the first.
    """

    folder: Path
    source: bytes
    file: str
    device: str = "auto"
    timeout: float | None = None
    seed: int | None = None
    tier: str | None = None
    beside: bool = (os.cpu_count() or 1) > 1

    def one_by_one(self) -> "GradeOrder":
        """The same with the second seed after the first: cheaper where many submissions wait."""
        return replace(self, beside=False)


@dataclass
class SeededRun:
    """One run of a submission under one seed; the ``second`` has its probes in reverse order."""

    seed: int
    given: Any
    second: bool = False
    run: RunEvidence = field(default_factory=RunEvidence)
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))
    tests: list[TestResult] = field(default_factory=list)

    @property
    def told_seed(self) -> int:
        """A seed for the worker, from which what was drawn for ``kept`` cannot be drawn again."""
        return int.from_bytes(sha256(f"worker {self.seed}".encode()).digest()[:4])

    @property
    def good(self) -> bool:
        """Whether every hidden test holds on this run's evidence."""
        return not self.run.status and bool(self.tests) and all(test.passed for test in self.tests)


@dataclass(frozen=True)
class GradingTask:
    """A submission with all that its runs share."""

    assets: LoadedExercise
    source: bytes
    device: str
    tier: str
    seconds: float
    cancelled: threading.Event

    @property
    def text(self) -> str:
        """The source as text."""
        return self.source.decode("utf-8-sig")


class GradingEngine:
    """Grades submissions; several threads may call it."""

    def __init__(self, pool: WorkerPool, tiers: list[TierReport]):
        self._pool = pool
        self._tiers = tiers
        self._library = ExerciseCache()
        # Hidden tests may use torch's global random numbers; one thread at a time.
        self._lock = threading.Lock()

    def grade(self, order: GradeOrder, cancelled: threading.Event | None = None) -> Verdict:
        """The verdict on one submission. Raises `QuizError` for an absent device or a broken exercise."""
        begin = time.monotonic()
        device, notes = resolve(order.device)
        task = self.task(order, device, cancelled or threading.Event())
        exercise = task.assets.exercise
        seed = random.SystemRandom().getrandbits(31) if order.seed is None else order.seed
        tracks = [self.track(task, seed), self.track(task, seed ^ _SECOND, second=True)]
        if order.beside:
            self.run(task, tracks)
            self._judge(task, tracks)
        else:
            for track in tracks:
                self.run(task, [track])
                self._judge(task, [track])
                if not track.good:
                    break
        shown = next((track for track in tracks if not track.good), tracks[0])
        status, error = outcome(shown, exercise)
        if task.tier == "T0" and device != "cpu":
            notes += (f"On {device} a submission runs with a deadline only, without further isolation.",)
        return Verdict(
            exercise=exercise.slug,
            file=order.file,
            device=device,
            status=status,
            tests=tuple(cleaned(shown.tests)),
            seconds=time.monotonic() - begin,
            seed=seed,
            tier=task.tier,
            error=escape_unprintable(error) or None,
            printed=tracks[0].run.printed,
            notes=notes,
            versions=versions(order.source),
        )

    def task(self, order: GradeOrder, device: str, cancelled: threading.Event) -> GradingTask:
        """What the runs of ``order`` share."""
        assets = self._library.load(order.folder)
        tier = best(self._tiers, order.tier).name if device == "cpu" else "T0"
        seconds = assets.exercise.timeout if order.timeout is None else order.timeout
        forbidden = [name for rule in assets.exercise.forbidden for name in rule.names]
        self._pool.preload(tier, assets.preload, forbidden)
        return GradingTask(assets, order.source, device, tier, seconds, cancelled)

    def track(self, task: GradingTask, seed: int, *, second: bool = False) -> SeededRun:
        """A run to come: inputs drawn from ``seed``."""
        with self._lock:
            return SeededRun(seed, task.assets.probes.inputs(Draw(seed)), second)

    def run(self, task: GradingTask, tracks: list[SeededRun]) -> None:
        """Run the probes of every track: first the plain ones, then those of each group size."""
        left = task.seconds
        groups = [(1, task.assets.probe_names)]
        groups += [(world, task.assets.distributed_names) for world in task.assets.exercise.ranks]
        messages = [encode(strip_expected_answers(track.given)) for track in tracks]
        for world, names in groups:
            if names and not any(track.run.status for track in tracks):
                left -= self._run_group(task, tracks, messages, names, world, left)

    def _run_group(
        self,
        task: GradingTask,
        tracks: list[SeededRun],
        messages: list[bytes],
        names: tuple[str, ...],
        world: int,
        left: float,
    ) -> float:
        """Run one group of workers per track, with ``left`` seconds to go; the seconds it took."""
        begin = time.monotonic()
        for attempt in (1, 2):
            try:
                reports = self._send_out(task, tracks, messages, names, world, left)
            except ZygoteLost:
                if attempt == 2:
                    tracks[0].run.fail(ERROR, _LOST)
            else:
                self._absorb(task, tracks, reports)
                break
        return time.monotonic() - begin

    def _send_out(
        self,
        task: GradingTask,
        tracks: list[SeededRun],
        messages: list[bytes],
        names: tuple[str, ...],
        world: int,
        left: float,
    ) -> list[list[WorkerReport]]:
        workers: list[RunningWorker] = []
        scratches: list[ScratchFolder] = []
        try:
            for track, given in zip(tracks, messages, strict=True):
                scratch = self._pool.scratch().prepare()
                scratches.append(scratch)
                # Reversed, any two probes are seen in both orders.
                order = names[::-1] if track.second else names
                for rank in range(world):
                    job = self._job(task, track, given, order, rank, world, scratch)
                    workers.append(self._pool.start(job, scratch))
            # From here on: a spawned worker may have had to load torch first.
            reports = collect_reports(
                workers, task.assets.exercise.module, time.monotonic() + left, task.cancelled
            )
            workers.clear()
        finally:
            for worker in workers:
                worker.abandon()
            for scratch in scratches:
                scratch.remove()
        return [reports[i * world : (i + 1) * world] for i in range(len(tracks))]

    def _absorb(self, task: GradingTask, tracks: list[SeededRun], reports: list[list[WorkerReport]]) -> None:
        module = task.assets.exercise.module
        failed = None
        for track, mine in zip(tracks, reports, strict=True):
            if task.cancelled.is_set() or any(r.state not in (COMPLETE, STOPPED) for r in mine):
                failed = track
            if failed is track or all(report.state == COMPLETE for report in mine):
                track.run.absorb(mine, track.nonce, module, task.text, task.seconds)
        for track, mine in zip(tracks, reports, strict=True):
            if failed is not None and any(report.state == STOPPED for report in mine):
                # Stopped because the other one failed: the reason is the same.
                track.run.fail(failed.run.status, failed.run.problem)

    def _job(
        self,
        task: GradingTask,
        track: SeededRun,
        given: bytes,
        names: tuple[str, ...],
        rank: int,
        world: int,
        scratch: ScratchFolder,
    ) -> WorkerJob:
        return WorkerJob(
            module=task.assets.exercise.module,
            names=names,
            forbidden=tuple((rule.names, rule.says) for rule in task.assets.exercise.forbidden),
            seed=track.told_seed,
            device=task.device,
            rank=rank,
            world=world,
            base=str(scratch.base),
            tier=task.tier,
            seconds=task.seconds,
            nonce=track.nonce,
            source=task.source,
            probes=task.assets.probe_code,
            given=given,
        )

    def _judge(self, task: GradingTask, tracks: Iterable[SeededRun]) -> None:
        module = task.assets.exercise.module
        for track in tracks:
            if not track.run.status:
                observe = Observe(track.given, track.run.values, track.run.errors, module, task.device)
                with self._lock:
                    track.tests = run_tests(task.assets.tests, observe)
                track.tests += not_allowed(task.assets.exercise, task.source)
            if not track.good:
                break

    def judge_once(self, order: GradeOrder, seed: int) -> SeededRun:
        """One run under one seed, with its tests: for the check of an exercise."""
        task = self.task(order, resolve(order.device)[0], threading.Event())
        track = self.track(task, seed)
        self.run(task, [track])
        self._judge(task, [track])
        return track
