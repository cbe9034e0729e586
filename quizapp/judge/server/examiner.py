"""The examiner: the trusted process that looks at a submission's source and at its evidence.

Both come from the submission, so parsing them may take any time and memory, also inside a call into C that
nothing can interrupt. This process therefore holds the exercises, limits itself before every request, and
may be killed at any moment: `ExaminerLink` in the judge replaces it. It never runs the submission.
"""

import os
import resource
import signal
import socket
import struct
import sys
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from quizapp.errors import QuizError
from quizapp.judge.sandbox.limits import data_bytes
from quizapp.judge.sandbox.syscalls import hide_memory
from quizapp.judge.server.evidence import SeededRun
from quizapp.judge.server.exercise_files import ExerciseCache, LoadedExercise, place_of, told
from quizapp.judge.server.feedback import RunFailure, problem_failure
from quizapp.judge.server.name_rules import check_names
from quizapp.judge.server.script_evidence import ScriptReply, ScriptRequest, examine
from quizapp.judge.server.test_runner import CPU_SECONDS, behaviour_of, run_tests
from quizapp.judge.server.worker_view import depends_on_rank, strip_expected_answers
from quizapp.judge.testing.checks import Observe
from quizapp.judge.testing.draw import Draw
from quizapp.judge.verdict import StageResult, TestResult, VerdictStatus
from quizapp.judge.worker.job import WorkerProblem
from quizapp.judge.worker.preload import warm
from quizapp.judge.worker.transcript import TranscriptError, encode
from quizapp.util.sanitize import escape_unprintable

LENGTH = struct.Struct("<Q")
MEMORY = 256 << 20  # bytes that one request may add
SECONDS = int(CPU_SECONDS) + 5  # of processor time per request; the tests stop by themselves before that
_MAX_SESSIONS = 64
_WORN = 128 << 20  # bytes that stayed behind; an examiner that has grown so much is replaced


class PrepareRequest(msgspec.Struct, tag=True):
    """Open a session for one grade: load the exercise in ``folder`` and generate inputs for each seed.

    ``stages`` asks for that many leading stages; None asks for all.
    """

    session: str
    folder: str
    source: bytes
    device: str
    seeds: list[int]
    stages: int | None = None


class RunTranscripts(msgspec.Struct):
    """What one group of workers of a run sent: one transcript, or those of all ranks.

    ``probes`` names those that the group ran. ``scratch`` is the folder in which they worked.
    """

    run: int
    nonce: str
    transcripts: list[bytes]
    probes: tuple[str, ...]
    scratch: str


class EvidenceRequest(msgspec.Struct, tag=True):
    """Add transcripts to the evidence of their runs."""

    session: str
    groups: list[RunTranscripts]


class CarryRequest(msgspec.Struct, tag=True):
    """Encode the inputs of a run together with what its first process hands to the second one."""

    session: str
    run: int


class TestRequest(msgspec.Struct, tag=True):
    """Run the hidden tests on the evidence of runs, up to the first that fails, and check the source."""

    session: str
    runs: list[int]
    __test__ = False  # otherwise pytest would collect this class


class CloseRequest(msgspec.Struct, tag=True):
    """Close a session."""

    session: str


Request = PrepareRequest | EvidenceRequest | CarryRequest | TestRequest | CloseRequest | ScriptRequest


class PreparedGrade(msgspec.Struct, tag=True):
    """What the judge needs to know of an exercise, and the inputs of each run.

    ``inputs`` holds, per run, one encoded message for all ranks or one for each. ``forbidden`` holds names,
    a sentence about them and whether they are absent, ``names`` the probes of a run. ``probe_code`` is
    marshaled.
    """

    slug: str
    module: str
    timeout: float
    ranks: tuple[int, ...]
    names: tuple[str, ...]
    distributed_names: tuple[str, ...]
    new_process_names: tuple[str, ...]
    reference_names: tuple[str, ...]
    probe_code: bytes
    preload: list[str]
    forbidden: tuple[tuple[tuple[str, ...], str, bool], ...]
    stages: tuple[str, ...]
    inputs: list[list[bytes]]


class EvidenceReply(msgspec.Struct, tag=True):
    """Why the evidence of each run cannot be used, if so."""

    failures: list[RunFailure | None]


class CarriedReply(msgspec.Struct, tag=True):
    """The encoded inputs of a run's second process, unless there is a failure."""

    inputs: bytes = b""
    failure: RunFailure | None = None


class RunResult(msgspec.Struct):
    """What the tests say about one run: the verdict's status and error text if this run decides it.

    ``values`` is how many values the run recorded. ``failure`` says why there is no evidence, if so.
    """

    status: VerdictStatus
    error: str = ""
    tests: tuple[TestResult, ...] = ()
    stages: tuple[StageResult, ...] = ()
    values: int = 0
    failure: RunFailure | None = None

    @property
    def passed(self) -> bool:
        """Whether every hidden test passes on this run's evidence."""
        return self.status == VerdictStatus.PASSED


class TestReply(msgspec.Struct, tag=True):
    """The results of the runs that were tested."""

    results: list[RunResult]
    __test__ = False


class RefusedReply(msgspec.Struct, tag=True):
    """The exercise is broken; ``text`` says where."""

    text: str


class UnknownSession(msgspec.Struct, tag=True):
    """This examiner has replaced the one that held the session."""


class ClosedReply(msgspec.Struct, tag=True):
    """A session is closed. An examiner that is ``worn`` has kept much memory and should be replaced."""

    worn: bool


Reply = (
    PreparedGrade
    | EvidenceReply
    | CarriedReply
    | TestReply
    | RefusedReply
    | UnknownSession
    | ClosedReply
    | ScriptReply
)


@dataclass
class _Session:
    loaded: LoadedExercise
    source: bytes
    device: str
    stages: int | None
    runs: list[SeededRun]
    names: list[TestResult] | None = None

    @property
    def behaviours(self) -> set[int]:
        """The behaviors of the stages that were asked for; 0, the check of the allowed means, is included."""
        stages = self.loaded.exercise.stages[: self.stages]
        return {0}.union(*(stage.behaviours for stage in stages))


class Examiner:
    """Answers the requests of one judge, one after the other."""

    def __init__(self) -> None:
        self._exercises = ExerciseCache()
        # Bounded, in case a judge forgets to close sessions.
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._begin = data_bytes()

    def answer(self, request: Request) -> Reply:
        """Carry out one request."""
        if isinstance(request, PrepareRequest | ScriptRequest):
            try:
                return self._prepare(request) if isinstance(request, PrepareRequest) else examine(request)
            except QuizError as error:
                return RefusedReply(str(error))
        if isinstance(request, CloseRequest):
            self._sessions.pop(request.session, None)
            return ClosedReply(worn=data_bytes() - self._begin > _WORN)
        session = self._sessions.get(request.session)
        if session is None:
            return UnknownSession()
        if isinstance(request, EvidenceRequest):
            return EvidenceReply([_add_evidence(session, group) for group in request.groups])
        if isinstance(request, CarryRequest):
            return _carry(session.runs[request.run])
        results = []
        for number in request.runs:
            results.append(_test(session, session.runs[number]))
            if not results[-1].passed:
                break
        return TestReply(results)

    def _prepare(self, request: PrepareRequest) -> PreparedGrade:
        loaded = self._exercises.load(Path(request.folder))
        exercise = loaded.exercise
        try:
            runs = [SeededRun(seed, loaded.probes.inputs(Draw(seed))) for seed in request.seeds]
            size = max((1, *exercise.ranks))
            inputs = [_encoded_inputs(run.given, size) for run in runs]
        except BaseException as error:
            place = place_of(error, exercise.folder / "probes.py")
            raise QuizError(f"{place}: its inputs cannot be generated: {told(error)}; correct it.") from error
        session = _Session(loaded, request.source, request.device, request.stages, runs)
        self._sessions[request.session] = session
        if len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return PreparedGrade(
            slug=exercise.slug,
            module=exercise.module,
            timeout=exercise.timeout,
            ranks=exercise.ranks,
            names=loaded.probe_names,
            distributed_names=loaded.distributed_names,
            new_process_names=loaded.new_process_names,
            reference_names=loaded.reference_names,
            probe_code=loaded.probe_code,
            preload=loaded.preload,
            forbidden=tuple((rule.names, rule.says, rule.absent) for rule in exercise.forbidden),
            stages=tuple(stage.name for stage in exercise.stages[: request.stages]),
            inputs=inputs,
        )


def _encoded_inputs(given: object, size: int) -> list[bytes]:
    """The inputs as the workers get them: one message for all, or one for each of ``size`` ranks."""
    ranks = range(size) if depends_on_rank(given) else (0,)
    return [encode(strip_expected_answers(given, rank)) for rank in ranks]


def _add_evidence(session: _Session, group: RunTranscripts) -> RunFailure | None:
    evidence = session.runs[group.run].evidence
    module = session.loaded.exercise.module
    try:
        evidence.add_transcripts(group.transcripts, group.probes, group.nonce, module, Path(group.scratch))
    except MemoryError:
        evidence.fail(problem_failure(WorkerProblem.TOO_MUCH, Path()))
    return evidence.failure


def _carry(run: SeededRun) -> CarriedReply:
    try:
        return CarriedReply(encode(strip_expected_answers(run.given) | {"carried": run.evidence.carried}))
    except TranscriptError:
        run.evidence.fail(problem_failure(WorkerProblem.TOO_MUCH, Path()))
        return CarriedReply(failure=run.evidence.failure)


def _test(session: _Session, run: SeededRun) -> RunResult:
    exercise = session.loaded.exercise
    evidence = run.evidence
    if evidence.failure is None:
        asked = session.behaviours
        tests = [test for test in session.loaded.tests if behaviour_of(test) in asked]
        observe = Observe(run.given, evidence.values, evidence.errors, exercise.module, session.device)
        run.tests = run_tests(tests, observe)
        if session.names is None:
            rules = [rule for rule in exercise.forbidden if rule.behaviour in asked]
            session.names = check_names(rules, session.source)
        run.tests += session.names
    status, error = run.outcome(exercise.module)
    failed = {exercise.stage_of(test.behaviour) for test in run.tests if not test.passed}
    stages = exercise.stages[: session.stages]
    return RunResult(
        status=status,
        error=escape_unprintable(error),
        tests=tuple(
            replace(test, message=escape_unprintable(test.message), stage=exercise.stage_of(test.behaviour))
            for test in run.tests
        ),
        stages=tuple(
            StageResult(stage.name, evidence.failure is None and stage.name not in failed) for stage in stages
        ),
        values=len(evidence.values),
        failure=evidence.failure,
    )


def _limit_request() -> None:
    """Limit memory and processor time of the next request. The kernel enforces both, also inside C."""
    _set_limit(resource.RLIMIT_DATA, data_bytes() + MEMORY)
    _set_limit(resource.RLIMIT_CPU, int(time.process_time()) + SECONDS + 1)


def _set_limit(kind: int, value: int) -> None:
    """Set the soft limit, which can be raised again for the next request."""
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def receive(sock: socket.socket) -> bytes | None:
    """Receive one frame; None if the other side has closed the socket."""
    head = _receive_exactly(sock, LENGTH.size)
    if head is None:
        return None
    return _receive_exactly(sock, LENGTH.unpack(head)[0])


def _receive_exactly(sock: socket.socket, size: int) -> bytes | None:
    body = bytearray()
    while len(body) < size:
        part = sock.recv(min(size - len(body), 1 << 20))
        if not part:
            return None
        body += part
    return bytes(body)


def serve(sock: socket.socket) -> None:
    """Answer requests until the judge closes the socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    examiner = Examiner()
    decode = msgspec.msgpack.Decoder(Request).decode
    encoder = msgspec.msgpack.Encoder()
    while True:
        _limit_request()
        frame = receive(sock)
        if frame is None:
            return
        reply = encoder.encode(examiner.answer(decode(frame)))
        sock.sendall(LENGTH.pack(len(reply)) + reply)


def fork_examiner() -> tuple[socket.socket, int]:
    """Fork an examiner from this process, which must be warm and have a single thread.

    Returns the judge's end of the socket and the process id.
    """
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            sock = socket.socket(fileno=os.dup2(theirs.fileno(), 3, inheritable=False))
            os.closerange(4, 4096)
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1):
                os.dup2(null, stream)
            os.close(null)
            if sys.platform == "linux":
                hide_memory()
            serve(sock)
        finally:
            sys.stderr.flush()
            os._exit(1)
    theirs.close()
    return ours, pid


def main(descriptor: str) -> int:
    """Run an examiner in an interpreter of its own, which replaces one that has died."""
    warm()
    if sys.platform == "linux":
        hide_memory()
    serve(socket.socket(fileno=int(descriptor)))
    return 0
