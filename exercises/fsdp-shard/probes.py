import gc
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from quizapp.judge.testing.memory import MemoryGauge
from quizapp.judge.testing.probes import distributed, filled_linear
from quizapp.judge.testing.ranks import calls, together, watch
from quizapp.judge.testing.traffic import close_side_channels

WORLD, STEPS = 3, 3
PATIENCE = 0.8
OPTIMIZERS = {
    "sgd": ("SGD", {"lr": 0.2, "momentum": 0.7, "weight_decay": 0.05}),
    "adamw": ("AdamW", {"lr": 0.03, "betas": (0.8, 0.95), "eps": 0.02, "weight_decay": 0.2}),
}


def values(draw, *shape, dtype=torch.float32):
    """Positive in bfloat16, where a sum that cancels would have no correct digit."""
    if dtype == torch.bfloat16:
        return draw.rand(*shape, low=0.5, high=1.5, dtype=dtype)
    return draw.normal(*shape, dtype=dtype)


def every(draw, shapes, dtype=torch.float32):
    """A tensor for each rank, which gets only its own. `shapes` has one shape, or one for each rank."""
    shapes = shapes if isinstance(shapes, list) else [shapes] * WORLD
    return {"by_rank": [values(draw, *shape, dtype=dtype) for shape in shapes]}


def layer_case(draw, rows, columns, bias, leads, dtype=torch.float32):
    """A layer, and inputs and output gradients of every rank for each of the leading dimensions."""
    return {
        "weight": values(draw, rows, columns, dtype=dtype),
        "bias": values(draw, rows, dtype=dtype) if bias else None,
        "x": [every(draw, shape(lead, columns), dtype) for lead in leads],
        "g": [every(draw, shape(lead, rows), dtype) for lead in leads],
        "changed": every(draw, (rows * (columns + 1),), dtype),
    }


def shape(lead, last):
    return [(*one, last) for one in lead] if isinstance(lead, list) else (*lead, last)


def chain(draw, sizes, scale=0.5):
    """The layers of a model."""
    return [
        {"weight": draw.normal(b, a, scale=scale), "bias": draw.normal(b, scale=scale) if i != 1 else None}
        for i, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False))
    ]


def inputs(draw):
    n, m, k = draw.sizes(3, 3, 7)
    # Neither 2 nor 3 divides the first two; both divide the third and the last, whose flat vector is the weight
    # itself, without bias or padding; the fourth is smaller than 3 ranks.
    cases = [
        layer_case(draw, draw.choice([5, 7, 11]), draw.choice([4, 6, 10, 12]), True, [(n,), (2, m)]),
        layer_case(draw, draw.choice([5, 11]), draw.choice([7, 13]), False, [(m,), ()]),
        layer_case(draw, 6, draw.choice([5, 7, 9]), True, [(2, 1, 3), [(n,), (1,), (2, m)]]),
        layer_case(draw, 1, 1, False, [(k,), (2, 2)]),
        layer_case(draw, 6, draw.choice([5, 7]), False, [(m,)]),
    ]
    rows, columns = draw.choice([5, 7, 11]), draw.choice([4, 6, 10])
    typed = {
        str(dtype).removeprefix("torch."): layer_case(draw, rows, columns, True, [(n,), (2, m)], dtype)
        for dtype in (torch.float64, torch.bfloat16)
    }
    widths = [draw.choice([3, 4, 5]), draw.choice([6, 7]), draw.choice([8, 9]), draw.choice([2, 3])]
    large = [draw.integer(39, 43), draw.integer(50, 54), draw.integer(36, 38)]
    clip = [[6, 5], [6, 2], [12, 3]]
    return {
        "cases": cases,
        "typed": typed,
        "group": layer_case(draw, 7, draw.choice([4, 6, 10]), True, [(n,), (2, m)]),
        "train": {
            "layers": chain(draw, widths),
            "x": [every(draw, [(n, widths[0]), (m, widths[0]), (k, widths[0])]) for _ in range(STEPS)],
            "y": [every(draw, [(n, widths[-1]), (m, widths[-1]), (k, widths[-1])]) for _ in range(STEPS)],
        },
        "large": {"layers": chain(draw, large, 0.1), "x": every(draw, (1, large[0]))},
        "clip": {
            "layers": [{"weight": draw.normal(r, c), "bias": draw.normal(r)} for r, c in clip],
            "grads": [every(draw, (r * (c + 1),)) for r, c in clip],
            "missing": {"by_rank": draw.shuffled([[], [1], [0, 1, 2]])},
        },
    }


def groups():
    """Ranks 0 and 2, and this rank alone: made before the sandbox allows no connection."""
    if not (dist.is_available() and dist.is_initialized()):
        return None, None
    size = dist.get_world_size()
    part = dist.new_group([0, 2]) if size == 3 else None
    alone = [dist.new_group([rank]) for rank in range(size)]
    return part, alone[dist.get_rank()]


SUB, ALONE = groups()
gauge = MemoryGauge()
if watch():
    close_side_channels()


def mine(case):
    """This rank's tensor, as a copy."""
    return case["by_rank"].cpu().clone()


def linear(case):
    bias = case["bias"]
    return filled_linear(case["weight"].cpu(), None if bias is None else bias.cpu())


def sharded(code, case, group=None):
    return code.ShardedLinear(linear(case), *([] if group is None else [group]))


def called():
    return [list(call) for call in calls]


def look_at_shard(code, record, case, group):
    full = linear(case)
    layer = code.ShardedLinear(full, *([] if group is None else [group]))
    record("names", [name for name, _ in layer.named_parameters()])
    record("shard", layer.shard)
    record("trains", layer.shard.requires_grad)
    record("bytes", layer.shard.untyped_storage().nbytes())
    with torch.no_grad():
        layer.shard.zero_()
    record("weight", full.weight)
    record("bias", full.bias)
    record("full", [list(full._parameters), full.weight.requires_grad, full.weight.grad is None])


def look_at_full(code, record, case, group):
    layer = sharded(code, case, group)
    layer.full_parameters()  # an answer that is kept is old after the change
    with torch.no_grad():
        layer.shard.copy_(mine(case["changed"])[: layer.shard.numel()])
    weight, bias = layer.full_parameters()
    record("weight", weight)
    record("bias", bias)
    both = [t for t in (weight, bias) if isinstance(t, torch.Tensor)]
    record("attached", any(t.requires_grad or t.grad_fn is not None for t in both))
    with torch.no_grad():
        for tensor in both:
            tensor.detach().zero_()
    record("shard", layer.shard)


def strided(tensor):
    """The same values, with gaps between them and the dimensions the other way round."""
    order = range(tensor.dim() - 1, -1, -1)
    turned = tensor.permute(*order)
    wide = torch.zeros(*turned.shape[:-1], 2 * turned.shape[-1], dtype=tensor.dtype)
    wide[..., ::2] = turned
    return wide[..., ::2].permute(*order)


def backward(code, record, case, group, make=lambda tensor: tensor):
    """Two forward passes, each followed by its backward pass."""
    layer = sharded(code, case, group)
    for i, (x, g) in enumerate(zip(case["x"], case["g"], strict=True)):
        x, g = make(mine(x)).requires_grad_(), make(mine(g))
        out = layer(x)
        record(f"out{i}", out)
        out.backward(g)
        record(f"x_grad{i}", x.grad)
        record(f"shard_grad{i}", layer.shard.grad)
        record(f"after{i}", [x, g])
    record("shard", layer.shard)


def interleaved(code, record, case):
    """Two forward passes before the two backward passes."""
    layer = sharded(code, case)
    xs, gs = ([mine(tensor) for tensor in case[name]] for name in ("x", "g"))
    outs = [layer(x.requires_grad_()) for x in xs]
    for out, g in zip(outs, gs, strict=True):
        out.backward(g)
    record("x_grads", [x.grad for x in xs])
    record("shard_grad", layer.shard.grad)


def forward(code, record, case, group):
    layer = sharded(code, case, group)
    for i, x in enumerate(case["x"]):
        record(f"out{i}", layer(mine(x)))


def life(code, record, case, group=None):
    """Everything about one layer."""
    for name, look in (
        ("shard", look_at_shard),
        ("forward", forward),
        ("full", look_at_full),
        ("backward", backward),
    ):
        with record.step(name):
            look(code, record, case, group)


@distributed
def probe_layer(code, given, record):
    for i, case in enumerate(given["cases"]):
        with together(record, i):
            life(code, record, case)
    with together(record, "interleaved"):
        interleaved(code, record, given["cases"][0])


def train(code, record, case, optimizer, group=None, steps=STEPS):
    layers = [sharded(code, layer, group) for layer in case["layers"]]
    model = nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])
    name, settings = OPTIMIZERS[optimizer]
    stepper = getattr(torch.optim, name)(model.parameters(), **settings)
    for step in range(steps):
        stepper.zero_grad()
        loss = (model(mine(case["x"][step])) - mine(case["y"][step])).square().mean()
        loss.backward()
        stepper.step()
        record(step, [layer.shard for layer in layers])


@distributed
def probe_train(code, given, record):
    for name in OPTIMIZERS:
        with together(record, name):
            train(code, record, given["train"], name)


class Storages(TorchDispatchMode):
    """Notes the memory of every tensor that is made, without keeping it alive."""

    waited = 0.0

    def __init__(self):
        super().__init__()
        self.refs = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                self.refs[storage._cdata] = StorageWeakRef(storage)
        return out

    def alive(self, *known, wait=0):
        """Bytes of each storage that is still alive and holds more than a tensor in `known`.

        Gloo's thread drops its references a moment after a collective has returned: while there are `wait`
        bytes or more, look again for some time, in all looks together little more than `PATIENCE`.
        """
        gc.collect()
        own = {t.untyped_storage()._cdata: t.numel() * t.element_size() for t in known if t is not None}
        started = time.monotonic()
        until = started + max(0.1, PATIENCE - Storages.waited)
        while True:
            sizes = [size for place, size in self._sizes() if size > own.get(place, 0)]
            if sum(sizes) < wait or time.monotonic() > until:
                Storages.waited += time.monotonic() - started
                return sorted(sizes, reverse=True)[:30]
            time.sleep(0.002)

    def _sizes(self):
        for place, ref in self.refs.items():
            storage = torch.UntypedStorage._new_with_weak_ptr(ref.cdata)
            if storage is not None:
                yield place, storage.nbytes()


@distributed
def probe_memory(code, given, record):
    case = given["large"]
    wait = min(layer["weight"].numel() for layer in case["layers"]) * 4 * 0.8
    gc.freeze()  # what exists already needs no collection
    with together(record, "all"):
        with Storages() as seen:
            layers = [sharded(code, layer) for layer in case["layers"]]
        shards = [layer.shard for layer in layers]
        record("built", seen.alive(*shards, wait=wait))
        model = nn.Sequential(layers[0], nn.Tanh(), layers[1])
        x = mine(case["x"]).requires_grad_()
        with torch.no_grad(), Storages() as seen:
            out = model(x)
        record("no_grad", seen.alive(x, out, *shards, wait=wait))
        with Storages() as seen:
            out = model(x)
        record("forward", seen.alive(x, out, *shards, wait=wait))
        # What is alive now is kept by the layer, not by the graph.
        size = out.shape
        del out
        record("dropped", seen.alive(x, *shards, wait=wait))
        with Storages() as seen:
            out = model(x)
            out.backward(torch.ones(size))
        record("backward", seen.alive(x, out, x.grad, *shards, *(shard.grad for shard in shards), wait=wait))


OCCUPIED = 12 << 20


def constant_linear(size):
    layer = nn.utils.skip_init(nn.Linear, size, size, bias=False)
    nn.init.constant_(layer.weight, 0.01)
    return layer


@distributed
def probe_occupied(code, given, record):
    """How much memory twelve layers of 1 MiB occupy, in whatever form: once built, and after the forward pass."""
    with together(record, "all"):
        before = gauge.occupied()
        layers = [code.ShardedLinear(constant_linear(512)) for _ in range(12)]
        limit = before + OCCUPIED
        record("built", gauge.settled(limit) - before)
        outs = [layer(torch.ones(3, 512)) for layer in layers]
        record("forward", gauge.settled(limit) - before)
        sum(outs).sum().backward()


@distributed
def probe_traffic(code, given, record):
    case = given["large"]
    for name, wants in (("inner", True), ("first", False)):
        with together(record, name):
            layers = [sharded(code, layer) for layer in case["layers"]]
            model = nn.Sequential(layers[0], nn.Tanh(), layers[1])
            x = mine(case["x"]).requires_grad_(wants)
            calls.clear()
            with torch.no_grad():
                model(x)
            record("no_grad", called())
            calls.clear()
            out = model(x)
            record("forward", called())
            calls.clear()
            out.sum().backward()
            record("backward", called())


def in_a_row(layers):
    return nn.Sequential(*layers)


def nested(layers):
    return nn.Sequential(layers[0], nn.Sequential(nn.Tanh(), *layers[1:]))


def alone(layers):
    """The layer itself."""
    return layers[0]


def clip(code, record, case, max_norm, missing=(), group=None, make=in_a_row):
    layers = [sharded(code, layer, group) for layer in case["layers"]]
    model = make(layers)
    for i, layer in enumerate(layers):
        grad = mine(case["grads"][i])[: layer.shard.numel()]
        layer.shard.grad = None if i in missing else grad
    before = [layer.shard.grad for layer in layers]
    calls.clear()
    norm = code.clip_grad_norm_(model, max_norm, *([] if group is None else [group]))
    record("calls", called())
    record("norm", norm)
    record("grads", [layer.shard.grad for layer in layers])
    record("same", [layer.shard.grad is grad for layer, grad in zip(layers, before, strict=True)])
    record("in_place", before)


@distributed
def probe_clip(code, given, record):
    case = given["clip"]
    for name, max_norm, missing in (
        ("small", 1.25, ()),
        ("large", 1000.0, ()),
        ("missing", 0.75, case["missing"]["by_rank"]),
        ("none", 2.0, (0, 1, 2)),
    ):
        with together(record, name):
            clip(code, record, case, max_norm, missing)
    with together(record, "nested"):
        clip(code, record, case, 1.5, make=nested)
    with together(record, "alone"):
        clip(code, record, {**case, "layers": case["layers"][:1]}, 0.5, make=alone)


def in_group(code, given, record, group):
    life(code, record, given["group"], group)
    with record.step("train"):
        train(code, record, given["train"], "sgd", group, steps=2)
    with record.step("clip"):
        clip(code, record, given["clip"], 1.25, (), group)


@distributed
def probe_groups(code, given, record):
    with together(record, "alone", ALONE):
        in_group(code, given, record, ALONE)
    if SUB is not None:
        with together(record, "sub", SUB):
            if dist.get_rank(SUB) >= 0:
                in_group(code, given, record, SUB)


@distributed
def probe_dtypes(code, given, record):
    for name, case in given["typed"].items():
        with together(record, name):
            life(code, record, case)


@distributed
def probe_strides(code, given, record):
    with together(record, "strided"):
        backward(code, record, given["cases"][0], None, strided)
    with together(record, "expanded"):
        layer = sharded(code, given["cases"][0])
        x = mine(given["cases"][0]["x"][0]).requires_grad_()
        layer(x).sum().backward()
        record("x_grad", x.grad)
        record("shard_grad", layer.shard.grad)


@distributed
def probe_errors(code, given, record):
    wrong = {
        "conv": lambda: nn.Conv1d(3, 5, 1),
        "bilinear": lambda: nn.Bilinear(3, 5, 7),
        "embedding": lambda: nn.Embedding(5, 3),
        "tensor": lambda: torch.ones(3, 5),
        "none": lambda: None,
    }
    for name, make in wrong.items():
        with together(record, name):
            record.raises("call", lambda make=make: code.ShardedLinear(make()) and None)
            record("calls", called())
    for name, max_norm in (("zero", 0.0), ("negative", -1.5)):
        with together(record, name):
            layer = sharded(code, given["cases"][0])
            layer.shard.grad = torch.ones_like(layer.shard)
            calls.clear()
            record.raises("call", lambda layer=layer, norm=max_norm: code.clip_grad_norm_(layer, norm))
            record("calls", called())
