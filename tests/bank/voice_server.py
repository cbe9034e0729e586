"""A small server that speaks as much of OpenAI's protocol as the second voice uses, well or badly."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

PATIENCE_S = 60.0


class VoiceServer(ThreadingHTTPServer):
    """Answers each request with ``behave``, and remembers what it was asked.

    ``asked`` is set by the first request, and ``closing`` when the test is over.
    """

    daemon_threads = True
    block_on_close = True

    def __init__(self, behave: Callable[["Handler"], None]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behave = behave
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.asked, self.closing = Event(), Event()

    @property
    def endpoint(self) -> str:
        """The address that a user would write into the settings."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is no error of the test."""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: VoiceServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append({"path": self.path, **body})
        self.server.keys.append(self.headers["Authorization"])
        self.server.asked.set()
        self.server.behave(self)

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""

    @property
    def data(self) -> dict[str, str]:
        """Question, key point and answer of the request."""
        found: dict[str, str] = json.loads(self.server.requests[-1]["messages"][-1]["content"])
        return found

    def send(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        """Send a whole reply."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def say(self, content: object) -> None:
        """Send what a model said: a text, or a document that becomes JSON."""
        text = content if isinstance(content, str) else json.dumps(content)
        message = {"role": "assistant", "content": text}
        self.send(200, json.dumps({"id": "1", "choices": [{"index": 0, "message": message}]}).encode())

    def drip(self, head: bytes, drop: bytes) -> None:
        """Send ``head`` and then ``drop`` without end, until the client hangs up."""
        self.wfile.write(head)
        while not self.server.closing.wait(0.02):
            self.wfile.write(drop)

    def wait(self) -> None:
        """Say nothing until the test is over."""
        self.server.closing.wait(PATIENCE_S)


@contextmanager
def serving(behave: Callable[[Handler], None]) -> Iterator[VoiceServer]:
    """A server that runs as long as the context."""
    with VoiceServer(behave) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()


def quoting(quote: str) -> Callable[[Handler], None]:
    """The behavior of a model that finds every key point in the same words."""
    return lambda handler: handler.say({"shown": True, "quote": quote})


def closed_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
