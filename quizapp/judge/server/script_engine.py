"""Runs a learner's script in workers, hands its log on, and has the examiner measure its checkpoint."""

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import torch

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
from quizapp.judge.worker.transcript import encode

_ATTEMPTS = 3  # at an examination whose examiner died: another grade's evidence may have been the reason
_PIECE = 1 << 20  # bytes that one tensor of a transcript carries
_MODULES = ("argparse", "torch.distributed")  # most scripts import them, and the zygote does it once
_ENDED_EARLY = "The script ended its process in the middle, so its checkpoint was not read."
_UNMEASURED = "Measuring the checkpoint took more time or memory than the judge allows."
_OUTCOMES = {VerdictStatus.TIMEOUT: ScriptOutcome.TIMEOUT, VerdictStatus.MEMORY: ScriptOutcome.KILLED}


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
        log = ScriptLog(on_log)
        begun = time.monotonic()
        reply = self._carry_out(replace(order, tier=tier), source, canceled, log)
        log.finish()
        return ScriptRun(
            outcome=reply.outcome,
            text=reply.text,
            log=log.text(),
            seconds=time.monotonic() - begun,
            seed=order.seed,
            steps=reply.steps,
            checkpoint_hash=reply.checkpoint_hash,
            metrics=reply.metrics,
            changed=reply.changed,
        )

    def _carry_out(
        self, order: ScriptOrder, source: bytes, canceled: threading.Event, log: ScriptLog
    ) -> ScriptReply:
        """Run the script: once, or half of it and then the rest in another process."""
        checkpoint = b""
        if order.resume and order.steps is not None and order.steps > 1:
            half = replace(order, steps=order.steps // 2, measured=False)
            reply = self._attempt(half, source, b"", canceled, log)
            if reply.outcome != ScriptOutcome.ENDED:
                return reply
            checkpoint = reply.file
        return self._attempt(order, source, checkpoint, canceled, log)

    def _attempt(
        self,
        order: ScriptOrder,
        source: bytes,
        checkpoint: bytes,
        canceled: threading.Event,
        log: ScriptLog,
    ) -> ScriptReply:
        if canceled.is_set():
            return ScriptReply(ScriptOutcome.CANCELED)
        try:
            return self._run_once(order, source, checkpoint, canceled, log)
        except ZygoteLost:
            text = "The process that starts workers died while the script ran; run it again."
            return ScriptReply(ScriptOutcome.KILLED, text)

    def _run_once(
        self,
        order: ScriptOrder,
        source: bytes,
        checkpoint: bytes,
        canceled: threading.Event,
        log: ScriptLog,
    ) -> ScriptReply:
        assert order.tier is not None
        given = {
            "source": _pieces(source),
            "arguments": _arguments(order, resumed=bool(checkpoint)),
            "checkpoint": _pieces(checkpoint),
            "keep": order.resume and not order.measured and not checkpoint,
        }
        job = WorkerJob(
            module=SCRIPT,
            names=(PROBE,),
            forbidden=(),
            seed=order.seed,
            device="cpu",
            rank=0,
            world=order.ranks,
            tier=order.tier,
            seconds=order.seconds,
            nonce=secrets.token_hex(16),
            source=b"",
            probes=self._probes,
            given=encode(given),
        )
        jobs = [replace(job, rank=rank) for rank in range(order.ranks)]
        (reports,) = run_worker_groups(self._pool, [jobs], order.seconds, canceled, log)
        failure = _failure(reports, source.decode("utf-8-sig"), order.seconds)
        if failure is not None:
            return failure
        transcripts = [report.transcript for report in reports]
        return self._examine(order, transcripts, job.nonce, str(reports[0].worker.scratch.base))

    def _examine(self, order: ScriptOrder, transcripts: list[bytes], nonce: str, scratch: str) -> ScriptReply:
        request = ScriptRequest(
            folder=str(order.folder),
            seed=order.seed,
            options=dict(order.options),
            measured=order.measured,
            transcripts=transcripts,
            nonce=nonce,
            scratch=scratch,
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
    if not 0 <= order.seed < 2**63:
        raise QuizError(f"{order.seed} is not a seed; give a whole number from 0.")


def _arguments(order: ScriptOrder, *, resumed: bool) -> list[str]:
    steps = [] if order.steps is None else ["--steps", str(order.steps)]
    return ["--seed", str(order.seed), *steps, *(["--resume"] if resumed else [])]


def _pieces(data: bytes) -> list[torch.Tensor]:
    """Bytes as tensors, since a transcript limits the length of a text."""
    starts = range(0, len(data), _PIECE)
    return [torch.frombuffer(bytearray(data[i : i + _PIECE]), dtype=torch.uint8) for i in starts]


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
