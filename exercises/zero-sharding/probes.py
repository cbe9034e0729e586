import array
import contextlib
import functools
import inspect
import mmap
import os
import random
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from quizapp.judge.record import distributed

# ---- ranks in step: every collective of the submission is announced to the group before it is made ----
NAMES = (
    *("all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor", "reduce_scatter"),
    *("reduce_scatter_tensor", "gather", "scatter", "all_to_all", "all_to_all_single", "barrier"),
    *("all_reduce_coalesced", "all_gather_coalesced", "all_gather_object", "broadcast_object_list"),
    *("gather_object", "scatter_object_list", "monitored_barrier"),
)
SINGLE = ("send", "recv", "isend", "irecv")
SAME_SIZE = ("all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor")
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8)
calls = []  # what this rank called in the present step: name, number of elements, dtype
state = {"active": False, "busy": False}
board = None


class OutOfStep(RuntimeError):
    """The ranks of a group are about to make different calls: without this exception they would hang."""


class Board:
    """A page that all ranks of a run share: each writes what it is about to do and reads the others' lines."""

    def __init__(self):
        page = os.open(Path.cwd().parent / "board", os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(page, 16384)
        self.cells = memoryview(mmap.mmap(page, 16384)).cast("q")
        os.close(page)
        self.turns = {}

    def meet(self, group, row):
        """Exchange one row of four numbers with the other members of the group."""
        members = range(dist.get_world_size()) if group is None else dist.get_process_group_ranks(group)
        key = tuple(members)
        turn = self.turns[key] = self.turns.get(key, 0) + 1
        # Two lines per rank and group, in turns: nobody is two meetings ahead of another.
        place = 40 * (sum(1 << rank for rank in members) * 2 + turn % 2)
        line = place + 8 * dist.get_rank()
        self.cells[line + 1 : line + 5] = memoryview(array.array("q", row))
        self.cells[line] = turn
        rows = []
        for rank in members:
            line, tries = place + 8 * rank, 0
            while self.cells[line] != turn:
                tries += 1
                time.sleep(0 if tries < 50 else 0.0002)
            rows.append(self.cells[line + 1 : line + 5].tolist())
        return rows


def tell(rank, row):
    code, numel, kind, _ = row
    if code == 0:
        return f"rank {rank} " + ("never gets there: it raised an exception" if numel else "never calls it")
    size = f" with {numel} elements" if numel >= 0 else ""
    dtype = f" of {str(DTYPES[kind]).removeprefix('torch.')}" if kind >= 0 else ""
    return f"rank {rank} calls {NAMES[code - 1]}{size}{dtype}"


def announce(name, arguments):
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
    rows = board.meet(group, [NAMES.index(name) + 1, numel, kind, root])
    if any(row != rows[0] for row in rows):
        ranks = range(len(rows)) if group is None else dist.get_process_group_ranks(group)
        mine = tell(dist.get_rank(), rows[dist.get_rank(group)])
        others = [tell(rank, row) for rank, row in zip(ranks, rows, strict=True) if rank != dist.get_rank()]
        raise OutOfStep(f"the ranks are out of step and would hang: {'; '.join([mine, *others])}")


def watched(name, original):
    signature = inspect.signature(original)

    @functools.wraps(original)
    def call(*args, **kwargs):
        if not state["active"] or state["busy"]:
            return original(*args, **kwargs)
        state["busy"] = True
        try:
            arguments = signature.bind(*args, **kwargs).arguments
            if name in NAMES:
                announce(name, arguments)
            first = next((v for v in arguments.values() if isinstance(v, torch.Tensor)), None)
            size = (first.numel(), str(first.dtype)) if first is not None else (0, "")
            calls.append([name, *size])
            return original(*args, **kwargs)
        finally:
            state["busy"] = False

    return call


def watch():
    """Put the watched functions in place, before the submission can import the real ones."""
    global board
    board = Board()
    for name in (*NAMES, *SINGLE):
        original = getattr(dist, name, None)
        if original is not None:
            wrapped = watched(name, original)
            for module in (dist, dist.distributed_c10d):
                if getattr(module, name, None) is original:
                    setattr(module, name, wrapped)


def finish(group, failed):
    """Wait until every member has ended the step; those that still call something are told so."""
    while any(row[0] for row in board.meet(group, [0, failed, 0, 0])):
        pass


@contextlib.contextmanager
def together(record, name, group=None):
    """A step that every rank of the world takes; calls in it belong to ``group``."""
    calls.clear()
    failed = 1
    state["active"] = True
    with record.step(name):
        yield
        failed = 0
    state["active"] = False
    if group is not None and dist.get_rank(group) >= 0:
        finish(group, failed)
    finish(None, failed)


if dist.is_available() and dist.is_initialized():  # only in a rank's own process, never in the judge's
    watch()


RANKS, STEPS = 3, 4
SHAPES = [(5, 3), (7,), (6, 4), ()]
OPTIMIZERS = {
    "adam": ("Adam", {"lr": 0.05, "betas": (0.8, 0.95), "eps": 0.02}),
    "adamw": ("AdamW", {"lr": 0.03, "weight_decay": 0.2, "amsgrad": True}),
    "sgd": ("SGD", {"lr": 0.1, "momentum": 0.7, "weight_decay": 0.05}),
}


def trial(draw, shapes, dtype=torch.float32, missing=()):
    """Start values, and gradients[step][rank][index]: of equal signs on all ranks, so their mean is never tiny."""
    values = [draw.rand(*shape, low=0.5, high=2.0, dtype=dtype) for shape in shapes]
    grads = []
    for step in range(STEPS):
        signs = [draw.integers(0, 2, *shape) * 2 - 1 for shape in shapes]
        grads.append(
            [
                [
                    None
                    if (step, i) in missing
                    else (signs[i] * draw.rand(*shape, low=0.2 + rank, high=1.0 + rank)).to(dtype)
                    for i, shape in enumerate(shapes)
                ]
                for rank in range(RANKS)
            ]
        )
    return {"values": values, "grads": grads}


def inputs(draw):
    lists = [
        [100, 1, 100, 1, 100, 1, 100, 1],
        [90, 80, 70, 60, 2, 3, 1, 1, 2, 1],
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
        [5, 5, 5, 5, 5, 5, 5],
        [draw.integer(400, 500), *(draw.integer(1, 9) for _ in range(7))],
        [draw.integer(1, 100) for _ in range(draw.integer(9, 25))],
        [draw.integer(1, 1000) for _ in range(draw.integer(9, 25))],
        [4, 0, 9, 0, 2],
        [13],
    ]
    missing = {(0, 1), (1, 1), (2, 3), (3, 2)} | {(step, 4) for step in range(STEPS)}
    shapes = draw.shuffled(SHAPES)
    return {
        "lists": lists,
        "plain": trial(draw, shapes),
        "double": trial(draw, shapes, torch.float64),
        "few": trial(draw, [(5, 3)]),
        "missing": trial(draw, [(5, 3), (7,), (3,), (6, 4), (2, 5)], missing=missing),
    }


def probe_partition(code, given, record):
    for i, numels in enumerate(given["lists"]):
        for world in (1, 2, 3, 4, 7):
            with record.step(f"{i}/{world}"):
                record("lists", code.partition(list(numels), world))
                random.seed(world)
                torch.manual_seed(world)
                record("tuple", code.partition(tuple(numels), world))
    with record.step("empty"):
        record("lists", [code.partition([], n) for n in (1, 3)])


def probe_errors(code, given, record):
    record.raises("zero_world", lambda: code.partition([3, 4], 0))
    record.raises("negative_world", lambda: code.partition([3, 4], -2))
    record.raises("empty_zero_world", lambda: code.partition([], 0))
    record.raises("negative_numel", lambda: code.partition([3, -1, 4], 2))


def spied(name):
    """An optimizer class that notes its instances."""
    base = getattr(torch.optim, name)

    class Spy(base):
        made = []

        def __init__(self, *args, **kwargs):
            Spy.made.append(self)
            super().__init__(*args, **kwargs)

    Spy.__name__ = Spy.__qualname__ = name
    return Spy


SUB = None
if dist.is_available() and dist.is_initialized():  # before anything is locked up
    SUB = dist.new_group([0, dist.get_world_size() - 1]) if dist.get_world_size() > 2 else None


def train(code, record, data, optimizer, group=None):
    name, settings = OPTIMIZERS[optimizer]
    kind = spied(name)
    params = [nn.Parameter(value.cpu().clone()) for value in data["values"]]
    places = [p.data_ptr() for p in params]
    ident = {id(p): i for i, p in enumerate(params)}
    more = {} if group is None else {"group": group}
    sharded = code.ShardedOptimizer(params, kind, **more, **settings)
    record("partition", code.partition([p.numel() for p in params], dist.get_world_size(group)))
    record("bytes/start", sharded.state_bytes())
    for step, grads in enumerate(data["grads"]):
        for p, grad in zip(params, grads[record.rank], strict=True):
            p.grad = None if grad is None else grad.cpu().clone()
        sharded.step()
        record(f"values/{step}", params)
        record(f"bytes/{step}", sharded.state_bytes())
        sharded.zero_grad()
        record(f"cleared/{step}", [p.grad is None for p in params])
    record("places", [p.data_ptr() == place for p, place in zip(params, places, strict=True)])
    owned, state = [], []
    for made in kind.made:
        groups = getattr(made, "param_groups", [])
        owned.append(sorted(ident.get(id(p), -1) for g in groups for p in g["params"]))
        state += [ident.get(id(p), -1) for p, s in getattr(made, "state", {}).items() if s]
    record("owned", owned)
    record("state", sorted(state))


@distributed
def probe_train(code, given, record):
    for name in ("adam", "sgd"):
        with together(record, name):
            train(code, record, given["plain"], name)
    with together(record, "double"):
        train(code, record, given["double"], "adamw")
    with together(record, "few"):
        train(code, record, given["few"], "adamw")
    with together(record, "missing"):
        train(code, record, given["missing"], "adamw")
    if SUB is not None:
        for name, data in (("sub", "plain"), ("sub_few", "few")):
            with together(record, name, SUB):
                if dist.get_rank(SUB) >= 0:
                    train(code, record, given[data], "adam", SUB)


@distributed
def probe_fresh(code, given, record):
    """zero_grad before the first step, parameters from a generator, and none at all."""
    with together(record, "zero"):
        params = [nn.Parameter(value.cpu().clone()) for value in given["plain"]["values"]]
        for p in params:
            p.grad = torch.ones_like(p)
        sharded = code.ShardedOptimizer(params, torch.optim.SGD, lr=0.1)
        sharded.zero_grad()
        record("cleared", [p.grad is None for p in params])
    with together(record, "generator"):
        params = [nn.Parameter(value.cpu().clone()) for value in given["plain"]["values"]]
        sharded = code.ShardedOptimizer((p for p in params), torch.optim.SGD, lr=0.1)
        for p, grad in zip(params, given["plain"]["grads"][0][record.rank], strict=True):
            p.grad = grad.cpu().clone()
        sharded.step()
        record("values", params)
    with together(record, "empty_list"):
        record.raises("call", lambda: code.ShardedOptimizer([], torch.optim.SGD, lr=0.1) and None)
    with together(record, "empty_generator"):
        record.raises(
            "call", lambda: code.ShardedOptimizer((p for p in ()), torch.optim.SGD, lr=0.1) and None
        )
