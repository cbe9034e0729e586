"""Decides who may use the served app. It knows no web framework: it judges strings.

A served terminal can read the learner's files and run code, and every web page and every program on this
computer can reach a port on loopback. Four checks keep them out, and each stops somebody else:

- ``Host`` must be the served address: a foreign name that resolves to 127.0.0.1 is refused (DNS rebinding).
- ``Origin`` must be the served address on a WebSocket: browsers let any page open one to any server.
- The cookie must be one that this process gave: a local program that guesses the address has none.
- The token in the printed address works once: who reads it later in a history or a log has nothing.
"""

import secrets
from collections import OrderedDict
from collections.abc import Sequence
from http import HTTPStatus

_TOKEN_BYTES = 32
_ROOM_BYTES = 16
_MAX_VISITORS = 16
"""Browsers that may be known at a time. The oldest is forgotten first; it needs a new address then."""


class Refused(Exception):
    """A request that the door turns away, with the status and the sentence that answer it."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class Door:
    """The tokens and cookies of one served app, for as long as its process runs.

    ``room`` is the random folder in which everything but the first page lies. The cookie is valid only
    there: browsers do not separate cookies by port, so a cookie for the whole host would also be sent to
    every other server on this computer.
    """

    def __init__(self, host: str, port: int) -> None:
        authority = f"[{host}]" if ":" in host else host
        self.host = authority if port == 80 else f"{authority}:{port}"
        self.origin = f"http://{self.host}"
        self.room = f"/{secrets.token_urlsafe(_ROOM_BYTES)}/"
        self._token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._visitors: OrderedDict[str, None] = OrderedDict()

    @property
    def address(self) -> str:
        """The address to open in a browser. It works once; after that, there is another one."""
        return f"{self.origin}/?token={self._token}"

    def check_host(self, hosts: Sequence[str]) -> None:
        """Raise `Refused` unless the ``Host`` headers are exactly the served address."""
        if list(hosts) != [self.host]:
            raise Refused(
                HTTPStatus.FORBIDDEN,
                f"quizapp answers only at {self.origin}. Through a tunnel, use the same port at both ends.",
            )

    def check_origin(self, origins: Sequence[str]) -> None:
        """Raise `Refused` unless the ``Origin`` headers are exactly the served address."""
        if list(origins) != [self.origin]:
            raise Refused(HTTPStatus.FORBIDDEN, "Only the page that quizapp itself serves may connect to it.")

    def check_visitor(self, cookie: str | None) -> str:
        """Return the visitor that a cookie names. Raises `Refused` if this process did not give it."""
        for visitor in self._visitors:
            if cookie is not None and _equal(cookie, visitor):
                return visitor
        raise Refused(
            HTTPStatus.FORBIDDEN,
            "This browser is not known here. Open the address that quizapp serve printed in its terminal.",
        )

    def exchange(self, token: str) -> str:
        """Exchange the token for a visitor's cookie. Raises `Refused` for any token but the current one."""
        if not _equal(token, self._token):
            raise Refused(
                HTTPStatus.FORBIDDEN,
                "This address has been used, or it is from an earlier start. "
                "The terminal of quizapp serve shows the one that works now.",
            )
        self._token = secrets.token_urlsafe(_TOKEN_BYTES)
        visitor = secrets.token_urlsafe(_TOKEN_BYTES)
        self._visitors[visitor] = None
        while len(self._visitors) > _MAX_VISITORS:
            self._visitors.popitem(last=False)
        return visitor


def _equal(given: str, secret: str) -> bool:
    """Compare in a time that does not depend on where the strings differ."""
    return secrets.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())
