"""The process in which the app of one browser runs."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Sequence

from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from quizapp.tui.serve.browser_messages import (
    BrowserMessage,
    FocusGained,
    FocusLost,
    Ping,
    SizeChange,
    TypedInput,
)
from quizapp.util.log import write_log

QUIT_S = 6.0
"""Seconds for an orderly exit. The app gives itself three, and saves what was typed first."""
KILL_S = 2.0
HUNG_S = 20.0
"""Seconds for which an app may leave its input unread."""


class AppProcess(AppService):
    """A child that runs the app, connected to one browser.

    The library's service would start a shell, print the child's errors raw, wait without limit for a child
    that hangs, and offer files for download. This one does none of these. The child has a session of its
    own, so that ctrl+c in the server's terminal reaches only the server, which then ends the child in order.
    ``browser`` is what the child is told about the browser: its color scheme and its keyboard.
    """

    def __init__(
        self,
        *,
        browser: Sequence[str],
        write_bytes: Callable[[bytes], Awaitable[None]],
        write_str: Callable[[str], Awaitable[None]],
        close: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(
            "", write_bytes=write_bytes, write_str=write_str, close=close, download_manager=DownloadManager()
        )
        self._browser = browser
        self._connected = True
        self._passing: asyncio.Task[None] | None = None

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        environment: dict[str, str] = super()._build_environment(width, height)
        # The browser's terminal knows these whatever the server's own terminal is.
        environment |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        environment.setdefault("QUIZAPP_ASCII", "0")
        return environment

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "quizapp.tui.serve.child", *self._browser,
            stdin=PIPE, stdout=PIPE, stderr=PIPE,
            env=self._build_environment(width, height), start_new_session=True,
        )  # fmt: skip
        self._stdin = process.stdin
        return process

    async def run(self) -> None:
        """Pass on what the app draws until it ends. Then end the connection."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        assert process.stderr is not None
        errors = asyncio.create_task(_log_errors(process.stderr))
        self._passing = asyncio.create_task(self._pass_on(process.stdout))
        try:
            await asyncio.wait([self._passing])
            while await process.stdout.read(1 << 16):
                pass  # an app that nobody reads any more would block before it has saved
            await process.wait()
        finally:
            await errors
            if self._connected:
                await self.remote_close()

    async def _pass_on(self, stdout: asyncio.StreamReader) -> None:
        """Read packets: a letter, four bytes of length, and the payload. See Textual's web driver."""
        # ConnectionError: the browser is gone. The others: the app has ended.
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await stdout.readuntil(b"__GANGLION__\n")
            while True:
                kind = await stdout.readexactly(1)
                size = int.from_bytes(await stdout.readexactly(4), "big")
                payload = await stdout.readexactly(size)
                if kind == b"D":
                    await self.remote_write_bytes(payload)
                elif kind == b"M":
                    await self.on_meta(payload)

    async def on_meta(self, data: bytes) -> None:
        """Open a web page in the browser if the app asks for it. Files are never offered for download."""
        request = json.loads(data)
        if request["type"] == "open_url" and str(request["url"]).startswith(("http://", "https://")):
            opened = {"url": request["url"], "new_tab": True}
            await self.remote_write_str(json.dumps(["open_url", opened]))

    async def receive(self, message: BrowserMessage) -> None:
        """Pass a message of the browser on to the app. Raises ``TimeoutError`` if the app hangs."""
        async with asyncio.timeout(HUNG_S):
            await self._receive(message)

    async def _receive(self, message: BrowserMessage) -> None:
        match message:
            case TypedInput(text):
                await self.send_bytes(text.encode("utf-8", "replace"))
            case SizeChange(size):
                await self.set_terminal_size(size.width, size.height)
            case Ping(sent):
                await self.remote_write_str(json.dumps(["pong", sent]))
            case FocusGained():
                await self.focus()
            case FocusLost():
                await self.blur()

    async def stop(self) -> None:
        """End the app as its quit key would; kill it if it does not end in time."""
        self._connected = False
        process, task = self._process, self._task
        if process is None or task is None:
            return
        if self._passing is not None:
            self._passing.cancel()  # it may wait for a browser that does not read
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(KILL_S):
                await self.send_meta({"type": "quit"})
        for limit, number in ((QUIT_S, signal.SIGTERM), (KILL_S, signal.SIGKILL)):
            try:
                await asyncio.wait_for(asyncio.shield(task), limit)
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
        await task


async def _log_errors(stderr: asyncio.StreamReader) -> None:
    """Write what the app reports at its end to the log, and its last line to the terminal."""
    text = b""
    while data := await stderr.read(1 << 12):
        text = (text + data)[-(1 << 14) :]
    if lines := text.decode("utf-8", "replace").strip():
        from quizapp.util.sanitize import escape_unprintable

        write_log(lines)
        sys.stderr.write(f"{escape_unprintable(lines.splitlines()[-1])}\n")
