from typing import NamedTuple

import torch
from torch import nn

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
INF, NAN = float("inf"), float("nan")


def inputs(draw):
    a, b, c = draw.sizes(3)
    n = draw.integer(4, 6)
    sparse = draw.normal(n, 9, shift=0.5)
    sparse[draw.rand(n, 9) < 0.3] = 0.0
    sparse[0, :3] = torch.tensor([0.0, 1e-30, -1e-9])
    sparse[1, 0] = -0.75
    many = draw.normal(50, 60, scale=0.5)
    many[30:], many[44:] = many[30:] + 3.0, 0.0
    return {
        "x": draw.normal(n, a, shift=0.3),
        "first": draw.normal(b, a, scale=0.6),
        "inner": draw.normal(c, b, scale=0.6),
        "last": draw.normal(3, c, scale=0.6),
        "bias": draw.normal(b, shift=0.4),
        "emitted": {
            "sparse": sparse,
            "long": draw.normal(2, 3, 4, 5, scale=2.0, shift=-3.0),
            "wide64": draw.normal(7, shift=5.0, dtype=torch.float64),
            "narrow16": draw.normal(300, scale=40.0, shift=400.0, dtype=torch.float16),
            "brain16": draw.normal(200, scale=3.0, shift=7.0, dtype=torch.bfloat16),
            "single": draw.normal(1, shift=2.0),
            "scalar": draw.normal(shift=2.0),
            "many": many,
            "offset": draw.normal(400, scale=0.5, shift=1000.0),
            "batch_of_one": draw.normal(1, 8, scale=2.0, shift=1.0),
            "minus_zero": torch.tensor([0.0, -0.0, 1.5, -0.0, -2.5]),
        },
        "grads": [draw.normal(b, a), draw.normal(c), draw.normal(2, b, 3, scale=3.0)],
        "half_count": draw.integer(30, 60),
        "wide_count": draw.integer(6, 12),
        "seed": draw.seed(),
        "spot": draw.integer(0, 5),
    }


class Emit(nn.Module):
    """A leaf that returns what it was given."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    def forward(self, x=None):
        return self.value.clone() if isinstance(self.value, torch.Tensor) else self.value


class Emitters(nn.Module):
    def __init__(self, values):
        super().__init__()
        self.box = nn.ModuleDict({name: Emit(value) for name, value in values.items()})
        self.unused = nn.Linear(2, 3)

    def forward(self, x=None):
        for emit in self.box.values():
            emit(x)
        return torch.zeros(2)


class Tree(nn.Module):
    """Registered in another order than it runs; ``drop`` is a dropout rate."""

    def __init__(self, given, drop=0.0, inplace=False):
        super().__init__()
        a, b, c = given["first"].shape[1], given["first"].shape[0], given["inner"].shape[0]
        self.last = nn.Linear(c, 3, bias=False)
        self.block = nn.Sequential(
            nn.ReLU(inplace), nn.Sequential(nn.Linear(b, c, bias=False), nn.Dropout(drop))
        )
        self.first = nn.Linear(a, b)
        with torch.no_grad():
            for layer, name in ((self.last, "last"), (self.block[1][0], "inner"), (self.first, "first")):
                layer.weight.copy_(given[name])
            self.first.bias.copy_(given["bias"])
        self.to(given["x"].device)

    def forward(self, x):
        return self.last(self.block(self.first(x)))


class Stop(Exception):
    pass


class Raise(nn.Module):
    def forward(self, x):
        raise Stop("from the forward pass")


def bare(grads, dtype, device):
    model = nn.Module()
    model.inner = nn.Module()
    for i, grad in enumerate(grads):
        shape = (3,) if grad is None else grad.shape
        # Not zero, so that the values of a parameter without a gradient would show in the norm.
        parameter = nn.Parameter(torch.full(shape, 0.75, dtype=dtype, device=device))
        if grad is not None:
            parameter.grad = grad.to(dtype).clone()
        (model if i % 2 else model.inner).register_parameter(f"p{i}", parameter)
    return model


def hook_counts(model):
    counts = [len(getattr(m, name)) for m in model.modules() for name in HOOKS]
    shared = torch.nn.modules.module
    return [*counts, len(shared._global_forward_hooks), len(shared._global_forward_pre_hooks)]


def probe_norm(code, given, record):
    device = record.device
    grads = given["grads"]
    cases = {
        "plain": (grads, torch.float32),
        "some_missing": ([None, *grads, None], torch.float32),
        "double": (grads, torch.float64),
        "brain": ([torch.full((301,), 1.5, device=device)], torch.bfloat16),
        "half": ([torch.full((given["half_count"],), 1000.0, device=device)], torch.float16),
        "halves": (
            [torch.full((n,), -1000.0, device=device) for n in (5, given["half_count"])],
            torch.float16,
        ),
        "wide": ([torch.full((given["wide_count"], 3), 1e30, device=device)], torch.float32),
        "none": ([None, None], torch.float32),
        "empty": ([], torch.float32),
        "nan": ([*grads, torch.tensor([1.0, NAN, 2.0], device=device)], torch.float32),
    }
    for name, (values, dtype) in cases.items():
        with record.step(name):
            model = bare(values, dtype, device)
            record("norm", code.global_grad_norm(model))
            record("after", [p.grad for p in model.parameters()])
            record(
                "before",
                [bare(values, dtype, device).get_parameter(n).grad for n, _ in model.named_parameters()],
            )

    with record.step("strided"):
        model = bare(grads[:1], torch.float32, device)
        model.inner.p0.grad = grads[0].t().contiguous().t()
        record("norm", code.global_grad_norm(model))
    with record.step("frozen"):
        model = bare(grads, torch.float32, device)
        model.p1.requires_grad_(False)
        record("norm", code.global_grad_norm(model))
    with record.step("tied"):
        model = bare(grads, torch.float32, device)
        model.again = nn.Module()
        model.again.register_parameter("other_name", model.p1)
        record("norm", code.global_grad_norm(model))


def kinds_of(stats):
    return {
        name: {key: type(value).__name__ for key, value in entry.items()} for name, entry in stats.items()
    }


def probe_monitor(code, given, record):
    with record.step("tree"):
        model = Tree(given)
        with code.ActivationMonitor(model) as monitor:
            record("empty", len(monitor.stats))
            model(given["x"])
            record("stats", dict(monitor.stats))
            record("kinds", kinds_of(monitor.stats))
            model(given["x"] * 2 - 1)
            record("second", dict(monitor.stats))
        record("after", dict(monitor.stats))
        model(given["x"])
        record("later", dict(monitor.stats))
    with record.step("emitted"):
        values = given["emitted"] | {
            "pair": (given["x"], given["x"]),
            "whole": given["x"].long(),
            "flags": given["x"] > 0,
            "nothing": None,
        }
        model = Emitters(values)
        with code.ActivationMonitor(model) as monitor:
            model(given["x"])
        record("stats", dict(monitor.stats))
        record("kinds", kinds_of(monitor.stats))
    with record.step("turned"):
        model = Emitters(
            {"turned": given["emitted"]["many"].t(), "slice": given["emitted"]["sparse"][:, 1:4]}
        )
        with code.ActivationMonitor(model) as monitor:
            model()
        record("stats", dict(monitor.stats))
    with record.step("eval"):
        model = Tree(given).eval()
        with code.ActivationMonitor(model) as monitor, torch.no_grad():
            model(given["x"])
        record("stats", dict(monitor.stats))
    with record.step("bare_leaf"):
        model = nn.Linear(*reversed(given["first"].shape)).to(record.device)
        with torch.no_grad():
            model.weight.copy_(given["first"])
            model.bias.copy_(given["bias"])
        with code.ActivationMonitor(model) as monitor:
            model(given["x"])
        record("stats", dict(monitor.stats))
    with record.step("activation"):
        model = nn.ReLU()
        with code.ActivationMonitor(model) as monitor:
            model(given["x"])
        record("stats", dict(monitor.stats))
    with record.step("inplace"):
        model = Tree(given, inplace=True)
        with code.ActivationMonitor(model) as monitor:
            model(given["x"])
        record("stats", dict(monitor.stats))
    with record.step("shared"):
        act = nn.ReLU()
        model = nn.Sequential(act, nn.Identity(), nn.Sequential(act, nn.Identity()))
        with code.ActivationMonitor(model) as monitor:
            model(given["x"])
        record("names", sorted(monitor.stats))
    with record.step("finite"):
        values = {}
        for name, bad in (("good", 1.0), ("nan", NAN), ("inf", INF), ("minus", -INF)):
            values[name] = torch.arange(6.0, device=record.device)
            values[name][given["spot"]] = bad
        values["large"] = torch.full((6,), 3e38, device=record.device)
        model = Emitters(values)
        with code.ActivationMonitor(model) as monitor:
            model()
        record("means", {name: monitor.stats[f"box.{name}"]["mean"] for name in ("nan", "inf", "minus")})
        record("finite", {name: monitor.stats[f"box.{name}"]["finite"] for name in values})
    with record.step("recovered"):
        model = Emitters({"only": torch.full((5,), NAN, device=record.device)})
        with code.ActivationMonitor(model) as monitor:
            model()
            model.box["only"].value = torch.ones(5, device=record.device)
            model()
        record("finite", monitor.stats["box.only"]["finite"])
    for name, bad in (("nan", NAN), ("inf", INF)):
        with record.step(f"bad_output_{name}"):
            with code.ActivationMonitor(model := nn.Sequential(Poison(bad))):
                record("out", model(given["x"]))


def probe_hooks(code, given, record):
    def foreign(model, log):
        model.first.register_forward_hook(lambda m, i, o: log.append("old"))
        model.block.register_forward_hook(lambda m, i, o: log.append("old"))

    with record.step("normal"):
        model, log = Tree(given), []
        foreign(model, log)
        before = hook_counts(model)
        with code.ActivationMonitor(model):
            model(given["x"])
        record("left", [n - m for n, m in zip(hook_counts(model), before, strict=True)])
        log.clear()
        model(given["x"])
        record("foreign", len(log))
    with record.step("nested"):
        outer_model, inner_model = Tree(given), nn.Sequential(nn.ReLU())
        with code.ActivationMonitor(outer_model) as outer:
            with code.ActivationMonitor(inner_model) as inner:
                inner_model(given["x"])
            outer_model(given["x"])
        record("outer", sorted(outer.stats))
        record("inner", sorted(inner.stats))
        record("left", sum(hook_counts(inner_model)) + sum(hook_counts(outer_model)))
    for error in (RuntimeError, ValueError, KeyError):
        with record.step(f"passes_{error.__name__}"):
            passed = False
            try:
                with code.ActivationMonitor(Tree(given)):
                    raise error("from the block")
            except error:
                passed = True
            record("passed", passed)
    with record.step("added_inside"):
        model, log = Tree(given), []
        with code.ActivationMonitor(model):
            foreign(model, log)
            model(given["x"])
        log.clear()
        model(given["x"])
        record("foreign", len(log))
    for name in ("block", "forward"):
        with record.step(name):
            model, log = Tree(given), []
            if name == "forward":
                model.block[1].append(Raise())
            foreign(model, log)
            before = hook_counts(model)
            try:
                with code.ActivationMonitor(model) as monitor:
                    model(given["x"])
                    raise Stop("from the block")
            except Stop:
                record("passed", True)
            record("left", [n - m for n, m in zip(hook_counts(model), before, strict=True)])
            seen = sorted(monitor.stats)
            kept = {key: dict(value) for key, value in monitor.stats.items()}
            try:
                model(given["x"] * 3)
            except Stop:
                pass
            same = all(kept[key] == dict(monitor.stats[key]) for key in seen)
            record("still", same and seen == sorted(monitor.stats))


def probe_neutral(code, given, record):
    for name, dtype, inplace in (
        ("float", torch.float32, False),
        ("inplace", torch.float32, True),
        ("double", torch.float64, False),
        ("bfloat", torch.bfloat16, False),
    ):
        for watched in (False, True):
            with record.step(f"{name}/{'watched' if watched else 'alone'}"):
                model = Tree(given, 0.4, inplace).to(dtype)
                x = given["x"].to(dtype).clone().requires_grad_()
                torch.manual_seed(given["seed"])
                if watched:
                    with code.ActivationMonitor(model) as monitor:
                        out = model(x)
                    record("kinds", kinds_of(monitor.stats))
                else:
                    out = model(x)
                record("out", out)
                out.square().sum().backward()
                record("grads", [x.grad, *[p.grad for p in model.parameters()]])


class Outputs(NamedTuple):
    """As the outputs of many models, a tuple with names."""

    sound: torch.Tensor
    other: torch.Tensor


class Poison(nn.Module):
    """Puts a bad value into what passes through."""

    def __init__(self, bad=NAN, form="tensor"):
        super().__init__()
        self.bad, self.form = bad, form

    def forward(self, x):
        y = x.clone()
        y.view(-1)[-1] = self.bad
        if self.form == "second":
            return x, y
        if self.form == "list":
            return [x, y]
        if self.form == "named":
            return Outputs(x, y)
        if self.form == "nested":
            return x, (x, y)
        if self.form == "deep":
            return (x, [None, (x, (y,))])
        return (None, y, (x, [x])) if self.form == "mixed" else y


class Pick(nn.Module):
    def forward(self, outputs):
        return outputs[0]


class Heal(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)


class Replace(nn.Module):
    def __init__(self, x):
        super().__init__()
        self.x = x

    def forward(self, outputs):
        return self.x


class Backwards(nn.Module):
    """Runs its children in the reverse order of registration."""

    def __init__(self, **children):
        super().__init__()
        for name, child in children.items():
            self.add_module(name, child)

    def forward(self, x):
        for child in reversed(list(self.children())):
            x = child(x)
        return x


class Own(nn.Module):
    """A container whose own arithmetic breaks after a sound inner module."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) * INF


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right, self.runs = nn.Identity(), nn.Identity(), 0

    def forward(self, x, y):
        self.runs += 1
        return self.left(x) + self.right(y).sum()


class Again(nn.Module):
    """Runs one module twice; it is sound only the first time."""

    def __init__(self):
        super().__init__()
        self.a, self.shared, self.b = nn.Identity(), nn.Hardtanh(-INF, INF), nn.Identity()

    def forward(self, x):
        return self.b(self.shared(self.a(self.shared(x)).abs() * 0 + INF))


def models():
    seq = nn.Sequential
    return {
        "sound": seq(nn.Identity(), nn.ReLU()),
        "nan": seq(nn.Identity(), Poison(), nn.ReLU()),
        "inf": seq(nn.Identity(), nn.ReLU(), Poison(INF), nn.Identity()),
        "minus_inf": seq(nn.Identity(), Poison(-INF), nn.Identity()),
        "healed": seq(nn.Identity(), Poison(), Heal()),
        "order": Backwards(first=nn.Identity(), second=nn.Identity(), third=Poison(), fourth=nn.Identity()),
        "two_causes": Backwards(first=Poison(), second=nn.Identity(), third=Poison(INF)),
        "inner": seq(nn.Identity(), seq(nn.ReLU(), seq(nn.Identity(), Poison()))),
        "own": seq(nn.Identity(), Own(nn.ReLU()), nn.Identity(), Poison()),
        "root": Own(seq(nn.Identity(), nn.ReLU())),
        "leaf": Poison(),
        "again": Again(),
        "deeper_later": seq(Poison(), seq(nn.Identity(), seq(nn.Identity()))),
    }


def probe_first(code, given, record):
    x = given["x"].abs() + 1
    for name, model in models().items():
        with record.step(name):
            record("name", code.first_nonfinite(model, x.clone()))
    with record.step("two_inputs"):
        model = Two()
        record("good", code.first_nonfinite(model, x, x))
        record("runs", model.runs)
        bad = x.clone()
        bad[0, 0] = NAN
        record("right", code.first_nonfinite(model, x, bad))
        record("left", code.first_nonfinite(model, bad, x))
    with record.step("integers"):
        model = nn.Sequential(Emit(torch.arange(3, device=record.device)), Emit(x))
        record("name", code.first_nonfinite(model, x))
    with record.step("large"):
        large = torch.full((4, 5), 3e38, device=record.device)
        half = torch.full((3, 7), 6e4, dtype=torch.float16, device=record.device)
        model = nn.Sequential(Emit(large), Emit(half), Emit(x))
        record("name", code.first_nonfinite(model, x))
    for form in ("second", "list", "mixed", "nested", "deep", "named"):
        with record.step(form):
            model = nn.Sequential(nn.Identity(), Poison(form=form), Pick() if form != "mixed" else Replace(x))
            record("name", code.first_nonfinite(model, x.clone()))
            model[1].bad = -INF
            record("inf", code.first_nonfinite(model, x.clone()))
    with record.step("sound_tuple"):
        record("name", code.first_nonfinite(nn.Sequential(Emit((x, None, "text", 3)), Emit(x)), x))
    with record.step("sound_nested"):
        model = nn.Sequential(Emit((x, None, [x, (x,)], "text", 3)), Emit(x))
        record("name", code.first_nonfinite(model, x))


def probe_leaves_nothing(code, given, record):
    for name in ("sound", "bad", "raises", "late"):
        with record.step(name):
            model = Tree(given, 0.2)
            if name == "bad":
                model.block[1].append(Poison())
            if name in ("raises", "late"):
                model.block[1].append(Raise())
            if name == "late":
                model.block[1].insert(0, Poison())
            model.train()
            model.block[1].eval()
            model.last.weight.grad = torch.ones_like(model.last.weight)
            log = []
            model.last.register_forward_hook(lambda m, i, o, log=log: log.append(1))
            before, modes = hook_counts(model), [m.training for m in model.modules()]
            try:
                code.first_nonfinite(model, given["x"])
                record("error", None)
            except Exception as error:  # noqa: BLE001
                record("error", type(error).__name__)
            record("left", [n - m for n, m in zip(hook_counts(model), before, strict=True)])
            record("modes", modes == [m.training for m in model.modules()])
            grads = {n: None if p.grad is None else p.grad.clone() for n, p in model.named_parameters()}
            record("grads", grads)
            record("grad_enabled", torch.is_grad_enabled())
