import array
import contextlib
import copy
import functools
import inspect
import mmap
import os
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


RANKS, D, H, K = 3, 5, 4, 2


def weights(draw):
    return {
        "inner.weight": draw.normal(H, D, scale=0.5),
        "inner.bias": draw.normal(H, scale=0.3),
        "outer.weight": draw.normal(K, H, scale=0.5),
        "outer.bias": draw.normal(K, scale=0.3),
    }


def batch(draw, size, shift=0.0):
    return draw.normal(size, D), draw.normal(size, K, shift=shift)


def case(draw, sizes, val, eval_every, lr=0.1, **more):
    """``sizes``: per rank the sizes of its batches; ``val``: per rank the size of its part."""
    return {
        "weights": weights(draw),
        "batches": [[batch(draw, n, shift=float(rank)) for n in mine] for rank, mine in enumerate(sizes)],
        "val": [batch(draw, n, shift=2.0 * rank) for rank, n in enumerate(val)],
        "eval_every": eval_every,
        "lr": lr,
        **more,
    }


def stopping(draw):
    """Everything zero but the last bias, which moves towards ``aim``: the validation losses follow in closed form."""
    one = case(draw, [[3] * 6, [2] * 6, [4] * 6], [3, 2, 1], 2, lr=0.25)
    aim, offsets = draw.uniform(9.0, 11.0), [20.0, 4.4, 12.0]
    one["weights"] = {k: torch.zeros_like(v) for k, v in one["weights"].items()}
    one["batches"] = [[(torch.zeros_like(x), torch.full_like(y, aim)) for x, y in b] for b in one["batches"]]
    one["val"] = [
        (torch.zeros_like(x), torch.full_like(y, offsets[r])) for r, (x, y) in enumerate(one["val"])
    ]
    one["targets"] = {}
    for world in (2, 3):
        losses = []
        for n in (2, 4):
            bias = aim * (1 - 0.75**n)
            parts = [(len(one["val"][r][0]), (bias - offsets[r]) ** 2) for r in range(world)]
            losses.append(sum(m * v for m, v in parts) / sum(m for m, _ in parts))
        one["targets"][world] = sum(losses) / 2
    return one


def inputs(draw):
    cases = {
        "equal": case(draw, [[4, 4, 4]] * 3, [3, 3, 3], 2),
        "uneven": case(draw, [[3, 3], [3, 3, 3, 3], []], [2, 2, 2], 3),
        "none": case(draw, [[], [3, 3, 3], [3]], [2, 2, 2], 2),
        "sizes": case(draw, [[2, 7], [9, 1], [4, 5]], [2, 2, 2], 1),
        "bad": case(draw, [[3, 3, 3], [3, 3, 3, 3], [3, 3]], [2, 2, 2], 2),
        "bad_last": case(draw, [[3], [3, 3], [3]], [2, 2, 2], 1),
        "parts": case(draw, [[3, 3], [3, 3], [3, 3]], [1, 6, 0], 1),
        "empty": case(draw, [[3], [3], [3]], [0, 4, 2], 1),
        "stop": stopping(draw),
        "branch": case(draw, [[3, 2, 3], [2, 5], [4, 4]], [2, 1, 3], 3),
    }
    cases["bad"]["batches"][1][1][0][2, 1] = float("nan")
    cases["bad"]["batches"][0][2][1][0, 1] = float("inf")
    cases["bad_last"]["batches"][1][1][1][1, 0] = float("-inf")
    zero = case(draw, [[2] * 4] * 3, [2, 2, 2], 2)
    zero["weights"] = {k: torch.zeros_like(v) for k, v in zero["weights"].items()}
    zero["batches"] = [[(x, torch.zeros_like(y)) for x, y in mine] for mine in zero["batches"]]
    zero["val"] = [(x, torch.zeros_like(y)) for x, y in zero["val"]]
    cases["zero"] = zero
    for rank, mine in enumerate(cases["branch"]["batches"]):
        for i, (x, _) in enumerate(mine):
            x.abs_()  # the sign of its sum picks the branch
            if (rank + i) % 2 or rank == 2:
                x.neg_()
    cases["branch"]["weights"] |= {"other.weight": draw.normal(H, D, scale=0.5), "other.bias": draw.normal(H)}
    cases["branch"]["weights"] |= {"spare.weight": draw.normal(H, D), "spare.bias": draw.normal(H)}
    return cases


class Gate(nn.Module):
    """Stands for dropout: eval mode gives other values than train mode. Notes how it is called."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        self.seen.append([self.training, torch.is_grad_enabled()])
        return x if self.training else 0.5 * x


class Net(nn.Module):
    def __init__(self, values):
        super().__init__()
        self.inner, self.outer = nn.Linear(D, H), nn.Linear(H, K)
        if "other.weight" in values:
            self.other, self.spare = nn.Linear(D, H), nn.Linear(D, H)
        self.gate = Gate()
        self.load_state_dict({k: v.cpu() for k, v in values.items()})

    def forward(self, x):
        layer = self.other if hasattr(self, "other") and x.sum() < 0 else self.inner
        return self.outer(self.gate(torch.tanh(layer(x))))


def pair(value):
    return tuple(t.cpu() for t in value)


def plain(value):
    """A numpy float is a float; everything else is recorded as it is."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return float(value) if isinstance(value, float) else value


@distributed
def probe_train(code, given, record):
    for name, one in given.items():
        with together(record, name):
            model = Net(one["weights"])
            batches = [pair(b) for b in one["batches"][record.rank]]
            batches = tuple(batches) if name == "none" else batches
            val = pair(one["val"][record.rank])
            kept, kept_val = copy.deepcopy(batches), copy.deepcopy(val)
            told = []
            more = {"target_loss": one["targets"][record.world]} if "targets" in one else {}
            if name not in ("empty", "sizes"):
                more["on_eval"] = lambda i, loss, told=told: told.append([i, plain(loss)])
            if name != "zero" and not more.get("target_loss"):
                more["target_loss"] = -1.0
            result = code.train(model, batches, val, lr=one["lr"], eval_every=one["eval_every"], **more)
            for key in ("iterations", "skipped", "val_losses"):
                record(key, plain(result[key]))
            record("told", told)
            record("params", dict(model.named_parameters()))
            record("training", [m.training for m in model.modules()])
            record("seen", model.gate.seen)
            same = [
                len(kept) == len(batches),
                *(torch.equal(a, b) for a, b in zip(kept_val, val, strict=True)),
            ]
            for a, b in zip(kept, batches, strict=False):
                same += [torch.equal(p.nan_to_num(7.5), q.nan_to_num(7.5)) for p, q in zip(a, b, strict=True)]
            record("same", same)


@distributed
def probe_errors(code, given, record):
    one = given["equal"]
    for name, value in (("zero", 0), ("negative", -3)):
        with together(record, name):
            batches, val = [pair(b) for b in one["batches"][record.rank]], pair(one["val"][record.rank])
            model = Net(one["weights"])
            record.raises(
                "call", lambda m=model, b=batches, v=val, n=value: code.train(m, b, v, lr=0.1, eval_every=n)
            )
            record("sent", len(calls))
