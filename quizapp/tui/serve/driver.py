"""Connects the app to a browser instead of a terminal."""

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual import events
from textual.drivers.web_driver import WebDriver

from quizapp.tui.terminal import end_app

if TYPE_CHECKING:
    from textual.app import App

    from quizapp.tui.app import QuizApp


class ServedDriver(WebDriver):
    """Textual's web driver, which also ends the app when the server goes away.

    The server asks for an orderly end when the tab is closed. If the server is killed, the end of standard
    input is the only sign, and nobody reads what the app draws any more.
    """

    def __init__(self, app: "App[Any]", **options: Any) -> None:
        super().__init__(app, **options)
        self._write = partial(self._write_all)

    def start_application_mode(self) -> None:
        """Begin to draw."""
        self._loop = asyncio.get_running_loop()
        super().start_application_mode()

    def run_input_thread(self) -> None:
        """Read until the server closes the pipe or the app ends."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._end()

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Leave in order when the server asks for it, so that what was typed is saved.

        The page has the focus before the app has started. The base class lets the app begin without it, so
        the news that it has it must come after that.
        """
        if packet_type == "quit":
            self._end()
        elif packet_type in {"focus", "blur"}:
            event = events.AppFocus() if packet_type == "focus" else events.AppBlur()
            self._loop.call_soon_threadsafe(self._app.call_later, self._app.post_message, event)
        else:
            super().on_meta(packet_type, payload)

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(end_app, cast("QuizApp", self._app))

    def _write_all(self, data: bytes) -> int:
        """Write all of ``data``; nothing, if nobody reads it any more."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self.fileno, rest) :]
        except BrokenPipeError:
            return 0
        return len(data)
