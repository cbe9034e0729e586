"""What client and judge send each other: JSON frames over a stream socket.

A frame is a 4-byte little-endian length and a JSON object. Both ends run the same version of this code,
because a client only talks to a judge that it started itself or whose `socket_key` matches.
"""

import base64
import contextlib
import json
import os
import select
import signal
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from quizapp.errors import INTERNAL, USAGE, QuizError
from quizapp.judge.protocol.orders import GradeOrder, TestOrder
from quizapp.judge.protocol.scripts import ScriptOrder, ScriptRun
from quizapp.judge.verdict import ProgramOutcome, ProgramRun, Verdict
from quizapp.util.log import write_log

JudgeOrder = GradeOrder | TestOrder | ScriptOrder
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
    RUN_SCRIPT = "run script"
    CANCEL = "cancel"  # drop everything that this connection asked for
    PING = "ping"  # answered once the judge is warm


@dataclass(frozen=True)
class ClientRequest:
    """One frame from a client. The reply carries the same ``ticket``.

    ``latest`` cancels everything that the same connection asked for earlier.
    """

    operation: Operation
    ticket: int = 0
    order: JudgeOrder | None = None
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


def _order(operation: Operation, fields: Mapping[str, Any]) -> JudgeOrder:
    values = {**fields, "folder": Path(fields["folder"])}
    if operation == Operation.RUN_SCRIPT:
        return ScriptOrder(**values)
    if operation == Operation.RUN_TEST:
        return TestOrder(**values | {"programs": tuple(fields["programs"])})
    return GradeOrder(**values | {"source": base64.b64decode(fields["source"])})


class ReplyKind(StrEnum):
    """How a judge answers a request."""

    VERDICT = "verdict"
    RUNS = "runs"  # what became of a learner's test on each program
    LOG = "log"  # ``text`` is what a script has printed since the last one; the result follows
    SCRIPT = "script"
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
    script: ScriptRun | None = None

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

    def script_or_raise(self) -> ScriptRun:
        """Return what became of a script, or raise the `QuizError` that says why it could not run."""
        if self.script is None:
            raise self._error()
        return self.script

    def _error(self) -> QuizError:
        if self.kind == ReplyKind.REFUSED:
            error = QuizError(self.text)
            error.exit_code = self.exit_code
            return error
        return JudgeFailed(f"The judge failed; details are in {write_log(self.text)}.")

    def as_message(self) -> dict[str, Any]:
        """The reply as a JSON object."""
        verdict = None if self.verdict is None else self.verdict.as_json()
        script = None if self.script is None else self.script.as_message()
        runs = [[run.outcome, run.text] for run in self.runs]
        return vars(self) | {"verdict": verdict, "runs": runs, "script": script}

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> Self:
        """The reply in a frame. Raises `WireError` if it is malformed."""
        try:
            verdict = None if message["verdict"] is None else Verdict.from_json(message["verdict"])
            runs = tuple(ProgramRun(ProgramOutcome(outcome), text) for outcome, text in message["runs"])
            script = None if message["script"] is None else ScriptRun.from_message(message["script"])
            kind = ReplyKind(message["kind"])
            text, exit_code = message["text"], message["exit_code"]
            return cls(kind, message["ticket"], verdict, text, exit_code, runs, script)
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


def receive_reply(
    sock: socket.socket, judge_pid: int, on_wait: Callable[[], None] | None = None
) -> GradeReply | None:
    """The next reply, or None once the judge has closed. Raises `OSError` if the connection fails.

    ``judge_pid`` is the judge's process id if it is a child of this process, otherwise 0. At T0 a submission
    can stop the judge, its parent, with a signal. While this waits, it keeps telling the judge to continue,
    and calls ``on_wait`` many times a second.
    """
    pause = 1.0 if on_wait is None else 0.05
    while (judge_pid or on_wait is not None) and not select.select([sock], [], [], pause)[0]:
        if judge_pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(judge_pid, signal.SIGCONT)
        if on_wait is not None:
            on_wait()
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
