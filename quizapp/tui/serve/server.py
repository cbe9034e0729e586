"""Runs the served app on a loopback address until ctrl+c."""

import asyncio
import contextlib
import errno
import fcntl
import ipaddress
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator

from aiohttp import web

from quizapp import paths
from quizapp.errors import DONE, QuizError
from quizapp.tui.serve.connection_limit import FIRST_REQUEST_S, ConnectionLimit
from quizapp.tui.serve.door import Door
from quizapp.tui.serve.site import Site
from quizapp.util.log import write_crash, write_log

USUAL_PORT = 8765
SHUTDOWN_S = 10.0
"""Seconds for open requests to end after the app has ended."""


def loopback_address(host: str) -> str:
    """The address to listen at. Raises ``QuizError`` for one that other computers can reach."""
    if host == "localhost":
        return "127.0.0.1"  # the name may also mean ::1, where a stranger's program could listen
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        if address.is_loopback:
            return str(address)
    tunnel = f"ssh -L {USUAL_PORT}:127.0.0.1:{USUAL_PORT} NAME-OF-THIS-COMPUTER"
    raise QuizError(
        f"--host {host} is refused: the app reads your files and runs code, and the connection is not "
        f"encrypted, so only this computer may reach it; from another one, use a tunnel: {tunnel}"
    )


def serve(host: str = "127.0.0.1", port: int | None = None) -> int:
    """Serve the app until ctrl+c. Without a port, the usual one or, if that is taken, any free one."""
    host = loopback_address(host)
    with only_server():
        logging.basicConfig(handlers=[_LogFile()], level=logging.ERROR)
        return asyncio.run(_serve_until_signal(host, port))


async def _serve_until_signal(host: str, port: int | None) -> int:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    loop.set_exception_handler(_log_lost_error)
    async with listening(host, port, lambda door: _say("Opened. For another browser:", door)) as door:
        _say("quizapp is ready for a browser on this computer:", door)
        sys.stdout.write("The address works once. ctrl+c ends quizapp.\n")
        sys.stdout.flush()
        await ended.wait()
    return DONE


@contextlib.asynccontextmanager
async def listening(
    host: str, port: int | None, on_entry: Callable[[Door], None] = lambda _door: None
) -> AsyncIterator[Door]:
    """Listen until the block ends, then end the app of a connected browser.

    ``on_entry`` is called after a browser has used the printed address, because there is another one then.
    """
    listener = _bind(host, port)
    door = Door(host, listener.getsockname()[1])
    site = Site(door, on_entry=lambda: on_entry(door))
    runner = web.AppRunner(
        site.application(), access_log=None, keepalive_timeout=FIRST_REQUEST_S, lingering_time=1.0,
        shutdown_timeout=SHUTDOWN_S,
    )  # fmt: skip
    await runner.setup()
    assert runner.server is not None
    limit = ConnectionLimit(runner.server)
    site.welcome = limit.welcome
    server = await asyncio.get_running_loop().create_server(limit, sock=listener)
    try:
        yield door
    finally:
        server.close()
        await runner.cleanup()


def _bind(host: str, port: int | None) -> socket.socket:
    """A socket at the port; at any free one if none was asked for and the usual one is taken."""
    wanted = (USUAL_PORT, 0) if port is None else (port,)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in wanted:
        listener = socket.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE or number == wanted[-1]:
                reason = error.strerror or type(error).__name__
                raise QuizError(
                    f"{host}, port {number}, cannot be used ({reason}); choose another with --port"
                ) from error
        else:
            return listener
    raise AssertionError


@contextlib.contextmanager
def only_server() -> Iterator[None]:
    """Hold the data folder against a second server. Raises ``QuizError`` if there is one already."""
    path = paths.home() / "serve.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise QuizError(
            f"the folder {path.parent} is not writable ({error.strerror}): set QUIZAPP_HOME"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise QuizError(
            f"quizapp serve already runs on the data in {path.parent}; use its address, or end it with ctrl+c"
        ) from None
    except OSError:
        pass  # a file system without locks; two servers then only share the data, as two terminals do
    try:
        yield
    finally:
        os.close(descriptor)


def _say(sentence: str, door: Door) -> None:
    sys.stdout.write(f"{sentence}\n\n  {door.address}\n\n")
    sys.stdout.flush()


class _LogFile(logging.Handler):
    """Writes what the libraries report to the program's log instead of the terminal."""

    def emit(self, record: logging.LogRecord) -> None:
        write_log(logging.Formatter("%(name)s: %(message)s").format(record))


def _log_lost_error(_loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    error = context.get("exception")
    if isinstance(error, BaseException):
        write_crash(error)
    else:
        write_log(str(context.get("message")))
