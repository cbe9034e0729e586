"""Runs an exercise's hidden tests on the evidence of one run, within a limit on processor time.

The limit is needed because the submission chooses the evidence, and a test may look at every value in it.
"""

import ctypes
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Self

from quizapp.judge.testing.checks import MAX_MESSAGE, CodeRaised, Finding, Observe
from quizapp.judge.testing.quoting import quote_texts
from quizapp.judge.verdict import TestResult

HiddenTest = Callable[[Observe], None]

CPU_SECONDS = 10.0  # ten times what the slowest exercise needs on a slow machine
_TOO_LONG = "Looking at what your code returned took too long: it is far more than was asked for."
_TOO_MUCH = "Looking at what your code returned took too much memory: it is far more than was asked for."
PRESUMED = "This cannot hold while a simpler check fails:"

_raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in_thread.argtypes = (ctypes.c_ulong, ctypes.py_object)


class TooLong(BaseException):
    """The tests have used up their processor time.

    This is not an `Exception`, so a test that catches those cannot swallow it.
    """


class CpuTimeLimit:
    """Interrupts the running test once this thread has used ``seconds`` of processor time.

    A busy machine therefore does not make a test look slow. On systems that cannot measure a thread's time,
    the wall clock counts. A call into C cannot be interrupted, but a transcript's size bounds its duration.
    """

    def __init__(self, seconds: float = CPU_SECONDS):
        self.spent = False
        self._thread = threading.get_ident()
        # The lock is reentrant because the interrupt may arrive right after this thread has acquired it in
        # `test`, and leaving the test acquires it again.
        self._lock = threading.RLock()
        self._in_test = False
        self._closed = threading.Event()
        self._clock = time.CLOCK_MONOTONIC
        if hasattr(time, "pthread_getcpuclockid"):
            self._clock = time.pthread_getcpuclockid(self._thread)
        self._end = time.clock_gettime(self._clock) + seconds

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, daemon=True, name="cpu-time-limit").start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()

    @contextmanager
    def test(self) -> Iterator[None]:
        """Run one test under the limit.

        Raises `TooLong` once the time is spent, including before the test starts.
        """
        if self.spent:
            raise TooLong
        with self._lock:
            self._in_test = True
        try:
            yield
        finally:
            self._leave_test()

    def _leave_test(self) -> None:
        with self._lock:
            self._in_test = False
            if self.spent:
                # Withdraw an interrupt that was requested but not raised yet. It would hit the judge itself.
                _raise_in_thread(self._thread, ctypes.py_object())

    def _watch(self) -> None:
        with suppress(OSError):  # the thread has ended, and its clock with it
            while (left := self._end - time.clock_gettime(self._clock)) > 0:
                if self._closed.wait(left):
                    return
            with self._lock:
                self.spent = True
                if self._in_test:
                    _raise_in_thread(self._thread, TooLong)


def behaviour_of(test: HiddenTest) -> int:
    """The number of the behavior that a hidden test checks, or 0 if it names none."""
    return int(getattr(test, "behaviour", 0))


def run_tests(
    tests: Iterable[HiddenTest], observe: Observe, seconds: float = CPU_SECONDS
) -> list[TestResult]:
    """Run hidden tests on the evidence. Once ``seconds`` are spent, the remaining tests fail.

    A failed test whose message presumes that others pass refers to the one that fails, unless its result is
    the one that a known mistake produces.
    """
    tests = list(tests)
    with CpuTimeLimit(seconds) as limit:
        results = [run_test(test, observe, limit) for test in tests]
    failed = {result.name: result for result in results if not result.passed}
    for place, (test, result) in enumerate(zip(tests, results, strict=True)):
        simpler = next((failed[name] for name in getattr(test, "presumes", ()) if name in failed), None)
        if simpler is not None and not result.passed and not result.recognized:
            message = f"{PRESUMED} {_first_sentence(simpler.message)}"
            results[place] = replace(result, message=message)
    return results


def _first_sentence(message: str) -> str:
    return re.split(r"(?<=\.) (?=[A-Z(])", message, maxsplit=1)[0]


def run_test(test: HiddenTest, observe: Observe, limit: CpuTimeLimit | None = None) -> TestResult:
    """Run one hidden test on the evidence. Any exception makes it fail with a sentence for the learner."""
    begin = time.perf_counter()
    message, recognized = "", False
    try:
        if limit is None:
            test(observe)
        else:
            with limit.test():
                test(observe)
        passed = True
    except TooLong:
        passed, message = False, _TOO_LONG
    except CodeRaised as raised:
        passed, message = False, f"{getattr(test, 'on_error', '')} {raised}".strip()
    except AssertionError as failed:
        passed, message = False, str(failed) or "This behavior does not hold."
        recognized = isinstance(failed, Finding) and failed.recognized
    except MemoryError:
        passed, message = False, _TOO_MUCH
    except Exception as error:  # noqa: BLE001
        # The evidence has a type, shape or size that the test did not foresee, so it is wrong.
        passed, message = False, f"The result has an unexpected form ({type(error).__name__}: {error})."
        if "can't allocate memory" in message:  # how torch says it
            message = _TOO_MUCH
    if message:
        message = quote_texts(message[: 4 * MAX_MESSAGE], observe.texts)
    if len(message) > MAX_MESSAGE:
        message = f"{message[:MAX_MESSAGE]}..."
    number = behaviour_of(test)
    name = test.__name__.removeprefix("test_")
    seconds = time.perf_counter() - begin
    return TestResult(name, number, passed, message, seconds, recognized=recognized)
