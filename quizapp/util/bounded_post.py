"""One POST over HTTP with bounds: on the time, on the size of the reply, and on where it may go.

It follows no redirect, uses no proxy of the environment, and never keeps a connection.
"""

import socket
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from ipaddress import ip_address
from threading import Lock, Timer
from time import monotonic
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_STEP_S = 0.001  # the least time that a socket is given; 0 would mean that it never waits


class NoReply(Exception):
    """There was no usable reply; the text says why, as the end of a sentence."""


class Line:
    """What one conversation may use: a few POSTs, one after the other, under one deadline.

    As a context it ends ``seconds`` after it was entered, even while a server still sends. `hang_up` ends it
    from another thread.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = 0.0
        self._lock = Lock()
        self._socket: socket.socket | None = None
        self._ended = ""
        self._late = f"took longer than {seconds:g} s"
        self._timer = Timer(seconds, self.hang_up, [self._late])
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._until = monotonic() + self._seconds
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()

    def hang_up(self, reason: str = "was no longer wanted") -> None:
        """End the conversation; a POST that is under way raises `NoReply`."""
        with self._lock:
            self._ended = self._ended or reason
            if self._socket is not None:
                with suppress(OSError):  # not connected yet, or no longer
                    # Not the method of a TLS socket, which would take its state from the thread that reads.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def post(self, url: str, body: bytes, headers: dict[str, str], *, most: int, local: bool) -> bytes:
        """The body of the reply, of at most ``most`` bytes. Raises `NoReply`.

        With ``local`` only a loopback address is connected to, whatever the host's name resolves to.
        """
        parts = urlsplit(url)
        host, secure = parts.hostname or "", parts.scheme == "https"
        try:
            connection = HTTPConnection(host, parts.port or (443 if secure else 80))
            try:
                connection.sock = self._connect(host, connection.port, secure=secure, local=local)
                connection.request("POST", parts.path or "/", body, headers)
                with connection.getresponse() as reply:
                    if reply.status != 200:
                        raise NoReply(f"replied with status {reply.status}")
                    data = reply.read(most + 1)
            finally:
                self._use(None)
                connection.close()
        except (OSError, HTTPException, ValueError) as error:
            # The socket's own time-out may come a moment before the timer.
            late = self._late if isinstance(error, TimeoutError) else ""
            raise NoReply(self._ended or late or _why(error)) from error
        if self._ended:
            raise NoReply(self._ended)
        if len(data) > most:
            raise NoReply(f"sent more than {most // 1024} KiB")
        return data

    def _connect(self, host: str, port: int, *, secure: bool, local: bool) -> socket.socket:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        if local:
            found = [row for row in found if ip_address(str(row[4][0])).is_loopback]
        failure: OSError = ConnectionRefusedError(f"{host} has no address that may be used")
        for family, kind, protocol, _, address in found:
            sock = socket.socket(family, kind, protocol)
            try:
                sock.settimeout(max(_STEP_S, self._until - monotonic()))
                self._use(sock)
                sock.connect(address)
                if secure:
                    sock = self._secured(sock, host)
            except OSError as error:
                failure = error
                self._use(None)
                sock.close()
            else:
                return sock
        raise failure

    def _secured(self, sock: socket.socket, host: str) -> socket.socket:
        from ssl import create_default_context

        secured = create_default_context().wrap_socket(
            sock, server_hostname=host, do_handshake_on_connect=False
        )
        try:
            self._use(secured)
            secured.do_handshake()
        except OSError:
            self._use(None)
            secured.close()
            raise
        return secured

    def _use(self, sock: socket.socket | None) -> None:
        with self._lock:
            self._socket = sock
            if sock is not None and self._ended:
                raise TimeoutError(self._ended)


def _why(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "does not answer, so it is probably not running"
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"cannot be used ({reason})"
