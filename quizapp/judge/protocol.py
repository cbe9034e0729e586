"""How client and judge find each other and talk: JSON frames over a stream socket.

A frame is a 4-byte little-endian length and a JSON object. Both ends run the same version of this code,
because a client only talks to a judge that it started itself or whose `socket_key` matches.
"""

import base64
import contextlib
import hashlib
import json
import os
import platform
import select
import signal
import socket
import stat
import struct
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

import quizapp
from quizapp import paths
from quizapp.bank.model import Exercise
from quizapp.errors import INTERNAL, USAGE, QuizError
from quizapp.judge.sandbox.devices import check_name
from quizapp.judge.sandbox.tiers import TIERS
from quizapp.judge.submission import check_source, read_source
from quizapp.judge.verdict import ProgramOutcome, ProgramRun, Verdict, VerdictStatus
from quizapp.util.log import write_log

_LENGTH = struct.Struct("<I")
MAX_FRAME = 32 << 20


class JudgeFailed(QuizError):
    """The judge itself failed; details are in the log."""

    exit_code = INTERNAL


class WireError(ConnectionError):
    """The other side sent something that is not a frame of this protocol."""


class Operation(StrEnum):
    """What a client asks of a judge."""

    GRADE = "grade"
    RUN_TEST = "run test"
    CANCEL = "cancel"  # drop everything that this connection asked for
    PING = "ping"  # answered once the judge is warm


@dataclass(frozen=True)
class GradeOrder:
    """An order to grade ``source``, which the verdict calls ``file``, for the exercise in ``folder``.

    ``timeout`` is in seconds for one run (None: the exercise's own). ``seed`` reproduces a verdict. ``tier``
    forces a lower isolation. Without ``parallel``, the second seed runs after the first, which is better if
    many submissions are waiting. ``stages`` asks for the tests of that many leading stages only (at least
    one); None asks for all.
    """

    folder: Path
    source: bytes
    file: str
    device: str = "auto"
    timeout: float | None = None
    seed: int | None = None
    tier: str | None = None
    parallel: bool = (os.cpu_count() or 1) > 1
    stages: int | None = None

    @classmethod
    def create(
        cls,
        exercise: Exercise,
        source: Path | bytes,
        *,
        device: str = "auto",
        timeout: float | None = None,
        seed: int | None = None,
        tier: str | None = None,
        stages: int | None = None,
    ) -> Self:
        """Create the order for a file or its bytes. Raises `QuizError` if it cannot be graded."""
        check_options(device=device, timeout=timeout, seed=seed, tier=tier, stages=stages)
        if isinstance(source, bytes):
            code, file = check_source(source, exercise.module), exercise.module
        else:
            code, file = read_source(source), str(source)
        return cls(exercise.folder.absolute(), code, file, device, timeout, seed, tier, stages=stages)

    def one_by_one(self) -> Self:
        """A copy of this order that runs the second seed after the first."""
        return replace(self, parallel=False)

    def lost_verdict(self, exercise: Exercise) -> Verdict:
        """The verdict on code that killed the judge twice, which is possible only at isolation T0."""
        return Verdict(
            exercise=exercise.slug,
            file=self.file,
            device="cpu",
            status=VerdictStatus.ERROR,
            seed=self.seed or 0,
            tier=self.tier or "T0",
            error="The judge died twice while your code ran; code must not kill its parent.",
        )


def check_options(
    *,
    device: str = "auto",
    timeout: float | None = None,
    seed: int | None = None,
    tier: str | None = None,
    stages: int | None = None,
) -> None:
    """Raise `QuizError` if nothing can be graded with these options."""
    check_name(device)
    if timeout is not None and not 0 < timeout <= 3600:
        raise QuizError(f"A limit of {timeout:g} s makes no sense; give 0.1 to 3600.")
    if stages is not None and stages < 1:
        raise QuizError(f"{stages} stages make no sense; ask for at least one.")
    if tier is not None and tier not in TIERS:
        raise QuizError(f"{tier!r} is not an isolation tier; use {', '.join(TIERS)}.")
    if seed is not None and not -(2**63) <= seed < 2**63:
        raise QuizError(
            "A seed is an integer of at most 64 bits; to repeat a grade, copy it from the verdict."
        )


@dataclass(frozen=True)
class TestOrder:
    """An order to run a learner's ``test`` on each of ``programs``, sources of the exercise in ``folder``.

    Each program gets a new worker and ``seconds``. ``seed`` sets the random state before the test runs.
    """

    folder: Path
    test: str
    programs: tuple[str, ...]
    seed: int = 0
    seconds: float = 5.0
    tier: str | None = None
    __test__ = False  # otherwise pytest would collect this class


@dataclass(frozen=True)
class ClientRequest:
    """One frame from a client. The reply carries the same ``ticket``.

    ``latest`` cancels everything that the same connection asked for earlier.
    """

    operation: Operation
    ticket: int = 0
    order: GradeOrder | TestOrder | None = None
    latest: bool = False

    def as_message(self) -> dict[str, Any]:
        """The request as a JSON object."""
        message: dict[str, Any] = {"op": self.operation, "id": self.ticket, "latest": self.latest}
        if self.order is not None:
            message["order"] = vars(self.order) | {"folder": str(self.order.folder)}
        if isinstance(self.order, GradeOrder):
            message["order"]["source"] = base64.b64encode(self.order.source).decode()
        return message

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> Self:
        """The request in a frame. Raises `WireError` if it is malformed."""
        try:
            operation, order = Operation(message["op"]), None
            if "order" in message:
                order = _order(operation, message["order"])
            return cls(operation, int(message["id"]), order, bool(message["latest"]))
        except (KeyError, TypeError, ValueError) as error:
            raise WireError(f"a request is malformed: {error!r}") from None


def _order(operation: Operation, fields: Mapping[str, Any]) -> GradeOrder | TestOrder:
    values = {**fields, "folder": Path(fields["folder"])}
    if operation == Operation.RUN_TEST:
        return TestOrder(**values | {"programs": tuple(fields["programs"])})
    return GradeOrder(**values | {"source": base64.b64decode(fields["source"])})


class ReplyKind(StrEnum):
    """How a judge answers a request."""

    VERDICT = "verdict"
    RUNS = "runs"  # what became of a learner's test on each program
    REFUSED = "refused"  # the user can change something; ``text`` says what
    BROKEN = "broken"  # the judge has a fault; ``text`` is its traceback
    STALE = "stale"  # canceled, or a newer order came
    READY = "ready"  # the reply to a ping


@dataclass(frozen=True)
class GradeReply:
    """One frame from a judge."""

    kind: ReplyKind
    ticket: int
    verdict: Verdict | None = None
    text: str = ""
    exit_code: int = USAGE
    runs: tuple[ProgramRun, ...] = ()

    def verdict_or_raise(self) -> Verdict:
        """Return the verdict, or raise the `QuizError` that tells the user why there is none."""
        if self.verdict is None:
            raise self._error()
        return self.verdict

    def runs_or_raise(self) -> tuple[ProgramRun, ...]:
        """Return the runs of a learner's test, or raise the `QuizError` that says why there are none."""
        if self.kind != ReplyKind.RUNS:
            raise self._error()
        return self.runs

    def _error(self) -> QuizError:
        if self.kind == ReplyKind.REFUSED:
            error = QuizError(self.text)
            error.exit_code = self.exit_code
            return error
        return JudgeFailed(f"The judge failed; details are in {write_log(self.text)}.")

    def as_message(self) -> dict[str, Any]:
        """The reply as a JSON object."""
        verdict = None if self.verdict is None else self.verdict.as_json()
        return vars(self) | {"verdict": verdict, "runs": [[run.outcome, run.text] for run in self.runs]}

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> Self:
        """The reply in a frame. Raises `WireError` if it is malformed."""
        try:
            verdict = None if message["verdict"] is None else Verdict.from_json(message["verdict"])
            runs = tuple(ProgramRun(ProgramOutcome(outcome), text) for outcome, text in message["runs"])
            kind = ReplyKind(message["kind"])
            return cls(kind, message["ticket"], verdict, message["text"], message["exit_code"], runs)
        except (KeyError, TypeError, ValueError) as error:
            raise WireError(f"a reply is malformed: {error!r}") from None


def send(sock: socket.socket, message: ClientRequest | GradeReply) -> None:
    """Send one frame. Raises `OSError` if the other side has gone."""
    body = json.dumps(message.as_message()).encode()
    sock.sendall(_LENGTH.pack(len(body)) + body)


def receive_request(sock: socket.socket) -> ClientRequest | None:
    """The next request, or None once the client has closed. Raises `OSError` if the connection fails."""
    message = _receive(sock)
    return None if message is None else ClientRequest.from_message(message)


def receive_reply(sock: socket.socket, judge_pid: int) -> GradeReply | None:
    """The next reply, or None once the judge has closed. Raises `OSError` if the connection fails.

    ``judge_pid`` is the judge's process id if it is a child of this process, otherwise 0. At T0 a submission
    can stop the judge, its parent, with a signal. While this waits, it keeps telling the judge to continue.
    """
    while judge_pid and not select.select([sock], [], [], 1.0)[0]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(judge_pid, signal.SIGCONT)
    message = _receive(sock)
    return None if message is None else GradeReply.from_message(message)


def _receive(sock: socket.socket) -> dict[str, Any] | None:
    head = _read_exactly(sock, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > MAX_FRAME:
        raise WireError(f"a frame of {length} bytes is over the limit")
    body = _read_exactly(sock, length)
    if body is None:
        return None
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):  # not JSON, or nested too deeply to be a message
        raise WireError("a frame does not contain JSON") from None
    if not isinstance(message, dict):
        raise WireError("a frame does not contain a JSON object")
    return message


def _read_exactly(sock: socket.socket, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        part = sock.recv(min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def socket_key() -> str:
    """A key shared by programs that can use the same judge: same code, interpreter, data folder, devices."""
    code = max(path.stat().st_mtime_ns for path in Path(__file__).parent.rglob("*.py"))
    parts = (
        quizapp.__version__,
        platform.python_version(),
        sys.executable,
        str(paths.home()),
        os.environ.get("CUDA_VISIBLE_DEVICES", "-"),
        str(code),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def listen(key: str) -> socket.socket | None:
    """Listen for other programs of this user.

    Returns None if another judge already does, or if there is no private folder for the socket.
    """
    try:
        path = _private_folder() / f"{key}.sock"
        if (running := connect_running(key)) is not None:
            running.close()
            return None
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(8)
    except OSError:
        return None
    return listener


def stop_listening(listener: socket.socket) -> None:
    """Close the socket and remove its file."""
    with contextlib.suppress(OSError):
        Path(listener.getsockname()).unlink()
    listener.close()


def connect_running(key: str) -> socket.socket | None:
    """A connection to this user's warm judge, or None if none is running."""
    try:
        path = _private_folder() / f"{key}.sock"
        if not path.exists():
            return None
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(path))
    except OSError:
        return None
    if same_user(sock):
        return sock
    sock.close()
    return None


def same_user(sock: socket.socket) -> bool:
    """Whether the process at the other end runs as this user.

    True on systems that cannot tell. There, the permissions of the socket's folder protect it.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    _, user, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return bool(user == os.getuid())


def _private_folder() -> Path:
    """The folder for sockets. Raises `OSError` if anyone else could have access to it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    base = Path(runtime) if runtime and Path(runtime).is_dir() else Path(tempfile.gettempdir())
    folder = base / f"quizapp-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PermissionError(f"{folder} is not private")
    return folder
