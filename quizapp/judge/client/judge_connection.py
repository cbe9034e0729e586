"""A client's connection to this user's warm judge, or to one that it starts for itself."""

import contextlib
import socket
import subprocess

from quizapp.judge.client.process import end_judge, start_judge
from quizapp.judge.protocol import discovery


class JudgeConnection:
    """Connects on first use. A judge that this starts can be found by other programs of this user."""

    def __init__(self, tier: str = ""):
        self._tier = tier
        self._process: subprocess.Popen[bytes] | None = None
        self._sock: socket.socket | None = None

    def open(self) -> tuple[socket.socket, int]:
        """The socket, and the judge's process id if it is a child of this process, otherwise 0.

        Raises `OSError`.
        """
        if self._sock is None:
            self._sock = discovery.connect_running(discovery.socket_key())
        if self._sock is None:
            key = discovery.socket_key()
            self._process, self._sock = start_judge(socket_key=key, tier=self._tier)
        return self._sock, self._process.pid if self._process is not None else 0

    def open_early(self) -> None:
        """Connect now, so that the judge is warm when it is needed."""
        with contextlib.suppress(OSError):
            self.open()

    def close(self) -> None:
        """Close the connection, and end the judge if it was started for it."""
        if self._sock is not None:
            self._sock.close()
        if self._process is not None:
            end_judge(self._process)
        self._sock = self._process = None
