"""Frames between client and judge: a 4-byte length and a JSON object, over a stream socket."""

import contextlib
import json
import os
import select
import signal
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("<I")
MAX_FRAME = 32 << 20


class WireError(ConnectionError):
    """The other side sent something that is no frame."""


def send(sock: socket.socket, message: dict[str, Any]) -> None:
    """Send one object; raises `OSError` where the other side has gone."""
    body = json.dumps(message).encode()
    sock.sendall(_LENGTH.pack(len(body)) + body)


def receive(sock: socket.socket) -> dict[str, Any] | None:
    """The next object, or None once the other side has closed."""
    head = _exactly(sock, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > MAX_FRAME:
        raise WireError(f"a frame of {length} bytes is over the limit")
    body = _exactly(sock, length)
    if body is None:
        return None
    try:
        message = json.loads(body)
    except ValueError:
        raise WireError("a frame holds no JSON") from None
    if not isinstance(message, dict):
        raise WireError("a frame holds no object")
    return message


def receive_from(sock: socket.socket, judge: int) -> dict[str, Any] | None:
    """The next object from the judge of the given process, which is woken where a submission stopped it.

    Only at T0, where the judge is a submission's parent, can it do that.
    """
    while judge and not select.select([sock], [], [], 1.0)[0]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(judge, signal.SIGCONT)
    return receive(sock)


def _exactly(sock: socket.socket, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        part = sock.recv(min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
