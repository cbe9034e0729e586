import math

import torch
from torch import nn

NAN, INF = math.nan, math.inf


def walk(draw, length, *, nans=False):
    """Multiples of 1/8 with ties, so that every order of arithmetic is exact."""
    value, found = draw.integer(40, 60), []
    for _ in range(length):
        value += draw.choice([-3, -2, -1, -1, 0, 0, 1, 1, 2, 3])
        found.append(NAN if nans and draw.integer(0, 4) == 0 else value / 8)
    return found


def inputs(draw):
    sequences = []
    for mode in ("min", "max"):
        for patience, delta in ((1, 0.0), (2, 0.25), (3, 0.0), (2, 0.125), (4, 0.5), (3, 0.375)):
            sequences.append({"patience": patience, "delta": delta, "mode": mode, "metrics": walk(draw, 30)})
    sign = {"min": 1.0, "max": -1.0}
    for mode in ("min", "max"):
        s = sign[mode]
        fixed = [
            (2, 0.0, [5, 6, 4, 6, 3, 6, 6, 6, 2, 6, 6]),
            (2, 0.5, [4.0, 3.5, 3.0, 2.5, 2.0, 1.5, 1.0]),
            (3, 1 / 64, [1.0 - k / 1024 for k in range(40)]),
            (3, 0.0, [5, 5, 5, 4, 4, 4, 4, 4]),
            (3, 0.0, [1, 6, 5, 4, 3, 2, 1.5]),
            (2, 0.25, [INF, 5.0, 5.0, 4.5, 4.5]),
            (2, 0.0, [-3.0, -2.0, -4.0, -4.5, 0.0, -4.5, -5.0]),
            (2, 0.0, [0.0, 0.5, -0.5, 0.0, 0.0]),
            (3, 0.25, [INF, INF, 5.0, -INF, 4.0, -INF, 3.0]),
            (2, 0.0, [-INF, 5.0, -INF, 4.0]),
        ]
        sequences += [
            {"patience": p, "delta": d, "mode": mode, "metrics": [s * m for m in ms]} for p, d, ms in fixed
        ]
    nans = []
    for mode in ("min", "max"):
        s = sign[mode]
        for patience, ms in (
            (2, [NAN, NAN, 4.0, NAN, NAN, 3.0, NAN, 5.0, 2.0]),
            (3, [NAN, 5.0, NAN, 6.0, NAN, 4.0]),
            (1, [NAN, NAN, 3.0, NAN, 2.0]),
        ):
            nans.append({"patience": patience, "delta": 0.0, "mode": mode, "metrics": [s * m for m in ms]})
        nans.append({"patience": 3, "delta": 0.25, "mode": mode, "metrics": walk(draw, 30, nans=True)})
    width, hidden = draw.sizes(2)
    return {
        "sequences": sequences,
        "nans": nans,
        "sizes": [width, hidden],
        "x": draw.normal(13, width),
        "seed": draw.seed(),
    }


class Net(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, hidden), nn.BatchNorm1d(hidden), nn.Tanh())
        self.head = nn.Linear(hidden, 2).double()
        self.scale = nn.Parameter(torch.ones(()), requires_grad=False)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("trace", torch.zeros(3, dtype=torch.bfloat16))

    def forward(self, x):
        return self.head(self.body(x).double()) * self.scale


def make(given, device):
    return Net(*given["sizes"]).to(device)


def train(model, x):
    """Changes every parameter and buffer in place, as training does."""
    mode = model.training
    model.train()
    model(x).sum().backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))
        model.steps += 1
        model.trace += 1
    model.train(mode)


def copied(model):
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def follow(code, case, model, convert=lambda m: m):
    stopper = code.EarlyStopping(case["patience"], case["delta"], case["mode"])
    flags, bests = [], []
    for metric in case["metrics"]:
        flags.append(stopper.step(convert(metric), model))
        bests.append(stopper.best)
    return flags, bests


def probe_sequences(code, given, record):
    model = nn.Linear(1, 1).to(record.device)
    for group in ("sequences", "nans"):
        for i, case in enumerate(given[group]):
            with record.step(f"{group}{i}"):
                flags, bests = follow(code, case, model)
                record("flags", flags)
                record("bests", bests)
    with record.step("defaults"):
        stopper = code.EarlyStopping()
        record("start", stopper.best)
        metrics = [5.0, 6.0, 4.0, 4.0, 4.5, 4.5, 4.0, 4.0, 4.0, 3.0]
        record("flags", [stopper.step(metric, model) for metric in metrics])
        record("best", stopper.best)
    with record.step("keywords"):
        stopper = code.EarlyStopping(patience=1, min_delta=0.5, mode="max")
        record("flags", [stopper.step(metric, model) for metric in (1.0, 1.5, 2.0, 2.0)])


def probe_kinds(code, given, record):
    model = nn.Linear(1, 1).to(record.device)
    case = given["sequences"][4]
    kinds = {
        "scalar": lambda m: torch.tensor(m, device=record.device),
        "double": lambda m: torch.tensor(m, dtype=torch.float64, device=record.device),
        "one": lambda m: torch.tensor([m], device=record.device),
    }
    for name, convert in kinds.items():
        with record.step(name):
            flags, bests = follow(code, case, model, convert)
            record("flags", flags)
            record("bests", bests)
    with record.step("nan"):
        flags, bests = follow(code, given["nans"][0], model, kinds["scalar"])
        record("flags", flags)
        record("bests", bests)
    with record.step("small"):
        stopper = code.EarlyStopping(1)
        record("flags", [stopper.step(metric, model) for metric in (0.3, 0.3 - 5e-5, 0.3 - 6e-5)])
    with record.step("fine"):  # gains that float32 cannot hold
        stopper = code.EarlyStopping(1)
        record("flags", [stopper.step(metric, model) for metric in (0.3, 0.3 - 1e-10, 0.3 - 2e-10)])
        record("best", stopper.best)
    with record.step("two"):
        models = nn.Linear(2, 1).to(record.device), nn.Linear(2, 1).to(record.device)
        stoppers = code.EarlyStopping(1), code.EarlyStopping(1)
        before = [copied(m) for m in models]
        for stopper, m in zip(stoppers, models, strict=True):
            stopper.step(1.0, m)
        for stopper, m in zip(stoppers, models, strict=True):
            with torch.no_grad():
                m.weight.add_(1.0)
            stopper.restore(m)
        record("pairs", [[b["weight"] for b in before], [m.weight for m in models]])
    with record.step("reused"):
        buffer = torch.zeros((), device=record.device)
        flags, bests = follow(code, case, model, lambda m: buffer.fill_(m))
        record("flags", flags)
        record("bests", bests)
    with record.step("int"):
        stopper = code.EarlyStopping()
        record("flags", [stopper.step(metric, model) for metric in (5, 4, 6)])
        record("best", stopper.best)
    with record.step("instances"):
        one, two = code.EarlyStopping(2), code.EarlyStopping(2)
        record(
            "flags",
            [
                s.step(m, model)
                for s, m in ((one, 3.0), (two, 5.0), (one, 4.0), (two, 6.0), (one, 4.0), (two, 4.0))
            ],
        )
        record("bests", [one.best, two.best])


def probe_copy(code, given, record):
    x = given["x"]
    torch.manual_seed(given["seed"])
    for mode, better in (("min", -1.0), ("max", 1.0)):
        with record.step(mode):
            model = make(given, record.device)
            train(model, x)
            stopper = code.EarlyStopping(3, mode=mode)
            for name, moves in (
                ("first", [5.0, 5.0 - better, 5.0]),
                ("second", [5.0 + better, 5.0 - better]),
            ):
                with record.step(name):
                    for k, metric in enumerate(moves):  # only the first of them improves
                        before = copied(model)
                        stopper.step(metric, model)
                        record(f"step{k}", [before, copied(model)])
                        train(model, x)
                    stopper.restore(model)
                    record("got", copied(model))
                    with record.step("again"):
                        train(model, x)
                        train(model, x)
                        stopper.restore(model)
                        record("got", copied(model))
                    train(model, x)


def modes(model):
    return {name: module.training for name, module in model.named_modules()}


def gradients(model):
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def probe_restore(code, given, record):
    x = given["x"]
    torch.manual_seed(given["seed"])
    model = make(given, record.device)
    train(model, x)
    stopper = code.EarlyStopping(3)
    parameters = list(model.parameters())
    model.eval()
    model.body[1].train()
    with record.step("step"):
        before, started = modes(model), gradients(model)
        record("flag", stopper.step(1.0, model))
        record("modes", [before, modes(model)])
        record("improved", [started, gradients(model)])
    model.eval()
    record("best_out", model(x))
    model.train()
    train(model, x)
    started = gradients(model)
    flags = [stopper.step(2.0, model)]
    with record.step("step"):
        record("failed", [started, gradients(model)])
    model.body.eval()
    grads = [p.grad.clone() for p in parameters if p.grad is not None]
    before = modes(model)
    with record.step("restore"):
        record("returned", stopper.restore(model))
        record("modes", [before, modes(model)])
        record("objects", all(a is b for a, b in zip(parameters, model.parameters(), strict=True)))
        record(
            "requires_grad", [[p.requires_grad for p in parameters], [not p.dim() == 0 for p in parameters]]
        )
        record("leaves", all(p.grad_fn is None for p in parameters))
        record("grads", [grads, [p.grad for p in parameters if p.grad is not None]])
        record("best", stopper.best)
        model.eval()
        record("out", model(x))
    with record.step("count"):
        flags += [stopper.step(2.0, model), stopper.step(2.0, model)]
        record("flags", flags)
    with record.step("other"):
        other = make(given, record.device)
        train(other, x)
        stopper.restore(other)
        other.eval()
        record("out", other(x))


def probe_errors(code, given, record):
    model = make(given, record.device)
    record.raises("restore", lambda: code.EarlyStopping().restore(model))
    with record.step("nan"):
        stopper = code.EarlyStopping(1)
        stopper.step(NAN, model)
        record.raises("restore", lambda: stopper.restore(model))
    for name, options in {
        "patience_zero": {"patience": 0},
        "patience_negative": {"patience": -3},
        "delta": {"min_delta": -0.01},
        "mode": {"mode": "minimum"},
        "mode_capital": {"mode": "MAX"},
        "mode_empty": {"mode": ""},
        "mode_part": {"mode": "m"},
    }.items():
        record.raises(name, lambda o=options: type(code.EarlyStopping(**o)).__name__)
