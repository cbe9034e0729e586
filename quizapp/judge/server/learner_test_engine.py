"""Runs a test that a learner wrote on several programs, each in a worker of its own.

Whether the test holds is decided in the worker, by the learner's code. Only how each run ended is believed:
held, failed, error or time-out. What follows from that is decided elsewhere, and it is never a verdict.
"""

import os
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from quizapp.bank.model import Exercise
from quizapp.bank.parse_exercise import load_exercise
from quizapp.errors import QuizError
from quizapp.judge.protocol.orders import TestOrder
from quizapp.judge.sandbox.tiers import TierReport, best
from quizapp.judge.server.evidence import RunEvidence
from quizapp.judge.server.feedback import explain_failure
from quizapp.judge.server.workers.collector import WorkerReport, WorkerState
from quizapp.judge.server.workers.worker_groups import marshal_probes, run_worker_groups
from quizapp.judge.server.workers.worker_pool import WorkerPool
from quizapp.judge.server.workers.zygote_link import ZygoteLost
from quizapp.judge.verdict import ProgramOutcome, ProgramRun
from quizapp.judge.worker import learner_test_probe
from quizapp.judge.worker.job import WorkerJob
from quizapp.judge.worker.transcript import encode
from quizapp.util.sanitize import escape_unprintable

_PROBE = "test"
_MOST_TEXT = 300
_MOST_BYTES = 256 << 10  # of a worker's message, which holds two short texts and is read in this process
_LOST = ProgramRun(ProgramOutcome.ERROR, "The process that starts workers died while the test ran.")


class LearnerTestEngine:
    """Runs learners' tests. Safe for several threads."""

    def __init__(self, pool: WorkerPool, tiers: list[TierReport]):
        self._pool = pool
        self._tiers = tiers
        self._probes = marshal_probes(learner_test_probe)

    def run(self, order: TestOrder, canceled: threading.Event) -> tuple[ProgramRun, ...]:
        """Run the test on each program; the results are in the order of the programs.

        Raises `QuizError` if the exercise is broken.
        """
        exercise, faults = load_exercise(order.folder)
        if exercise is None:
            raise QuizError(str(faults[0]))
        tier = best(self._tiers, order.tier).name
        self._pool.preload(tier, ())
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return tuple(
                pool.map(lambda source: self._run(exercise, order, source, tier, canceled), order.programs)
            )

    def _run(
        self, exercise: Exercise, order: TestOrder, source: str, tier: str, canceled: threading.Event
    ) -> ProgramRun:
        if canceled.is_set():
            return ProgramRun(ProgramOutcome.ERROR, "This run was canceled.")
        for _ in range(2):
            try:
                return self._run_once(exercise, order, source, tier, canceled)
            except ZygoteLost:
                continue
        return _LOST

    def _run_once(
        self, exercise: Exercise, order: TestOrder, source: str, tier: str, canceled: threading.Event
    ) -> ProgramRun:
        # A module that communicates is tested in a group of the smallest size that the exercise uses.
        world = min(exercise.ranks, default=1)
        job = WorkerJob(
            module=exercise.module,
            names=(_PROBE,),
            forbidden=(),
            seed=order.seed,
            device="cpu",
            rank=0,
            world=world,
            tier=tier,
            seconds=order.seconds,
            nonce=secrets.token_hex(16),
            source=source.encode(),
            probes=self._probes,
            given=encode({"test": order.test}),
        )
        jobs = [replace(job, rank=rank) for rank in range(world)]
        (reports,) = run_worker_groups(self._pool, [jobs], order.seconds, canceled)
        return _outcome(reports, job.nonce, exercise.module, source, order.seconds)


def _outcome(reports: list[WorkerReport], nonce: str, module: str, source: str, seconds: float) -> ProgramRun:
    """The outcome of one program: held only if the test holds in every rank."""
    evidence = RunEvidence()
    failure = explain_failure(reports, module, source, seconds)
    if failure is not None:
        evidence.fail(failure)
    elif any(len(report.message) > _MOST_BYTES for report in reports):
        return ProgramRun(ProgramOutcome.ERROR, "it ended without a result")
    else:
        transcripts = [report.transcript for report in reports]
        evidence.add_transcripts(transcripts, (_PROBE,), nonce, module, reports[0].worker.scratch.base)
    if any(report.state == WorkerState.TIMED_OUT for report in reports):
        return ProgramRun(ProgramOutcome.TIMEOUT, f"it does not end within {seconds:g} s")
    if any(report.state == WorkerState.ENDED and report.signal is None for report in reports):
        return ProgramRun(ProgramOutcome.ERROR, "it ended the process")
    if evidence.failure is not None:
        return ProgramRun(ProgramOutcome.ERROR, _clean(evidence.failure.text))
    runs = [_rank_run(evidence, rank, len(reports)) for rank in range(len(reports))]
    # Where a rank fails, the others often wait for it in vain or get an error, so a failure explains more.
    order = (ProgramOutcome.FAILED, ProgramOutcome.ERROR, ProgramOutcome.HELD)
    return min(runs, key=lambda run: order.index(run.outcome))


def _rank_run(evidence: RunEvidence, rank: int, world: int) -> ProgramRun:
    prefix = f"{_PROBE}/world{world}/rank{rank}/" if world > 1 else f"{_PROBE}/"
    outcome, text = (evidence.values.get(f"{prefix}{name}") for name in ("outcome", "text"))
    known = (ProgramOutcome.HELD, ProgramOutcome.FAILED)
    return ProgramRun(
        ProgramOutcome(outcome) if outcome in known else ProgramOutcome.ERROR,
        _clean(text) if isinstance(text, str) else "it ended without a result",
    )


def _clean(text: str) -> str:
    return escape_unprintable(text[:_MOST_TEXT])
