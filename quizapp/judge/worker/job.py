"""The formats shared by judge and worker: the job that a worker receives and the answer that it sends."""

import json
import os
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self

_LENGTHS = struct.Struct("<IQQQ")
# A worker first writes a magic number and its process id as the judge sees it.
HELLO = struct.Struct("<4sI")
HELLO_MAGIC = b"QZPD"


@dataclass(frozen=True)
class WorkerJob:
    """One worker's job.

    ``probes`` is marshaled code. ``given`` is an encoded transcript with the inputs. ``forbidden`` holds
    names, a sentence about them and whether they are absent. The answer carries ``nonce``. ``base`` is the
    scratch folder, which is known once the worker starts.
    """

    module: str
    names: tuple[str, ...]
    forbidden: tuple[tuple[tuple[str, ...], str, bool], ...]
    seed: int
    device: str
    rank: int
    world: int
    tier: str
    seconds: float
    nonce: str
    source: bytes
    probes: bytes
    given: bytes
    base: str = ""

    def pack(self) -> bytes:
        """Serialize the job: four lengths, a JSON header, and the three byte strings."""
        plain = {k: v for k, v in asdict(self).items() if not isinstance(v, bytes)}
        head = json.dumps(plain).encode()
        sizes = _LENGTHS.pack(len(head), len(self.source), len(self.probes), len(self.given))
        return b"".join([sizes, head, self.source, self.probes, self.given])


def read_job(descriptor: int) -> WorkerJob | None:
    """Read the job from a pipe. Returns None if the judge closed the pipe without sending one."""
    parts = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    raw = b"".join(parts)
    if len(raw) < _LENGTHS.size:
        return None
    pieces, start = [], _LENGTHS.size
    for size in _LENGTHS.unpack_from(raw):
        pieces.append(raw[start : start + size])
        start += size
    plain = json.loads(pieces[0])
    plain["names"] = tuple(plain["names"])
    return WorkerJob(**plain, source=pieces[1], probes=pieces[2], given=pieces[3])


class WorkerProblem(StrEnum):
    """Why a worker has no evidence to send. The judge puts it into words, so that no submission can."""

    TOO_MUCH = "too much"  # the submission returned more than a transcript may hold
    NO_SCRATCH = "no scratch"  # the scratch folder cannot be written, which is not the submission's fault
    BROKEN = "broken"  # the submission changed what recording needs


@dataclass(frozen=True)
class WorkerAnswer:
    """What a worker sends back in its transcript. The submission may have forged all of it.

    ``values`` and ``errors`` are by path. ``import_error`` describes the exception that importing the
    submission raised. ``problem`` replaces missing evidence.
    """

    nonce: str
    values: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, Any] = field(default_factory=dict)
    import_error: Mapping[str, Any] | None = None
    problem: WorkerProblem | None = None

    def as_message(self) -> dict[str, Any]:
        """The answer as plain data for a transcript."""
        if self.problem is not None:
            return {"problem": self.problem.value, "nonce": self.nonce}  # a transcript holds plain strings
        return {
            "values": self.values,
            "errors": self.errors,
            "import": self.import_error,
            "nonce": self.nonce,
        }

    @classmethod
    def from_message(cls, message: Any) -> Self:
        """The answer in a decoded transcript.

        Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` if the message is malformed.
        """
        if "problem" in message:
            return cls(message["nonce"], problem=WorkerProblem(message["problem"]))
        return cls(message["nonce"], dict(message["values"]), dict(message["errors"]), message["import"])
