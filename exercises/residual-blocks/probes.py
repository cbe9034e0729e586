import torch
from torch import nn


def weights(draw, d_in, hidden, d_out):
    def normal(*shape, shift=0.0):
        return draw.normal(*shape, scale=0.6, shift=shift, dtype=torch.float64)

    return {
        "norm.weight": normal(d_in, shift=1.0),
        "norm.bias": normal(d_in),
        "fc1.weight": normal(hidden, d_in),
        "fc1.bias": normal(hidden),
        "fc2.weight": normal(d_out, hidden),
        "fc2.bias": normal(d_out),
        "shortcut.weight": None if d_in == d_out else normal(d_out, d_in),
    }


def inputs(draw):
    cases = []
    for kind in ("default", "equal", "wider", "narrower"):
        small, hidden, large = draw.sizes(3, 5, 13)
        d_in, d_out = {"wider": (small, large), "narrower": (large, small)}.get(kind, (large, large))
        lead = draw.sizes(2, 3, 6)
        cases.append(
            {
                "sizes": [d_in, hidden, d_out],
                "out_dim": None if kind == "default" else d_out,
                "weights": weights(draw, d_in, hidden, d_out),
                "x": [
                    draw.normal(*front, d_in, scale=1.5, shift=0.7, dtype=torch.float64)
                    for front in ((), (lead[0],), tuple(lead), (2, *lead), (1,))
                ],
                "up": draw.normal(*lead, d_out, dtype=torch.float64),
            }
        )
    dim, hidden = draw.sizes(2, 6, 9)
    return {
        "cases": cases,
        "stack": {
            "sizes": [dim, hidden, 5],
            "weights": [weights(draw, dim, hidden, dim) for _ in range(5)],
            "x": draw.normal(3, 4, dim, dtype=torch.float64),
        },
        "deep": {
            "sizes": [dim, 15, 100],
            "x": draw.normal(12, dim, dtype=torch.float64),
            "up": draw.normal(12, dim, dtype=torch.float64),
        },
    }


def build(code, case, device, dtype=torch.float64):
    d_in, hidden, _ = case["sizes"]
    if case["out_dim"] is None:
        block = code.ResidualBlock(d_in, hidden)
    else:
        block = code.ResidualBlock(d_in, hidden, case["out_dim"])
    return block.to(device=device, dtype=dtype)


def fill(block, values):
    with torch.no_grad():
        for name, value in values.items():
            layer, kind = name.split(".")
            if value is not None:
                parameter = getattr(getattr(block, layer), kind)
                if parameter is None:
                    raise AttributeError(f"the block has no {name}: layers have their usual weight and bias")
                parameter.copy_(value)
    return block


def probe_formula(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            block = fill(build(code, case, record.device), case["weights"])
            record("eps", float(block.norm.eps))
            for k, given_x in enumerate(case["x"]):
                with record.step(k):
                    x = given_x.clone()
                    record("out", block(x))
                    record("x", x)
            with record.step("strided"):
                x = case["x"][3]
                record("out", block(torch.stack((x, -x), dim=-1)[..., 0].transpose(0, 1)))
            with torch.no_grad(), record.step("quiet"):
                x = case["x"][1].clone()
                block(x)
                record("x", x)
            record("again", block.eval()(case["x"][1].clone()))


def probe_shortcut(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            block = build(code, case, record.device)
            record("identity", isinstance(block.shortcut, nn.Identity))
            record("linear", isinstance(block.shortcut, nn.Linear))
            record("count", sum(p.numel() for p in block.shortcut.parameters()))
            record("shapes", sorted([list(p.shape) for p in block.shortcut.parameters()]))
            record("total", sum(p.numel() for p in block.parameters() if p.requires_grad))


def probe_start(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            block = build(code, case, record.device)
            record("weight", block.fc2.weight)
            record("bias", block.fc2.bias)
            record("first", block.fc1.weight)
            record("shortcut", getattr(block.shortcut, "weight", None))
            record("norm", [block.norm.weight, block.norm.bias])
            out = block(case["x"][2].clone())
            record("out", out)
            record("projected", block.shortcut(case["x"][2].clone()))
            with record.step("gradient"):
                out.square().sum().backward()
                record("fc2", block.fc2.weight.grad)


def probe_gradients(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            block = fill(build(code, case, record.device), case["weights"])
            x = case["x"][2].clone().requires_grad_()
            block(x).backward(case["up"])
            record("x", x.grad)
            for name, value in case["weights"].items():
                if value is not None:
                    record(name, block.get_parameter(name).grad)


def probe_deep(code, given, record):
    deep = given["deep"]
    torch.manual_seed(int(deep["x"].abs().sum() * 1000))
    stack = code.ResidualStack(*deep["sizes"]).to(device=record.device, dtype=torch.float64)
    x = deep["x"].clone().requires_grad_()
    out = stack(x)
    record("out", out)
    record("input", torch.autograd.grad(out.sum(), x, retain_graph=True)[0])
    out.backward(deep["up"])
    grads = [block.fc2.weight.grad for block in stack.blocks]
    largest = [out.new_zeros(()) if grad is None else grad.abs().max() for grad in grads]
    record("largest", torch.stack(largest))


def probe_stack(code, given, record):
    case = given["stack"]
    stack = code.ResidualStack(*case["sizes"]).to(device=record.device, dtype=torch.float64)
    with record.step("structure"):
        record("list", isinstance(stack.blocks, nn.ModuleList))
        record("length", len(stack.blocks))
        record("separate", len({id(block) for block in stack.blocks}))
        record("total", sum(p.numel() for p in stack.parameters() if p.requires_grad))
        record("each", [sum(p.numel() for p in block.parameters()) for block in stack.blocks])
    with record.step("order"):
        for block, values in zip(stack.blocks, case["weights"], strict=True):
            fill(block, values)
        record("eps", [float(block.norm.eps) for block in stack.blocks])
        x = case["x"].clone()
        record("out", stack(x))
        record("x", x)
        record("line", stack(case["x"][0, 0].clone()))
        with torch.no_grad(), record.step("quiet"):
            x = case["x"].clone()
            stack(x)
            record("x", x)
    with record.step("single"):
        record("out", code.ResidualStack(case["sizes"][0], 3, 1).to(record.device)(x.float()))


def probe_dtypes(code, given, record):
    case = given["cases"][2]
    for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16), ("float64", torch.float64)):
        with record.step(name):
            block = fill(build(code, case, record.device, dtype), case["weights"])
            record("out", block(case["x"][2].to(dtype)))
            record("eps", float(block.norm.eps))
        with record.step(f"stack_{name}"):
            dim, hidden, depth = given["stack"]["sizes"]
            stack = code.ResidualStack(dim, hidden, depth).to(record.device).to(dtype)
            record("out", stack(given["stack"]["x"].to(dtype)))


def probe_errors(code, given, record):
    for name, sizes in {
        "in_dim": (0, 3),
        "in_dim_negative": (-2, 3),
        "in_dim_projected": (0, 4, 3),
        "hidden": (3, 0),
        "hidden_negative": (3, -1),
        "out_dim": (3, 5, 0),
        "out_dim_negative": (3, 5, -1),
    }.items():
        record.raises(name, lambda s=sizes: type(code.ResidualBlock(*s)).__name__)
    for name, sizes in {
        "stack_dim": (0, 3, 2),
        "stack_hidden": (3, 0, 2),
        "stack_depth": (3, 5, 0),
        "stack_depth_negative": (3, 5, -1),
    }.items():
        record.raises(name, lambda s=sizes: type(code.ResidualStack(*s)).__name__)
    with record.step("smallest"):
        x = torch.full((2, 1), 3.0, device=record.device)
        record("block", code.ResidualBlock(1, 1, 1).to(record.device)(x))
        record("stack", code.ResidualStack(1, 1, 1).to(record.device)(x))
