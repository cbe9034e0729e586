import weakref

import torch
from torch import nn
from torch.nn.functional import cross_entropy

NAMES = ("w1", "b1", "w2", "b2")


def batches_of(draw, sizes, d, c, flag=None):
    result = []
    for n in sizes:
        x = draw.normal(n, d, dtype=torch.float64)
        if flag is not None:
            x[:, 0] = flag
        result.append([x, draw.integers(0, c, n)])
    return result


def inputs(draw):
    d, h, c = draw.sizes(3, 3, 7)
    normal = {"dtype": torch.float64}
    return {
        "weights": {
            "w1": draw.normal(h, d, scale=0.8, **normal),
            "b1": draw.normal(h, scale=0.5, **normal),
            "w2": draw.normal(c, h, scale=1.2, **normal),
            "b2": draw.normal(c, scale=0.5, **normal),
        },
        "junk": draw.rand(4, low=1.0, high=3.0, dtype=torch.float64),
        "uneven": batches_of(draw, [7, 7, 7, 1], d, c),
        "one": batches_of(draw, [1], d, c),
        "train": {
            "5": batches_of(draw, [6, 6, 6, 6, 2], d, c),
            "4": batches_of(draw, [5, 3, 4, 6], d, c),
            "7": batches_of(draw, [4, 4, 4, 4, 4, 4, 3], d, c),
        },
        "val": batches_of(draw, [6, 6, 1], d, c),
        "flagged": {
            "train": batches_of(draw, [5, 5, 3], d, c, 1.0),
            "val": batches_of(draw, [5, 4], d, c, 0.0),
        },
        "norm": {
            "mean": draw.normal(d, scale=0.5, **normal),
            "var": draw.rand(d, low=0.4, high=2.5, **normal),
        },
        "lr": draw.uniform(0.2, 0.4),
        "max_norm": draw.uniform(0.02, 0.04),
    }


class Net(nn.Module):
    def __init__(self, weights):
        super().__init__()
        for name in NAMES:
            setattr(self, name, nn.Parameter(weights[name].clone()))

    def forward(self, x):
        return torch.tanh(x @ self.w1.T + self.b1) @ self.w2.T + self.b2


class Moody(nn.Module):
    """Dropout, batch norm and nested blocks; writes down how it was run."""

    def __init__(self, given):
        super().__init__()
        self.block = nn.Sequential(nn.BatchNorm1d(len(given["norm"]["mean"])), nn.Sequential(nn.Dropout(0.5)))
        self.block[0].running_mean.copy_(given["norm"]["mean"])
        self.block[0].running_var.copy_(given["norm"]["var"])
        self.net = Net(given["weights"])
        self.log = []
        self.double().to(given["weights"]["w1"].device)

    def forward(self, x):
        flags = [m.training for m in self.modules()]
        self.log.append([float(x[0, 0]), all(flags), any(flags), torch.is_grad_enabled()])
        return self.net(self.block(x))

    def state(self):
        return {name: value.clone() for name, value in self.state_dict().items()}


class Watched(torch.optim.SGD):
    """Plain SGD that writes down gradient and rate of every step."""

    def __init__(self, model, lr, groups=False):
        params = list(model.parameters())
        super().__init__([{"params": params[:1]}, {"params": params[1:]}] if groups else params, lr=lr)
        self.seen, self.rates = [], []

    def step(self, closure=None):
        params = [p for group in self.param_groups for p in group["params"]]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in params]
        self.seen.append(torch.cat([g.flatten() for g in grads]).clone())
        self.rates.append(float(self.param_groups[0]["lr"]))
        return super().step(closure)


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def pairs(batches):
    return [(x, y) for x, y in batches]


def probe_evaluate(code, given, record):
    for name in ("uneven", "one"):
        with record.step(name):
            record("result", code.evaluate(Net(given["weights"]), pairs(given[name]), cross_entropy))
    with record.step("nan"):
        record("result", code.evaluate(Net(given["weights"]), pairs(given["uneven"]), broken_everywhere))
    with record.step("generator"):
        batches = ((x, y) for x, y in given["uneven"])
        record("result", code.evaluate(Net(given["weights"]), batches, nn.CrossEntropyLoss()))


def broken_everywhere(logits, targets):
    return cross_entropy(logits, targets) * float("nan")


class Table(nn.Module):
    """Logits by token id; the dtypes that it was given."""

    def __init__(self, weights):
        super().__init__()
        self.rows = nn.Embedding.from_pretrained(weights["w2"].T.clone(), freeze=False)
        self.dtypes = []

    def forward(self, ids):
        self.dtypes.append(str(ids.dtype))
        return self.rows(ids.long())


def probe_token_ids(code, given, record):
    model = Table(given["weights"])
    batches = [
        (torch.arange(len(y), device=y.device) % model.rows.num_embeddings, y) for _, y in given["val"]
    ]
    with record.step("evaluate"):
        code.evaluate(model, batches, cross_entropy)
    with record.step("fit"):
        code.fit(model, Watched(model, given["lr"]), batches, batches, cross_entropy, epochs=1)
    record("dtypes", sorted(set(model.dtypes)))


def probe_eval_mode(code, given, record):
    for name in ("train", "eval"):
        with record.step(name):
            model = Moody(given)
            model.train(name == "train")
            before = model.state()
            record("result", code.evaluate(model, pairs(given["train"]["4"]), cross_entropy))
            record("again", code.evaluate(model, pairs(given["train"]["4"]), cross_entropy))
            record("states", [before, model.state()])
            record("log", model.log)
            record("grad_enabled", torch.is_grad_enabled())


def probe_modes(code, given, record):
    def run(name, prepare):
        with record.step(name):
            model = Moody(given)
            prepare(model)
            record("before", [m.training for m in model.modules()])
            code.evaluate(model, pairs(given["uneven"]), cross_entropy)
            record("after", [m.training for m in model.modules()])

    run("train", lambda m: m.train())
    run("eval", lambda m: m.eval())
    run("frozen_norm", lambda m: m.train() and m.block[0].eval())
    run("frozen_block", lambda m: m.train() and m.block.eval())
    run("dropout_on", lambda m: m.eval() and m.block[1][0].train())


def probe_fit_modes(code, given, record):
    for name in ("train", "eval", "mixed"):
        with record.step(name):
            model = Moody(given)
            model.train(name != "eval")
            if name == "mixed":
                model.block.eval()
            train, val = pairs(given["flagged"]["train"]), pairs(given["flagged"]["val"])
            code.fit(model, torch.optim.SGD(model.parameters(), lr=0.1), train, val, cross_entropy, epochs=3)
            record("log", model.log)


def train(code, given, record, key, junk=False, loader=False, schedule=False, groups=False, **options):
    model = Net(given["weights"])
    if junk:
        for p, value in zip(model.parameters(), given["junk"], strict=True):
            p.grad = torch.full_like(p, float(value))
    optimizer = Watched(model, given["lr"], groups)
    batches, val = pairs(given["train"][key]), pairs(given["val"])
    if loader:
        x, y = torch.cat([b[0] for b in batches]).cpu(), torch.cat([b[1] for b in batches]).cpu()
        batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=len(val[0][1]))
        val = [(x.cpu(), y.cpu()) for x, y in val]
    if schedule:
        options["scheduler"] = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: 1 / (1 + i))
    try:
        record(
            "history",
            code.fit(model, optimizer, batches, val, options.pop("loss_fn", cross_entropy), **options),
        )
    finally:
        record("grads", optimizer.seen)
        record("rates", optimizer.rates)
        record("params", flat(model))
        if schedule:
            record("last_epoch", options["scheduler"].last_epoch)


def probe_plain(code, given, record):
    for name, options in {
        "fresh": {},
        "junk": {"junk": True},
        "loader": {"loader": True},
    }.items():
        with record.step(name):
            train(code, given, record, "5", epochs=2, **options)


class Shuffling:
    """Gives the batches in another order whenever it is iterated, as a shuffling DataLoader does."""

    def __init__(self, batches):
        self.batches, self.times = batches, 0

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        self.times += 1
        n = len(self.batches)
        return iter([self.batches[(i + self.times) % n] for i in range(n)])


class Listening(Net):
    def __init__(self, weights):
        super().__init__(weights)
        self.heard = []

    def forward(self, x):
        if torch.is_grad_enabled():
            self.heard.append(float(x[0, 0]))
        return super().forward(x)


def probe_order(code, given, record):
    model = Listening(given["weights"])
    batches = Shuffling(pairs(given["train"]["7"]))
    code.fit(model, Watched(model, given["lr"]), batches, pairs(given["val"]), cross_entropy, epochs=2)
    record("heard", model.heard)


def probe_windows(code, given, record):
    for key, k in (("5", 2), ("4", 2), ("7", 3), ("5", 4), ("4", 9)):
        with record.step(f"{key}by{k}"):
            train(code, given, record, key, epochs=2, accumulate=k, junk=k == 3)
    with record.step("loader"):
        train(code, given, record, "5", epochs=2, accumulate=2, loader=True)


def probe_clipping(code, given, record):
    for name, k, bound in (
        ("tight1", 1, given["max_norm"]),
        ("tight2", 2, given["max_norm"]),
        ("loose", 2, 60.0),
    ):
        with record.step(name):
            train(code, given, record, "5", epochs=2, accumulate=k, max_norm=bound)
    with record.step("to_zero"):
        train(code, given, record, "5", epochs=1, max_norm=0.0)
    with record.step("groups"):
        train(code, given, record, "5", epochs=2, accumulate=2, max_norm=given["max_norm"], groups=True)


def probe_scheduler(code, given, record):
    for k in (1, 2, 3):
        with record.step(k):
            train(code, given, record, "5", epochs=2, accumulate=k, schedule=True)


def broken(at, value):
    """A loss that turns into ``value`` at the training batch ``at``, counted over epochs."""
    calls = [0]

    def loss_fn(logits, targets):
        loss = cross_entropy(logits, targets)
        if logits.requires_grad:
            calls[0] += 1
            if calls[0] == at + 1:
                return loss * value
        return loss

    return loss_fn


def huge(logits, targets):
    return cross_entropy(logits, targets) * 1e9


def probe_nonfinite(code, given, record):
    with record.step("huge"):
        train(code, given, record, "5", epochs=1, max_norm=given["max_norm"], loss_fn=huge)
    for name, at, value, k in (
        ("nan", 8, float("nan"), 1),
        ("inf", 9, float("inf"), 1),
        ("minus_inf", 7, float("-inf"), 1),
        ("window", 8, float("nan"), 2),
        ("window_start", 7, float("nan"), 2),
        ("window_inf", 8, float("inf"), 3),
        ("first", 0, float("nan"), 1),
    ):
        with record.step(name):
            train(code, given, record, "5", epochs=3, accumulate=k, loss_fn=broken(at, value))


class Token:
    pass


class Mark(torch.autograd.Function):
    """Passes a value through; the graph node holds a token, so that its end can be seen."""

    @staticmethod
    def forward(ctx, x, tokens):
        ctx.token = Token()
        tokens.append(weakref.ref(ctx.token))
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Marked(Net):
    def __init__(self, weights):
        super().__init__(weights)
        self.tokens, self.alive = [], []

    def forward(self, x):
        if torch.is_grad_enabled():
            self.alive.append(sum(token() is not None for token in self.tokens))
            return Mark.apply(super().forward(x), self.tokens)
        return super().forward(x)


def probe_memory(code, given, record):
    model = Marked(given["weights"])
    batches = pairs(given["train"]["7"] + given["train"]["5"])
    code.fit(model, Watched(model, given["lr"]), batches, pairs(given["val"]), cross_entropy, epochs=1)
    record("alive", model.alive)


def probe_errors(code, given, record):
    def fit(name, batches=None, **options):
        def call():
            model = Net(given["weights"])
            data = pairs(given["train"]["4"]) if batches is None else batches
            code.fit(model, Watched(model, 0.1), data, pairs(given["val"]), cross_entropy, **options)

        record.raises(name, call)

    fit("epochs", epochs=0)
    fit("negative_epochs", epochs=-1)
    fit("accumulate", epochs=1, accumulate=0)
    fit("negative_accumulate", epochs=1, accumulate=-2)
    fit("empty", batches=[], epochs=1)
    record.raises("evaluate_iterator", lambda: code.evaluate(Net(given["weights"]), iter(()), cross_entropy))
    record.raises("evaluate", lambda: code.evaluate(Net(given["weights"]), [], cross_entropy))
