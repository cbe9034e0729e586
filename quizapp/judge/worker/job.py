"""What a worker is told: the submission, the probes, the inputs. Written by the judge, read by the worker."""

import json
import os
import struct
from dataclasses import asdict, dataclass

_LENGTHS = struct.Struct("<IQQQ")
HELLO = struct.Struct("<4sI")
HELLO_MAGIC = b"QZPD"


@dataclass(frozen=True)
class WorkerJob:
    """One worker's job: ``probes`` is marshalled code, ``given`` an encoded message; ``nonce`` comes back.

    ``forbidden`` holds pairs of names and what to say about them.
    """

    module: str
    names: tuple[str, ...]
    forbidden: tuple[tuple[tuple[str, ...], str], ...]
    seed: int
    device: str
    rank: int
    world: int
    base: str
    tier: str
    seconds: float
    nonce: str
    source: bytes
    probes: bytes
    given: bytes

    def pack(self) -> bytes:
        """The job as bytes."""
        plain = {k: v for k, v in asdict(self).items() if not isinstance(v, bytes)}
        head = json.dumps(plain).encode()
        sizes = _LENGTHS.pack(len(head), len(self.source), len(self.probes), len(self.given))
        return b"".join([sizes, head, self.source, self.probes, self.given])


def read_job(descriptor: int) -> WorkerJob | None:
    """The job that comes through a pipe, or None if the judge closed it without one."""
    parts = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    raw = b"".join(parts)
    if len(raw) < _LENGTHS.size:
        return None
    sizes = _LENGTHS.unpack_from(raw)
    pieces, start = [], _LENGTHS.size
    for size in sizes:
        pieces.append(raw[start : start + size])
        start += size
    plain = json.loads(pieces[0])
    plain["names"] = tuple(plain["names"])
    return WorkerJob(**plain, source=pieces[1], probes=pieces[2], given=pieces[3])
