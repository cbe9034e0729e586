import ast
import inspect
import textwrap

import torch
from torch import nn

INF, NAN = float("inf"), float("nan")


def spread(draw, rows, classes, size):
    """Rows of logits of about ``size``, with gaps of a tenth of it between the classes."""
    steps = torch.stack([draw.permutation(classes) for _ in range(rows)]).double()
    return (size * (2 * steps / (classes - 1) - 1) * draw.uniform(0.85, 0.99)).float()


def inputs(draw):
    classes, wide = draw.sizes(2, 5, 9)
    large = torch.cat(
        [spread(draw, 2, classes, 1e4), draw.normal(2, classes, scale=2.0), spread(draw, 2, classes, 300.0)]
    )
    large[1] -= 5e3
    offset = draw.normal(3, classes, shift=9e3)
    minus = draw.normal(4, classes, scale=2.0)
    minus[torch.arange(3), draw.integers(0, classes, 3)] = -INF
    z = torch.tensor([0.0, 0.0, 0.0, 200.0, -200.0, 1e4, -1e4, 30.0, -30.0, 95.0, -95.0, 17.5, 6.0, -6.0])
    t = torch.tensor([0.0, 1.0, 0.3, 0.0, 1.0, 0.25, 0.75, 0.0, 1.0, 0.5, 0.5, 1.0, 1.0, 0.0])
    z = torch.cat([z, draw.normal(5, scale=3.0)])
    t = torch.cat([t, draw.rand(5)])
    rows = draw.integer(20, 30)
    a = draw.normal(7, wide)
    way = draw.normal(7, wide)
    length = torch.tensor([0.0, 1.5e-3, 2e-2, 1.0, 0.0, 30.0, 1e3]).unsqueeze(1)
    d_in, hidden, labels = 5, 6, classes
    batch = {
        "x": [draw.normal(3, 4, d_in + labels) for _ in range(7)],
        "y": [draw.integers(0, labels, 3, 4) for _ in range(7)],
    }
    for y in batch["y"]:
        y[draw.integer(0, 2), draw.integer(0, 3)] = -100
        y[draw.integer(0, 2), 1] = -100
        y[0, 0], y[1, 2] = 1, 2
    return {
        "softmax": {
            "large": large,
            "cube": spread(draw, 6, classes, 2e3).reshape(2, 3, classes),
            "flat": spread(draw, 1, classes, 9e3)[0],
            "turned": draw.normal(classes, 4, scale=3.0).T,
            "offset": offset,
            "minus": minus,
        },
        "weights": {
            "large": draw.normal(6, classes),
            "offset": draw.normal(3, classes),
            "minus": draw.normal(4, classes),
        },
        "z": z,
        "t": t,
        "values": draw.normal(4, 5),
        "mask": torch.tensor([[1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [1, 1, 0, 1, 1], [0, 1, 0, 0, 0]]).bool(),
        "x": draw.normal(rows, 4, scale=2.0, shift=1.0),
        "x_weights": draw.normal(rows, 4),
        "far": draw.normal(rows, 3, shift=1e4),
        "constant": draw.rand(1, 4, low=3.0, high=10.0).repeat(7, 1) * torch.tensor([1.0, -1.0, 1.0, 0.0]),
        "row": torch.tensor([[3.7, -1e4, 2e8, 0.0]]),
        "a": a,
        "b": a + length * way / way.norm(dim=1, keepdim=True),
        "batch": batch,
        "model": [
            draw.normal(hidden, d_in, scale=0.8),
            draw.normal(hidden, scale=0.3),
            draw.normal(labels, hidden, scale=0.8),
            draw.normal(labels, scale=0.3),
        ],
    }


def leaf(tensor):
    return tensor.detach().clone().requires_grad_()


def probe_log_softmax(code, given, record):
    for name, logits in given["softmax"].items():
        with record.step(name):
            x = leaf(logits) if name != "turned" else logits.T.contiguous().T.requires_grad_()
            out = code.log_softmax(x)
            record("out", out)
            weights = given["weights"].get(name, torch.ones_like(out))
            out.backward(weights.masked_fill(logits == -INF, 0.0))
            record("grad", x.grad)


def probe_binary(code, given, record):
    with record.step("all"):
        z = leaf(given["z"])
        out = code.binary_cross_entropy(z, given["t"])
        record("out", out)
        out.backward()
        record("grad", z.grad)
    for i in range(len(given["z"])):
        with record.step(i):
            z = leaf(given["z"][i : i + 1])
            out = code.binary_cross_entropy(z, given["t"][i : i + 1])
            record("out", out)
            out.backward()
            record("grad", z.grad)
    with record.step("matrix"):
        z = leaf(given["values"])
        out = code.binary_cross_entropy(z, given["mask"].float())
        record("out", out)
        out.backward()
        record("grad", z.grad)


def masked(code, record, values, mask):
    v = leaf(values)
    out = code.masked_mean(v, mask)
    record("out", out)
    (3.0 * out).backward()
    record("grad", v.grad)


def probe_masked_mean(code, given, record):
    values, mask = given["values"], given["mask"]
    bad = values.clone()
    bad[0, 1], bad[1, 2], bad[3, 4], bad[1, 0] = INF, NAN, -INF, INF
    with record.step("plain"):
        masked(code, record, values, mask)
    with record.step("one"):
        masked(code, record, values[0], torch.arange(5, device=values.device) == 3)
    with record.step("every"):
        masked(code, record, values, torch.ones_like(mask))
    with record.step("empty"):
        masked(code, record, values, torch.zeros_like(mask))
    with record.step("bad"):
        masked(code, record, bad, mask)
    with record.step("bad_empty"):
        masked(code, record, bad, torch.zeros_like(mask))
    with record.step("selected"):
        bad = values.clone()
        bad[0, 0] = NAN
        record("out", code.masked_mean(bad, mask))


def probe_standardize(code, given, record):
    for name in ("x", "far", "constant", "row"):
        with record.step(name):
            x = leaf(given[name])
            out = code.standardize(x)
            record("out", out)
            out.backward(given["x_weights"][: len(x), : x.shape[1]] if name != "far" else torch.ones_like(x))
            record("grad", x.grad)
    with record.step("eps"):
        record("out", code.standardize(given["x"], 0.5))
        record("out_named", code.standardize(given["x"], eps=2.0))


def probe_distance(code, given, record):
    for name, shape in (("rows", None), ("cube", (1, 7, 1, -1))):
        with record.step(name):
            a, b = given["a"], given["b"]
            if shape:
                a, b = a.reshape(shape), b.reshape(shape)
            a, b = leaf(a), leaf(b)
            out = code.distance(a, b)
            record("out", out)
            out.sum().backward()
            record("grad_a", a.grad)
            record("grad_b", b.grad)
    for i in (0, 3):
        with record.step(f"single{i}"):
            a = leaf(given["a"][i])
            out = code.distance(a, given["b"][i])
            record("out", out)
            out.backward()
            record("grad_a", a.grad)


class Poison(torch.autograd.Function):
    """The identity, with a gradient to which something is added."""

    @staticmethod
    def forward(ctx, x, value):
        ctx.value = value
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad + ctx.value, None


class Tagger(nn.Module):
    """Two layers; the last features of the input are added to the logits."""

    def __init__(self, tensors):
        super().__init__()
        self.w1, self.b1, self.w2, self.b2 = (nn.Parameter(t.detach().clone()) for t in tensors)
        self.poison = None

    def forward(self, x):
        h = x[..., : self.w1.shape[1]] @ self.w1.T + self.b1
        if self.poison is not None:
            h = Poison.apply(h, self.poison)
        return torch.tanh(h) @ self.w2.T + self.b2 + x[..., self.w1.shape[1] :]


class Trainer:
    """Model, optimizer and scaler, and what they look like after a step."""

    def __init__(self, code, given, record, grouped=False, **scaler):
        self.code, self.given = code, given
        self.model = Tagger(given["model"])
        params = list(self.model.parameters())
        groups = [{"params": params[:2]}, {"params": params[2:]}] if grouped else params
        self.optimizer = torch.optim.SGD(groups, lr=0.3, momentum=0.9, weight_decay=0.01)
        self.scaler = torch.amp.GradScaler(record.device.type, **{"init_scale": 4096.0, **scaler})

    def step(self, i, x=None, y=None, **options):
        batch = self.given["batch"]
        x, y = batch["x"][i] if x is None else x, batch["y"][i] if y is None else y
        return self.code.train_step(self.model, self.optimizer, self.scaler, x, y, **options)

    def params(self):
        return [p.detach().clone() for p in self.model.parameters()]

    def look(self):
        state = {
            key: value["momentum_buffer"].detach().clone()
            for key, value in self.optimizer.state_dict()["state"].items()
            if value.get("momentum_buffer") is not None
        }
        return {"params": self.params(), "state": state, "scaler": dict(self.scaler.state_dict())}


def probe_train(code, given, record):
    for name, options, scaler in (
        ("default", {}, {}),
        ("tight", {"max_norm": 0.05}, {}),
        ("loose", {"max_norm": 1e3}, {}),
        ("growing", {"max_norm": 0.4}, {"growth_interval": 2}),
        ("grouped", {"max_norm": 0.3}, {"grouped": True}),
    ):
        with record.step(name):
            trainer = Trainer(code, given, record, **scaler)
            for i in range(6):
                record(f"loss{i}", trainer.step(i, **options))
                record(f"params{i}", trainer.params())
    with record.step("ignore"):
        trainer = Trainer(code, given, record)
        record(
            "loss",
            trainer.step(
                0, y=given["batch"]["y"][0].masked_fill(given["batch"]["y"][0] == -100, 2), ignore_index=2
            ),
        )
        record("params", trainer.params())
    with record.step("outside"):
        trainer = Trainer(code, given, record)
        y = given["batch"]["y"][0]
        record("loss", trainer.step(0, y=y.masked_fill(y == -100, 255), ignore_index=255))
        record("params", trainer.params())
    with record.step("single"):
        trainer = Trainer(code, given, record)
        record("loss", trainer.step(0, given["batch"]["x"][0][0, 0], given["batch"]["y"][0][0, 0]))
        record("params", trainer.params())


def probe_lower(code, given, record):
    trainer = Trainer(code, given, record)
    record("losses", [trainer.step(0, max_norm=0.5) for _ in range(25)])


def probe_no_targets(code, given, record):
    trainer = Trainer(code, given, record)
    empty = torch.full_like(given["batch"]["y"][0], -100)
    record("first", trainer.step(0, y=empty))
    record("params", trainer.params())
    record("good", trainer.step(0))
    record("again", trainer.step(1, y=empty))
    record("later", trainer.params())


def bad_batches(given):
    x, y = given["batch"]["x"][1], given["batch"]["y"][1]
    poisoned = x.clone()
    poisoned[1, 2, 0] = NAN
    impossible = x.clone()
    impossible[1, 2, given["model"][0].shape[1] + int(y[1, 2])] = -INF
    return {"nan": poisoned, "inf": impossible}


def probe_bad_loss(code, given, record):
    for name, x in bad_batches(given).items():
        for when in ("first", "later"):
            with record.step(f"{name}_{when}"):
                trainer = Trainer(code, given, record, growth_interval=3)
                if when == "later":
                    trainer.step(0)
                record("before", trainer.look())
                record("returned", trainer.step(1, x))
                record("after", trainer.look())
                record("next", trainer.step(2))
                record("params", trainer.params())


def probe_huge_loss(code, given, record):
    """A loss that is finite but overflows once it is scaled; its gradient is an ordinary one."""
    x, y = given["batch"]["x"][1].clone(), given["batch"]["y"][1]
    x[1, 2, given["model"][0].shape[1] + int(y[1, 2])] = -1e37
    trainer = Trainer(code, given, record)
    record("x", x)
    record("returned", trainer.step(1, x))
    record("params", trainer.params())


def probe_bad_gradient(code, given, record):
    def one_inf(grad):
        flat = torch.zeros(grad.numel(), dtype=grad.dtype, device=grad.device)
        flat[0] = INF
        return grad + flat.view_as(grad)

    for name, value in (("nan", NAN), ("inf", INF), ("element", None)):
        for when in ("first", "later"):
            with record.step(f"{name}_{when}"):
                trainer = Trainer(code, given, record)
                if when == "later":
                    trainer.step(0)
                record("before", trainer.look())
                trainer.model.poison = value
                # No NaN anywhere: a norm that is only compared with NaN does not notice.
                hook = next(trainer.model.parameters()).register_hook(one_inf) if value is None else None
                record("returned", trainer.step(1))
                if hook is not None:
                    hook.remove()
                trainer.model.poison = None
                record("after", trainer.look())
                record("next", trainer.step(2))
                record("params", trainer.params())


def probe_interface(code, given, record):
    for name in (
        "log_softmax",
        "binary_cross_entropy",
        "masked_mean",
        "standardize",
        "distance",
        "train_step",
    ):
        with record.step(name):
            parameters = inspect.signature(getattr(code, name)).parameters.values()
            record("names", [p.name for p in parameters])
            record("defaults", [None if p.default is p.empty else p.default for p in parameters])


def probe_handlers(code, given, record):
    tree = ast.parse(textwrap.dedent(inspect.getsource(code.train_step)))
    record("count", sum(isinstance(node, ast.ExceptHandler) for node in ast.walk(tree)))


def probe_dtypes(code, given, record):
    for name, dtype in (("float64", torch.float64), ("bfloat16", torch.bfloat16)):
        a, b, mask = given["a"].to(dtype), given["b"].to(dtype), given["mask"]
        values = given["values"].to(dtype)
        for key, call in {
            "log_softmax": lambda v=values: code.log_softmax(v),
            "binary_cross_entropy": lambda v=values, m=mask: code.binary_cross_entropy(v, m.to(v.dtype)),
            "masked_mean": lambda v=values, m=mask: code.masked_mean(v, m),
            "empty_mean": lambda v=values, m=mask: code.masked_mean(v, m & False),
            "standardize": lambda v=values: code.standardize(v),
            "distance": lambda u=a, v=b: code.distance(u, v),
        }.items():
            with record.step(f"{name}/{key}"):
                record("dtype", str(call().dtype).removeprefix("torch."))


def probe_inputs_kept(code, given, record):
    logits = given["softmax"]["minus"].clone()
    with record.step("log_softmax"):
        code.log_softmax(logits)
        record("logits", logits)
    with record.step("binary_cross_entropy"):
        code.binary_cross_entropy(given["z"], given["t"])
        record("z", given["z"])
        record("t", given["t"])
    with record.step("masked_mean"):
        code.masked_mean(given["values"], given["mask"])
        record("values", given["values"])
        record("mask", given["mask"])
    with record.step("standardize"):
        code.standardize(given["x"])
        record("x", given["x"])
    with record.step("distance"):
        code.distance(given["a"], given["b"])
        record("a", given["a"])
        record("b", given["b"])
    with record.step("train_step"):
        Trainer(code, given, record).step(0)
        record("x", given["batch"]["x"][0])
        record("y", given["batch"]["y"][0])
