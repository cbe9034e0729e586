"""Drives Debian's Chromium through its DevTools protocol, without a library for it."""

import asyncio
import base64
import itertools
import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp

from tests.tui.serve.serving import DEADLINE_S, Terminal

EXECUTABLE = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_CTRL, _ALT = 2, 1
_KEYS = {
    "enter": ("Enter", 13, "\r"),
    "escape": ("Escape", 27, ""),
    "f3": ("F3", 114, ""),
    "f4": ("F4", 115, ""),
}


class Tab:
    """One tab. ``terminal`` shows what the app has drawn, read from the frames of the page's WebSocket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._changed = asyncio.Condition()
        self.terminal = Terminal()
        self.console: list[str] = []
        self.requested: list[str] = []
        self.sockets = 0
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self._socket:
            event = message.json()
            if "id" in event:
                self._answers.pop(event["id"]).set_result(event)
                continue
            async with self._changed:
                self._note(event["method"], event["params"])
                self._changed.notify_all()

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.webSocketFrameReceived" and params["response"]["opcode"] == 2:
            self.terminal.feed(base64.b64decode(params["response"]["payloadData"]))
        elif method == "Network.webSocketCreated":
            self.sockets += 1
            self.terminal = Terminal(self.terminal.width, self.terminal.height)
        elif method == "Network.webSocketFrameSent" and '"resize"' in params["response"]["payloadData"]:
            size = json.loads(params["response"]["payloadData"])[1]
            self.terminal.resize(size["width"], size["height"])
        elif method == "Network.requestWillBeSent":
            self.requested.append(params["request"]["url"])
        elif method in {"Log.entryAdded", "Runtime.exceptionThrown"}:
            self.console.append(str(params))

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol; return its result."""
        number = next(self._ids)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(DEADLINE_S):
            event = await answer
        assert "error" not in event, event
        result: dict[str, Any] = event["result"]
        return result

    async def open(self, url: str) -> None:
        """Go to an address."""
        await self.call("Page.navigate", url=url)

    async def evaluate(self, script: str) -> Any:
        """The value of an expression or a promise on the page."""
        result = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        return result["result"].get("value")

    async def see(self, text: str) -> str:
        """Wait until the app shows a text; return the screen."""
        try:
            async with asyncio.timeout(DEADLINE_S), self._changed:
                await self._changed.wait_for(lambda: text in self.terminal.text)
        except TimeoutError:
            raise AssertionError(f"{text!r} does not appear:\n{self.terminal.text}") from None
        return self.terminal.text

    async def see_page(self, script: str, value: Any = True) -> None:
        """Wait until an expression on the page has a value."""
        async with asyncio.timeout(DEADLINE_S):
            while await self.evaluate(script) != value:  # noqa: ASYNC110 - the page announces nothing
                await asyncio.sleep(0.05)

    async def press(self, *keys: str) -> None:
        """Press keys such as ``ctrl+r``, ``enter`` or ``n``."""
        for key in keys:
            *modifiers, name = key.split("+")
            label, code, text = _KEYS.get(name, (name, ord(name.upper()[0]), name))
            bits = _CTRL * ("ctrl" in modifiers) | _ALT * ("alt" in modifiers)
            common = {"key": label, "code": label, "windowsVirtualKeyCode": code, "modifiers": bits}
            if text and not bits:
                common["text"] = text
            await self.call(
                "Input.dispatchKeyEvent", type="keyDown" if text and not bits else "rawKeyDown", **common
            )
            common.pop("text", None)
            await self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    async def tap(self, text: str) -> None:
        """Touch the screen where the app shows ``text``."""
        lines = (await self.see(text)).splitlines()
        row = next(number for number, line in enumerate(lines) if text in line)
        column = lines[row].index(text)
        box = json.loads(
            await self.evaluate(
                "JSON.stringify(document.querySelector('.xterm-screen').getBoundingClientRect())"
            )
        )
        x = box["x"] + (column + 1.5) * box["width"] / self.terminal.width
        y = box["y"] + (row + 0.5) * box["height"] / self.terminal.height
        await self.call("Input.synthesizeTapGesture", x=int(x), y=int(y))

    async def drag(self, pixels: int) -> None:
        """Drag a finger down in the middle of the page; up, if ``pixels`` is negative."""
        await self.call("Input.synthesizeScrollGesture", x=180, y=400, yDistance=pixels, speed=2000)

    async def paste(self, text: str) -> None:
        """Paste a text into the terminal."""
        await self.evaluate(
            f"""{{
            const clipboardData = new DataTransfer();
            clipboardData.setData("text/plain", {json.dumps(text)});
            const event = new ClipboardEvent("paste", {{clipboardData, bubbles: true}});
            document.activeElement.dispatchEvent(event);
            }}"""
        )

    async def reload(self) -> None:
        """Reload the page, and wait until its new app has been asked for."""
        before = self.sockets
        await self.call("Page.reload")
        async with asyncio.timeout(DEADLINE_S), self._changed:
            await self._changed.wait_for(lambda: self.sockets > before)

    async def show_at(self, width: int, height: int, *, phone: bool = False, dark: bool = True) -> None:
        """Give the page a size in CSS pixels, as a window or as a phone."""
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, mobile=phone,
            deviceScaleFactor=0,
        )  # fmt: skip
        await self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        await self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    async def picture(self, path: Path) -> None:
        """Save what the page looks like."""
        shot = await self.call("Page.captureScreenshot", format="png")
        path.write_bytes(  # noqa: ASYNC240 - once, at the end of a test
            base64.b64decode(shot["data"])
        )

    async def end(self) -> None:
        """Stop listening."""
        self._reader.cancel()
        with suppress(asyncio.CancelledError):
            await self._reader


@asynccontextmanager
async def chromium(*, pixel_ratio: int = 1) -> AsyncIterator["Browser"]:
    """Run a browser with a fresh profile until the block ends.

    The ratio of pixels cannot be emulated in a tab: a canvas would still be measured in real ones.
    """
    assert EXECUTABLE is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            EXECUTABLE, "--headless=new", "--no-sandbox", "--no-first-run", "--disable-gpu",
            "--remote-debugging-port=0", "--disable-dev-shm-usage",
            f"--force-device-scale-factor={pixel_ratio}",
            f"--user-data-dir={profile}", "about:blank",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stderr is not None
        try:
            async with asyncio.timeout(DEADLINE_S):
                while b"DevTools listening on" not in (line := await process.stderr.readline()):
                    assert line, "Chromium does not start"
            drain = asyncio.create_task(process.stderr.read())
            address = line.decode().split()[-1].replace("ws://", "http://").partition("/devtools")[0]
            async with aiohttp.ClientSession() as session:
                yield Browser(session, address)
            drain.cancel()
        finally:
            process.terminate()
            await process.wait()


class Browser:
    """A running Chromium."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session = session
        self._address = address

    @asynccontextmanager
    async def tab(self, width: int = 1280, height: int = 800, **options: bool) -> AsyncIterator[Tab]:
        """Open a tab; close it at the end of the block."""
        async with self._session.put(f"{self._address}/json/new?about:blank") as response:
            target = await response.json()
        async with self._session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
            tab = Tab(socket)
            for domain in ("Page", "Network", "Runtime", "Log"):
                await tab.call(f"{domain}.enable")
            await tab.show_at(width, height, **options)
            try:
                yield tab
            finally:
                await tab.end()
        await self._session.get(f"{self._address}/json/close/{target['id']}")
