"""What the page may send through the WebSocket, as types, and how fast."""

import asyncio
import time
from collections.abc import Callable
from typing import Annotated

import msgspec

MAX_MESSAGE = 1 << 20
"""Bytes of one message: the largest module that the judge accepts, pasted, with every character escaped."""
_PER_SECOND = 500.0
"""Units per second that a browser may send for long. A message costs one, and one more per KiB."""
_BURST = 2000.0


class TerminalSize(msgspec.Struct, frozen=True):
    """The page's size in character cells."""

    width: Annotated[int, msgspec.Meta(ge=2, le=1000)]
    height: Annotated[int, msgspec.Meta(ge=2, le=500)]


class TypedInput(msgspec.Struct, frozen=True, array_like=True, tag="stdin"):
    """Keys, mouse events, and pasted text, as a terminal sends them."""

    text: str


class SizeChange(msgspec.Struct, frozen=True, array_like=True, tag="resize"):
    """The page has another size."""

    size: TerminalSize


class Ping(msgspec.Struct, frozen=True, array_like=True, tag="ping"):
    """A measurement of the round trip; it is sent back."""

    sent: Annotated[str, msgspec.Meta(max_length=64)]


class FocusGained(msgspec.Struct, frozen=True, array_like=True, tag="focus"):
    """The terminal on the page has the focus."""


class FocusLost(msgspec.Struct, frozen=True, array_like=True, tag="blur"):
    """The terminal on the page has lost the focus."""


BrowserMessage = TypedInput | SizeChange | Ping | FocusGained | FocusLost
_DECODER = msgspec.json.Decoder(BrowserMessage)


def parse_message(text: str) -> BrowserMessage | None:
    """The message in a frame; None for anything that the page would not send."""
    try:
        message: BrowserMessage = _DECODER.decode(text.encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return message


class Pace:
    """Slows a flood of messages down, so that they wait in the network and not in the app's memory."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = _BURST
        self._then = clock()

    def spend(self, size: int) -> float:
        """Count a message of ``size`` characters; return the seconds to wait before it is passed on."""
        now = self._clock()
        self._left = min(_BURST, self._left + (now - self._then) * _PER_SECOND)
        self._then = now
        self._left -= 1 + size / 1024
        return max(0.0, -self._left / _PER_SECOND)

    async def keep(self, size: int) -> None:
        """Count a message, and wait while there have been too many."""
        delay = self.spend(size)
        if delay > 0:
            await asyncio.sleep(delay)
