import math

import torch


def inputs(draw):
    a, b = draw.sizes(2, 3, 7)
    double = torch.float64
    bowl = {
        "h": draw.rand(a, b, low=0.5, high=1.5, dtype=double),
        "c": draw.normal(a, b, dtype=double),
        "x0": draw.normal(a, b, scale=2.0, dtype=double),
        "lr": draw.uniform(0.2, 0.35),
    }
    norms, x = [], bowl["x0"]
    for _ in range(9):
        grad = bowl["h"] * (x - bowl["c"])
        norms.append(grad.norm().item())
        x = x - bowl["lr"] * grad
    return {
        "bowl": bowl,
        "tols": [math.sqrt(norms[i] * norms[i + 1]) for i in (0, 3, 7)],
        "curve": {"x0": draw.rand(b, low=1.2, high=1.8, dtype=double), "lr": draw.uniform(0.05, 0.1)},
        "cube": draw.normal(2, a, b),
        "weight": draw.normal(b, a, dtype=double),
        "point": draw.normal(a, dtype=double),
        "old": draw.normal(a, b, dtype=double),
    }


def bowl(given):
    h, c = given["bowl"]["h"], given["bowl"]["c"]
    return lambda x: (h * (x - c) ** 2).sum() / 2


def quartic(x):
    return ((x**2 - 1) ** 2).sum() / 4


def square(x):
    return (x**2).sum()


def probe_updates(code, given, record):
    case = given["bowl"]
    for steps in (1, 2, 3, 12):
        with record.step(steps):
            x, losses = code.gradient_descent(bowl(given), case["x0"].clone(), case["lr"], steps)
            record("x", x)
            record("losses", losses)
    with record.step("curve"):
        x, losses = code.gradient_descent(quartic, given["curve"]["x0"].clone(), given["curve"]["lr"], 10)
        record("x", x)
        record("losses", losses)
    with record.step("one_element"):
        f = bowl(given)
        x, losses = code.gradient_descent(lambda x: f(x).reshape(1), case["x0"].clone(), case["lr"], 3)
        record("x", x)
        record("losses", losses)
    with record.step("matrix_loss"):
        f = bowl(given)
        x, losses = code.gradient_descent(lambda x: f(x).reshape(1, 1), case["x0"].clone(), case["lr"], 3)
        record("x", x)
        record("losses", losses)
    with record.step("none"):
        x, losses = code.gradient_descent(bowl(given), case["x0"].clone(), case["lr"], 0)
        record("x", x)
        record("losses", losses)


def probe_tol(code, given, record):
    case = given["bowl"]
    for i, tol in enumerate(given["tols"]):
        with record.step(i):
            x, losses = code.gradient_descent(bowl(given), case["x0"].clone(), case["lr"], 20, tol)
            record("x", x)
            record("losses", losses)
    start = torch.tensor([3.0, 4.0], dtype=torch.float64, device=record.device)
    for name, tol in (("at", 10.0), ("below", 9.0), ("between", 8.5), ("far", 1e3)):
        with record.step(name):
            x, losses = code.gradient_descent(square, start.clone(), 0.25, 1, tol=tol)
            record("x", x)
            record("losses", losses)
    with record.step("flat"):
        x, losses = code.gradient_descent(square, torch.zeros(3, device=record.device), 0.25, 5)
        record("x", x)
        record("losses", losses)
    with record.step("rising"):
        x, losses = code.gradient_descent(square, start.clone(), 1.25, 12)
        record("x", x)
        record("losses", losses)
    with record.step("level"):
        record("losses", code.gradient_descent(square, start.clone(), 1.0, 4)[1])
    with record.step("infinite"):
        huge = torch.full((2,), 1.5e308, dtype=torch.float64, device=record.device)
        record("updates", len(code.gradient_descent(lambda x: x.sum(), huge, 0.25, 4)[1]) - 1)
    with record.step("gentle"):
        x, losses = code.gradient_descent(lambda x: 1e-12 * x.sum(), start.clone(), 0.25, 4)
        record("updates", len(losses) - 1)
    with record.step("faint"):
        x, losses = code.gradient_descent(lambda x: 1e-60 * x.sum(), start.clone(), 0.25, 4)
        record("updates", len(losses) - 1)
    with record.step("named"):
        x, losses = code.gradient_descent(f=square, x0=start.clone(), lr=0.25, steps=30, tol=2.0)
        record("x", x)
        record("losses", losses)


def probe_start(code, given, record):
    case = given["bowl"]
    for name in ("plain", "leaf", "leaf_with_grad", "view", "no_leaf"):
        for steps in (0, 4):
            with record.step(f"{name}{steps}"):
                x0 = case["x0"].clone()
                if name == "view":
                    x0 = x0.T.contiguous().T
                elif name != "plain":
                    x0.requires_grad_()
                if name == "no_leaf":
                    x0 = x0 * 1.0
                if name == "leaf_with_grad":
                    x0.grad = given["old"].clone()
                x, _ = code.gradient_descent(bowl(given), x0, case["lr"], steps)
                record("x0", x0)
                record("requires_grad", x0.requires_grad)
                record("grad", x0.grad if x0.is_leaf else None)
                record("x", x)
                record("x_requires_grad", x.requires_grad)
                with torch.no_grad():
                    x.fill_(7.0)
                record("x0_later", x0)
    for name in ("anchor", "anchor_leaf"):
        with record.step(name):
            x0 = case["x0"].clone().requires_grad_(name == "anchor_leaf")
            x, _ = code.gradient_descent(lambda x, x0=x0: ((x - 0.5 * x0) ** 2).sum(), x0, 0.1, 4)
            record("x", x)
            record("x0", x0)
            record("grad", x0.grad)
    with record.step("refused"):
        x0 = case["x0"].clone()
        record.raises("call", lambda: code.gradient_descent(lambda x: x**2, x0, 0.1, 3))
        record("x0", x0)
        record("requires_grad", x0.requires_grad)
    with record.step("stopped"):
        x0 = case["x0"].clone()
        x, _ = code.gradient_descent(bowl(given), x0, case["lr"], 5, 1e9)
        x.fill_(7.0)
        record("x0_later", x0)


def probe_kinds(code, given, record):
    for name, x0 in (
        ("cube", given["cube"]),
        ("single", given["cube"][0]),
        ("scalar", given["point"][0]),
        ("one", given["point"][:1]),
        ("turned", given["cube"].transpose(0, 2)),
        ("half", given["cube"].bfloat16()),
    ):
        with record.step(name):
            x, losses = code.gradient_descent(square, x0, 0.1, 3)
            record("x", x)
            record("device", x.device.type == record.device.type)
            record("losses", losses)


def probe_others(code, given, record):
    for name in ("none", "kept"):
        with record.step(name):
            weight = given["weight"].clone().requires_grad_()
            bias = torch.ones(weight.shape[0], dtype=weight.dtype, device=record.device, requires_grad=True)
            if name == "kept":
                weight.grad, bias.grad = torch.full_like(weight, 2.5), torch.full_like(bias, -1.5)

            def f(x, weight=weight, bias=bias):
                return torch.tanh(weight @ x + bias).pow(2).sum()

            x, losses = code.gradient_descent(f, given["point"], 0.1, 5)
            record("x", x)
            record("losses", losses)
            record("weight", weight.grad)
            record("bias", bias.grad)
            record("values", [weight, bias])


def probe_errors(code, given, record):
    x0 = given["bowl"]["x0"]
    record.raises("lr_zero", lambda: code.gradient_descent(square, x0, 0.0, 3))
    record.raises("lr_negative", lambda: code.gradient_descent(square, x0, -0.1, 3))
    record.raises("lr_zero_no_steps", lambda: code.gradient_descent(square, x0, 0.0, 0))
    record.raises("steps", lambda: code.gradient_descent(square, x0, 0.1, -1))
    record.raises("vector", lambda: code.gradient_descent(lambda x: x**2, x0, 0.1, 3))
    record.raises("two", lambda: code.gradient_descent(lambda x: (x**2).sum().expand(2), x0, 0.1, 3))
    record.raises("row", lambda: code.gradient_descent(lambda x: x.sum().expand(1, 2), x0, 0.1, 3))
    record.raises("two_at_start", lambda: code.gradient_descent(lambda x: x.sum().expand(2), x0, 0.1, 0))
