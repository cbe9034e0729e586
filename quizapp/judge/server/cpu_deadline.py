"""A limit on the time that hidden tests take, whatever evidence a submission made up for them."""

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

SECONDS = 10.0  # ten times what the slowest exercise takes on a slow machine
_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in.argtypes = (ctypes.c_ulong, ctypes.py_object)


class TooLong(BaseException):
    """The tests have used up their time; no Exception, so that a test does not take it for one of its own."""


class Patience:
    """Ends the test that runs once this thread has computed for ``seconds``; `passed` tells from then on.

    What counts is the thread's processor time where the system tells it: a busy machine is no slow test.
    A single call into C is waited for; the limits of a transcript bound what it can take.
    """

    def __init__(self, seconds: float = SECONDS):
        self.passed = False
        self._thread = threading.get_ident()
        # Entered again by the same thread if it is interrupted right after taking it.
        self._lock = threading.RLock()
        self._inside = False
        self._over = threading.Event()
        self._clock = time.CLOCK_MONOTONIC
        if hasattr(time, "pthread_getcpuclockid"):
            self._clock = time.pthread_getcpuclockid(self._thread)
        self._end = time.clock_gettime(self._clock) + seconds

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, daemon=True, name="patience").start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()

    @contextmanager
    def test(self) -> Iterator[None]:
        """Around one test: raises `TooLong` when the time is over, or is so already; nothing after it."""
        if self.passed:
            raise TooLong
        with self._lock:
            self._inside = True
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._inside = False
            _raise_in(self._thread, ctypes.py_object())  # takes back one that has not been raised yet

    def _watch(self) -> None:
        with suppress(OSError):  # the clock of a thread that has ended
            while (left := self._end - time.clock_gettime(self._clock)) > 0:
                if self._over.wait(left):
                    return
            with self._lock:
                self.passed = True
                if self._inside:
                    _raise_in(self._thread, TooLong)
