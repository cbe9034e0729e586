import torch
from torch.nn import functional

CALLS = 8
DRAWS = 220


def inputs(draw):
    n, a, b, c = draw.sizes(4, 5, 13)
    single, double, half = torch.float32, torch.float64, torch.bfloat16
    cases = []
    for shape, dtype, kind in (
        ((n, a), single, "labels"),
        ((a, 3, b, 2), single, "vectors"),
        ((b,), single, "labels"),
        ((c, a), double, "vectors"),
        ((n, a, b), double, "labels"),
        ((c, 3), half, "labels"),
        ((n, 2, 2, 3, 2), half, "vectors"),
    ):
        x = draw.normal(*shape, scale=1.5, shift=0.5, dtype=dtype)
        if kind == "labels":
            y = draw.permutation(shape[0]) + 20
        else:
            y = draw.normal(shape[0], 4, dtype=torch.float32 if dtype == single else double)
        cases.append({"x": x, "y": y})
    cases.append({"x": draw.normal(n, 1), "y": draw.permutation(n) + 20})
    cases.append({"x": draw.normal(4, a), "y": draw.normal(4, 4)})
    cases.append({"x": draw.normal(a, 3, dtype=torch.float16), "y": draw.permutation(a)})
    cases.append({"x": draw.normal(b, a), "y": (draw.permutation(b) + 20).to(torch.int32)})
    rows, classes = draw.sizes(2, 5, 11)
    return {
        "cases": cases,
        "one": [
            {"x": draw.normal(1, a), "y": draw.integers(0, 9, 1)},
            {"x": draw.normal(1, a, 3, dtype=double), "y": draw.normal(1, 4, dtype=double)},
            {"x": draw.normal(1), "y": draw.integers(0, 9, 1)},
        ],
        "turned": {"x": draw.normal(c, a, 3, dtype=double), "y": draw.permutation(c)},
        "alphas": [0.1, 20.0],
        "tiny": {"x": draw.normal(2, 1), "y": torch.tensor([0, 1])},
        "loss": {
            "pred": draw.normal(rows, classes, dtype=double),
            "y_a": draw.integers(0, classes, rows),
            "y_b": (draw.integers(0, classes, rows) + 1) % classes,
            "soft_a": draw.rand(rows, classes, dtype=double),
            "soft_b": draw.rand(rows, classes, dtype=double),
            "lams": [
                draw.uniform(0.1, 0.3),
                draw.uniform(0.65, 0.9),
                0.0,
                1.0,
                draw.uniform(0.96, 0.99),
                draw.uniform(0.01, 0.04),
            ],
        },
        "seeds": [draw.integer(1, 10**6), draw.integer(10**6 + 1, 10**7)],
    }


def store(record, result, x, y):
    mixed, y_a, y_b, lam = result
    record("mixed", mixed)
    record("y_a", y_a)
    record("y_b", y_b)
    record("lam", lam)
    record("devices", mixed.device == x.device and y_a.device == y.device and y_b.device == y.device)


def batch(case):
    """A copy of the batch."""
    return case["x"].clone(), case["y"].clone()


def probe_mix(code, given, record):
    for i, case in enumerate(given["cases"]):
        for k in range(CALLS):
            with record.step(f"{i}/{k}"):
                x, y = batch(case)
                store(record, code.mixup(x, y, 1.0), x, y)
        with record.step(f"{i}/inputs"):
            x, y = batch(case)
            code.mixup(x, y, 1.0)
            record("x", x)
            record("y", y)
    for i, case in enumerate(given["one"]):
        with record.step(f"one/{i}"):
            store(record, code.mixup(case["x"], case["y"], 1.0), case["x"], case["y"])


def probe_turned(code, given, record):
    """A batch without a flat view."""
    x, y = batch(given["turned"])
    x = x.transpose(0, 1).contiguous().transpose(0, 1)
    store(record, code.mixup(x, y, 1.0), x, y)


def probe_off(code, given, record):
    for i, case in enumerate([*given["cases"], *given["one"]]):
        with record.step(i):
            store(record, code.mixup(case["x"], case["y"], 0.0), case["x"], case["y"])
            record("x", case["x"])
            record("y", case["y"])


def probe_lam(code, given, record):
    x, y = given["tiny"]["x"], given["tiny"]["y"]
    for i, alpha in enumerate(given["alphas"]):
        with record.step(i):
            record("lams", [code.mixup(x, y, alpha)[3] for _ in range(DRAWS)])
    with record.step("small"):
        record("lams", [code.mixup(x, y, 0.05)[3] for _ in range(60)])
    with record.step("default"):
        record("lams", [code.mixup(x, y)[3] for _ in range(DRAWS)])


def squares(pred, target):
    """Not linear in the target, and not symmetric in its arguments."""
    return (pred.square() * (1.0 + target.square())).sum(1)


def probe_loss(code, given, record):
    case = given["loss"]
    for i, lam in enumerate(case["lams"]):
        for name, loss_fn, kind in (
            ("entropy", functional.cross_entropy, "y"),
            ("squares", lambda p, t: squares(p, t).mean(), "soft"),
            ("each", squares, "soft"),
        ):
            with record.step(f"{name}{i}"):
                pred = case["pred"].clone().requires_grad_()
                loss = code.mixup_loss(loss_fn, pred, case[f"{kind}_a"], case[f"{kind}_b"], lam)
                record("loss", loss)
                loss.sum().backward()
                record("grad", pred.grad)
    with record.step("untouched"):
        record("values", [case["pred"], case["soft_a"], case["soft_b"]])


def probe_seed(code, given, record):
    case = given["cases"][0]
    for k, seed in enumerate((0, 0, 1)):
        torch.manual_seed(given["seeds"][seed])
        for call in range(3):
            with record.step(f"{k}/{call}"):
                x, y = batch(case)
                store(record, code.mixup(x, y, 1.0), x, y)


def probe_errors(code, given, record):
    x, y = given["cases"][0]["x"], given["cases"][0]["y"]
    record.raises("negative", lambda: code.mixup(x, y, -0.1)[3])
    record.raises("shorter", lambda: code.mixup(x, y[:-1], 1.0)[3])
    record.raises("longer", lambda: code.mixup(x[:-1], y, 1.0)[3])
    record.raises("one", lambda: code.mixup(x, y[:1], 1.0)[3])
    record.raises("int64", lambda: code.mixup(x.long(), y, 1.0)[3])
    record.raises("uint8", lambda: code.mixup(x.abs().to(torch.uint8), y, 1.0)[3])
    record.raises("bool", lambda: code.mixup(x > 0, y, 1.0)[3])
    record.raises("complex64", lambda: code.mixup(x.to(torch.complex64), y, 1.0)[3])
    record.raises("off_shorter", lambda: code.mixup(x, y[:-1], 0.0)[3])
    record.raises("off_int64", lambda: code.mixup(x.long(), y, 0.0)[3])
