import torch
from torch.overrides import TorchFunctionMode

LOW, HIGH = 0.5, 1.5
FINE = 300_000


def away_from_zero(draw, *shape, dtype=torch.float32):
    sign = 1.0 - 2.0 * draw.integers(0, 2, *shape)
    return (draw.rand(*shape, low=LOW, high=HIGH) * sign).to(dtype)


def inputs(draw):
    shapes = [
        draw.shuffled([169, 177]),
        draw.shuffled([23, 35, 37]),
        draw.shuffled([7, 11, 19, 21]),
        draw.shuffled([5, 7, 9, 10, 11]),
    ]
    rates = [
        draw.uniform(0.15, 0.25),
        draw.uniform(0.6, 0.75),
        draw.uniform(0.3, 0.4),
        draw.uniform(0.45, 0.55),
    ]
    a, b, c = draw.sizes(3, 5, 13)
    return {
        "large": [
            {"x": away_from_zero(draw, *shape), "p": p} for shape, p in zip(shapes, rates, strict=True)
        ],
        "line": {"x": away_from_zero(draw, 20011), "p": draw.uniform(0.2, 0.3)},
        "counts": {
            "x": away_from_zero(draw, 10, 5),
            "scalar": away_from_zero(draw),
            "huge": away_from_zero(draw, 60, dtype=torch.float64) * 1e200,
            "empty": away_from_zero(draw, 0, draw.integer(3, 7)),
            "size": FINE,
            "fine": [draw.uniform(0.003, 0.007), draw.uniform(0.993, 0.997)],
        },
        "small": [
            {"x": away_from_zero(draw, a, b, c), "p": draw.uniform(0.3, 0.6)},
            {"x": away_from_zero(draw, b, a, c, dtype=torch.float64), "p": draw.uniform(0.3, 0.6)},
            {"x": away_from_zero(draw, b * a, c), "p": draw.uniform(0.3, 0.6)},
            {"x": away_from_zero(draw, a * b * c), "p": draw.uniform(0.3, 0.6)},
            {"x": away_from_zero(draw, a, b, c, dtype=torch.bfloat16), "p": draw.uniform(0.3, 0.6)},
            {"x": away_from_zero(draw, b, c, a, dtype=torch.float16), "p": draw.uniform(0.3, 0.6)},
        ],
        "grad": {
            "x": [away_from_zero(draw, 9, 31), away_from_zero(draw, 7, 3, 11, dtype=torch.float64)],
            "up": [away_from_zero(draw, 9, 31), away_from_zero(draw, 7, 3, 11, dtype=torch.float64)],
            "p": [draw.uniform(0.2, 0.3), draw.uniform(0.55, 0.7)],
        },
        "seeds": [draw.integer(1, 10**6), draw.integer(10**6 + 1, 10**7), draw.integer(10**7 + 1, 10**8)],
    }


def probe_frequency(code, given, record):
    for i, case in enumerate(given["large"]):
        with record.step(i):
            record("out", code.dropout(case["x"], case["p"]))
    case = given["line"]
    with record.step("line"):
        record("out", code.dropout(case["x"], case["p"], training=True))
    with record.step("default"):
        record("out", code.dropout(case["x"]))
    with record.step("module"):
        record("out", code.Dropout(case["p"])(case["x"]))
    with record.step("module_default"):
        record("out", code.Dropout()(case["x"]))
    with record.step("generator"):
        generator = torch.Generator(device=record.device).manual_seed(given["seeds"][0])
        record("out", code.dropout(case["x"], case["p"], generator=generator))
    with torch.no_grad():
        with record.step("no_grad"):
            record("out", code.dropout(case["x"], case["p"]))
        with record.step("module_no_grad"):
            record("out", code.Dropout(case["p"])(case["x"]))


def probe_counts(code, given, record):
    case = given["counts"]
    with record.step("many"):
        record("outs", torch.stack([code.dropout(case["x"], 0.5).detach() for _ in range(40)]))
    with record.step("scalar"):
        outs = [code.dropout(case["scalar"], 0.5).detach() for _ in range(80)]
        record("outs", torch.stack(outs))
    with record.step("huge"):
        record("out", code.dropout(case["huge"], 0.5))
    with record.step("empty"):
        for name, p, training in (("train", 0.5, True), ("eval", 0.5, False), ("all", 1.0, True)):
            record(name, code.dropout(case["empty"], p, training))
    with record.step("fine"):
        ones = torch.ones(FINE, device=record.device)
        record("zeros", [int((code.dropout(ones, p) == 0).sum()) for p in case["fine"]])


def probe_small(code, given, record):
    for i, case in enumerate(given["small"]):
        with record.step(i):
            x = case["x"]
            if x.dim() == 2:
                x = x.T.contiguous().T
            for name, p, training in (
                ("train", case["p"], True),
                ("eval", case["p"], False),
                ("eval_one", 1.0, False),
                ("none", 0.0, True),
                ("all", 1.0, True),
            ):
                with record.step(name):
                    out = code.dropout(x, p, training)
                    record("out", out)
                    record("device", out.device == x.device)
                    record("x", x)


def probe_ends(code, given, record):
    x = given["small"][0]["x"]
    for name, p in (("none", 0), ("all", 1)):
        with record.step(name):
            leaf = x.clone().requires_grad_()
            (code.dropout(leaf, p) * 3.0).sum().backward()
            record("grad", leaf.grad)
        with record.step(f"module_{name}"):
            record("out", code.Dropout(p)(x.clone()))


def next_global(device):
    return torch.rand(5, device=device)


def probe_random(code, given, record):
    x = given["small"][0]["x"]
    one, two, three = given["seeds"]

    def seeded(seed):
        return torch.Generator(device=record.device).manual_seed(seed)

    with record.step("again"):
        record("outs", [code.dropout(x, 0.5) for _ in range(3)])
    with record.step("module"):
        module = code.Dropout(0.5)
        record("outs", [module(x) for _ in range(3)])
    with record.step("manual"):
        outs = []
        for seed in (one, one, two):
            torch.manual_seed(seed)
            outs.append(code.dropout(x, 0.5))
        record("outs", outs)
    with record.step("manual_module"):
        outs = []
        for seed in (one, one, two):
            torch.manual_seed(seed)
            outs.append(code.Dropout(0.5)(x))
        record("outs", outs)
    with record.step("generator"):
        outs = []
        for global_seed, seed in ((three, one), (two, one), (three, two)):
            torch.manual_seed(global_seed)
            outs.append(code.dropout(x, 0.5, generator=seeded(seed)))
        record("outs", outs)
    with record.step("sequence"):
        generator = seeded(one)
        record("outs", [code.dropout(x, 0.5, True, generator) for _ in range(3)])
    with record.step("untouched"):
        torch.manual_seed(three)
        record("alone", next_global(record.device))
        torch.manual_seed(three)
        code.dropout(x, 0.5, generator=seeded(one))
        record("after", next_global(record.device))


def probe_gradient(code, given, record):
    case = given["grad"]
    for i, (x, up, p) in enumerate(zip(case["x"], case["up"], case["p"], strict=True)):
        with record.step(i):
            leaf = x.clone().requires_grad_()
            out = code.dropout(leaf, p)
            record("out", out)
            out.backward(up)
            record("grad", leaf.grad)
    with record.step("eval"):
        for name, call in (
            ("function", lambda x: code.dropout(x, 0.5, training=False)),
            ("module", code.Dropout(0.5).eval()),
        ):
            leaf = case["x"][0].clone().requires_grad_()
            call(leaf).backward(case["up"][0])
            record(name, leaf.grad)
    with record.step("zeros"):
        leaf = torch.zeros_like(case["x"][0]).requires_grad_()
        code.dropout(leaf, 0.5).backward(case["up"][0])
        record("grad", leaf.grad)
    with record.step("module"):
        leaf = case["x"][0].clone().requires_grad_()
        out = code.Dropout(case["p"][0])(leaf)
        record("out", out)
        out.backward(case["up"][0])
        record("grad", leaf.grad)


def probe_module(code, given, record):
    x = given["small"][0]["x"]
    with record.step("modes"):
        layer = code.Dropout(0.5)
        model = torch.nn.Sequential(torch.nn.Identity(), layer)
        model.eval()
        record("eval", [model(x), model(x)])
        model.train()
        record("train", [model(x), model(x)])
        model.eval()
        record("eval_again", model(x))
    with record.step("two"):
        layers = code.Dropout(1.0), code.Dropout(0.0)
        record("outs", [layer(x) for layer in layers])
    with record.step("state"):
        layer = code.Dropout(0.3)
        layer(x)
        record("parameters", len(list(layer.parameters())))
        record("buffers", len(list(layer.buffers())))
        record("state", sorted(layer.state_dict()))


DRAWS = {"rand", "randn", "randint", "empty", "zeros", "ones", "full", "normal"}


class Placement(TorchFunctionMode):
    """Notes tensors made without a device and whether something was moved to one."""

    def __init__(self):
        super().__init__()
        self.unplaced = 0
        self.moved = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        made = (
            name in DRAWS and isinstance(out, torch.Tensor) and not isinstance(args and args[0], torch.Tensor)
        )
        if made and kwargs.get("device") is None and out.numel() > 1:
            self.unplaced += 1
        places = (torch.device, str, torch.Tensor)
        if name == "type_as" or (
            name == "to"
            and (kwargs.get("device") is not None or any(isinstance(a, places) for a in args[1:]))
        ):
            self.moved += 1
        return out


def probe_placement(code, given, record):
    with Placement() as seen:
        code.dropout(given["small"][0]["x"], 0.5)
    record("unplaced", seen.unplaced)
    record("moved", seen.moved)


def probe_errors(code, given, record):
    x = given["small"][0]["x"]
    for name, p in (
        ("below", -0.1),
        ("above", 1.1),
        ("far", 20.0),
        ("just_below", -1e-3),
        ("just_above", 1.001),
    ):
        record.raises(name, lambda p=p: code.dropout(x, p))
        record.raises(f"eval_{name}", lambda p=p: code.dropout(x, p, training=False))
        record.raises(f"module_{name}", lambda p=p: type(code.Dropout(p)).__name__)
