import torch
from torch import nn


def inputs(draw):
    sizes = [
        [draw.integer(165, 190), draw.integer(210, 240)],
        [draw.integer(37, 45), draw.integer(27, 31), 5, 7],
        [draw.integer(12, 14), draw.integer(67, 75), 45],
    ]
    return {
        "fans": [
            draw.sizes(2, 3, 30),
            draw.sizes(3, 3, 14),
            draw.sizes(4, 3, 14),
            draw.sizes(5, 3, 10),
            [draw.integer(3, 9), draw.integer(10, 20), 1, 1],
            [1, draw.integer(3, 9)],
        ],
        "xavier": [{"size": s, "gain": draw.choice([0.3, 5 / 3, 2.5])} for s in sizes],
        "kaiming": [{"size": s, "slope": draw.choice([0.6, 1.0, 5**0.5])} for s in sizes],
        "small": draw.sizes(2, 5, 11),
        "many": draw.sizes(2, 4, 7),
        "kernel": [*draw.sizes(2, 5, 11), 3],
        "x": draw.normal(8, 512),
        "seeds": [draw.integer(1, 10**6), draw.integer(10**6 + 1, 10**7), draw.integer(10**7 + 1, 10**8)],
    }


def blank(size, record, dtype=torch.float32):
    """What uninitialised memory may look like."""
    return torch.full(tuple(size), float("nan"), device=record.device, dtype=dtype)


def probe_fans(code, given, record):
    for i, size in enumerate(given["fans"]):
        with record.step(i):
            fan_in, fan_out = code.fan_in_out(torch.zeros(size, device=record.device))
            record("fans", [float(fan_in), float(fan_out)])
            record("kinds", [type(n).__name__ for n in (fan_in, fan_out)])
    with record.step("turned"):
        for name, weight in (("linear", torch.zeros(7, 5).T), ("conv", torch.zeros(4, 6, 3).transpose(0, 2))):
            record(name, [float(n) for n in code.fan_in_out(weight.to(record.device))])
    with record.step("modules"):
        layers = [nn.Linear(100, 10), nn.Conv2d(3, 16, 5), nn.Conv1d(6, 7, 3), nn.Conv3d(3, 5, (1, 2, 3))]
        record("fans", [[float(n) for n in code.fan_in_out(layer.weight)] for layer in layers])


def probe_xavier(code, given, record):
    for i, case in enumerate(given["xavier"]):
        with record.step(i):
            record("gain", code.xavier_uniform_(blank(case["size"], record), case["gain"]))
            record("default", code.xavier_uniform_(blank(case["size"], record)))
    with record.step("zero"):
        record("weight", code.xavier_uniform_(blank(given["small"], record), 0.0))


def probe_kaiming(code, given, record):
    for i, case in enumerate(given["kaiming"]):
        with record.step(i):
            record("slope", code.kaiming_normal_(blank(case["size"], record), case["slope"]))
            record("default", code.kaiming_normal_(blank(case["size"], record)))


def probe_many(code, given, record):
    """Statistics of many small tensors: those of independent draws vary from tensor to tensor."""
    for name in CALLS:
        fill = getattr(code, name)
        with record.step(name):
            drawn = torch.stack([fill(blank(given["many"], record)).flatten() for _ in range(200)])
            record("means", drawn.mean(1))
            record("squares", drawn.square().mean(1))
            record("largest", drawn.abs().amax(1))


def probe_stack(code, given, record):
    x = given["x"]
    squares = [float(x.square().mean())]
    weight = torch.empty(512, 512, device=record.device)
    for _ in range(20):
        code.kaiming_normal_(weight)
        x = torch.relu(x @ weight.T)
        squares.append(float(x.square().mean()))
    record("squares", squares)


CALLS = ("xavier_uniform_", "kaiming_normal_")


def probe_in_place(code, given, record):
    for name in CALLS:
        fill = getattr(code, name)
        for kind, dtype in (
            ("double", torch.float64),
            ("single", torch.float32),
            ("bfloat16", torch.bfloat16),
        ):
            with record.step(f"{name}{kind}"):
                weight = blank(given["xavier"][0]["size"], record, dtype)
                where = weight.data_ptr()
                returned = fill(weight)
                record("same", returned is weight)
                record("memory", weight.data_ptr() == where)
                record("device", weight.device == record.device or weight.device.type == record.device.type)
                record("weight", weight)
        with record.step(f"{name}view"):
            rows, columns = given["xavier"][0]["size"]
            large = torch.zeros(2 * columns, rows + 3, device=record.device)
            view = large[::2, 1 : rows + 1].T
            record("same", fill(view) is view)
            record("weight", view)
            record("outside", [large[1::2], large[:, 0], large[:, rows + 1 :]])


def probe_parameters(code, given, record):
    for name in CALLS:
        fill = getattr(code, name)
        for kind, grad in (("trained", True), ("frozen", False)):
            with record.step(f"{name}{kind}"):
                weight = nn.Parameter(blank(given["xavier"][0]["size"], record), requires_grad=grad)
                where = weight.data_ptr()
                record("same", fill(weight) is weight)
                record("memory", weight.data_ptr() == where)
                record("requires_grad", weight.requires_grad)
                record("leaf", weight.is_leaf and weight.grad_fn is None)
                record("weight", weight)
        with record.step(f"{name}part"):  # the upper half of a fused weight
            rows, columns = given["xavier"][0]["size"]
            fused = nn.Parameter(torch.zeros(2 * rows, columns, device=record.device))
            fill(fused[:rows])
            record("requires_grad", fused.requires_grad)
            record("leaf", fused.is_leaf and fused.grad_fn is None)
            record("weight", fused[:rows])
            record("rest", fused[rows:])
        with record.step(f"{name}used"):
            layer = nn.Linear(*given["small"]).to(record.device)
            fill(layer.weight)
            layer(torch.ones(3, given["small"][0], device=record.device)).sum().backward()
            record("grad", layer.weight.grad)


def probe_random(code, given, record):
    one, two, three = given["seeds"]

    def seeded(seed):
        return torch.Generator(device=record.device).manual_seed(seed)

    for name in CALLS:
        fill = getattr(code, name)
        for size in ("small", "kernel"):

            def draw(generator=None, fill=fill, size=size):
                return fill(blank(given[size], record), generator=generator)

            def plain(fill=fill, size=size):
                return fill(blank(given[size], record))

            with record.step(f"{name}{size}"):
                with record.step("generator"):
                    outs = []
                    for global_seed, seed in ((three, one), (two, one), (three, two)):
                        torch.manual_seed(global_seed)
                        outs.append(draw(seeded(seed)))
                    record("outs", outs)
                with record.step("sequence"):
                    generator = seeded(one)
                    record("outs", [draw(generator), draw(generator)])
                with record.step("manual"):
                    outs = []
                    for seed in (one, one, two):
                        torch.manual_seed(seed)
                        outs.append(plain())
                    record("outs", outs)
                with record.step("again"):
                    record("outs", [plain(), plain()])
                with record.step("untouched"):
                    torch.manual_seed(three)
                    record("alone", torch.rand(5, device=record.device))
                    torch.manual_seed(three)
                    draw(seeded(one))
                    record("after", torch.rand(5, device=record.device))


def probe_errors(code, given, record):
    for name in ("fan_in_out", *CALLS):
        call = getattr(code, name)
        for kind, size in (("vector", (7,)), ("scalar", ()), ("one", (1,))):
            record.raises(f"{name}{kind}", lambda c=call, s=size: c(torch.zeros(s, device=record.device)))
