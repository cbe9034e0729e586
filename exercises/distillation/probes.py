import copy

import torch
from torch import nn

from quizapp.judge.testing.probes import filled_linear


def case(draw, shape, classes, ignored=0, dtype=torch.float32, ignore_index=-100):
    labels = draw.integers(0, classes, *shape)
    if ignored:
        flat = labels.view(-1)
        flat[torch.tensor(draw.sample(range(flat.numel()), ignored))] = ignore_index
    return {
        "student": draw.normal(*shape, classes, scale=2.0, dtype=dtype),
        "teacher": draw.normal(*shape, classes, scale=2.0, dtype=dtype),
        "labels": labels,
        "T": draw.choice([1.5, 3.0, 4.0]),
        "alpha": draw.uniform(0.25, 0.45),
        "ignore_index": ignore_index,
    }


def inputs(draw):
    k = draw.sizes(1, 5, 8)[0]  # not 9, the square of a temperature
    zero = case(draw, (9,), k)
    zero["labels"] = torch.tensor(draw.shuffled([0, 0, 0, 1, 2, 3, 4, 1, 2]))
    zero["ignore_index"] = 0
    d_in, hidden, classes = 6, 7, 5
    return {
        "plain": [case(draw, (draw.sizes(1, 5, 9)[0],), k) for _ in range(3)],
        "ignored": [
            case(draw, (11,), k, ignored=4),
            case(draw, (3, 7), k, ignored=8),
            case(draw, (11,), k, 3, ignore_index=-1),
            zero,
        ],
        "shapes": [case(draw, (), k), case(draw, (1,), k), case(draw, (3, 5), k), case(draw, (2, 3, 5), k)],
        "double": case(draw, (6,), k, ignored=2, dtype=torch.float64),
        "half": case(draw, (5, 13), 11),
        "steep": {**case(draw, (6,), 5), "T": 2.0},
        "excluded": case(draw, (7,), 6),
        "step": {
            "weights": [draw.normal(hidden, d_in, scale=0.5), draw.normal(classes, hidden, scale=0.5)],
            "teacher": [draw.normal(hidden, d_in, scale=0.5), draw.normal(classes, hidden, scale=0.5)],
            "x": [draw.normal(9, d_in) for _ in range(3)],
            "y": [draw.integers(0, classes, 9) for _ in range(3)],
            "T": draw.choice([1.5, 3.0]),
            "alpha": draw.uniform(0.3, 0.6),
            "lr": draw.uniform(0.05, 0.2),
        },
        "steep_step": {
            "weights": [draw.normal(5, 7, scale=0.5), draw.normal(5, 7, scale=0.5)],
            "x": draw.normal(3, 4, 7, scale=8.0),
            "y": case(draw, (3, 4), 5, ignored=3)["labels"],
        },
    }


def loss_of(code, c, record, labels="labels", **options):
    student, teacher = c["student"].clone().requires_grad_(), c["teacher"].clone().requires_grad_()
    target = c["labels"] if labels == "labels" else labels
    arguments = {"temperature": c["T"], "alpha": c["alpha"], "ignore_index": c["ignore_index"], **options}
    loss = code.distillation_loss(student, teacher, target, **arguments)
    record("loss", loss)
    loss.backward()
    record("student_grad", student.grad)
    record("teacher_grad", teacher.grad)
    record("teacher_flag", teacher.requires_grad)


def probe_loss(code, given, record):
    for i, c in enumerate([*given["plain"], given["double"]]):
        with record.step(i):
            for name, alpha in (("mixed", c["alpha"]), ("soft", 1.0), ("hard", 0.0)):
                with record.step(name):
                    loss_of(code, c, record, alpha=alpha)
            with record.step("default"):
                record("loss", code.distillation_loss(c["student"], c["teacher"], c["labels"]))
    c = given["plain"][0]
    with record.step("equal"):
        record("loss", code.distillation_loss(c["student"], c["student"].clone(), c["labels"], 3.0, 1.0))
    with record.step("shifted"):
        shift = torch.arange(len(c["student"]), device=record.device)[:, None] * 1.5 + 2.0
        record(
            "loss",
            code.distillation_loss(c["student"] + shift, c["teacher"] - 2 * shift, c["labels"], c["T"], 1.0),
        )
    c = given["double"]
    with record.step("far"):  # all logits of a model moved alike, to where no clamp may hold them
        far = {**c, "student": c["student"] + 2000.0, "teacher": c["teacher"] - 2000.0}
        loss_of(code, far, record)


def probe_ignored(code, given, record):
    for i, c in enumerate(given["ignored"]):
        with record.step(i):
            for name, alpha in (("mixed", c["alpha"]), ("soft", 1.0), ("hard", 0.0)):
                with record.step(name):
                    loss_of(code, c, record, alpha=alpha)
    for name, c, alpha in (
        ("all_mixed", given["plain"][0], 0.4),
        ("all_soft", given["plain"][1], 1.0),
        ("all_hard", given["plain"][2], 0.0),
    ):
        with record.step(name):
            loss_of(code, c, record, labels=torch.full_like(c["labels"], -100), alpha=alpha)
    for name, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16), ("float64", torch.float64)):
        with record.step(f"all_{name}"):
            c = given["plain"][0]
            logits = [c[k].to(dtype) for k in ("student", "teacher")]
            record("loss", code.distillation_loss(*logits, torch.full_like(c["labels"], -100), 2.0, 0.4))


def probe_shapes(code, given, record):
    for i, c in enumerate(given["shapes"]):
        with record.step(i):
            loss_of(code, c, record)
    with record.step("transposed"):
        c = given["shapes"][2]
        student = c["student"].transpose(0, 1).contiguous().transpose(0, 1).requires_grad_()
        teacher = c["teacher"].permute(2, 1, 0).contiguous().permute(2, 1, 0)
        labels = c["labels"].t().contiguous().t()
        loss = code.distillation_loss(student, teacher, labels, c["T"], c["alpha"])
        record("loss", loss)
        loss.backward()
        record("student_grad", student.grad)


def probe_unlabelled(code, given, record):
    for i, c in enumerate([given["plain"][0], given["shapes"][2]]):
        with record.step(i):
            loss_of(code, c, record, labels=None, alpha=1.0)
    c = given["plain"][0]
    record.raises("mixed", lambda: code.distillation_loss(c["student"], c["teacher"], None, 2.0, 0.5))
    record.raises("hard", lambda: code.distillation_loss(c["student"], c["teacher"], None, 2.0, 0.0))
    record.raises("default", lambda: code.distillation_loss(c["student"], c["teacher"], None))
    record.raises("almost", lambda: code.distillation_loss(c["student"], c["teacher"], None, 2.0, 0.99))


def probe_precision(code, given, record):
    c = given["half"]
    for name, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        with record.step(name):
            student, teacher = c["student"].to(dtype), c["teacher"].to(dtype)
            record("loss", code.distillation_loss(student, teacher, c["labels"], c["T"], c["alpha"]))
    with record.step("steep"):
        c = given["steep"]
        far = {
            **c,
            "student": c["student"].sign() * 500 + c["student"],
            "teacher": c["teacher"].sign() * 500 + c["teacher"],
        }
        loss_of(code, far, record)
    with record.step("excluded"):
        c = given["excluded"]
        teacher = c["teacher"].clone()
        teacher[:, 2] = -torch.inf
        teacher[3, 4] = -torch.inf
        for name, alpha in (("soft", 1.0), ("mixed", c["alpha"])):
            with record.step(name):
                loss_of(code, {**c, "teacher": teacher}, record, alpha=alpha)


class Net(nn.Module):
    """Two layers with optional dropout and batch norm; counts and describes its own calls."""

    def __init__(self, weights, noisy=False):
        super().__init__()
        (h, d), (c, _) = weights[0].shape, weights[1].shape
        device = weights[0].device
        self.first, self.second = nn.Linear(d, h, device=device), nn.Linear(h, c, device=device)
        self.norm = nn.BatchNorm1d(h, device=device) if noisy else nn.Identity()
        self.drop = nn.Dropout(0.5) if noisy else nn.Identity()
        with torch.no_grad():
            for layer, weight in zip((self.first, self.second), weights, strict=True):
                layer.weight.copy_(weight)
                layer.bias.fill_(0.1)
        self.calls = []

    def forward(self, x):
        out = self.second(self.drop(torch.tanh(self.norm(self.first(x)))))
        self.calls.append((self.training, out.requires_grad, self.drop.training, x.detach().clone()))
        return out


def state(model):
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def probe_step(code, given, record):
    s = given["step"]
    for name, momentum, labelled, alpha in (
        ("mixed", 0.0, True, s["alpha"]),
        ("momentum", 0.9, True, s["alpha"]),
        ("unlabelled", 0.0, False, 1.0),
    ):
        with record.step(name):
            student, teacher = Net(s["weights"]), Net(s["teacher"])
            optimizer = torch.optim.SGD(student.parameters(), lr=s["lr"], momentum=momentum)
            losses, states = [], []
            for x, y in zip(s["x"], s["y"], strict=True):
                losses.append(
                    code.distill_step(student, teacher, optimizer, x, y if labelled else None, s["T"], alpha)
                )
                states.append(state(student))
            record("losses", losses)
            record("states", states)
            record("kinds", [type(loss).__name__ for loss in losses])
    with record.step("default"):
        student, teacher = Net(s["weights"]), Net(s["teacher"])
        optimizer = torch.optim.SGD(student.parameters(), lr=s["lr"])
        record("loss", code.distill_step(student, teacher, optimizer, s["x"][0], s["y"][0]))
    with record.step("steep"):  # one layer, large inputs: a gradient far above 1
        c = given["steep_step"]
        student, teacher = (filled_linear(weight, None) for weight in c["weights"])
        optimizer = torch.optim.SGD(student.parameters(), lr=0.05)
        record("loss", code.distill_step(student, teacher, optimizer, c["x"], c["y"], 2.0, 0.4))
        record("weight", student.weight)
    with record.step("refused"):
        student, teacher = Net(s["weights"]), Net(s["teacher"])
        optimizer = torch.optim.SGD(student.parameters(), lr=s["lr"])
        for name, alpha in (("mixed", 0.5), ("hard", 0.0)):
            record.raises(
                name,
                lambda a=alpha: code.distill_step(student, teacher, optimizer, s["x"][0], None, 2.0, a),
            )
    with record.step("stale"):
        student, teacher = Net(s["weights"]), Net(s["teacher"])
        for p in student.parameters():
            p.grad = torch.full_like(p, 3.0)
        student.eval()
        optimizer = torch.optim.SGD(student.parameters(), lr=s["lr"])
        code.distill_step(student, teacher, optimizer, s["x"][0], s["y"][0], s["T"], s["alpha"])
        record("state", state(student))
        record("training", [call[0] for call in student.calls])


def probe_teacher(code, given, record):
    s = given["step"]
    for name, frozen, training in (
        ("training", False, True),
        ("frozen", True, False),
        ("inner", False, False),
    ):
        with record.step(name):
            student, teacher = Net(s["weights"]), Net(s["teacher"], noisy=True)
            teacher.train(training)
            if name == "inner":  # the top is in eval mode, its parts are not
                teacher.norm.train()
                teacher.drop.train()
            teacher.requires_grad_(not frozen)
            grads = {}
            if not frozen:
                for n, p in teacher.named_parameters():
                    p.grad = torch.full_like(p, 0.25)
                    grads[n] = p.grad.clone()
            before = copy.deepcopy(teacher.state_dict())
            optimizer = torch.optim.SGD(student.parameters(), lr=s["lr"])
            loss = code.distill_step(student, teacher, optimizer, s["x"][0], s["y"][0], s["T"], s["alpha"])
            record("loss", float(loss))
            record("calls", len(teacher.calls))
            record("modes", [[bool(flag) for flag in call[:3]] for call in teacher.calls])
            record("inputs", [call[3] for call in teacher.calls])
            record("left_training", [m.training for m in teacher.modules()])
            record("before", dict(before))
            record("after", state(teacher))
            record("requires_grad", [p.requires_grad for p in teacher.parameters()])
            record("grads", {n: p.grad for n, p in teacher.named_parameters()})


def probe_untouched(code, given, record):
    for name, c in (
        ("plain", given["plain"][0]),
        ("ignored", given["ignored"][0]),
        ("zero", given["ignored"][3]),
    ):
        with record.step(name):
            tensors = [c["student"].clone(), c["teacher"].clone(), c["labels"].clone()]
            code.distillation_loss(*tensors, c["T"], c["alpha"], c["ignore_index"])
            record("untouched", [tensors, [c[k] for k in ("student", "teacher", "labels")]])


def probe_errors(code, given, record):
    c = given["plain"][0]
    s, t, y = c["student"], c["teacher"], c["labels"]
    f = code.distillation_loss
    calls = {
        "temperature_zero": lambda: f(s, t, y, 0.0, 0.5),
        "temperature_negative": lambda: f(s, t, y, -2.0, 0.5),
        "alpha_low": lambda: f(s, t, y, 2.0, -0.1),
        "alpha_high": lambda: f(s, t, y, 2.0, 1.1),
        "classes": lambda: f(s, t[:, :-1], y, 2.0, 0.5),
        "rows": lambda: f(s, t[:-1], y, 2.0, 0.5),
        "broadcast": lambda: f(s, t[:1], y, 2.0, 0.5),
        "dims": lambda: f(s[None], t, y, 2.0, 0.5),
        "teacher_dims": lambda: f(s, t[None], y, 2.0, 0.5),
        "labels_short": lambda: f(s, t, y[:-1], 2.0, 0.5),
        "labels_dims": lambda: f(s, t, y[None], 2.0, 0.5),
        "labels_column": lambda: f(s, t, y[:, None], 2.0, 1.0),
    }
    for name, call in calls.items():
        record.raises(name, call)
    for name, temperature in (("one", 1.0), ("half", 0.5)):
        with record.step(name):
            record("loss", f(s, t, y, temperature, 0.4))
