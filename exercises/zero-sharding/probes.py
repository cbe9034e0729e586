import random

import torch
import torch.distributed as dist
from torch import nn

from quizapp.judge.testing.memory import MemoryGauge
from quizapp.judge.testing.probes import distributed
from quizapp.judge.testing.ranks import first_and_last, together, watch
from quizapp.judge.testing.traffic import close_side_channels

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
        started = []

        def __init__(self, *args, **kwargs):
            Spy.made.append(self)
            super().__init__(*args, **kwargs)
            Spy.started.extend(p for group in self.param_groups for p in group["params"])

    Spy.__name__ = Spy.__qualname__ = name
    return Spy


SUB = first_and_last()  # before anything is locked up
gauge = MemoryGauge()
if watch():
    close_side_channels()


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
    record("trainable", all(p.requires_grad for p in params))
    owned, state = [], []
    for made in kind.made:
        groups = getattr(made, "param_groups", [])
        owned.append(sorted(ident.get(id(p), -1) for g in groups for p in g["params"]))
        state += [ident.get(id(p), -1) for p, s in getattr(made, "state", {}).items() if s]
    record("owned", owned)
    record("started", sorted(ident.get(id(p), -1) for p in kind.started))
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


class Hoarder(torch.optim.Optimizer):
    """An optimizer whose state is eight times as large as its parameters, so that it shows in the memory."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    state = self.state[p]
                    for k in range(8):
                        state[str(k)] = state.get(str(k), 0.0) + p.grad
                    p.sub_(state["0"], alpha=group["lr"])


@distributed
def probe_occupied(code, given, record):
    """How much memory two steps leave occupied, in whatever form. The unsharded state has 36 MiB."""
    with together(record, "large"):
        params = [nn.Parameter(torch.ones(3 << 16)) for _ in range(6)]
        before = gauge.occupied()
        sharded = code.ShardedOptimizer(params, Hoarder, lr=0.1)
        for _ in range(2):
            for p in params:
                p.grad = torch.ones_like(p)
            sharded.step()
            for p in params:
                p.grad = None
        record("growth", gauge.settled(before + (36 << 20) // record.world + (13 << 20)) - before)


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
