"""Runs a learner's script in workers, hands its log on, and has the examiner measure its checkpoint."""

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from quizapp.errors import QuizError
from quizapp.judge.protocol.scripts import ScriptOrder, ScriptOutcome, ScriptRun
from quizapp.judge.sandbox.tiers import TierReport, best
from quizapp.judge.server.examiner_link import ExaminerLink, ExaminerLost, ExaminerOverrun
from quizapp.judge.server.feedback import explain_failure
from quizapp.judge.server.script_evidence import PROBE, SCRIPT, ScriptReply, ScriptRequest
from quizapp.judge.server.workers.collector import WorkerReport, WorkerState
from quizapp.judge.server.workers.script_log import ScriptLog
from quizapp.judge.server.workers.worker_groups import marshal_probes, run_worker_groups
from quizapp.judge.server.workers.worker_pool import WorkerPool
from quizapp.judge.server.workers.zygote_link import ZygoteLost
from quizapp.judge.submission import check_source
from quizapp.judge.verdict import VerdictStatus
from quizapp.judge.worker import script_probe
from quizapp.judge.worker.job import WorkerJob
from quizapp.judge.worker.script_probe import split_bytes
from quizapp.judge.worker.transcript import encode

_ATTEMPTS = 3  # at an examination whose examiner died: another grade's evidence may have been the reason
_MODULES = ("argparse", "torch.distributed")  # most scripts import them, and the zygote does it once
_ENDED_EARLY = "The script ended its process in the middle, so its checkpoint was not read."
_ZYGOTE_LOST = "The process that starts workers died while the script ran; run it again."
_UNMEASURED = "Measuring the checkpoint took more time or memory than the judge allows."
_OUTCOMES = {VerdictStatus.TIMEOUT: ScriptOutcome.TIMEOUT, VerdictStatus.MEMORY: ScriptOutcome.KILLED}


@dataclass(frozen=True)
class _ScriptTask:
    """An order on its way: the script as bytes, the tier that it runs at, and where its log goes."""

    order: ScriptOrder
    source: bytes
    tier: str
    canceled: threading.Event
    log: ScriptLog


class ScriptEngine:
    """Runs scripts. Safe for several threads."""

    def __init__(self, pool: WorkerPool, tiers: list[TierReport], examiner: ExaminerLink):
        self._pool = pool
        self._tiers = tiers
        self._examiner = examiner
        self._probes = marshal_probes(script_probe)

    def run(self, order: ScriptOrder, canceled: threading.Event, on_log: Callable[[str], None]) -> ScriptRun:
        """Run a script to its end. ``on_log`` gets what it prints, in whole lines, while it runs.

        Raises `QuizError` if the order or the baseline's ``measure.py`` is faulty.
        """
        source = check_source(order.source.encode(errors="surrogatepass"), "the script")
        _check(order)
        tier = best(self._tiers, order.tier).name
        self._pool.preload(tier, _MODULES)
        task = _ScriptTask(order, source, tier, canceled, ScriptLog(on_log))
        begun = time.monotonic()
        reply = self._run_to_the_end(task)
        task.log.finish()
        return ScriptRun(
            outcome=reply.outcome,
            text=reply.text,
            log=task.log.text(),
            seconds=time.monotonic() - begun,
            seed=order.seed,
            steps=reply.steps,
            checkpoint_hash=reply.checkpoint_hash,
            metrics=reply.metrics,
            changed=reply.changed,
        )

    def _run_to_the_end(self, task: _ScriptTask) -> ScriptReply:
        """Run the script: once, or half of it and then the rest in another process."""
        steps = task.order.steps
        if not task.order.resume or steps is None or steps == 1:
            return self._run_part(task)
        half = replace(task, order=replace(task.order, steps=steps // 2, measured=False))
        reply = self._run_part(half, keep=True)
        if reply.outcome != ScriptOutcome.ENDED:
            return reply
        return self._run_part(task, checkpoint=reply.file)

    def _run_part(self, task: _ScriptTask, *, checkpoint: bytes = b"", keep: bool = False) -> ScriptReply:
        """Run the script in new processes, from ``checkpoint`` if there is one.

        With ``keep``, the reply holds the file that it leaves.
        """
        if task.canceled.is_set():
            return ScriptReply(ScriptOutcome.CANCELED)
        order = task.order
        given = {
            "source": split_bytes(task.source),
            "arguments": _arguments(order, resumed=bool(checkpoint)),
            "checkpoint": split_bytes(checkpoint),
            "keep": keep,
        }
        job = WorkerJob(
            module=SCRIPT,
            names=(PROBE,),
            forbidden=(),
            seed=order.seed,
            device="cpu",
            rank=0,
            world=order.ranks,
            tier=task.tier,
            seconds=order.seconds,
            nonce=secrets.token_hex(16),
            source=b"",
            probes=self._probes,
            given=encode(given),
        )
        jobs = [replace(job, rank=rank) for rank in range(order.ranks)]
        try:
            (reports,) = run_worker_groups(self._pool, [jobs], order.seconds, task.canceled, task.log)
        except ZygoteLost:
            return ScriptReply(ScriptOutcome.KILLED, _ZYGOTE_LOST)
        failure = _failure(reports, task.source.decode("utf-8-sig"), order.seconds)
        return failure or self._examine(order, reports, job.nonce)

    def _examine(self, order: ScriptOrder, reports: list[WorkerReport], nonce: str) -> ScriptReply:
        request = ScriptRequest(
            folder=str(order.folder),
            seed=order.seed,
            options=dict(order.options),
            measured=order.measured,
            transcripts=[report.transcript for report in reports],
            nonce=nonce,
            scratch=str(reports[0].worker.scratch.base),
        )
        for _ in range(_ATTEMPTS):
            try:
                return self._examiner.ask(request, ScriptReply)
            except ExaminerOverrun:
                break
            except ExaminerLost:
                continue
        return ScriptReply(ScriptOutcome.NO_CHECKPOINT, _UNMEASURED)


def _check(order: ScriptOrder) -> None:
    if not 1 <= order.ranks <= 8:
        raise QuizError(f"A script cannot run in {order.ranks} ranks; correct baseline.yaml.")
    if not 0 < order.seconds <= 3600:
        raise QuizError(f"A limit of {order.seconds:g} s makes no sense; correct baseline.yaml.")
    if order.steps is not None and order.steps < 1:
        raise QuizError(f"A run of {order.steps} steps makes no sense; ask for at least one.")
    if order.resume and order.steps is None:
        raise QuizError("A run that is stopped halfway needs its number of steps; give 'steps'.")
    if not 0 <= order.seed < 2**63:
        raise QuizError(f"{order.seed} is not a seed; give a whole number from 0.")


def _arguments(order: ScriptOrder, *, resumed: bool) -> list[str]:
    steps = [] if order.steps is None else ["--steps", str(order.steps)]
    return ["--seed", str(order.seed), *steps, *(["--resume"] if resumed else [])]


def _failure(reports: list[WorkerReport], source: str, seconds: float) -> ScriptReply | None:
    """Why the workers did not all send a transcript; None if they did."""
    failure = explain_failure(reports, SCRIPT, source, seconds)
    if failure is None:
        return None
    states = {report.state for report in reports}
    if WorkerState.STOPPED in states and not states - {WorkerState.STOPPED, WorkerState.COMPLETE}:
        return ScriptReply(ScriptOutcome.CANCELED)
    ended = [report for report in reports if report.state == WorkerState.ENDED]
    if ended and failure.status == VerdictStatus.ERROR and ended[0].signal is None:
        return ScriptReply(ScriptOutcome.FAILED, _ENDED_EARLY)
    outcome = _OUTCOMES.get(failure.status, ScriptOutcome.KILLED)
    return ScriptReply(outcome, failure.text.replace(" before the tests were done", ""))
