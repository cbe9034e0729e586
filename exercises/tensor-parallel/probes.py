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
import torch.nn.functional as F
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


D, H, K = 5, 12, 7  # H splits over 2, 3 and 4 ranks
LEADS = [(), (3,), (2, 3), (2, 1, 3)]


def linear(draw, d_in, d_out, bias, dtype):
    return {
        "weight": draw.normal(d_out, d_in, scale=0.6, dtype=dtype),
        "bias": draw.normal(d_out, shift=0.7, dtype=dtype) if bias else None,
    }


def inputs(draw):
    blocks = []
    for lead, bias, dtype in (
        (LEADS[0], True, torch.float32),
        (LEADS[1], False, torch.float32),
        (LEADS[2], True, torch.float64),
        (LEADS[3], True, torch.float32),
    ):
        blocks.append(
            {
                "up": linear(draw, D, H, bias, dtype),
                "down": linear(draw, H, K, bias, dtype),
                "x": draw.normal(*lead, D, dtype=dtype),
                "c": draw.normal(*lead, K, dtype=dtype),
            }
        )
    stack = {
        "layers": [
            [linear(draw, D, H, True, torch.float32), linear(draw, H, D, True, torch.float32)] for _ in "ab"
        ],
        "x": draw.normal(2, 3, D),
        "c": draw.normal(2, 3, D),
    }
    row = {"down": linear(draw, H, K, True, torch.float32), "x": draw.normal(4, H)}
    return {"blocks": blocks, "stack": stack, "row": row}


def full(values):
    weight, bias = values["weight"].cpu(), values["bias"]
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, dtype=weight.dtype)
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias.cpu())
    return layer


def memory(tensor, *others):
    """Bytes of the storage, and whether it is shared with another tensor."""
    if not isinstance(tensor, torch.Tensor):
        return None
    storage = tensor.untyped_storage()
    shared = any(
        storage.data_ptr() == other.untyped_storage().data_ptr() for other in others if other is not None
    )
    return [storage.nbytes(), tensor.numel() * tensor.element_size(), shared]


def describe_layer(record, name, layer, source):
    for key in ("weight", "bias"):
        value = getattr(layer, key)
        record(f"{name}/{key}", value)
        record(f"{name}/{key}_memory", memory(value, source.weight, source.bias))
        record(f"{name}/{key}_parameter", isinstance(value, nn.Parameter))
    record(f"{name}/elements", sum(p.numel() for p in layer.parameters()))
    record(f"{name}/full", [source.weight, source.bias])


SUB = None
if dist.is_available() and dist.is_initialized():  # before anything is locked up
    SUB = dist.new_group([0, dist.get_world_size() - 1]) if dist.get_world_size() > 2 else None


@distributed
def probe_layers(code, given, record):
    block = given["blocks"][3]
    with together(record, "slices"):
        for name, kind, key in (
            ("column", code.ColumnParallelLinear, "up"),
            ("row", code.RowParallelLinear, "down"),
        ):
            source = full(block[key])
            describe_layer(record, name, kind(source), source)
    with together(record, "plain"):
        source = full(given["blocks"][1]["up"])
        describe_layer(record, "column", code.ColumnParallelLinear(source), source)
        source = full(given["blocks"][2]["down"])
        describe_layer(record, "row", code.RowParallelLinear(source), source)
    with together(record, "forward"):
        record("column", code.ColumnParallelLinear(full(block["up"]))(block["x"].cpu()))
        record("calls", [list(call) for call in calls])
    with together(record, "row"):
        width = H // record.world
        x = given["row"]["x"].cpu()[:, record.rank * width : (record.rank + 1) * width]
        record("out", code.RowParallelLinear(full(given["row"]["down"]))(x))


def run_block(code, record, block, group=None, *, needs=True):
    more = () if group is None else (group,)
    up = code.ColumnParallelLinear(full(block["up"]), *more)
    down = code.RowParallelLinear(full(block["down"]), *more)
    x = block["x"].cpu().clone().requires_grad_(needs)
    calls.clear()
    out = down(torch.tanh(up(x)))
    record("out", out)
    record("forward_calls", [list(call) for call in calls])
    calls.clear()
    handed = []
    watch_gradients(out.grad_fn, handed)
    (out * block["c"].cpu()).sum().backward()
    record("backward_calls", [list(call) for call in calls])
    record("handed", [bool(torch.equal(a, b)) for a, b in handed])
    record("x", x)
    record("x_grad", x.grad)
    for name, layer in (("up", up), ("down", down)):
        for key in ("weight", "bias"):
            value = getattr(layer, key)
            record(f"{name}_{key}", None if value is None else value.grad)


def watch_gradients(node, handed):
    """Note every gradient that autograd hands to a node, and a copy of it."""
    found, todo = set(), [node]
    while todo:
        node = todo.pop()
        if node is None or node in found:
            continue
        found.add(node)
        todo += [other for other, _ in node.next_functions]
        if "AccumulateGrad" not in node.name():
            node.register_prehook(
                lambda grads: handed.extend((g, g.clone()) for g in grads if g is not None) or None
            )


@distributed
def probe_blocks(code, given, record):
    for i, block in enumerate(given["blocks"]):
        with together(record, i):
            run_block(code, record, block)
    with together(record, "data"):
        run_block(code, record, given["blocks"][3], needs=False)
    if SUB is not None:
        with together(record, "sub", SUB):
            if dist.get_rank(SUB) >= 0:
                run_block(code, record, given["blocks"][3], SUB)


@distributed
def probe_stack(code, given, record):
    stack = given["stack"]
    with together(record, "residual"):
        pairs = [
            (code.ColumnParallelLinear(full(up)), code.RowParallelLinear(full(down)))
            for up, down in stack["layers"]
        ]
        x = stack["x"].cpu().clone().requires_grad_()
        h = x
        for up, down in pairs:
            h = h + down(F.gelu(up(h)))
        record("out", h)
        (h * stack["c"].cpu()).sum().backward()
        record("x_grad", x.grad)
        record("grads", [[layer.weight.grad, layer.bias.grad] for pair in pairs for layer in pair])
    with together(record, "twice"):
        block = given["blocks"][3]
        up, down = code.ColumnParallelLinear(full(block["up"])), code.RowParallelLinear(full(block["down"]))
        x = block["x"].cpu().clone().requires_grad_()
        hidden = up(x)
        out = down(hidden * torch.sigmoid(hidden))
        ((out * block["c"].cpu()).sum() + (out**2).sum()).backward()
        record("x_grad", x.grad)
        record("grads", [up.weight.grad, up.bias.grad, down.weight.grad, down.bias.grad])


@distributed
def probe_errors(code, given, record):
    with together(record, "column"):
        record.raises("call", lambda: code.ColumnParallelLinear(nn.Linear(H, K)) and None)
    with together(record, "row"):
        record.raises("call", lambda: code.RowParallelLinear(nn.Linear(K, H)) and None)
    with together(record, "valid"):
        record("shapes", [list(code.ColumnParallelLinear(nn.Linear(K, H)).weight.shape)])
        record("more", [list(code.RowParallelLinear(nn.Linear(H, K)).weight.shape)])
