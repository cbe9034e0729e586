import warnings

import torch
from torch import nn

from quizapp.judge.testing.probes import number


def inputs(draw):
    d, h, c = 7, 9, 5
    return {
        "w1": draw.normal(h, d, scale=0.6),
        "w2": draw.normal(c, h, scale=0.6),
        "batches": [[draw.normal(6, d), draw.normal(6, c, scale=2.0)] for _ in range(4)],
        "lr": draw.uniform(0.05, 0.2),
        "clip": draw.uniform(0.15, 0.35),
        "scale": float(2 ** draw.integer(7, 9)),
    }


class Net(nn.Module):
    """Two layers; notes mode, autocast state and dtypes of each forward pass."""

    def __init__(self, given, dropout=0.0):
        super().__init__()
        (h, d), c = given["w1"].shape, given["w2"].shape[0]
        device = given["w1"].device
        self.first, self.second = nn.Linear(d, h, device=device), nn.Linear(h, c, device=device)
        self.drop = nn.Dropout(dropout)
        self.notes = []
        with torch.no_grad():
            self.first.weight.copy_(given["w1"])
            self.second.weight.copy_(given["w2"])
            self.first.bias.zero_()
            self.second.bias.zero_()

    def forward(self, x):
        hidden = self.first(x)
        kind = x.device.type
        self.notes.append([self.training, torch.is_autocast_enabled(kind), str(hidden.dtype)])
        return self.second(torch.tanh(self.drop(hidden)))


class Backward(torch.autograd.Function):
    """Passes through and notes whether autocast is on during backward."""

    @staticmethod
    def forward(ctx, x, notes):
        ctx.notes = notes
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        ctx.notes.append(torch.is_autocast_enabled(grad.device.type))
        return grad, None


def mse(outputs, targets):
    return ((outputs.float() - targets) ** 2).mean()


class Recorder:
    """Wraps a scaler and writes down the calls of its public methods."""

    def __init__(self, scaler):
        self.scaler = scaler
        self.calls = []

    def scale(self, outputs):
        self.calls.append("scale")
        return self.scaler.scale(outputs)

    def unscale_(self, optimizer):
        self.calls.append("unscale_")
        return self.scaler.unscale_(optimizer)

    def step(self, optimizer, *args, **kwargs):
        self.calls.append("step")
        return self.scaler.step(optimizer, *args, **kwargs)

    def update(self, new_scale=None):
        self.calls.append("update")
        return self.scaler.update(new_scale)

    def get_scale(self):
        return self.scaler.get_scale()

    def is_enabled(self):
        return self.scaler.is_enabled()

    def state_dict(self):
        return self.scaler.state_dict()


def scaler_of(record, scale, **options):
    return torch.amp.GradScaler(record.device.type, init_scale=scale, **options)


def state(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def pairs(given, count):
    return [tuple(batch) for batch in given["batches"][:count]]


def result(record, out):
    for key in ("loss", "grad_norm", "skipped"):
        record(key, number(out[key]))
    record("keys", sorted(map(str, out)))


def probe_step(code, given, record):
    for name, count, norm in (
        ("one", 1, given["clip"]),
        ("four", 4, given["clip"]),
        ("loose", 1, 1e4),
        ("none", 3, None),
        ("zero", 1, 0.0),
    ):
        with record.step(name):
            model = Net(given)
            optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"])
            scaler = scaler_of(record, given["scale"])
            out = code.amp_step(model, optimizer, scaler, pairs(given, count), mse, max_norm=norm)
            result(record, out)
            record("state", state(model))
            record("notes", model.notes)
            record("autocast_after", torch.is_autocast_enabled(record.device.type))
            record("scale", scaler.get_scale())
    with record.step("default"):
        model = Net(given)
        with torch.no_grad():
            model.second.weight.mul_(4.0)
        optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"])
        result(
            record, code.amp_step(model, optimizer, scaler_of(record, given["scale"]), pairs(given, 1), mse)
        )
        record("state", state(model))
    with record.step("tuple"):
        model = Net(given)
        optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"])
        out = code.amp_step(
            model, optimizer, scaler_of(record, given["scale"]), tuple(pairs(given, 2)), mse, max_norm=None
        )
        record("loss", float(out["loss"]))


def probe_stale(code, given, record):
    with record.step("clean"):  # the same step without anything from before
        model = Net(given)
        optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"])
        out = code.amp_step(
            model, optimizer, scaler_of(record, given["scale"]), pairs(given, 2), mse, max_norm=None
        )
        record("norm", float(out["grad_norm"]))
        record("state", state(model))
    model = Net(given)
    model.eval()
    for p in model.parameters():
        p.grad = torch.full_like(p, 50.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"])
    out = code.amp_step(
        model, optimizer, scaler_of(record, given["scale"]), pairs(given, 2), mse, max_norm=None
    )
    record("norm", float(out["grad_norm"]))
    record("state", state(model))
    record("training", [note[0] for note in model.notes])
    record("modules", [module.training for module in model.modules()])
    record("left_training", model.training)


def probe_momentum(code, given, record):
    model = Net(given)
    optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"], momentum=0.9)
    scaler = scaler_of(record, given["scale"])
    norms = []
    for i in range(3):
        out = code.amp_step(
            model, optimizer, scaler, [tuple(given["batches"][i])], mse, max_norm=given["clip"]
        )
        norms.append(float(out["grad_norm"]))
    record("norms", norms)
    record("state", state(model))


def probe_calls(code, given, record):
    for count in (1, 3):
        with record.step(count):
            model = Net(given)
            optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"])
            recorder = Recorder(scaler_of(record, given["scale"]))
            backwards = []

            def loss_fn(outputs, targets, backwards=backwards):
                return Backward.apply(mse(outputs, targets), backwards)

            out = code.amp_step(
                model, optimizer, recorder, pairs(given, count), loss_fn, max_norm=given["clip"]
            )
            result(record, out)
            record("calls", recorder.calls)
            record("backwards", backwards)

    with record.step("none"):
        model = Net(given)
        optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"])
        recorder = Recorder(scaler_of(record, given["scale"]))
        code.amp_step(model, optimizer, recorder, pairs(given, 2), mse, max_norm=None)
        record("calls", recorder.calls)


def probe_autocast(code, given, record):
    for name, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        with record.step(name):
            model = Net(given)
            optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"])
            inside = []

            def loss_fn(outputs, targets, inside=inside):
                inside.append([torch.is_autocast_enabled(outputs.device.type), str(outputs.dtype)])
                return mse(outputs, targets)

            scaler = scaler_of(record, given["scale"])
            code.amp_step(model, optimizer, scaler, pairs(given, 1), loss_fn, amp_dtype=dtype)
            record("notes", model.notes)
            record("inside", inside)
            record("after", torch.is_autocast_enabled(record.device.type))
            record("dtypes", sorted({str(p.dtype) for p in model.parameters()}))


class Spoil(torch.autograd.Function):
    """Passes through; one element of the gradient becomes `kind`, while the loss stays finite."""

    @staticmethod
    def forward(ctx, x, kind):
        ctx.kind = kind
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        grad.view(-1)[3] = ctx.kind
        return grad, None


def spoiled(kind, place, finite):
    """A loss whose gradient at the micro-batch number `place` is inf or NaN."""
    count = iter(range(100))

    def loss_fn(outputs, targets):
        if next(count) != place:
            return mse(outputs, targets)
        return mse(Spoil.apply(outputs, kind), targets) if finite else mse(outputs, targets) * kind

    return loss_fn


def probe_overflow(code, given, record):
    inf, nan = float("inf"), float("nan")
    cases = (
        ("inf", inf, 1, 0, True),
        ("nan", nan, 1, 0, True),
        ("second", inf, 3, 1, True),
        ("loss", nan, 1, 0, False),
        ("one_loss", nan, 3, 1, False),
    )
    # other factors than the usual 2 and 1/2
    options = {"backoff_factor": 0.25, "growth_factor": 3.0}
    for name, kind, count, place, finite in cases:
        with record.step(name):
            model = Net(given)
            optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"], momentum=0.9, weight_decay=0.1)
            scaler = scaler_of(record, given["scale"], **options)
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                out = code.amp_step(
                    model,
                    optimizer,
                    scaler,
                    pairs(given, count),
                    spoiled(kind, place, finite),
                    max_norm=1.0,
                    lr_scheduler=scheduler,
                )
            record("skipped", out["skipped"])
            record("loss", float(out["loss"]))
            record("state", state(model))
            record("scale", scaler.get_scale())
            record("rate", optimizer.param_groups[0]["lr"])
            optimizer.param_groups[0]["weight_decay"] = 0.0
            with record.step("next"):
                out = code.amp_step(
                    model, optimizer, scaler, pairs(given, 2), mse, max_norm=None, lr_scheduler=scheduler
                )
                result(record, out)
                record("state", state(model))
                record("rate", optimizer.param_groups[0]["lr"])


def probe_overflow_calls(code, given, record):
    model = Net(given)
    optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"])
    recorder = Recorder(scaler_of(record, given["scale"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code.amp_step(model, optimizer, recorder, pairs(given, 2), spoiled(float("inf"), 1, True))
    record("calls", recorder.calls)


def probe_growth(code, given, record):
    model = Net(given)
    optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"])
    scaler = scaler_of(record, given["scale"], growth_interval=2, growth_factor=3.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    skipped, rates, scales = [], [], []
    for i in range(4):
        out = code.amp_step(
            model, optimizer, scaler, [tuple(given["batches"][i])], mse, lr_scheduler=scheduler
        )
        skipped.append(out["skipped"])
        rates.append(optimizer.param_groups[0]["lr"])
        scales.append(scaler.get_scale())
    record("skipped", skipped)
    record("rates", rates)
    record("scales", scales)


def probe_disabled(code, given, record):
    model = Net(given)
    optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"])
    scaler = torch.amp.GradScaler(record.device.type, enabled=False)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    out = code.amp_step(
        model,
        optimizer,
        scaler,
        pairs(given, 2),
        mse,
        max_norm=given["clip"],
        amp_dtype=torch.bfloat16,
        lr_scheduler=scheduler,
    )
    result(record, out)
    record("state", state(model))
    record("notes", model.notes)
    record("rate", optimizer.param_groups[0]["lr"])


def probe_groups(code, given, record):
    model = Net(given)
    for p in model.parameters():
        p.grad = torch.full_like(p, 50.0)
    groups = [{"params": list(layer.parameters())} for layer in (model.first, model.second)]
    optimizer = torch.optim.SGD(groups, lr=given["lr"])
    scaler = scaler_of(record, given["scale"])
    out = code.amp_step(model, optimizer, scaler, pairs(given, 2), mse, max_norm=given["clip"])
    result(record, out)
    record("state", state(model))


def probe_frozen(code, given, record):
    model = Net(given)
    model.first.requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"])
    scaler = scaler_of(record, given["scale"])
    out = code.amp_step(model, optimizer, scaler, pairs(given, 2), mse, max_norm=given["clip"])
    result(record, out)
    record("state", state(model))


def probe_empty(code, given, record):
    model = Net(given)
    model.eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=given["lr"], momentum=0.9)
    for p in model.parameters():
        p.grad = torch.full_like(p, 2.0)
    scaler = Recorder(scaler_of(record, given["scale"]))
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    record.raises("call", lambda: code.amp_step(model, optimizer, scaler, [], mse, lr_scheduler=scheduler))
    record("state", state(model))
    record("grads", [None if p.grad is None else p.grad.clone() for p in model.parameters()])
    record("training", model.training)
    record("calls", scaler.calls)
    record("rate", optimizer.param_groups[0]["lr"])
