import contextlib

import torch

NAMES = ("X", "y", "W1", "b1", "W2", "b2")
GRADS = ("X", "W1", "b1", "W2", "b2")


def network(draw, rows, d, h, c, dtype):
    labels = torch.cat([draw.permutation(c)[:rows], draw.integers(0, c, max(0, rows - c))])
    return {
        "X": draw.normal(rows, d, dtype=dtype),
        "y": labels,
        "W1": draw.normal(d, h, scale=0.7, dtype=dtype),
        "b1": draw.normal(h, scale=0.5, dtype=dtype),
        "W2": draw.normal(h, c, scale=0.7, dtype=dtype),
        "b2": draw.normal(c, scale=0.5, dtype=dtype),
    }


def at_zero(draw):
    """Two hidden units are exactly 0, one of them fed by zero weights; a third is just above 0 in the last row."""
    case = network(draw, 7, 5, 6, 3, torch.float64)
    case["W1"][:, 2] = 0
    case["b1"][2] = 0
    case["X"] = torch.cat([case["X"], torch.zeros(1, 5, dtype=torch.float64)])
    case["y"] = torch.cat([case["y"], case["y"][:1]])
    case["b1"][4] = 0
    case["b1"][5] = 1e-12
    case["b1"][0] = 0.75
    return case


def extreme(draw, dtype):
    """Rows whose logits are all near +10,000, all near -10,000, or far apart."""
    high, low, apart = torch.tensor([1e4, 0, 0]), torch.tensor([0, 1e4, 0]), torch.tensor([0, 0, 1e4])
    x = torch.stack([high, low, apart, apart, apart, torch.zeros(3)]).to(dtype)
    spread = torch.tensor([-1.0, 1.0, 0.0, 0.5], dtype=dtype)
    w2 = torch.stack([torch.ones(4, dtype=dtype), -torch.ones(4, dtype=dtype), spread])
    return {
        "X": x,
        "y": torch.tensor([draw.integer(0, 3), draw.integer(0, 3), 0, 1, 2, draw.integer(0, 3)]),
        "W1": torch.eye(3, dtype=dtype),
        "b1": torch.full((3,), -0.5, dtype=dtype),
        "W2": w2,
        "b2": draw.normal(4, dtype=dtype),
    }


def inputs(draw):
    cases = []
    for dtype in (torch.float64, torch.float64, torch.float32):
        d, h, c, rows = sorted(draw.sizes(4, 3, 13))
        d, h, c = draw.shuffled([d, h, c])
        cases.append(network(draw, rows, d, h, c, dtype))
    d, h, c = draw.sizes(3)
    cases.append(network(draw, 1, d, h, c, torch.float64))
    shapes = [(), tuple(draw.sizes(1)), (2, 3, 5)]
    return {
        "cases": cases,
        "zero": at_zero(draw),
        "extreme": [extreme(draw, torch.float64), extreme(draw, torch.float32)],
        "checks": [
            {
                "x": draw.normal(*shape, dtype=torch.float64),
                "cubic": draw.rand(*shape, low=0.5, high=1.5, dtype=torch.float64),
                "linear": draw.normal(*shape, scale=0.5, dtype=torch.float64),
                "eps": draw.uniform(0.8e-3, 1.5e-3),
            }
            for shape in shapes
        ],
    }


@contextlib.contextmanager
def by_hand():
    """Without autograd's entry points, for as long as the submission computes."""

    def refuse(*args, **kwargs):
        raise RuntimeError("autograd is switched off in this test")

    kept = torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad
    torch.Tensor.backward = torch.autograd.backward = torch.autograd.grad = refuse
    try:
        yield
    finally:
        torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad = kept


def forward(code, case):
    return code.forward(*(case[name] for name in NAMES))


def probe_loss(code, given, record):
    for name in ("cases", "extreme"):
        for i, case in enumerate(given[name]):
            with record.step(f"{name}{i}"):
                loss, cache = forward(code, case)
                record("loss", loss)
                record("grads", code.backward(cache))


def probe_gradients(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            _, cache = forward(code, case)
            grads = code.backward(cache)
            record("grads", grads)
            record("same_device", all(grads[name].device == case[name].device for name in GRADS))
    with record.step("transposed"):
        case = dict(given["cases"][0])
        case["X"] = case["X"].t().contiguous().t()
        _, cache = forward(code, case)
        record("grads", code.backward(cache))


def probe_repeated(code, given, record):
    for i, case in enumerate(given["cases"]):
        for times in (2, 3):
            with record.step(f"{i}x{times}"):
                repeated = dict(case, X=case["X"].repeat(times, 1), y=case["y"].repeat(times))
                _, cache = forward(code, repeated)
                record("grads", code.backward(cache))


def probe_zero(code, given, record):
    loss, cache = forward(code, given["zero"])
    record("loss", loss)
    record("grads", code.backward(cache))


def probe_by_hand(code, given, record):
    case = given["cases"][0]
    with by_hand():
        with record.step("no_grad"), torch.no_grad():
            loss, cache = forward(code, case)
            record("loss", loss)
            record("grads", code.backward(cache))
        with record.step("tracked"):
            tracked = {n: t if n == "y" else t.clone().requires_grad_() for n, t in case.items()}
            loss, cache = forward(code, tracked)
            grads = code.backward(cache)
            record("loss", loss)
            record("grads", grads)
            record("loss_tracked", loss.requires_grad)
            record("grads_tracked", [grads[name].requires_grad for name in GRADS])
            record("left", [tracked[name].grad for name in GRADS])


def probe_twice(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            _, cache = forward(code, case)
            record("after_forward", dict(case))
            record("first", code.backward(cache))
            record("second", code.backward(cache))
            record("after_backward", dict(case))
    with record.step("two_caches"):
        _, first = forward(code, given["cases"][0])
        forward(code, given["cases"][1])
        record("grads", code.backward(first))


def probe_check(code, given, record):
    for i, case in enumerate(given["checks"]):

        def f(x, case=case):
            return (case["cubic"] * x**3).sum() + 0.5 * (case["linear"] * x).sum() ** 2

        for name, call in {
            "tensor": lambda x: code.gradient_check(f, x, case["eps"]),
            "number": lambda x: code.gradient_check(lambda v: f(v).item(), x, case["eps"]),
            "default": lambda x: code.gradient_check(f, x),
        }.items():
            with record.step(f"{name}{i}"):
                x = case["x"].clone()
                result = call(x)
                record("result", result)
                record("x", x)
    with record.step("turned"):
        case = given["checks"][2]
        x = case["x"].transpose(0, 2).contiguous().transpose(0, 2)
        record("result", code.gradient_check(lambda v: (case["cubic"] * v**3).sum(), x, case["eps"]))
        record("x", x)
    with record.step("bits"):
        # Values below eps: neither adding it nor taking it away can be undone.
        x = torch.tensor([3e-13, -0.1, 7e-10, 1 / 3, 0.0], dtype=torch.float64, device=record.device)
        result = code.gradient_check(lambda v: (v * torch.arange(1.0, 6.0, device=v.device)).sum(), x)
        record("result", result)
        record("x", x)
    with record.step("loss"):
        case = given["cases"][0]
        weights = case["W1"].clone()
        record("result", code.gradient_check(lambda w: forward(code, dict(case, W1=w))[0], weights))


def probe_errors(code, given, record):
    case = given["cases"][0]

    def attempt(name, **changes):
        def call():
            forward(code, dict(case, **changes))

        record.raises(name, call)

    rows, c = len(case["y"]), len(case["b2"])
    attempt("short_y", y=case["y"][:-1])
    attempt("long_y", y=torch.cat([case["y"], case["y"][:2]]))
    attempt("w1", W1=case["W1"][:-1])
    attempt("w2", W2=case["W2"][:-1])
    for name, label, where in (
        ("negative", -1, 0),
        ("too_large", c, rows - 1),
        ("far", c + 5, 1),
        ("ignore", -100, 1),
    ):
        y = case["y"].clone()
        y[where] = label
        attempt(name, y=y)
