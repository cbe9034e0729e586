import torch
import torch.distributed as dist
from torch import nn

from quizapp.judge.testing.probes import distributed
from quizapp.judge.testing.ranks import calls, first_and_last, together, watch
from quizapp.judge.testing.traffic import close_side_channels

WATCHED = watch()

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


SUB = first_and_last()  # before anything is locked up
ONE = dist.new_group([0]) if WATCHED else None
if WATCHED:
    close_side_channels()


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
    for step, rank in (("all_first", 0), ("all_last", record.world - 1)):  # one rank has all, the others none
        with together(record, step):
            model = Holes(values)
            for name, p in model.named_parameters():
                if record.rank == rank and name != "nobody":
                    p.grad = values[name].clone()
            model.nobody.requires_grad_(False)
            average(record, model, lambda m=model: code.average_gradients(m))
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
            record("calls", [list(call) for call in calls[:100]])
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
    run("halves", block(uneven, (torch.float16, torch.bfloat16)), bucket_bytes=600)
    run("frozen", block(uneven, frozen=(1, 5)), bucket_bytes=1200)
    run("megabytes", block([700_000, 700_000]))
    run("all_frozen", block([70, 90], frozen=(0, 1)))
    run("eval", block(uneven).eval(), bucket_bytes=1200)
    tied = block(uneven)
    tied.head = nn.Module()
    tied.head.register_parameter("weight", tied.p2)
    run("tied", tied, bucket_bytes=1200)
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
    with together(record, "one", ONE):
        if record.rank == 0:
            model = block([70, 90])
            record.raises("call", lambda: code.average_gradients(model, bucket_bytes=0, group=ONE))
