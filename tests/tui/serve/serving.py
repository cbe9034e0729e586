"""Starts the real `quizapp serve` and talks to it as a browser does."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import psutil
import pyte

DEADLINE_S = 90.0
"""A bound for a machine under load; every wait ends as soon as its event is there."""


@dataclass
class ServedApp:
    """A running `quizapp serve`, with everything that it has printed."""

    process: asyncio.subprocess.Process
    output: str = ""
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def address(self) -> str:
        """The last address that was printed."""
        return re.findall(r"http://\S+", self.output)[-1]

    @property
    def origin(self) -> str:
        """The address without path and token."""
        return self.address.partition("/?")[0]

    @property
    def children(self) -> list[psutil.Process]:
        """The apps and judges that it runs."""
        return psutil.Process(self.process.pid).children(recursive=True)

    async def read(self) -> None:
        assert self.process.stdout is not None
        while data := await self.process.stdout.read(1 << 12):
            async with self._changed:
                self.output += data.decode()
                self._changed.notify_all()

    async def wait_for_output(self, holds: Callable[[str], bool]) -> None:
        """Wait until what was printed satisfies ``holds``."""
        async with asyncio.timeout(DEADLINE_S), self._changed:
            await self._changed.wait_for(lambda: holds(self.output))


@asynccontextmanager
async def serving(home: Path, *options: str) -> AsyncIterator[ServedApp]:
    """Run `quizapp serve` at a free port until the block ends; its stdout and stderr are one stream."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "quizapp", "serve", *(options or ("--port", str(_free_port()))),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "QUIZAPP_HOME": str(home)}, start_new_session=True,
    )  # fmt: skip
    served = ServedApp(process)
    reader = asyncio.create_task(served.read())
    try:
        await served.wait_for_output(lambda text: "ctrl+c ends quizapp" in text)
        yield served
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await process.wait()
        await reader


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something holds that no event announces, such as the end of another process."""
    async with asyncio.timeout(DEADLINE_S):
        while not holds():  # noqa: ASYNC110 - another process announces nothing
            await asyncio.sleep(0.02)


class Terminal:
    """What the app has drawn, as text."""

    def __init__(self, width: int = 80, height: int = 24) -> None:
        self._screen = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self._screen)

    def feed(self, data: bytes) -> None:
        """Draw."""
        self._stream.feed(data)

    def resize(self, width: int, height: int) -> None:
        """Change the size."""
        self._screen.resize(height, width)

    @property
    def width(self) -> int:
        """Columns."""
        columns: int = self._screen.columns
        return columns

    @property
    def height(self) -> int:
        """Lines."""
        lines: int = self._screen.lines
        return lines

    @property
    def text(self) -> str:
        """The screen."""
        return "\n".join(line.rstrip() for line in self._screen.display)


class Visitor:
    """A browser that has opened the address: it has the cookie and knows the room."""

    def __init__(self, session: aiohttp.ClientSession, origin: str, room: str, cookie: str) -> None:
        self.session = session
        self.origin = origin
        self.room = room
        self.cookie = cookie
        self.terminal = Terminal()

    @property
    def headers(self) -> dict[str, str]:
        """What the browser sends from the page itself."""
        return {"Origin": self.origin, "Cookie": self.cookie}

    @property
    def socket_url(self) -> str:
        """The address of the WebSocket."""
        return f"{self.origin}{self.room}ws/dark/other"

    async def connect(self, **headers: str) -> aiohttp.ClientWebSocketResponse:
        """Open the WebSocket, with other headers if they are given; an empty one is left out."""
        sent = {name: value for name, value in {**self.headers, **headers}.items() if value}
        socket = await self.session.ws_connect(self.socket_url, headers=sent, max_msg_size=0)
        await socket.send_str('["focus"]')  # as the page does
        return socket

    async def see(self, socket: aiohttp.ClientWebSocketResponse, text: str) -> str:
        """Read the screen until it shows ``text``; return the screen."""
        async with asyncio.timeout(DEADLINE_S):
            while text not in self.terminal.text:
                message = await socket.receive()
                assert message.type in {aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT}, (
                    message, self.terminal.text,
                )  # fmt: skip
                if message.type is aiohttp.WSMsgType.BINARY:
                    self.terminal.feed(message.data)
        return self.terminal.text


async def enter(session: aiohttp.ClientSession, address: str) -> Visitor:
    """Open the printed address as a browser would, and keep the cookie."""
    origin = address.partition("/?")[0]
    async with session.get(address, allow_redirects=False) as answer:
        assert answer.status == 303, await answer.text()
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
        return Visitor(session, origin, answer.headers["Location"], cookie)
