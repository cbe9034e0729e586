"""A Chromium without a window, spoken to over its debugging pipe: no driver and no library is needed."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_LAUNCH = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); \
os.execv(sys.argv[3], sys.argv[3:])"
_OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
_PATIENCE = 90  # seconds; machines that run tests are busy


def chromium() -> str | None:
    """The program, where there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One tab. ``events`` holds everything that it reported."""

    def __init__(self, program: str, folder: Path) -> None:
        there, reading = _pipe()
        writing, back = _pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(there), str(back), program, *_OPTIONS,
             f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(there, back), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, env=os.environ | {"HOME": str(folder)},
        )  # fmt: skip
        os.close(there)
        os.close(back)
        self._out, self._in = os.fdopen(reading, "wb", 0), os.fdopen(writing, "rb", 0)
        self._rest, self._number, self._session = b"", 0, ""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        found = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Network", "Accessibility", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            found = self._read()
            if found.get("id") != self._number:
                self.events.append(found)
                continue
            assert "error" not in found, (method, found["error"])
            return found["result"]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = self._in.read(1 << 16)
            assert part, "the browser has gone"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def open(self, path: Path) -> None:
        """Open a file and wait until it has loaded."""
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        end = time.monotonic() + _PATIENCE
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            assert time.monotonic() < end, "the page never loaded"
            self.events.append(self._read())

    def requests(self) -> list[str]:
        """Every address that was asked for since the page was opened."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def look(self, scheme: str = "light", width: int = 1280, media: str = "screen") -> None:
        """Light or dark, so many pixels wide, on screen or in print."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )

    def ask(self, script: str) -> Any:
        """The value of a script, promises awaited."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def pdf(self, **options: Any) -> bytes:
        """The page as it prints, on the paper that its own rules name."""
        return b64decode(self.call("Page.printToPDF", preferCSSPageSize=True, **options)["data"])

    def tree(self) -> list[dict[str, Any]]:
        """What assistive technology is told, in reading order: role, name and properties of every node."""
        nodes = {node["nodeId"]: node for node in self.call("Accessibility.getFullAXTree")["nodes"]}
        waiting = [next(name for name, node in nodes.items() if "parentId" not in node)]
        found = []
        while waiting:
            node = nodes[waiting.pop()]
            waiting += [name for name in reversed(node.get("childIds", ())) if name in nodes]
            if not node["ignored"]:
                said = {row["name"]: row["value"].get("value") for row in node.get("properties", ())}
                name = node.get("name", {}).get("value", "")
                found.append({"role": node["role"]["value"], "name": name, "said": said})
        return found

    def close(self) -> None:
        """End the browser with all its processes."""
        self._out.close()
        self._in.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(_PATIENCE)


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are out of the way of 3 and 4, which the browser takes."""
    ends = []
    for end in os.pipe():
        ends.append(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10))
        os.close(end)
    return ends[0], ends[1]


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser for a while, its profile in a folder that goes with it."""
    program = chromium()
    assert program is not None
    with tempfile.TemporaryDirectory(prefix="quizapp-browser-", ignore_cleanup_errors=True) as folder:
        found = Browser(program, Path(folder))
        try:
            yield found
        finally:
            found.close()
