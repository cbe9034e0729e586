import array
import contextlib
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


RANKS = 3
SHAPES = {"weight": (5, 3), "turned": (6, 4), "wide": (7,), "brief": (3, 5), "frozen": (6,), "scalar": ()}
KINDS = {"wide": torch.float64, "brief": torch.bfloat16}
CONV = (3, 2, 5, 3)
# gradients: which ranks have one ("all", or a set per size of the world); neighbours of the same shape
HOLES = ("weight", "first", "last", "nobody", "middle", "turned", "wide", "tail")


def inputs(draw):
    models, grads, holes = [], [], []
    for rank in range(RANKS):
        model = {k: draw.normal(*s, dtype=KINDS.get(k, torch.float32)) for k, s in SHAPES.items()}
        model["conv"] = draw.normal(*CONV)
        model["weight"][0, :2] = (
            torch.tensor([-0.0, float("inf")]) if rank != 1 else torch.tensor([2.0, -0.0])
        )
        model["counter"] = torch.tensor(11 + 7 * rank)
        model["table"] = draw.normal(9)
        model["mean"], model["var"] = draw.normal(5), draw.rand(5, low=0.5, high=2.0)
        models.append(model)
        grads.append(
            {
                k: draw.normal(*v.shape, dtype=v.dtype, shift=1.5 + 2 * rank, scale=0.5)
                for k, v in model.items()
                if k in SHAPES or k == "conv"
            }
        )
        shapes = {"wide": (7,), "turned": (5, 3)}
        holes.append(
            {
                k: draw.normal(*shapes.get(k, (3, 5)), shift=1.0 + rank, dtype=KINDS.get(k, torch.float32))
                for k in HOLES
            }
        )
    uneven = [draw.integer(81, 150) for _ in range(9)]
    return {"models": models, "grads": grads, "holes": holes, "uneven": uneven}


class Model(nn.Module):
    """Parameters of several dtypes and layouts, in a tree of modules, with buffers."""

    def __init__(self, values):
        super().__init__()
        self.weight = nn.Parameter(values["weight"].clone())
        self.turned = nn.Parameter(values["turned"].t().contiguous().t())
        self.inner = nn.Module()
        self.inner.wide = nn.Parameter(values["wide"].clone())
        self.inner.frozen = nn.Parameter(values["frozen"].clone(), requires_grad=False)
        self.inner.conv = nn.Parameter(values["conv"].contiguous(memory_format=torch.channels_last))
        self.norm = nn.BatchNorm1d(5, affine=False)
        with torch.no_grad():
            self.norm.running_mean.copy_(values["mean"])
            self.norm.running_var.copy_(values["var"])
            self.norm.num_batches_tracked.copy_(values["counter"])
        self.brief = nn.Parameter(values["brief"].clone())
        self.scalar = nn.Parameter(values["scalar"].clone())
        self.register_buffer("table", values["table"].clone(), persistent=False)


def short(name):
    return name.rpartition(".")[2]


def to_cpu(values):
    return {k: v.cpu() for k, v in values.items()}


def layout(tensor):
    return [tensor.data_ptr(), list(tensor.shape), list(tensor.stride()), str(tensor.dtype)]


def with_grads(model, grads):
    """Gradients in their parameters' layout, that of "weight" transposed although the parameter is not."""
    for name, p in model.named_parameters():
        grad = torch.empty_like(p).copy_(grads[short(name)])
        p.grad = grad.t().contiguous().t() if short(name) == "weight" else grad
    return model


SUB = ONE = None
if dist.is_available() and dist.is_initialized():  # before anything is locked up
    SUB = dist.new_group([0, dist.get_world_size() - 1]) if dist.get_world_size() > 2 else None
    ONE = dist.new_group([0])


@distributed
def probe_broadcast(code, given, record):
    last = record.world - 1
    for name, arguments in (("default", {}), ("last", {"src": last})):
        with together(record, name):
            model = with_grads(
                Model(to_cpu(given["models"][record.rank])), to_cpu(given["grads"][record.rank])
            )
            model.scalar.grad = None
            tensors = [*model.named_parameters(), *model.named_buffers()]
            before = {k: (t, layout(t), t.requires_grad, t.grad) for k, t in tensors}
            code.broadcast_parameters(model, **arguments)
            after = dict([*model.named_parameters(), *model.named_buffers()])
            record("names", sorted(after))
            for key, (tensor, place, wants, grad) in before.items():
                now = after[key]
                record(f"value/{short(key)}", now)
                record(
                    f"kept/{short(key)}", [now is tensor, layout(now) == place, now.requires_grad == wants]
                )
                record(f"grad/{short(key)}", [now.grad is grad, now.grad])
    if SUB is not None:
        with together(record, "sub", SUB):
            model = Model(to_cpu(given["models"][record.rank]))
            if dist.get_rank(SUB) >= 0:
                code.broadcast_parameters(model, src=last, group=SUB)
            for key, tensor in [*model.named_parameters(), *model.named_buffers()]:
                record(f"value/{short(key)}", tensor)
    with together(record, "one", ONE):
        model = Model(to_cpu(given["models"][record.rank]))
        if record.rank == 0:
            code.broadcast_parameters(model, src=0, group=ONE)
        for key, tensor in [*model.named_parameters(), *model.named_buffers()]:
            record(f"value/{short(key)}", tensor)


def average(record, model, call):
    """Average and record what became of gradients and parameters."""
    before = {k: (p.grad, layout(p.grad)) for k, p in model.named_parameters() if p.grad is not None}
    call()
    for name, p in model.named_parameters():
        record(f"grad/{short(name)}", p.grad)
        record(f"param/{short(name)}", p)
        if name in before:
            grad, place = before[name]
            record(f"same/{short(name)}", p.grad is grad)
            record(f"layout/{short(name)}", p.grad is not None and layout(p.grad)[1:] == place[1:])


@distributed
def probe_average(code, given, record):
    values, grads = to_cpu(given["models"][record.rank]), to_cpu(given["grads"][record.rank])
    with together(record, "mean"):
        model = with_grads(Model(values), grads)
        average(record, model, lambda: code.average_gradients(model))
    with together(record, "small"):  # one gradient per bucket, and a second call on the same module
        model = with_grads(Model(values), grads)
        code.average_gradients(model, bucket_bytes=1)
        with_grads(model, {k: 3 * v for k, v in grads.items()})
        average(record, model, lambda: code.average_gradients(model, bucket_bytes=64))
    if SUB is not None:
        with together(record, "sub", SUB):
            model = with_grads(Model(values), grads)
            member = dist.get_rank(SUB) >= 0
            average(record, model, lambda: code.average_gradients(model, group=SUB) if member else None)
    with together(record, "one", ONE):
        model = with_grads(Model(values), grads)
        model.scalar.grad = None
        member = record.rank == 0
        average(record, model, lambda: code.average_gradients(model, group=ONE) if member else None)


def owners(world):
    """Which ranks have a gradient, by parameter."""
    every = set(range(world))
    return {"first": {0}, "last": {world - 1}, "nobody": set(), "middle": {world // 2}, "turned": {0}} | {
        "weight": every,
        "wide": every - {0},
        "tail": every,
    }


class Holes(nn.Module):
    def __init__(self, values):
        super().__init__()
        for name in HOLES:
            value = values[name]
            p = nn.Parameter(torch.zeros_like(value.t().contiguous().t() if name == "turned" else value))
            self.register_parameter(name, p)


@distributed
def probe_holes(code, given, record):
    values = to_cpu(given["holes"][record.rank])
    for step, limit in (("large", 2**20), ("tiny", 1)):
        with together(record, step):
            model = Holes(values)
            for name, p in model.named_parameters():
                if record.rank in owners(record.world)[name]:
                    p.grad = values[name].clone()
            average(record, model, lambda m=model, n=limit: code.average_gradients(m, bucket_bytes=n))
    with together(record, "unused"):  # nobody has a gradient at all
        model = Holes(values)
        average(record, model, lambda: code.average_gradients(model))


def block(sizes, dtypes=(torch.float32,), frozen=()):
    """A module with flat parameters of these numbers of elements, gradients that depend on the rank."""
    model = nn.Module()
    for i, size in enumerate(sizes):
        value = torch.zeros(size, dtype=dtypes[i % len(dtypes)])
        p = nn.Parameter(value, requires_grad=i not in frozen)
        p.grad = torch.full_like(value, float((dist.get_rank() + 1) * (i + 1)))
        model.register_parameter(f"p{i}", p)
    return model


@distributed
def probe_buckets(code, given, record):
    def run(name, model, **arguments):
        with together(record, name):
            code.average_gradients(model, **arguments)
            record("calls", [list(call) for call in calls])
            record("values", [float(p.grad[0]) for p in model.parameters()])

    eight = [1024] * 8
    run("two", block(eight), bucket_bytes=16384)
    run("below", block(eight), bucket_bytes=16383)
    run("default", block(eight))
    run("eight", block(eight), bucket_bytes=1)
    uneven = list(given["uneven"])
    run("uneven", block(uneven), bucket_bytes=1200)
    large = [*uneven[:4], 700, *uneven[4:]]
    run("large", block(large), bucket_bytes=1500)
    run("float64", block(uneven, (torch.float64,)), bucket_bytes=2400)
    run("bfloat16", block(uneven, (torch.bfloat16,)), bucket_bytes=600)
    kinds = (torch.float64, torch.float32, torch.float32, torch.bfloat16)
    run("mixed", block(uneven, kinds), bucket_bytes=2100)
    run("frozen", block(uneven, frozen=(1, 5)), bucket_bytes=1200)
    model = block(uneven)
    for i, p in enumerate(model.parameters()):
        if i % record.world != record.rank and i % 4:
            p.grad = None
    run("holes", model, bucket_bytes=1200)


@distributed
def probe_errors(code, given, record):
    for name, value in (("zero", 0), ("negative", -5)):
        with together(record, name):
            model = block([70, 90])
            record.raises("call", lambda m=model, v=value: code.average_gradients(m, bucket_bytes=v))
            record("sent", len(calls))
