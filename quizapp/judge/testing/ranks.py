"""Detects that the ranks of a distributed probe are about to wait for each other forever, and says why.

Inside `together`, a submission's collective is announced to its group before it is called. If the members
are about to make different calls, each of them raises `OutOfStep`, which names the calls of the others.
"""

import array
import contextlib
import functools
import inspect
import mmap
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from quizapp.judge.testing.probes import Recorder

NAMES = (
    *("all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor", "reduce_scatter"),
    *("reduce_scatter_tensor", "gather", "scatter", "all_to_all", "all_to_all_single", "barrier"),
    *("all_reduce_coalesced", "all_gather_coalesced", "all_gather_object", "broadcast_object_list"),
    *("gather_object", "scatter_object_list", "monitored_barrier"),
    *("all_gather_single", "reduce_scatter_single"),  # since torch 2.13
)
SINGLE = ("send", "recv", "isend", "irecv")
# Calls whose tensor has the same number of elements and dtype on every rank.
SAME_SIZE = (
    *("all_reduce", "broadcast", "reduce"),
    *("all_gather", "all_gather_into_tensor", "all_gather_single"),
)
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8)

calls: list[tuple[str, int, str]] = []
"""The collectives that this rank has called in the current step: name, number of elements, dtype.

Probes may clear the list.
"""

_state = {"active": False, "busy": False}
_boards: list["Board"] = []


class OutOfStep(RuntimeError):
    """The ranks of a group are about to make different calls, on which they would hang."""


class Board:
    """A page of memory that all ranks of a run share. Each rank writes to it what it is about to call."""

    def __init__(self) -> None:
        page = os.open(Path.cwd().parent / "board", os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(page, 16384)
        self._cells = memoryview(mmap.mmap(page, 16384)).cast("q")
        os.close(page)
        self._turns: dict[tuple[int, ...], int] = {}

    def meet(self, group: Any, row: list[int]) -> list[list[int]]:
        """Exchange one row of four integers with the other members of ``group`` (None: the whole world).

        Waits for every member and returns their rows in the order of ``group``. A member that waits for the
        whole world instead would never come: it is answered there, so that it can raise and come after all.
        """
        key = _members(group)
        turn = self._turns[key] = self._turns.get(key, 0) + 1
        # Two lines per rank and group are enough: no rank can be two meetings ahead of another.
        place = 40 * (sum(1 << rank for rank in key) * 2 + turn % 2)
        line = place + 8 * dist.get_rank()
        self._cells[line + 1 : line + 5] = memoryview(array.array("q", row))
        # Write the turn last, because it tells the others that the row is complete.
        self._cells[line] = turn
        rows = []
        for rank in key:
            line, tries = place + 8 * rank, 0
            while self._cells[line] != turn:
                if group is not None and self._asks_the_world(rank, key) and self._cells[line] != turn:
                    self.meet(None, row if row[0] == 0 else [0, 0, 0, 0])
                tries += 1
                time.sleep(0 if tries < 50 else 0.0002)
            rows.append([int(cell) for cell in self._cells[line + 1 : line + 5]])
        return rows

    def _asks_the_world(self, rank: int, members: tuple[int, ...]) -> bool:
        """Whether ``rank`` waits for the whole world, of which ``members`` are only a part."""
        world = _members(None)
        turn = self._turns.get(world, 0) + 1
        place = 40 * (sum(1 << member for member in world) * 2 + turn % 2)
        return members != world and self._cells[place + 8 * rank] == turn


def watch() -> bool:
    """Watch this rank's collectives from now on. Returns False without a process group, as in the judge.

    Probes call this while they are loaded, before the submission can import the original functions.
    """
    if not (dist.is_available() and dist.is_initialized()):
        return False
    _boards[:] = [Board()]
    for name in (*NAMES, *SINGLE):
        original = getattr(dist, name, None)
        if original is not None:
            wrapped = _watched(name, original)
            for module in (dist, dist.distributed_c10d):
                if getattr(module, name, None) is original:
                    setattr(module, name, wrapped)
    return True


@contextlib.contextmanager
def together(record: Recorder, name: str | int, group: Any = None) -> Iterator[None]:
    """Run a step of every rank; its collectives are in ``group`` (None: the whole world)."""
    calls.clear()
    failed = 1
    _state["active"] = True
    with record.step(name):
        yield
        failed = 0
    _state["active"] = False
    if group is not None and dist.get_rank(group) >= 0:
        finish(group, failed)
    finish(None, failed)


def first_and_last() -> Any:
    """A group of the world's first and last rank, or None if there are no other ranks.

    Every rank must call it while the probes are loaded. Later the sandbox allows no new connection.
    """
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() < 3:
        return None
    return dist.new_group([0, dist.get_world_size() - 1])


def _members(group: Any) -> tuple[int, ...]:
    if group is None:
        return tuple(range(dist.get_world_size()))
    return tuple(dist.get_process_group_ranks(group))


def finish(group: Any = None, failed: int = 0) -> None:
    """Wait until every member has ended the step. A member that still calls something raises `OutOfStep`."""
    while any(row[0] for row in _boards[0].meet(group, [0, failed, 0, 0])):
        pass


def _watched(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not _state["active"] or _state["busy"]:
            return original(*args, **kwargs)
        _state["busy"] = True
        try:
            arguments = signature.bind(*args, **kwargs).arguments
            if name in NAMES:
                _announce(name, arguments)
            first = next((v for v in arguments.values() if isinstance(v, torch.Tensor)), None)
            calls.append((name, first.numel(), str(first.dtype)) if first is not None else (name, 0, ""))
            return original(*args, **kwargs)
        finally:
            _state["busy"] = False

    # functools.wraps leaves the original here, and with it a way around this watch.
    del call.__wrapped__
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _announce(name: str, arguments: dict[str, Any]) -> None:
    group = arguments.get("group")
    if dist.get_rank(group) < 0:
        return
    tensor = next((v for k, v in arguments.items() if k in ("tensor", "input_tensor", "input")), None)
    numel = kind = root = -1
    if isinstance(tensor, torch.Tensor) and name in SAME_SIZE:
        numel = tensor.numel()
        kind = DTYPES.index(tensor.dtype) if tensor.dtype in DTYPES else -1
    for key in ("src", "dst", "group_src", "group_dst"):
        root = arguments[key] if isinstance(arguments.get(key), int) else root
    rows = _boards[0].meet(group, [NAMES.index(name) + 1, numel, kind, root])
    if any(row != rows[0] for row in rows):
        by_rank = dict(zip(_members(group), rows, strict=True))
        order = sorted(by_rank, key=lambda rank: rank != dist.get_rank())
        texts = [_call_text(rank, by_rank[rank]) for rank in order]
        raise OutOfStep(f"the ranks are out of step and would hang: {'; '.join(texts)}")


def _call_text(rank: int, row: list[int]) -> str:
    code, numel, kind, _ = row
    if code == 0:
        return f"rank {rank} " + ("never gets there: it raised an exception" if numel else "never calls it")
    size = f" with {numel} elements" if numel >= 0 else ""
    dtype = f" of {str(DTYPES[kind]).removeprefix('torch.')}" if kind >= 0 else ""
    return f"rank {rank} calls {NAMES[code - 1]}{size}{dtype}"
