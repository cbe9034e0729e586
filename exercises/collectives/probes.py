import torch
import torch.distributed as dist

from quizapp.judge.testing.probes import distributed
from quizapp.judge.testing.ranks import watch
from quizapp.judge.testing.traffic import Wire, close_side_channels, exchange, messages, watch_messages

WORLD = 4  # the inputs are made for up to so many ranks
INTEGERS = 2**54  # not exact in float64


def make(draw, shape, dtype):
    if dtype == torch.int64:
        return draw.integers(-INTEGERS, INTEGERS, *shape)
    if dtype == torch.bfloat16:
        return draw.rand(*shape, low=0.5, high=1.5, dtype=dtype)
    return draw.normal(*shape, dtype=dtype)


def every(draw, *shape, dtype=torch.float32):
    """A tensor for each rank, which gets only its own."""
    return {"by_rank": [make(draw, shape, dtype) for _ in range(WORLD)]}


def inputs(draw):
    a, b, c = draw.sizes(3)
    gather = [every(draw, a, b), every(draw, c), every(draw, 1, b, a), every(draw, b, 1)]
    scatter = [every(draw, 12), every(draw, 24, a), every(draw, 12, b, a), every(draw, 36, 1)]
    reduce = [
        *(every(draw, *shape) for shape in ((), (1,), (2,), (3,), (5,), (7,), (a, b), (c, 1, a), (11, 7))),
        every(draw, 12, c),
    ]
    n, lead = draw.sizes(2)
    product = [
        {"x": every(draw, *shape, 12), "w": every(draw, 12, n)}
        for shape in ((lead,), (), (2, lead), (3, 1, 2))
    ]
    parts = [
        {"x": every(draw, *shape, 12), "w": every(draw, 12, n)} for shape in ((12,), (24, lead), (12, 1, 3))
    ]
    typed = {}
    for dtype in (torch.float64, torch.int64, torch.bfloat16):
        name = str(dtype).removeprefix("torch.")
        typed[name] = {
            "gather": every(draw, a, b, dtype=dtype),
            "scatter": every(draw, 12, b, dtype=dtype),
            "reduce": every(draw, a, c, dtype=dtype),
            "x": every(draw, 12, 5, dtype=dtype),
            "w": every(draw, 5, n, dtype=dtype),
        }
    for name in ("x", "w"):
        typed["int64"][name] = {
            "by_rank": [draw.integers(-(2**27), 2**27, *t.shape) for t in typed["int64"][name]["by_rank"]]
        }
    return {
        "gather": gather,
        "scatter": scatter,
        "reduce": reduce,
        "product": product,
        "parts": parts,
        "typed": typed,
        # Large enough that what is sent beside the counted messages shows in the bytes on the wire.
        "large": {
            "gather": every(draw, 12, 1000 + a, dtype=torch.float64),
            "scatter": every(draw, 12, 1000 + b, dtype=torch.float64),
            "reduce": every(draw, 13, 1000 + c, dtype=torch.float64),
            "x": every(draw, 96, 5, dtype=torch.float64),
            "w": every(draw, 5, 100 + n, dtype=torch.float64),
        },
    }


def groups():
    """A part of the ranks and one for this rank alone, made before the sandbox allows no connection."""
    if not (dist.is_available() and dist.is_initialized()):
        return None, None
    size = dist.get_world_size()
    part = dist.new_group([0, 2] if size == 3 else [0, 2, 3])
    alone = [dist.new_group([rank]) for rank in range(size)]
    return part, alone[dist.get_rank()]


SUB, ALONE = groups()
if watch() and watch_messages():
    WIRE = Wire()
    close_side_channels()


def sent():
    return [[m.place, m.elements, m.bytes, list(m.members)] for m in messages]


def mine(case):
    """This rank's tensor, as a copy."""
    return case["by_rank"].cpu().clone()


def call(record, name, function, *args, group=None, **more):
    """Call `function`; record the result, what was sent, and the inputs after the result was overwritten."""
    messages.clear()
    out = function(*args, **({} if group is None else {"group": group}), **more)
    record(f"{name}/out", out)
    record(f"{name}/sent", sent())
    if isinstance(out, torch.Tensor):
        record(f"{name}/contiguous", out.is_contiguous())
        record(f"{name}/inputs", list(args))
        with torch.no_grad():
            out.zero_()
        record(f"{name}/after", list(args))


@distributed
def probe_ring(code, given, record):
    with exchange(record, "all"):
        for i, case in enumerate(given["gather"]):
            with record.step(f"gather{i}"):
                call(record, "call", code.all_gather, mine(case))
        for i, case in enumerate(given["scatter"]):
            with record.step(f"scatter{i}"):
                call(record, "call", code.reduce_scatter, mine(case))


@distributed
def probe_reduce(code, given, record):
    with exchange(record, "all"):
        for i, case in enumerate(given["reduce"]):
            with record.step(i):
                call(record, "call", code.all_reduce, mine(case))


@distributed
def probe_matmul(code, given, record):
    with exchange(record, "all"):
        for i, case in enumerate(given["product"]):
            with record.step(f"product{i}"):
                call(record, "call", code.sharded_matmul, mine(case["x"]), mine(case["w"]))
        for i, case in enumerate(given["parts"]):
            with record.step(f"parts{i}"):
                call(record, "call", code.sharded_matmul, mine(case["x"]), mine(case["w"]), scatter=True)


@distributed
def probe_large(code, given, record):
    case = given["large"]
    x, w = mine(case["x"]), mine(case["w"])
    calls = (
        ("gather", lambda: code.all_gather(mine(case["gather"]))),
        ("scatter", lambda: code.reduce_scatter(mine(case["scatter"]))),
        ("reduce", lambda: code.all_reduce(mine(case["reduce"]))),
        ("product", lambda: code.sharded_matmul(x, w)),
        ("parts", lambda: code.sharded_matmul(x, w, scatter=True)),
    )
    for i, (name, run) in enumerate(calls):
        with exchange(record, f"all/{name}"):  # all earlier calls have ended on all ranks
            record("wire", WIRE.sent())
            out = run()
            # A sum with varying signs shows that the result is there, without sending all of it.
            signs = torch.arange(out.numel(), dtype=torch.float64).mul_(12.9898).sin_()
            record("digest", (out.reshape(-1).double() * signs).sum())
            record("numel", out.numel())
            record("sent", sent())
    with exchange(record, "all/end"):
        record("wire", WIRE.sent())


def all_calls(code, record, case, group, name):
    args = (mine(case["x"]), mine(case["w"]))
    with exchange(record, "all", group):
        if group is None or dist.get_rank(group) >= 0:
            for step, function, values, more in (
                ("gather", code.all_gather, (mine(case["gather"]),), {}),
                ("scatter", code.reduce_scatter, (mine(case["scatter"]),), {}),
                ("reduce", code.all_reduce, (mine(case["reduce"]),), {}),
                ("product", code.sharded_matmul, args, {}),
                ("parts", code.sharded_matmul, args, {"scatter": True}),
            ):
                with record.step(f"{name}_{step}"):
                    call(record, "call", function, *values, group=group, **more)


@distributed
def probe_groups(code, given, record):
    all_calls(code, record, given["typed"]["float64"], SUB, "sub")
    all_calls(code, record, given["typed"]["float64"], ALONE, "alone")


@distributed
def probe_dtypes(code, given, record):
    for dtype, case in given["typed"].items():
        all_calls(code, record, case, None, dtype)


def strided(values):
    """The same values, with gaps between them and the dimensions the other way round."""
    values = values.cpu()
    turned = values.permute(*range(values.dim() - 1, -1, -1))
    wide = torch.zeros(*turned.shape[:-1], 2 * turned.shape[-1], dtype=values.dtype)
    wide[..., ::2] = turned
    return wide[..., ::2].permute(*range(values.dim() - 1, -1, -1))


@distributed
def probe_strides(code, given, record):
    with exchange(record, "all"):
        for name, function, case, more in (
            ("gather", code.all_gather, [given["gather"][0]], {}),
            ("scatter", code.reduce_scatter, [given["scatter"][2]], {}),
            ("reduce", code.all_reduce, [given["reduce"][7]], {}),
            ("product", code.sharded_matmul, [given["product"][0]["x"], given["product"][0]["w"]], {}),
            (
                "parts",
                code.sharded_matmul,
                [given["parts"][1]["x"], given["parts"][1]["w"]],
                {"scatter": True},
            ),
        ):
            with record.step(name):
                call(record, "call", function, *(strided(values["by_rank"]) for values in case), **more)


def refused(record, name, run):
    """Record what a call raises, and what it sent before."""
    messages.clear()
    with record.step(name):
        record.raises("call", run)
        record("sent", sent())


@distributed
def probe_errors(code, given, record):
    ones, size = torch.ones, record.world
    with exchange(record, "all"):
        for name, run in (
            ("scatter", lambda: code.reduce_scatter(ones(size + 1, 3))),
            ("scatter_few", lambda: code.reduce_scatter(ones(1))),
            ("parts", lambda: code.sharded_matmul(ones(2 * size + 1, 3), ones(3, 12), scatter=True)),
            ("gather_scalar", lambda: code.all_gather(torch.tensor(1.5))),
            ("scatter_scalar", lambda: code.reduce_scatter(torch.tensor(1.5))),
            ("weight_vector", lambda: code.sharded_matmul(ones(12, 3), ones(3))),
            ("weight_stack", lambda: code.sharded_matmul(ones(12, 3), ones(3, 3, 5))),
            ("weight_size", lambda: code.sharded_matmul(ones(12, 4), ones(3, 5))),
            ("weight_turned", lambda: code.sharded_matmul(ones(12, 3), ones(5, 3), scatter=True)),
        ):
            refused(record, name, run)
    with exchange(record, "all", SUB):
        if SUB is not None and dist.get_rank(SUB) >= 0:
            # Divisible by the number of all ranks but not of this group, and the reverse.
            refused(record, "sub", lambda: code.reduce_scatter(ones(size, 2), SUB))
            valid = {3: 2, 4: 3}[size]
            refused(record, "sub_valid", lambda: list(code.reduce_scatter(ones(valid, 2), SUB).shape))
