"""The bridge to the judge without an interface: every verdict reaches the code that it judges, or nobody."""

import itertools
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from quizapp.bank.model import Bank
from quizapp.errors import QuizError
from quizapp.judge.verdict import Verdict
from quizapp.tui.bridges.judge_bridge import JudgeBridge, PendingSubmission

PATIENCE_S = 60.0


def verdict_on(source: bytes) -> Verdict:
    """A verdict that names its code in the field for the file."""
    return Verdict("double", source.decode(), "cpu", "failed", (), 0.1, 7, "T1")


class FakeClient:
    """Answers from threads when the test says so, also for tickets that it has not returned yet."""

    ready = False

    def __init__(self, on_verdict: Callable[[int, Verdict | QuizError], None]) -> None:
        self.on_verdict = on_verdict
        self.sources: dict[int, bytes] = {}
        self.cancelled = 0
        self.error: Exception | None = None
        self.while_submitting: Callable[[int], None] = lambda ticket: None

    def start(self) -> None: ...
    def stop(self) -> None: ...

    def cancel(self) -> None:
        self.cancelled += 1

    def submit(self, exercise: Any, source: bytes, *, device: str, stages: int | None = None) -> int:
        del exercise, device
        if self.error is not None:
            raise self.error
        ticket = len(self.sources) + 1
        self.sources[ticket] = source
        self.while_submitting(ticket)
        return ticket

    def answer(self, ticket: int) -> None:
        """The judge's answer to a ticket, in a thread of the client; returns when the bridge has taken it."""
        thread = threading.Thread(target=self.on_verdict, args=(ticket, verdict_on(self.sources[ticket])))
        thread.start()
        thread.join()


class Interface:
    """One thread that submits, and whose queue takes what the bridge delivers."""

    def __init__(self) -> None:
        self.events: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self.results: list[tuple[str, str]] = []
        self.crashes: list[Exception] = []
        self.client: FakeClient | None = None
        self.bridge = JudgeBridge(self._call, self.crashes.append, self._make_client)  # type: ignore[arg-type]

    def _call(self, function: Callable[..., object], *values: object) -> None:
        self.events.put(lambda: function(*values))

    def _make_client(self, on_verdict: Callable[[int, Verdict | QuizError], None]) -> FakeClient:
        self.client = FakeClient(on_verdict)
        return self.client

    def _on_result(self, submission: PendingSubmission, outcome: Verdict | QuizError) -> None:
        text = str(outcome) if isinstance(outcome, QuizError) else outcome.file
        self.results.append((submission.source, text))

    def submit(self, source: str) -> None:
        self.bridge.submit(None, source, "cpu", self._on_result)  # type: ignore[arg-type]

    def settle(self) -> None:
        """Return once the bridge's thread has done everything asked so far; the queue is left alone."""
        done = threading.Event()
        self.bridge._run(done.set)
        assert done.wait(PATIENCE_S)

    def drain(self) -> None:
        """Handle what was delivered so far."""
        while not self.events.empty():
            self.events.get()()


@pytest.fixture
def interface() -> Iterator[Interface]:
    made = Interface()
    yield made
    made.bridge.stop()
    assert not made.crashes


def test_a_verdict_reaches_its_submission(interface: Interface) -> None:
    interface.submit("one")
    interface.settle()
    assert interface.client
    interface.client.answer(1)
    interface.drain()
    assert interface.results == [("one", "one")]


def test_a_verdict_before_its_ticket_is_not_lost(interface: Interface) -> None:
    interface.bridge.warm()
    interface.settle()
    assert interface.client
    interface.client.while_submitting = interface.client.answer
    interface.submit("one")
    interface.settle()
    interface.drain()
    assert interface.results == [("one", "one")]


def test_a_verdict_between_a_newer_submit_and_its_ticket_is_not_taken_for_the_newer_one(
    interface: Interface,
) -> None:
    interface.submit("old")
    interface.settle()
    assert interface.client
    # the judge answers the old code while the new code is on its way and has no ticket yet
    interface.client.while_submitting = lambda ticket: interface.client and interface.client.answer(1)
    interface.submit("new")
    interface.settle()
    interface.drain()
    assert interface.results == []
    interface.client.answer(2)
    interface.drain()
    assert interface.results == [("new", "new")]


def test_a_verdict_already_in_the_queue_of_the_interface_is_void_after_a_newer_submit(
    interface: Interface,
) -> None:
    interface.submit("old")
    interface.settle()
    assert interface.client
    interface.client.answer(1)  # delivered, but the interface handles a key first
    interface.submit("new")
    interface.drain()
    assert interface.results == []
    interface.settle()
    interface.client.answer(2)
    interface.drain()
    assert interface.results == [("new", "new")]


@pytest.mark.parametrize("order", [*itertools.permutations((1, 2, 3)), (3, 3), (2, 1)])
@pytest.mark.parametrize("early", [0, 1, 2, 3])
def test_answers_in_every_order_end_with_the_newest_code_or_nothing(
    interface: Interface, order: tuple[int, ...], early: int
) -> None:
    def answer_early(ticket: int) -> None:
        if ticket == early and interface.client:
            interface.client.answer(ticket)

    interface.bridge.warm()
    interface.settle()
    assert interface.client
    interface.client.while_submitting = answer_early
    for source in ("one", "two", "three"):
        interface.submit(source)
        interface.settle()
    for ticket in order:
        interface.client.answer(ticket)
    interface.drain()
    expected = [("three", "three")] if 3 in {*order, early} else []
    assert interface.results == expected


def test_submissions_reach_the_client_in_the_order_of_the_keys(interface: Interface) -> None:
    for number in range(50):
        interface.submit(f"code {number}")
    interface.settle()
    assert interface.client
    assert interface.client.sources[len(interface.client.sources)] == b"code 49"
    interface.client.answer(len(interface.client.sources))
    interface.drain()
    assert interface.results == [("code 49", "code 49")]


def test_a_cancelled_submission_is_never_answered(interface: Interface) -> None:
    interface.submit("one")
    interface.settle()
    assert interface.client
    interface.bridge.cancel()
    interface.settle()
    interface.client.answer(1)
    interface.drain()
    assert interface.results == []
    assert interface.client.cancelled == 1


def test_a_cancel_does_not_reach_the_submission_that_follows_it(interface: Interface) -> None:
    hold = threading.Event()
    interface.submit("one")
    interface.settle()
    assert interface.client
    interface.bridge._run(lambda: hold.wait(PATIENCE_S) and None)  # the bridge is slow just now
    interface.bridge.cancel()
    interface.submit("two")
    hold.set()
    interface.settle()
    assert interface.client.cancelled == 0
    interface.client.answer(2)
    interface.drain()
    assert interface.results == [("two", "two")]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (QuizError("There is no CUDA device here."), "There is no CUDA device here."),
        (OSError(24, "Too many open files"), "The judge cannot be started: Too many open files."),
    ],
)
def test_an_error_in_place_of_a_ticket_is_the_outcome(
    interface: Interface, error: Exception, sentence: str
) -> None:
    interface.bridge.warm()
    interface.settle()
    assert interface.client
    interface.client.error = error
    interface.submit("one")
    interface.settle()
    interface.drain()
    assert interface.results == [("one", sentence)]


def test_an_unexpected_error_is_handed_on_and_the_next_submission_works(interface: Interface) -> None:
    interface.bridge.warm()
    interface.settle()
    assert interface.client
    interface.client.error = ZeroDivisionError()
    interface.submit("one")
    interface.settle()
    assert [type(error) for error in interface.crashes] == [ZeroDivisionError]
    interface.crashes.clear()
    interface.client.error = None
    interface.submit("two")
    interface.settle()
    interface.client.answer(1)
    interface.drain()
    assert interface.results == [("two", "two")]


@pytest.mark.judge
def test_the_true_client_answers_the_newest_code_with_its_own_verdict(bank: Bank) -> None:
    events: SimpleQueue[Callable[[], object]] = SimpleQueue()
    results: list[tuple[str, Any]] = []
    crashes: list[Exception] = []
    bridge = JudgeBridge(lambda function, *values: events.put(lambda: function(*values)), crashes.append)
    exercise = bank.exercises["double"]
    wrong, right = "def double(x):\n    return x\n", "def double(x):\n    return 2 * x\n"
    try:
        for source in (wrong, right, wrong, right):
            bridge.submit(exercise, source, "cpu", lambda one, outcome: results.append((one.source, outcome)))
        while not results:
            events.get(timeout=PATIENCE_S)()
        ((source, outcome),) = results
        assert source == right
        assert isinstance(outcome, Verdict)
        assert outcome.passed
        results.clear()
        bridge.submit(exercise, wrong, "cpu", lambda one, outcome: results.append((one.source, outcome)))
        while not results:
            events.get(timeout=PATIENCE_S)()
        ((source, outcome),) = results
        assert (source, outcome.passed) == (wrong, False)
    finally:
        bridge.stop()
    assert not crashes
