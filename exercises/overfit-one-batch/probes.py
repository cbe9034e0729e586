import torch
from torch import nn
from torch.nn.functional import cross_entropy

from quizapp.judge.testing.probes import random_states

DROPOUTS = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout")
NAMES = ("w1", "b1", "w2", "b2")
SEEN = []


def inputs(draw):
    d, h, c = draw.sizes(3, 3, 7)
    n = draw.choice([10, 11, 13])
    normal = {"dtype": torch.float64}
    return {
        "weights": {
            "w1": draw.normal(h, d, scale=0.8, **normal),
            "b1": draw.normal(h, scale=0.5, **normal),
            "w2": draw.normal(c, h, scale=0.9, **normal),
            "b2": draw.normal(c, scale=0.5, **normal),
        },
        "x": draw.normal(n, d, scale=1.5, shift=0.4, **normal),
        "y": draw.integers(0, c, n),
        "norm": {
            "mean": draw.normal(d, shift=-2.0, **normal),
            "var": draw.rand(d, low=4.0, high=9.0, **normal),
        },
        "lr": draw.uniform(0.03, 0.06),
        "sound": {
            "w1": draw.normal(48, 20, scale=0.22),
            "w2": draw.normal(4, 48, scale=0.14),
            "x": draw.normal(12, 20),
            "y": torch.cat([draw.permutation(4), draw.integers(0, 4, 8)]),
        },
        "seed": draw.seed(),
        "falling": [draw.uniform(2.0, 3.0), draw.uniform(0.6, 1.0), draw.uniform(0.06, 0.2)],
    }


class Net(nn.Module):
    """Two layers with whatever stands in ``before`` in front of them."""

    def __init__(self, weights, before=None):
        super().__init__()
        if before is not None:
            self.before = before
        for name in NAMES:
            setattr(self, name, nn.Parameter(weights[name].clone()))

    def forward(self, x):
        SEEN.append(self.training)
        x = self.before(x) if hasattr(self, "before") else x
        return torch.tanh(x @ self.w1.T + self.b1) @ self.w2.T + self.b2


class Watched(Net):
    """Counts the attributes that are set on it once it is watched; a copy is not."""

    edits = {}

    def __setattr__(self, name, value):
        if id(self) in self.edits:
            self.edits[id(self)].append(name)
        super().__setattr__(name, value)


class Wide(nn.Module):
    """Applies a channel-wise dropout to features."""

    def __init__(self, dropout, dims):
        super().__init__()
        self.inner = nn.Sequential(nn.Sequential(dropout))
        self.dims = dims

    def forward(self, x):
        return self.inner(x.reshape(*x.shape, *[1] * self.dims)).reshape(x.shape)


class Noise(nn.Module):
    def forward(self, x):
        return x + 0.1 * torch.randn(x.shape, dtype=x.dtype, device=x.device)


class Parts(nn.Module):
    """Parameters that a loss can pick one by one."""

    def __init__(self, device):
        super().__init__()
        self.zeta = nn.Parameter(torch.ones(2, device=device))
        self.unused = nn.Parameter(torch.ones(2, device=device))
        self.block = nn.Sequential(nn.Linear(2, 1, device=device), nn.Linear(2, 1, bias=False, device=device))
        self.frozen = nn.Parameter(torch.ones(3, device=device), requires_grad=False)
        self.alpha = nn.Parameter(torch.ones(2, device=device))
        self.timesed = nn.Parameter(torch.ones(2, device=device))

    def forward(self, x):
        return torch.stack(
            [
                self.zeta.sum(),
                self.block[0](x).sum(),
                self.block[1](x).sum(),
                self.alpha[1] * 2.0,
                0.0 * self.timesed.sum(),
                self.frozen.sum() * self.zeta.detach().sum(),
            ]
        )


class Slope(nn.Module):
    """Its output falls along a given direction."""

    def __init__(self, direction):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros_like(direction))
        self.register_buffer("direction", direction)

    def forward(self, x):
        return (self.weight * self.direction).sum()


def scripted(values, picks=None):
    """A loss with the given values, one after the other; its gradient reaches what ``picks`` says."""
    calls = []

    def loss_fn(out, targets):
        i = min(len(calls), len(values) - 1)
        calls.append(i)
        chosen = out.sum() if picks is None else out[picks[min(i, len(picks) - 1)]].sum()
        return chosen - chosen.detach() + values[i]

    return loss_fn


class Tied(nn.Module):
    """Two layers that share a weight, which the loss does not need."""

    def __init__(self, device):
        super().__init__()
        self.used = nn.Parameter(torch.ones(2, device=device))
        self.first = nn.Linear(2, 2, bias=False, device=device)
        self.second = nn.Linear(2, 2, bias=False, device=device)
        self.second.weight = self.first.weight

    def forward(self, x):
        return (self.used * x).sum()


def net_of(given, before=None):
    return Net(given["weights"], before)


def norm_of(given):
    norm = nn.BatchNorm1d(len(given["norm"]["mean"])).double().to(given["x"].device)
    norm.running_mean.copy_(given["norm"]["mean"])
    norm.running_var.copy_(given["norm"]["var"])
    return norm


def dropout_of(kind):
    dims = 0 if kind in ("Dropout", "AlphaDropout") else int(kind[7])
    return Wide(getattr(nn, kind)(0.6), dims)


def check(code, given, record, model, loss_fn=cross_entropy, **options):
    record("report", code.overfit_one_batch(model, given["x"], given["y"], loss_fn, **options))


def picture(model):
    """Everything about a model that must stay: values, gradients, modes, rates."""
    state = {name: value.clone() for name, value in model.state_dict().items()}
    grads = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    modes = [m.training for m in model.modules()]
    rates = [m.p for m in model.modules() if hasattr(m, "p")]
    return state, grads, [modes, rates, [p.requires_grad for p in model.parameters()]]


def probe_untouched(code, given, record):
    for name in ("train", "eval", "mixed"):
        with record.step(name):
            model = Watched(
                given["weights"],
                nn.Sequential(norm_of(given), nn.Sequential(nn.Dropout(0.35)), nn.AlphaDropout(0.1)),
            )
            model.train(name != "eval")
            if name == "mixed":
                model.before[0].eval()
            for p in (model.w1, model.b2):
                p.grad = torch.full_like(p, 0.5)
            model.b1.requires_grad_(name != "mixed")
            x, y = given["x"].clone(), given["y"].clone()
            before, during = picture(model), []

            def loss_fn(out, targets, model=model, during=during):
                during.append(picture(model))
                return cross_entropy(out, targets)

            Watched.edits = {id(model): []}
            code.overfit_one_batch(model, x, y, loss_fn, steps=4)
            record("edits", Watched.edits.pop(id(model)))
            record("during", during)
            record("before", before)
            record("after", picture(model))
            record("batch", [x, y])
            record("tracked", x.requires_grad or x.grad is not None)


def probe_trajectory(code, given, record):
    options = {"steps": 12, "lr": given["lr"], "threshold": 1e-6}
    with record.step("plain"):
        check(code, given, record, net_of(given), **options)
    with record.step("default_lr"):
        check(code, given, record, net_of(given), steps=12, threshold=1e-6)
    with record.step("old_gradients"):
        model = net_of(given)
        for p in model.parameters():
            p.grad = torch.full_like(p, 3.0)
        check(code, given, record, model, **options)
    with record.step("steep"):
        check(code, given, record, net_of(given), lambda out, y: 70.0 * cross_entropy(out, y), **options)
    with record.step("frozen"):
        model = net_of(given)
        model.w1.requires_grad_(False)
        model.b2.requires_grad_(False)
        check(code, given, record, model, **options)
    for name in ("train", "eval"):
        with record.step(f"norm_{name}"):
            model = net_of(given, nn.Sequential(norm_of(given)))
            model.train(name == "train")
            SEEN.clear()
            check(code, given, record, model, **options)
            record("modes", list(SEEN))
    for kind in DROPOUTS:
        with record.step(kind):
            check(code, given, record, net_of(given, dropout_of(kind)), **options)
    with record.step("nested"):
        inner = nn.ModuleDict({"deep": nn.Sequential(nn.Identity(), nn.ModuleList([nn.Dropout(0.6)])[0])})
        check(code, given, record, net_of(given, nn.Sequential(inner["deep"], nn.Dropout(0.5))), **options)


def probe_sound(code, given, record):
    case = given["sound"]
    model = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 4)).to(record.device)
    with torch.no_grad():
        model[0].weight.copy_(case["w1"])
        model[3].weight.copy_(case["w2"])
        model[0].bias.zero_()
        model[3].bias.zero_()
    record("report", code.overfit_one_batch(model, case["x"], case["y"], cross_entropy))


def probe_scripted(code, given, record):
    a, b, c = given["falling"]
    inf, nan = float("inf"), float("nan")
    for name, values, options in (
        ("default", [a, b, c, 0.05 * 0.98, 3.0], {}),
        ("threshold", [a, 1.5, 1.25, 1.24, 0.1], {"threshold": 1.25}),
        ("first", [0.04, 2.0], {}),
        ("rising", [a, 0.04, 2.0, 2.0], {"steps": 4}),
        ("last", [a, b, 0.01, 0.02], {"steps": 3}),
        ("stuck", [a, b, c, c, 0.01], {"steps": 4}),
        ("constant", [a], {"steps": 130}),
        ("default_steps", [a], {}),
        ("fell", [1e4, 1.0, 0.0625, 0.0501], {"steps": 4}),
        ("one", [a, 0.01], {"steps": 1}),
        ("negative", [a, -1.0, -2.0], {}),
        ("nan", [a, b, c, nan, b], {"steps": 6}),
        ("inf", [a, b, inf, 0.01], {}),
        ("minus_inf", [a, b, -inf, 0.01], {}),
        ("first_nan", [nan, 0.01], {}),
    ):
        with record.step(name):
            check(code, given, record, net_of(given), scripted(values), **options)


def probe_no_gradient(code, given, record):
    model = net_of(given)
    with record.step("detached"):
        check(code, given, record, model, lambda out, y: cross_entropy(out.detach(), y))
    with record.step("detached_low"):
        check(code, given, record, model, lambda out, y: cross_entropy(out.detach(), y) * 0.0)
    with record.step("detached_later"):
        calls = []

        def later(out, y):
            calls.append(0)
            return cross_entropy(out if len(calls) < 3 else out.detach(), y)

        check(code, given, record, model, later)
    for name, value in (("detached_nan", float("nan")), ("detached_inf", float("inf"))):
        with record.step(name):
            check(code, given, record, model, lambda out, y, value=value: out.detach().sum() * 0.0 + value)
    with record.step("zero"):
        check(code, given, record, model, lambda out, y: (out * 0.0).sum() + 1.0)
    with record.step("zero_low"):
        check(code, given, record, model, lambda out, y: (out * 0.0).sum() + 0.01)
    with record.step("zero_old_gradients"):
        old = net_of(given)
        for p in old.parameters():
            p.grad = torch.ones_like(p)
        check(code, given, record, old, lambda out, y: (out * 0.0).sum() + 1.0)
    with record.step("zero_later"):
        calls2 = []

        def vanishing(out, y):
            calls2.append(0)
            return cross_entropy(out, y) if len(calls2) < 2 else (out * 0.0).sum() + 1.0

        check(code, given, record, model, vanishing, steps=5)
    with record.step("opposite"):
        # Every gradient is (1, -1, 0, ...): its elements cancel.
        flip = torch.zeros_like(given["weights"]["b2"])
        flip[0], flip[1] = 1.0, -1.0
        check(code, given, record, Slope(flip), lambda out, y: out + 9.0, steps=3)
    for name, direction in (("downhill", [-1.0, -0.5]), ("tiny", [1e-12, 0.0])):
        with record.step(name):
            slope = Slope(torch.tensor(direction, dtype=torch.float64, device=record.device))
            check(code, given, record, slope, lambda out, y: out + 9.0, steps=3)
    with record.step("frozen"):
        frozen = net_of(given)
        for p in frozen.parameters():
            p.requires_grad_(False)
        check(code, given, record, frozen)


def probe_idle(code, given, record):
    x = torch.ones(3, 2, device=record.device)
    for name, values, picks, steps in (
        ("stuck", [2.0] * 4, [3, 0, 0, 1], 4),
        ("all_but", [2.0] * 3, [1, 0, 0], 3),
        ("last_ok", [2.0, 1.0, 0.01], [0, 0, 3], 9),
        ("first_ok", [0.01], [1], 9),
        ("last_stuck", [2.0, 1.0], [0, 2], 2),
        ("nonfinite", [2.0, float("nan")], [0, 2], 9),
        ("zeros", [2.0, 2.0], [0, 4], 2),
        ("once", [2.0, 2.0, 2.0], [0, 2, 4], 3),
    ):
        with record.step(name):
            report = code.overfit_one_batch(Parts(record.device), x, x, scripted(values, picks), steps=steps)
            record("report", report)
    with record.step("tied"):
        report = code.overfit_one_batch(Tied(record.device), x, x, lambda out, y: out + 9.0, steps=3)
        record("report", report)
    with record.step("no_graph"):
        report = code.overfit_one_batch(Parts(record.device), x, x, lambda out, y: out.detach().sum())
        record("report", report)


def probe_random(code, given, record):
    for i in range(2):
        with record.step(i):
            model = net_of(given, nn.Sequential(Noise(), nn.Dropout(0.4)))
            torch.manual_seed(given["seed"])
            before = random_states()[0]
            check(code, given, record, model, steps=6)
            record("left", [before, random_states()[0]])
    with record.step("plain"):
        torch.manual_seed(given["seed"])
        before = random_states()[0]
        check(code, given, record, net_of(given, nn.Dropout(0.4)), steps=6)
        record("left", [before, random_states()[0]])
    with record.step("short"):
        torch.manual_seed(given["seed"] + 1)
        before = random_states()[0]
        check(code, given, record, net_of(given, Noise()), scripted([float("nan")]))
        record("left", [before, random_states()[0]])


def probe_errors(code, given, record):
    for name, steps in (("zero", 0), ("negative", -3)):
        record.raises(
            name,
            lambda steps=steps: code.overfit_one_batch(
                net_of(given), given["x"], given["y"], cross_entropy, steps=steps
            ),
        )
