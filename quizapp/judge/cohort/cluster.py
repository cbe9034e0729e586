"""Sends orders to the workers of a Dask cluster, a local one or a lab's, and collects the replies."""

import logging
import queue
import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import dask.config
from distributed import Client, Future, KilledWorker, LocalCluster, Security

from quizapp.errors import INTERNAL, QuizError
from quizapp.judge.cohort.cluster_messages import ClusterOrder, ClusterReply
from quizapp.judge.cohort.grading_worker import JudgePlugin, grade_on_worker, worker_tier

Ticket = TypeVar("Ticket")

WORKERS_TIMEOUT_S = 60.0
_CONNECT_TIMEOUT_S = 15.0
_ROUNDS = 2  # in each, the scheduler itself tries an order on as many workers as it allows (four)
_POLL_S = 1.0
_ATTEMPTS = 4  # at what fails when a worker dies at that moment
_NO_PAGES: dict[str, list[str]] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
_LOGGERS = ("distributed", "distributed.client", "tornado.application")  # each has a level of its own
_MISSING_S = 20.0  # after which a local worker is not just starting again
_QUEUED_PER_WORKER = 2  # one in work, and the next one there already


class ClusterLost(QuizError):
    """The cluster has gone while it was grading; what was graded before is kept."""

    exit_code = INTERNAL


@dataclass(frozen=True)
class ClusterOptions:
    """Where to grade: ``workers`` processes of this machine, or the cluster of the ``scheduler``.

    ``resource`` is a Dask resource: only workers that offer it get orders. Credentials for a scheduler with
    TLS come from Dask's own configuration.
    """

    workers: int = 1
    scheduler: str = ""
    resource: str = ""


@dataclass
class _Sent(Generic[Ticket]):
    """An order that is on its way. ``rounds`` counts how often the scheduler was asked."""

    ticket: Ticket
    order: ClusterOrder
    rounds: int = 1


class GradingCluster:
    """A connection to a cluster whose workers keep warm judges. Use it as a context manager.

    Raises `QuizError` if the scheduler cannot be reached, or if no worker can take orders.
    """

    def __init__(self, options: ClusterOptions):
        self._options = options
        self._place = options.scheduler or "this machine"
        self._cluster: LocalCluster | None = None
        self._client: Client | None = None
        self._finished: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._all_there = time.monotonic()
        self._plugin = ""

    def __enter__(self) -> Self:
        for name in _LOGGERS:  # Dask would report every lost worker in the middle of the progress line
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._client = self._connect()
            self._wait_for_workers(self._client)
            self._prepare_workers(self._client)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the judges, and a local cluster with them. A lab's workers go on without judges."""
        client, cluster = self._client, self._cluster
        self._client = self._cluster = None
        with suppress(OSError, TimeoutError, ValueError):  # a cluster that has gone needs no goodbye
            if client is not None:
                if cluster is None and client.status == "running" and self._plugin:
                    client.unregister_worker_plugin(self._plugin)
                client.close()
        if cluster is not None:
            with suppress(OSError, TimeoutError):
                cluster.close()

    def tiers(self) -> set[str]:
        """The best isolation tiers of the workers' machines."""
        assert self._client is not None
        return set(self._client.run(worker_tier, on_error="ignore").values())

    def grade(self, orders: Iterator[tuple[Ticket, ClusterOrder]]) -> Iterator[tuple[Ticket, ClusterReply]]:
        """Yield exactly one reply for each order, as they come. ``orders`` is read as workers become free.

        Raises `QuizError` if a worker refuses, and `ClusterLost` if the scheduler or all workers have gone.
        """
        on_the_way: dict[str, _Sent[Ticket]] = {}
        futures: dict[str, Future[Any]] = {}
        last_seen = time.monotonic()
        exhausted = False
        while True:
            workers = self._usable_workers()
            self._replace_workers(workers)
            while not exhausted and len(on_the_way) < _QUEUED_PER_WORKER * max(1, workers):
                following = next(orders, None)
                if following is None:
                    exhausted = True
                    break
                self._send(_Sent(*following), on_the_way, futures)
            if not on_the_way:
                return
            try:
                future = self._finished.get(timeout=_POLL_S)
            except queue.Empty:
                last_seen = time.monotonic() if workers else last_seen
                self._check_alive(time.monotonic() - last_seen)
                continue
            last_seen = time.monotonic()
            del futures[str(future.key)]
            sent = on_the_way.pop(str(future.key))
            reply = self._reply(future, sent)
            if reply is None:
                sent.rounds += 1
                self._send(sent, on_the_way, futures)
            else:
                yield sent.ticket, reply

    def _connect(self) -> Client:
        if not self._options.scheduler:
            # Without TLS, anybody on this machine could give the workers code to run.
            security = Security.temporary()
            self._cluster = self._start_local(security)
            return Client(self._cluster, security=security, set_as_default=False)
        try:
            return Client(self._options.scheduler, timeout=_CONNECT_TIMEOUT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            raise QuizError(
                f"no scheduler answers at {self._options.scheduler} ({type(error).__name__}); "
                "check the address, and Dask's TLS settings if it begins with tls://"
            ) from None

    def _start_local(self, security: Security) -> LocalCluster:
        reason: Exception | None = None
        for _ in range(_ATTEMPTS):
            try:
                with _without_interrupts(), dask.config.set(_NO_PAGES):
                    return LocalCluster(
                        n_workers=self._options.workers,
                        threads_per_worker=1,
                        host="127.0.0.1",
                        protocol="tls",
                        security=security,
                        dashboard_address="127.0.0.1:0",
                        worker_dashboard_address="127.0.0.1:0",
                        silence_logs=logging.CRITICAL,
                        memory_limit=0,  # the judge has limits of its own
                        resources={self._options.resource: 1} if self._options.resource else None,
                    )
            except (OSError, RuntimeError, TimeoutError) as error:
                reason = error
        raise ClusterLost(f"no workers can be started on this machine ({reason}); try fewer with --workers")

    def _replace_workers(self, workers: int) -> None:
        """Add local workers in place of those that died while they were starting, which Dask gives up."""
        missing = self._options.workers - workers
        now = time.monotonic()
        if self._cluster is None or missing <= 0:
            self._all_there = now
        elif now - self._all_there > _MISSING_S:
            self._all_there = now
            self._cluster.scale(len(self._cluster.worker_spec) + missing)

    def _workers(self, client: Client) -> list[dict[str, Any]]:
        return list(client.scheduler_info(n_workers=-1)["workers"].values())

    def _usable_workers(self) -> int:
        assert self._client is not None
        workers = self._workers(self._client)
        resource = self._options.resource
        return sum(not resource or worker["resources"].get(resource, 0) >= 1 for worker in workers)

    def _wait_for_workers(self, client: Client) -> None:
        if self._cluster is not None:
            return
        deadline = time.monotonic() + WORKERS_TIMEOUT_S
        while not self._usable_workers():
            if self._options.resource and self._workers(client):
                name = self._options.resource
                raise QuizError(
                    f"no worker of {self._place} offers the resource {name}; "
                    f"start one with 'dask worker {self._place} --nthreads 1 --resources {name}=1'"
                )
            if time.monotonic() > deadline:
                raise QuizError(
                    f"{self._place} has no workers; start some with 'dask worker {self._place} --nthreads 1'"
                )
            with suppress(TimeoutError):
                client.wait_for_workers(1, timeout=_POLL_S)

    def _prepare_workers(self, client: Client) -> None:
        name = f"quizapp-judge-{uuid.uuid4().hex}"  # another client of the same lab has its own
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                client.register_plugin(JudgePlugin(), name=name)
                self._plugin = name
                return
            except (OSError, TimeoutError):  # a worker died meanwhile
                if attempt == _ATTEMPTS:
                    raise self._lost("keeps losing its workers") from None
                time.sleep(_POLL_S)
            except Exception as error:
                raise QuizError(_cannot_run(self._place, error)) from error

    def _send(
        self, sent: _Sent[Ticket], on_the_way: dict[str, _Sent[Ticket]], futures: dict[str, Future[Any]]
    ) -> None:
        assert self._client is not None
        resource = self._options.resource
        key = f"quizapp-{uuid.uuid4().hex}"
        future = self._client.submit(
            grade_on_worker,
            sent.order.as_message(),
            key=key,
            pure=False,
            resources={resource: 1} if resource else None,
        )
        on_the_way[key], futures[key] = sent, future
        future.add_done_callback(self._finished.put)

    def _reply(self, future: "Future[Any]", sent: _Sent[Ticket]) -> ClusterReply | None:
        """What came of an order; None if its worker died and it should be sent again."""
        if future.cancelled():
            raise self._lost("has gone")
        try:
            reply = ClusterReply.from_message(future.result())
        except KilledWorker:
            if sent.rounds < _ROUNDS:
                return None
            return ClusterReply(text="Every worker that graded it died, which is not the submission's fault")
        except (OSError, TimeoutError):
            raise self._lost("has gone") from None
        except Exception as error:
            raise QuizError(_cannot_run(self._place, error)) from error
        if reply.refused:
            raise QuizError(f"the worker {reply.worker}: {reply.text}")
        return reply

    def _check_alive(self, seconds_without_workers: float) -> None:
        if self._client is None or self._client.status != "running":
            raise self._lost("has gone")
        if seconds_without_workers > WORKERS_TIMEOUT_S:
            raise self._lost("has lost all its workers")

    def _lost(self, what: str) -> ClusterLost:
        return ClusterLost(
            f"{self._place} {what}; the verdicts so far are kept, and the same command goes on"
        )


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start threads whose child processes never see ctrl+c, which a terminal sends to the whole group.

    A signal mask is inherited by threads and processes, so it also covers workers that Dask starts later.
    """
    resource_tracker.ensure_running()  # otherwise the first child would start it, which lifts the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _cannot_run(place: str, error: Exception) -> str:
    text = str(error).partition("\n")[0]
    return (
        f"a worker of {place} cannot run quizapp ({type(error).__name__}: {text}); install the same quizapp "
        "with its extra 'cohort' and torch on the scheduler's and all workers' machines"
    )
