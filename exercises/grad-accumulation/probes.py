import math

import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef


def inputs(draw):
    d_in, hidden, d_out = draw.sizes(3, 3, 7)
    double = torch.float64

    def batches(sizes):
        return [
            (draw.normal(n, d_in, dtype=double), draw.normal(n, d_out, scale=2.0, dtype=double))
            for n in sizes
        ]

    return {
        "model": [
            draw.normal(hidden, d_in, dtype=double),
            draw.normal(hidden, dtype=double),
            draw.normal(d_out, hidden, dtype=double),
            draw.normal(d_out, dtype=double),
        ],
        "equal": batches([5, 5, 5]),
        "ragged": batches([7, 3, 1, 10]),
        "tail": batches([8, 8, 2]),
        "single": batches([6]),
        "second": batches([4, 9]),
        "loader": batches([6, 6, 6, 6, 6, 6, 6, 6, 6, 2]),
        "labels": [(draw.normal(n, d_in, dtype=double), draw.integers(0, d_out, n)) for n in (6, 2, 5)],
        "stale": draw.normal(hidden, d_in, scale=50.0, dtype=double),
    }


def storage(tensor):
    """A weak reference to a tensor's memory, inside torch.func too, whose tensors are wrapped ones."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return StorageWeakRef(tensor.untyped_storage())


class Model(nn.Module):
    """Two layers that write down forward and backward passes in the order in which they happen."""

    def __init__(self, tensors):
        super().__init__()
        self.w1, self.b1, self.w2, self.b2 = (nn.Parameter(t.detach().clone()) for t in tensors)
        self.events = []
        self.hidden = []
        self.alive = []

    def forward(self, x):
        self.alive.append(sum(not ref.expired() for ref in self.hidden))
        hidden = torch.tanh(x @ self.w1.T + self.b1)
        self.hidden.append(storage(hidden))
        out = hidden @ self.w2.T + self.b2
        if out.requires_grad:
            self.events.append(f"forward {len(x)}")
            out.register_hook(lambda grad: self.events.append(f"backward {len(grad)}"))
        return out


class CountingSGD(torch.optim.SGD):
    """SGD that writes its steps into the model's events."""

    def __init__(self, model, groups=None):
        super().__init__(groups or model.parameters(), lr=0.2, momentum=0.9, weight_decay=0.01)
        self.events = model.events

    def step(self, closure=None):
        result = super().step(closure)
        self.events.append("step")
        return result


def mean_squares(out, targets):
    return ((out - targets) ** 2).sum(1).mean()


def setup(given):
    model = Model(given["model"])
    return model, CountingSGD(model)


class Shared(Model):
    """The same model with a weight that has two names."""

    def __init__(self, tensors):
        super().__init__(tensors)
        self.twin = nn.Module()
        self.twin.weight = self.w1


class Spare(Model):
    """The same model with a parameter that the forward pass does not use."""

    def __init__(self, tensors):
        super().__init__(tensors)
        self.spare = nn.Parameter(tensors[1].detach().clone())


def params(model):
    return [p.detach().clone() for p in model.parameters()]


def probe_step(code, given, record):
    for name in ("equal", "ragged", "tail", "single"):
        for how, options in (("plain", {}), ("clipped", {"max_norm": 0.3}), ("loose", {"max_norm": 1e6})):
            with record.step(f"{name}_{how}"):
                model, optimizer = setup(given)
                record("loss", code.accumulate_step(model, mean_squares, optimizer, given[name], **options))
                record("params", params(model))
                record("events", list(model.events))
                record("alive", list(model.alive))
                record(
                    "second", code.accumulate_step(model, mean_squares, optimizer, given["second"], **options)
                )
                record("later", params(model))
    with record.step("labels"):
        model, optimizer = setup(given)
        loss_fn = nn.CrossEntropyLoss()
        record("loss", code.accumulate_step(model, loss_fn, optimizer, tuple(given["labels"])))
        record("params", params(model))


def probe_stale(code, given, record):
    model, optimizer = setup(given)
    model.w1.grad = given["stale"].clone()
    model.b2.grad = torch.full_like(model.b2, 30.0)
    code.accumulate_step(model, mean_squares, optimizer, given["ragged"])
    record("params", params(model))


def probe_structures(code, given, record):
    for how, options in (("plain", {}), ("clipped", {"max_norm": 0.3})):
        with record.step(f"groups_{how}"):
            model = Model(given["model"])
            groups = [{"params": [model.w1, model.b1]}, {"params": [model.w2, model.b2]}]
            optimizer = CountingSGD(model, groups)
            for p in model.parameters():
                p.grad = torch.full_like(p, 30.0)
            code.accumulate_step(model, mean_squares, optimizer, given["ragged"], **options)
            record("params", params(model))
        with record.step(f"shared_{how}"):
            model = Shared(given["model"])
            code.accumulate_step(model, mean_squares, CountingSGD(model), given["ragged"], **options)
            record("params", params(model))
    with record.step("spare"):
        model = Spare(given["model"])
        model.spare.grad = torch.full_like(model.spare, 30.0)
        code.accumulate_step(
            model, mean_squares, torch.optim.SGD(model.parameters(), lr=0.2), given["ragged"]
        )
        record("unused", model.spare.detach().clone())
    with record.step("infinite"):
        model, optimizer = setup(given)
        x, y = given["equal"][1]
        batches = [given["equal"][0], (x, torch.full_like(y, math.inf)), given["equal"][2]]
        code.accumulate_step(model, mean_squares, optimizer, batches)
        record("events", list(model.events))


def probe_epoch(code, given, record):
    for accum in (1, 3, 4, 5, 12):
        for how in ("list", "generator", "iterator"):
            with record.step(f"{accum}_{how}"):
                model, optimizer = setup(given)
                loader = given["loader"]
                if how == "generator":
                    loader = (batch for batch in given["loader"])
                elif how == "iterator":
                    loader = iter(given["loader"])
                record("steps", code.train_epoch(model, mean_squares, optimizer, loader, accum))
                record("params", params(model))
                record("events", list(model.events))
    with record.step("empty"):
        model, optimizer = setup(given)
        record("steps", code.train_epoch(model, mean_squares, optimizer, iter([]), 3))
        record("params", params(model))
        record("events", list(model.events))
    with record.step("clipped"):
        model, optimizer = setup(given)
        record("steps", code.train_epoch(model, mean_squares, optimizer, given["loader"], 4, max_norm=0.3))
        record("params", params(model))


def probe_errors(code, given, record):
    for name, call in {
        "empty": lambda m, o: code.accumulate_step(m, mean_squares, o, []),
        "empty_tuple": lambda m, o: code.accumulate_step(m, mean_squares, o, ()),
        "zero": lambda m, o: code.train_epoch(m, mean_squares, o, given["loader"], 0),
        "negative": lambda m, o: code.train_epoch(m, mean_squares, o, iter(given["loader"]), -2),
        "nothing": lambda m, o: code.train_epoch(m, mean_squares, o, iter([]), 0),
    }.items():
        with record.step(name):
            model, optimizer = setup(given)
            for p in model.parameters():
                p.grad = torch.full_like(p, 3.0)
            record.raises("call", lambda c=call, m=model, o=optimizer: c(m, o))
            record("params", params(model))
            record("grads", [p.grad for p in model.parameters()])
            record("events", list(model.events))
