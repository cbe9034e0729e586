import math

import torch
from torch import nn
from torch.nn.functional import cross_entropy

NAMES = ("w1", "b1", "w2", "b2")
SEEN = []


def smooth(losses, beta, correct=True):
    average, result = 0.0, []
    for i, loss in enumerate(losses):
        average = beta * average + (1 - beta) * loss
        result.append(average / (1 - beta ** (i + 1)) if correct else average)
    return result


def steepest(values, lrs=None):
    """The index of the steepest fall and how far ahead of the next it is; per unit of ``lrs`` where given."""
    changes = [b - a for a, b in zip(values, values[1:], strict=False)]
    if lrs is not None:
        changes = [c / (b - a) for c, a, b in zip(changes, lrs, lrs[1:], strict=False)]
    ordered = sorted(changes)
    return 1 + changes.index(ordered[0]), ordered[1] - ordered[0]


def mistaken(name, lrs, losses, beta):
    if name == "lowest":
        return losses.index(min(losses))
    if name == "plain":
        return steepest(losses)[0]
    if name == "lowest_smooth":
        values = smooth(losses, beta)
        return values.index(min(values))
    if name == "first_loss":
        values = losses[:1]
        for loss in losses[1:]:
            values = [*values, beta * values[-1] + (1 - beta) * loss]
        return steepest(values)[0]
    if name == "before":
        return steepest(smooth(losses, beta))[0] - 1
    if name == "centered":
        values = smooth(losses, beta)
        padded = [2 * values[0] - values[1], *values, 2 * values[-1] - values[-2]]
        slopes = [b - a for a, b in zip(padded, padded[2:], strict=False)]
        return slopes.index(min(slopes))
    if name == "per_decade":
        return steepest(smooth(losses, beta), [math.log10(lr) for lr in lrs])[0]
    if name == "uncorrected":
        return steepest(smooth(losses, beta, correct=False))[0]
    if name == "per_rate":
        return steepest(smooth(losses, beta), lrs)[0]
    if name == "swapped":
        return steepest(smooth(losses, 1 - beta))[0] if beta else -1
    if name == "late":
        return steepest(
            [v / (1 - beta ** (i + 2)) for i, v in enumerate(smooth(losses, beta, correct=False))]
        )[0]
    return -1


MISTAKES = (
    "lowest",
    "plain",
    "uncorrected",
    "per_rate",
    "swapped",
    "late",
    "first_loss",
    "per_decade",
    "centered",
)
FURTHER = ("lowest_smooth", "before")  # without a curve of their own


def curve(draw, name):
    """Losses on which the named mistake gives another rate than the right one, with a wide gap."""
    while True:
        count = draw.integer(7, 11)
        beta = draw.uniform(0.5, 0.85) if name != "none" else 0.0
        lrs = [1e-4 * draw.uniform(1.5, 1.9) * 2.3**i for i in range(count)]
        losses = [draw.uniform(2.0, 3.0) - 0.15 * i + draw.uniform(-0.8, 0.8) for i in range(count)]
        best, gap = steepest(smooth(losses, beta))
        if gap > 0.02 and 1 < best and mistaken(name, lrs, losses, beta) != best:
            wrong = {m: mistaken(m, lrs, losses, beta) for m in (*MISTAKES, *FURTHER)}
            return {"lrs": lrs, "losses": losses, "beta": beta, "kept": {"best": best, "wrong": wrong}}


def inputs(draw):
    d, h, c = draw.sizes(3, 3, 7)
    normal = {"dtype": torch.float64}
    return {
        "weights": {
            "w1": draw.normal(h, d, scale=0.7, **normal),
            "b1": draw.normal(h, scale=0.5, **normal),
            "w2": draw.normal(c, h, scale=0.9, **normal),
            "b2": draw.normal(c, scale=0.5, **normal),
        },
        "norm": {"mean": draw.normal(d, **normal), "var": draw.rand(d, low=2.0, high=5.0, **normal)},
        "batches": [[draw.normal(n, d, scale=1.5, **normal), draw.integers(0, c, n)] for n in (6, 4, 5)],
        "ranges": [
            [draw.uniform(1e-5, 1e-4), draw.uniform(0.3, 0.9), draw.integer(5, 9)],
            [draw.uniform(0.01, 0.02), draw.uniform(2.0, 30.0), draw.integer(12, 17)],
            [draw.uniform(0.1, 0.2), draw.uniform(0.3, 0.4), 2],
        ],
        "run": [draw.uniform(0.01, 0.02), draw.uniform(0.2, 0.3), 8],
        "curves": {name: curve(draw, name) for name in ("none", *MISTAKES)},
        "low": draw.uniform(0.6, 0.9),
    }


class Net(nn.Module):
    def __init__(self, given, norm=False):
        super().__init__()
        if norm:
            self.norm = nn.Sequential(nn.BatchNorm1d(len(given["norm"]["mean"]), dtype=torch.float64))
            self.norm[0].running_mean.copy_(given["norm"]["mean"])
            self.norm[0].running_var.copy_(given["norm"]["var"])
            self.drop = nn.Dropout(0.0)
        for name in NAMES:
            setattr(self, name, nn.Parameter(given["weights"][name].clone()))
        self.to(given["weights"]["w1"].device)

    def forward(self, x):
        SEEN.append([m.training for m in self.modules()])
        x = self.norm(x) if hasattr(self, "norm") else x
        return torch.tanh(x @ self.w1.T + self.b1) @ self.w2.T + self.b2


class Loader:
    """Can be iterated again and again, and nothing else."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return iter([(x, y) for x, y in self.batches])


def pairs(given):
    return [(x, y) for x, y in given["batches"]]


def plenty(given):
    return pairs(given) * 20


def scripted(values):
    """A loss with these values, one after the other; the last one stays."""
    calls = []

    def loss_fn(out, y):
        calls.append(0)
        return out.sum() - out.sum().detach() + values[min(len(calls), len(values)) - 1]

    return loss_fn


def listed(result):
    lrs, losses = result
    return {"lrs": lrs, "losses": losses}


def probe_rates(code, given, record):
    for i, (low, high, count) in enumerate(given["ranges"]):
        with record.step(i):
            flat = scripted([1.0])
            record("got", listed(code.lr_range_test(Net(given), flat, plenty(given), low, high, count)))
    with record.step("default"):
        record("got", listed(code.lr_range_test(Net(given), scripted([1.0]), plenty(given))))


def prepared(given, kind):
    model = Net(given, norm=kind.startswith("norm"))
    if kind == "junk":
        for p in model.parameters():
            p.grad = torch.full_like(p, 2.0)
    if kind == "norm_eval":
        model.eval()
    if kind == "norm_mixed":
        model.norm[0].eval()
        model.drop.eval()
    if kind == "eval":
        model.eval()
    return model


def probe_run(code, given, record):
    low, high, count = given["run"]
    for kind in ("plain", "junk", "eval", "norm_train", "norm_eval", "norm_mixed", "loader", "one"):
        with record.step(kind):
            model = prepared(given, kind)
            batches = pairs(given)
            if kind == "loader":
                batches = Loader(given["batches"])
            if kind == "one":
                batches = batches[:1]
            before = [m.training for m in model.modules()]
            SEEN.clear()
            got = code.lr_range_test(model, cross_entropy, batches, low, high, count, 1e6)
            record("got", listed(got))
            record("flags", len(SEEN) > 0 and all(flags == before for flags in SEEN))


def probe_stop(code, given, record):
    inf, nan = float("inf"), float("nan")
    low = given["low"]
    for name, values, factor in (
        ("factor", [2.0, 0.5, 1.75, 2.0, 2.01, 0.1], None),
        ("lowest", [3.0, low, 0.9 * low, 2.0 * low, 3.65 * low, 0.1], None),
        ("high_first", [1.0, 3.9, 4.0, 1.5, 4.01, 1.0], None),
        ("second", [1.0, 5.0, 1.0], None),
        ("third", [2.0, 1.0, 4.5, 1.0], None),
        ("zero", [1.0, 0.0, 0.5, 0.0], None),
        ("own", [1.0, 1.4, 1.5, 1.51, 1.0], 1.5),
        ("half", [1.0, 0.4, 0.21, 0.1], 0.5),
        ("negative", [-1.0, -0.9, -1.0], None),
        ("nan", [1.0, 2.0, nan, 1.0], None),
        ("inf", [1.0, inf, 1.0], None),
        ("minus_inf", [1.0, 0.5, -inf, 1.0], None),
        ("first_nan", [nan, 1.0], None),
        ("never", [1.0, 3.0, 2.0], None),
    ):
        with record.step(name):
            model = Net(given)
            more = () if factor is None else (factor,)
            got = code.lr_range_test(model, scripted(values), plenty(given), 0.01, 0.1, 10, *more)
            record("got", listed(got))
            record("pictures", [picture(Net(given)), picture(model)])


def picture(model):
    return (
        {name: value.clone() for name, value in model.state_dict().items()},
        [m.training for m in model.modules()],
        [None if p.grad is None else p.grad.clone() for p in model.parameters()],
    )


class Broken(RuntimeError):
    pass


def breaking(at, error=Broken):
    calls = []

    def loss_fn(out, y):
        calls.append(0)
        if len(calls) > at:
            raise error("no loss today")
        return cross_entropy(out, y)

    return loss_fn


def probe_restored(code, given, record):
    for kind in ("norm_train", "norm_eval", "norm_mixed"):
        for name, at in (("normal", None), ("exploded", None), ("raised0", 0), ("raised3", 3)):
            with record.step(f"{kind}/{name}"):
                model = prepared(given, kind)
                model.w1.grad = torch.full_like(model.w1, 0.25)
                model.norm[0].weight.grad = torch.full_like(model.norm[0].weight, -1.5)
                before = picture(model)
                loss_fn = cross_entropy if at is None else breaking(at)
                top, factor = (1e4, 2.0) if name == "exploded" else (0.4, 1e6)
                try:
                    code.lr_range_test(model, loss_fn, pairs(given), 0.05, top, 7, factor)
                    record("error", None)
                except Broken:
                    record("error", "Broken")
                except Exception as error:  # noqa: BLE001 - written down
                    record("error", f"{type(error).__name__}: {error}"[:200])
                record("pictures", [before, picture(model)])


def probe_interrupted(code, given, record):
    model = prepared(given, "norm_train")
    before = picture(model)
    try:
        code.lr_range_test(model, breaking(3, KeyboardInterrupt), pairs(given), 0.05, 0.4, 7, 1e6)
        record("error", None)
    except KeyboardInterrupt:
        record("error", "KeyboardInterrupt")
    except Exception as error:  # noqa: BLE001 - written down
        record("error", f"{type(error).__name__}: {error}"[:200])
    record("pictures", [before, picture(model)])


class Power(nn.Module):
    """x times a power of one weight, which so many modules share."""

    def __init__(self, weight, count):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(1, 1, bias=False) for _ in range(count)])
        self.parts[0].weight = nn.Parameter(weight.reshape(1, 1).clone())
        for part in self.parts:
            part.weight = self.parts[0].weight

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


def probe_one_weight(code, given, record):
    one = torch.ones(1, 1, dtype=torch.float64, device=record.device)
    for name, start, count in (("steep", 1000.0, 1), ("shared", 1.0, 2)):
        with record.step(name):
            model = Power(start * one, count)
            got = code.lr_range_test(
                model, lambda out, y: ((out - y) ** 2).sum(), [(one, 0 * one)] * 4, 0.01, 0.08, 4
            )
            record("got", listed(got))


def probe_frozen(code, given, record):
    low, high, count = given["run"]
    model = Net(given)
    model.w1.requires_grad_(False)
    model.w1.grad = torch.full_like(model.w1, 0.25)
    before = picture(model)
    got = code.lr_range_test(model, cross_entropy, pairs(given), low, high, count, 1e6)
    record("got", listed(got))
    record("pictures", [before, picture(model)])
    record("needs_grad", [p.requires_grad for p in model.parameters()])


def probe_suggest(code, given, record):
    for name, case in given["curves"].items():
        with record.step(name):
            more = () if name == "none" else (case["beta"],)
            record("lr", code.suggest_lr(list(case["lrs"]), list(case["losses"]), *more))
    for name, losses in {
        "tied": [4.0, 3.5, 2.5, 2.25, 1.25, 1.0, 0.0],
        "last": [3.0, 2.75, 2.5, 1.0],
        "two": [3.0, 2.0],
        "first": [5.0, 2.0, 1.5, 0.5],
        "uphill": [1.0, 1.5, 1.25, 4.0, 3.875],
        "only_uphill": [1.0, 1.5, 1.625, 2.625],
    }.items():
        with record.step(name):
            record("lr", code.suggest_lr([0.001 * 2**i for i in range(len(losses))], losses))


def probe_errors(code, given, record):
    def test(name, *arguments, batches=None):
        data = pairs(given) if batches is None else batches
        record.raises(name, lambda: listed(code.lr_range_test(Net(given), cross_entropy, data, *arguments)))

    test("zero_min", 0.0, 1.0, 5)
    test("negative_min", -0.1, 1.0, 5)
    test("equal", 0.1, 0.1, 5)
    test("reversed", 0.1, 0.01, 5)
    test("one_step", 0.01, 0.1, 1)
    test("no_step", 0.01, 0.1, 0)
    test("no_batches", 0.01, 0.1, 5, batches=[])
    record.raises("beta_one", lambda: code.suggest_lr([0.1, 0.2, 0.3], [3.0, 2.0, 1.0], 1.0))
    record.raises("beta_large", lambda: code.suggest_lr([0.1, 0.2, 0.3], [3.0, 2.0, 1.0], 1.5))
    record.raises("beta_negative", lambda: code.suggest_lr([0.1, 0.2, 0.3], [3.0, 2.0, 1.0], -0.1))
    record.raises("fewer_losses", lambda: code.suggest_lr([0.1, 0.2, 0.3], [3.0, 2.0]))
    record.raises("more_losses", lambda: code.suggest_lr([0.1, 0.2], [3.0, 2.0, 1.0]))
    record.raises("one_point", lambda: code.suggest_lr([0.1], [3.0]))
    record.raises("no_point", lambda: code.suggest_lr([], []))
