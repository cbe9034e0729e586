"""Counts what the ranks of a distributed probe send, and closes the ways around the counted one.

`close_side_channels` and `Wire` are for any distributed exercise. `watch_messages` and `exchange` are for
exercises whose ranks send each other messages: they count messages, and recognize ranks that wait for each
other forever.
"""

import contextlib
import mmap
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from quizapp.judge.sandbox import landlock, seccomp
from quizapp.judge.testing import ranks
from quizapp.judge.testing.probes import Recorder

_EXECUTE = 1 << 0
_TRANSFER_SECONDS = 5.0


def close_side_channels() -> None:
    """Make the file system read-only and refuse new sockets, permanently, as far as the system can.

    Otherwise a submission could hand data to another rank through a file. Call it when the probes are
    loaded and every process group has been made. It does nothing in the judge, which loads the probes too,
    nor where a device's driver needs files.
    """
    if "_probes" not in sys.modules or torch.cuda.is_available():
        return
    rules = [
        (Path("/"), landlock.READ | _EXECUTE),
        (Path("/dev/null"), landlock.READ_FILE | landlock.WRITE_FILE),
    ]
    with contextlib.suppress(OSError):
        landlock.restrict(rules)
        seccomp.install()


class Wire:
    """The bytes that this process has sent to other processes, as the kernel counts them."""

    def __init__(self) -> None:
        self._sockets = list(_connections())
        self._option = socket.socket.getsockopt  # bound before a submission can replace it

    def sent(self) -> int | None:
        """Bytes sent on all connections that existed when this object was made; None if unknown."""
        total = 0
        for connection in self._sockets:
            try:
                info = self._option(connection, socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            except (OSError, AttributeError):
                return None
            if len(info) < 216:
                return None
            sent, sent_again = struct.unpack_from("<QQ", info, 200)
            total += sent - sent_again
        return total if self._sockets else None


def _connections() -> Iterator[socket.socket]:
    for descriptor in [number for number in range(3, 1024) if _is_socket(number)]:
        with contextlib.suppress(OSError):
            connection = socket.socket(fileno=os.dup(descriptor))
            connection.getpeername()
            if connection.family in (socket.AF_INET, socket.AF_INET6):
                yield connection


def _is_socket(descriptor: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:
        return False


class Message:
    """One message that this rank sent: the receiver's place in the group, elements, bytes, group members."""

    def __init__(self, place: int, tensor: torch.Tensor, members: tuple[int, ...]):
        self.place = place
        self.elements = tensor.numel()
        self.bytes = tensor.numel() * tensor.element_size()
        self.members = members


messages: list[Message] = []
"""The messages that this rank has sent in the current step. Probes may clear the list."""

_RUNNING, _SENDING, _RECEIVING, _ENDED = range(4)
_SLOTS = 64
_PAIR = 2 * (1 + _SLOTS)  # for each direction: the number of operations, and the sizes of the latest ones


class _Mailbox:
    """A page that all ranks share. Says which sends and receives each of them has started and awaits."""

    def __init__(self, world: int):
        self.world = world
        size = 8 * (world * 4 + 1 + (1 << world) * world * world * _PAIR)
        page = os.open(Path.cwd().parent / "mailbox", os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(page, size)
        self._cells = memoryview(mmap.mmap(page, size)).cast("q")
        os.close(page)
        self._broken = world * 4
        self._pairs = world * 4 + 1

    def _pair(self, members: int, source: int, target: int) -> int:
        return self._pairs + ((members * self.world + source) * self.world + target) * _PAIR

    def post(self, kind: int, members: int, source: int, target: int, size: int) -> int:
        """Announce an operation. Returns its number among those of the pair, from 1."""
        line = self._pair(members, source, target) + (0 if kind == _SENDING else 1 + _SLOTS)
        number = self._cells[line] + 1
        self._cells[line + 1 + number % _SLOTS] = size
        self._cells[line] = number
        return number

    def sizes(self, members: int, source: int, target: int, number: int) -> tuple[int, int] | None:
        """The sizes of a send and its receive, in bytes; None until both have been announced."""
        line = self._pair(members, source, target)
        counts = self._cells[line], self._cells[line + 1 + _SLOTS]
        if min(counts) < number:
            return None
        if max(counts) >= number + _SLOTS:
            return 0, 0
        slot = 1 + number % _SLOTS
        return self._cells[line + slot], self._cells[line + 1 + _SLOTS + slot]

    def left_over(self, rank: int) -> bool:
        """Whether a send or a receive of ``rank`` never met its counterpart, between two steps."""
        for members in range(1 << self.world):
            for other in range(self.world):
                out = self._pair(members, rank, other)
                into = self._pair(members, other, rank) + 1 + _SLOTS
                # The other rank may have started the next step, so its numbers may be larger.
                if self._cells[out] > self._cells[out + 1 + _SLOTS]:
                    return True
                if self._cells[into] > self._cells[into - 1 - _SLOTS]:
                    return True
        return False

    def set_state(self, rank: int, *row: int) -> None:
        """Say what a rank does: kind, and for a wait the pair and the number of the operation."""
        self._cells[4 * rank] = _RUNNING
        for i, value in enumerate(row[1:], 1):
            self._cells[4 * rank + i] = value
        self._cells[4 * rank] = row[0]

    def states(self) -> list[tuple[int, ...]]:
        return [tuple(self._cells[4 * rank : 4 * rank + 4]) for rank in range(self.world)]

    def stuck(self, step: int) -> list[tuple[int, ...]] | None:
        """The states of all ranks if none of them can go on in this step, else None.

        A rank that waits starts nothing, so two equal readings show that all of them wait at once.
        """
        first = self.states()
        if any(self._can_go_on(rank, state, step) for rank, state in enumerate(first)):
            return None
        again = self.states()
        if again != first or any(self._can_go_on(rank, state, step) for rank, state in enumerate(again)):
            return None
        return first

    def _can_go_on(self, rank: int, state: tuple[int, ...], step: int) -> bool:
        kind, members, peer, number = state
        if kind == _ENDED:
            return number != step  # it has not come to this step yet
        if kind == _RUNNING:
            return True
        source, target = (rank, peer) if kind == _SENDING else (peer, rank)
        return self.sizes(members, source, target, number) is not None

    @property
    def broken(self) -> bool:
        return bool(self._cells[self._broken])

    def give_up(self) -> None:
        """From now on no message can be trusted: some were left over, or do not fit each other."""
        self._cells[self._broken] = 1


_state: dict[str, Any] = {"active": False, "direct": 0, "step": 0, "says": ""}
_boxes: list[_Mailbox] = []


class _Work:
    """A send or receive that was started. ``wait`` raises `OutOfStep` where it would never return."""

    def __init__(self, work: Any, kind: int, members: int, peer: int, number: int):
        self._work = work
        self._row = kind, members, peer, number

    def wait(self, timeout: timedelta | None = None) -> bool:  # noqa: ARG002 - torch's interface
        box, rank, tries = _boxes[0], dist.get_rank(), 0
        kind, members, peer, number = self._row
        pair = (rank, peer) if kind == _SENDING else (peer, rank)
        if box.sizes(members, *pair, number) is None:
            box.set_state(rank, *self._row)
            while box.sizes(members, *pair, number) is None:
                tries += 1
                time.sleep(0 if tries < 50 else 0.0002)
                states = box.stuck(_state["step"]) if tries % 20 == 0 else None
                if states is not None:
                    _give_up(_describe(rank, states))
            box.set_state(rank, _RUNNING)
        _check_sizes(box.sizes(members, *pair, number), *pair)
        self._work.wait(timedelta(seconds=_TRANSFER_SECONDS))
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)


def _give_up(text: str) -> None:
    _boxes[0].give_up()
    _state["says"] = text
    raise ranks.OutOfStep(text)


def _check_sizes(sizes: tuple[int, int] | None, source: int, target: int) -> None:
    if sizes is not None and sizes[0] != sizes[1]:
        _give_up(
            f"rank {source} sends {sizes[0]} bytes to rank {target}, which expects {sizes[1]} bytes from it"
        )


def _describe(rank: int, states: list[tuple[int, ...]]) -> str:
    texts = []
    for other in sorted(range(len(states)), key=lambda r: r != rank):
        kind, _, peer, _ = states[other]
        if kind == _SENDING:
            texts.append(f"rank {other} waits in send for rank {peer} to receive")
        elif kind == _RECEIVING:
            texts.append(f"rank {other} waits in recv for rank {peer} to send")
        else:
            texts.append(f"rank {other} has returned or failed")
    return f"the ranks wait for each other forever: {'; '.join(texts)}"


def watch_messages() -> bool:
    """Watch this rank's messages from now on. Returns False without a process group, as in the judge.

    Probes call this after `ranks.watch`. Methods of a process group that communicate are refused unless
    they are called by the functions of ``torch.distributed``.
    """
    if not (dist.is_available() and dist.is_initialized()):
        return False
    _boxes[:] = [_Mailbox(dist.get_world_size())]
    module = dist.distributed_c10d
    wrapped = {
        "isend": _started(dist.isend, _SENDING),
        "irecv": _started(dist.irecv, _RECEIVING),
    }
    wrapped["send"] = _send(wrapped["isend"])
    wrapped["recv"] = _recv(wrapped["irecv"], dist.recv)
    for name, function in wrapped.items():
        function.__name__ = name
        setattr(dist, name, function)
        setattr(module, name, function)
    for kind in (dist.ProcessGroup, torch._C._distributed_c10d.Backend, dist.ProcessGroupGloo):
        for name in _GROUP_METHODS:
            if name in vars(kind):
                setattr(kind, name, _refused(vars(kind)[name], name))
    return True


_GROUP_METHODS = (
    *("send", "recv", "recv_anysource", "allreduce", "allreduce_coalesced", "broadcast", "reduce"),
    *("allgather", "_allgather_base", "allgather_coalesced", "allgather_into_tensor_coalesced", "barrier"),
    *("reduce_scatter", "_reduce_scatter_base", "reduce_scatter_tensor_coalesced", "gather", "scatter"),
    *("alltoall", "alltoall_base", "monitored_barrier"),
)


def _refused(method: Any, name: str) -> Callable[..., Any]:
    def refused(*args: Any, **kwargs: Any) -> Any:
        if _state["active"] and not _state["direct"]:
            raise RuntimeError(f"ProcessGroup.{name} is not allowed: use the functions of torch.distributed.")
        return method(*args, **kwargs)

    return refused


def _peer(group: Any, rank: int | None, place: int | None) -> tuple[tuple[int, ...], int, int] | None:
    """The members of a group, and a peer's rank and place in it; None if torch would refuse them."""
    members = tuple(dist.get_process_group_ranks(group)) if group else tuple(range(dist.get_world_size()))
    if (rank is None) == (place is None) or dist.get_rank() not in members:
        return None
    if rank is not None:
        return (members, rank, members.index(rank)) if rank in members else None
    assert place is not None
    return (members, members[place], place) if 0 <= place < len(members) else None


def _started(original: Callable[..., Any], kind: int) -> Callable[..., Any]:
    side = "dst" if kind == _SENDING else "src"

    def start(
        tensor: Any, peer: Any = None, group: Any = None, tag: int = 0, place: Any = None, **more: Any
    ) -> Any:
        peer, place = more.pop(side, peer), more.pop(f"group_{side}", place)
        target = _peer(group, peer, place)
        plain = {"group": group, "tag": tag, side: peer, f"group_{side}": place, **more}
        if not _state["active"] or target is None or not isinstance(tensor, torch.Tensor):
            return _direct(original, tensor, **plain)
        if _boxes[0].broken:
            raise ranks.OutOfStep(_state["says"] or "the messages of the ranks do not match each other")
        members, other, position = target
        key, rank, box = sum(1 << member for member in members), dist.get_rank(), _boxes[0]
        if not tensor.is_contiguous() or other == rank:
            return _direct(original, tensor, **plain)  # torch refuses both
        if kind == _SENDING:
            messages.append(Message(position, tensor, members))
        pair = (rank, other) if kind == _SENDING else (other, rank)
        number = box.post(kind, key, *pair, tensor.numel() * tensor.element_size())
        _check_sizes(box.sizes(key, *pair, number), *pair)
        return _Work(_direct(original, tensor, **plain), kind, key, other, number)

    return start


def _direct(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    _state["direct"] += 1
    try:
        return original(*args, **kwargs)
    finally:
        _state["direct"] -= 1


def _send(start: Callable[..., Any]) -> Callable[..., None]:
    def send(tensor: Any, dst: Any = None, group: Any = None, tag: int = 0, group_dst: Any = None) -> None:
        target = _peer(group, dst, group_dst)
        if target is not None and target[1] == dist.get_rank():
            raise ValueError("Invalid destination rank: destination rank should not be the same as this one.")
        work = start(tensor, dst, group, tag, group_dst)
        if work is not None:
            work.wait()

    return send


def _recv(start: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., int]:
    def recv(tensor: Any, src: Any = None, group: Any = None, tag: int = 0, group_src: Any = None) -> int:
        target = _peer(group, src, group_src)
        if target is None:  # from anyone, or refused by torch
            return int(_direct(original, tensor, src, group, tag, group_src))
        work = start(tensor, src, group, tag, group_src)
        if work is not None:
            work.wait()
        return target[1]

    return recv


@contextlib.contextmanager
def exchange(record: Recorder, name: str | int, group: Any = None) -> Iterator[None]:
    """`ranks.together` for a step in which the ranks send each other messages in ``group``.

    After messages that nobody received, every later step fails: its messages would be taken for the earlier
    ones.
    """
    box, rank = _boxes[0], dist.get_rank()
    with ranks.together(record, name, group):
        messages.clear()
        _state["step"] += 1
        if box.left_over(rank):
            box.give_up()
        box.set_state(rank, _RUNNING)
        _state["active"] = True
        try:
            yield
        finally:
            _state["active"] = False
            box.set_state(rank, _ENDED, 0, 0, _state["step"])
