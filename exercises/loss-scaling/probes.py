import json
from contextlib import suppress

import torch
from torch import nn

from quizapp.judge.testing.probes import new_process

BAD = {"inf": float("inf"), "minus_inf": float("-inf"), "nan": float("nan")}
PATTERN = "ggg gg b ggg g b b ggggggg b g b gg b ggg".replace(" ", "")


def inputs(draw):
    a, b, c = draw.sizes(3, 3, 9)
    return {
        "scale": draw.uniform(2000.0, 4000.0),
        "loss": {"w": draw.rand(5, low=0.5, high=1.5), "x": draw.rand(5, low=0.1, high=0.3)},
        "groups": {
            "params": [draw.normal(a, b), draw.normal(c), draw.normal(b, c), draw.normal(a), draw.normal(3)],
            "grads": [draw.normal(a, b), draw.normal(c), draw.normal(b, c), None, draw.normal(3)],
        },
        "train": {
            "start": [draw.normal(a, b), draw.normal(c)],
            "goal": [draw.normal(a, b), draw.normal(c)],
            "curve": [draw.rand(a, b, low=0.5, high=1.5), draw.rand(c, low=0.5, high=1.5)],
        },
        "large": {"start": draw.normal(6), "sign": torch.tensor([1.0, 1, 1, -1, 1, 1])},
        "random": [draw.choice("ggggb") for _ in range(30)],
        "pairs": ["gb", "bg", "gg", "bb", "gg", "gg", "gg", "bg", "gg", "gb", "gg", "gg", "gg", "gg"],
    }


def make(code, *args, **kwargs):
    return code.DynamicLossScaler(*args, **kwargs)


def toy(device, lr=0.1):
    p = nn.Parameter(torch.ones(3, device=device))
    return p, torch.optim.SGD([p], lr=lr)


def set_grad(p, good=True):
    p.grad = torch.full_like(p, 0.5)
    if not good:
        p.grad[1] = float("inf")


class Idle(torch.optim.Optimizer):
    """An optimizer that only counts its steps, for long runs."""

    def __init__(self, params):
        super().__init__(params, {})
        self.count = 0

    def step(self, closure=None):
        self.count += 1


def probe_defaults(code, given, record):
    scaler = make(code)
    record("scale", scaler.scale_value)
    p = nn.Parameter(torch.ones(1, device=record.device))
    optimizer = Idle([p])
    p.grad = torch.ones_like(p)
    scales = []
    for i in range(2001):
        scaler.step(optimizer)
        scaler.update()
        if i in (0, 1998, 1999, 2000):
            scales.append(scaler.scale_value)
    p.grad = torch.full_like(p, float("inf"))
    scaler.step(optimizer)
    scaler.update()
    record("scales", [*scales, scaler.scale_value])


def probe_errors(code, given, record):
    for name, arguments in {
        "scale_zero": {"init_scale": 0.0},
        "scale_negative": {"init_scale": -2.0},
        "growth_one": {"growth_factor": 1.0},
        "growth_below": {"growth_factor": 0.5},
        "backoff_zero": {"backoff_factor": 0.0},
        "backoff_negative": {"backoff_factor": -0.5},
        "backoff_one": {"backoff_factor": 1.0},
        "backoff_above": {"backoff_factor": 1.5},
        "interval_zero": {"growth_interval": 0},
        "interval_negative": {"growth_interval": -3},
    }.items():
        record.raises(name, lambda a=arguments: type(make(code, **a)).__name__)
    with record.step("valid"):
        scaler = make(code, init_scale=0.5, growth_factor=1.01, backoff_factor=0.99, growth_interval=1)
        record("scale", scaler.scale_value)


def probe_scale(code, given, record):
    case = given["loss"]
    for name, dtype in {
        "float32": torch.float32,
        "float64": torch.float64,
        "float16": torch.float16,
        "bfloat16": torch.bfloat16,
    }.items():
        with record.step(name):
            scaler = make(code, init_scale=given["scale"])
            wide = torch.float64 if dtype == torch.float64 else torch.float32
            w = case["w"].to(wide).detach().clone().requires_grad_()
            loss = (w * case["x"].to(w.dtype)).sum().to(dtype)
            before = loss.detach().clone()
            out = scaler.scale(loss)
            record("before", before)
            record("out", out)
            record("loss", loss)
            out.backward()
            record("grad", w.grad)
    with record.step("large"):
        loss = torch.tensor(2.0, dtype=torch.float16, device=record.device, requires_grad=True)
        record("out", make(code).scale(loss * 1))
    for name, dtype in {"plain": torch.float32, "plain_double": torch.float64}.items():
        with record.step(name):
            loss = case["w"].to(dtype) / 3
            record("before", loss.clone())
            record("out", make(code, 1024.0).scale(loss))
            record("loss", loss)


def grouped(given, factor):
    case = given["groups"]
    params = [nn.Parameter(value.clone()) for value in case["params"]]
    for p, grad in zip(params, case["grads"], strict=True):
        p.grad = None if grad is None else grad * factor
    first = torch.optim.SGD([{"params": params[:2]}, {"params": params[2:4], "lr": 0.2}], lr=0.1)
    return params, first, torch.optim.SGD(params[4:], lr=0.1)


def probe_unscale(code, given, record):
    scaler = make(code, init_scale=given["scale"])
    params, optimizer, _ = grouped(given, given["scale"])
    held = [p.grad for p in params]
    returned = scaler.unscale_(optimizer)
    record("returned", returned)
    record("grads", [p.grad for p in params])
    record("held", held)
    record("params", [p.detach() for p in params])
    record("scale", scaler.scale_value)


def probe_unscale_overflow(code, given, record):
    scaler = make(code, init_scale=given["scale"])
    params, optimizer, _ = grouped(given, given["scale"])
    params[0].grad[0, 0] = float("inf")
    scaler.unscale_(optimizer)
    record("grads", [p.grad for p in params])


def probe_unscale_turned(code, given, record):
    """A gradient in the layout of its parameter, which has no flat view."""
    scaler = make(code, init_scale=given["scale"])
    grad = given["groups"]["grads"][2]
    p = nn.Parameter(torch.ones_like(grad).T.contiguous().T)
    p.grad = (grad * given["scale"]).T.contiguous().T
    scaler.unscale_(torch.optim.SGD([p], lr=0.1))
    record("grad", p.grad)


def probe_unscale_frozen(code, given, record):
    """A parameter that is frozen between the backward pass and the step still has its gradient applied."""
    scaler = make(code, init_scale=given["scale"])
    params, optimizer, _ = grouped(given, given["scale"])
    params[1].requires_grad_(False)
    scaler.unscale_(optimizer)
    record("grad", params[1].grad)


def probe_once(code, given, record):
    with record.step("unscale"):
        scaler = make(code, init_scale=given["scale"])
        params, optimizer, other = grouped(given, given["scale"])
        scaler.unscale_(optimizer)
        record.raises("second", lambda: scaler.unscale_(optimizer))
        record("grads", [p.grad for p in params])
        scaler.unscale_(other)
        record("other", params[4].grad)
        record("stepped", [scaler.step(optimizer), scaler.step(other)])
        record("params", [p.detach() for p in params])
        record.raises("after_step", lambda: scaler.unscale_(optimizer))
        record("grads_after_step", [p.grad for p in params])
        scaler.update()
        scale = scaler.scale_value
        for p, grad in zip(params, given["groups"]["grads"], strict=True):
            p.grad = None if grad is None else grad * scale
        scaler.unscale_(optimizer)
        record("next", [p.grad for p in params])
    for name, good in (("step", True), ("skip", False)):
        with record.step(name):
            scaler = make(code, init_scale=given["scale"])
            p, optimizer = toy(record.device)
            set_grad(p, good)
            record("first", scaler.step(optimizer))
            before = p.detach().clone()
            record.raises("second", lambda o=optimizer, s=scaler: s.step(o))
            record("moved", (p.detach() - before).abs().max().item())
            scaler.update()
            record("scale", scaler.scale_value)
            set_grad(p)
            record("next", scaler.step(optimizer))
    with record.step("edited"):
        scaler = make(code, init_scale=given["scale"])
        params, optimizer, _ = grouped(given, given["scale"])
        scaler.unscale_(optimizer)
        for p in params[:4]:
            if p.grad is not None:
                p.grad.mul_(0.5)
        record("stepped", scaler.step(optimizer))
        record("params", [p.detach() for p in params])


def probe_train(code, given, record):
    case = given["train"]
    for name, dtype in {"float32": torch.float32, "float64": torch.float64}.items():
        with record.step(name):
            start, goal, curve = ([t.to(dtype) for t in case[key]] for key in ("start", "goal", "curve"))
            params = [nn.Parameter(value.clone()) for value in start]
            optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9, weight_decay=0.05)
            scaler = make(code, init_scale=given["scale"], growth_factor=3.0, growth_interval=2)
            stepped = []
            for i in range(6):
                optimizer.zero_grad()
                loss = sum((h * (p - g) ** 2).sum() / 2 for h, p, g in zip(curve, params, goal, strict=True))
                scaler.scale(loss).backward()
                if i % 2:
                    scaler.unscale_(optimizer)
                stepped.append(scaler.step(optimizer))
                record(f"params{i}", [p.detach() for p in params])
                record(f"grads{i}", [p.grad for p in params])
                scaler.update()
            record("stepped", stepped)


def probe_large(code, given, record):
    case = given["large"]
    p = nn.Parameter(case["start"].clone())
    optimizer = torch.optim.SGD([p], lr=1e-38)
    scaler = make(code, init_scale=4.0)
    p.grad = 3e38 * case["sign"]
    record("stepped", scaler.step(optimizer))
    record("p", p.detach())
    with record.step("double"):
        p = nn.Parameter(case["start"].double())
        optimizer = torch.optim.SGD([p], lr=1e-200)
        scaler = make(code, init_scale=4.0)
        p.grad = 3e200 * case["sign"].double()
        record("stepped", scaler.step(optimizer))
        record("p", p.detach())


def probe_no_gradients(code, given, record):
    p = nn.Parameter(given["large"]["start"].clone())
    record("stepped", make(code).step(torch.optim.SGD([p], lr=0.1)))


def probe_overflow(code, given, record):
    shapes = [value.shape for value in given["groups"]["params"]]
    for name, value in BAD.items():
        for place in (0, 1, 2, 4):
            for when in ("step", "healed", "later"):
                if when != "step" and place != 2:
                    continue
                with record.step(f"{name}{place}{when}"):
                    params = [nn.Parameter(torch.ones(s, device=record.device)) for s in shapes]
                    optimizer = torch.optim.AdamW(
                        [{"params": params[:2]}, {"params": params[2:], "lr": 0.05}], weight_decay=0.1
                    )
                    scaler = make(code, init_scale=8.0)
                    for p in params:
                        p.grad = torch.ones_like(p)
                    record("first", scaler.step(optimizer))
                    scaler.update()
                    for p in params:
                        p.grad = torch.ones_like(p)
                    broken = params[place].grad.flatten()
                    if when != "later":
                        broken[-1] = value
                    record("before", [p.detach() for p in params])
                    record("state_before", optimizer.state_dict()["state"])
                    if when != "step":
                        scaler.unscale_(optimizer)
                        broken[-1] = 0.0 if when == "healed" else value
                    record("stepped", scaler.step(optimizer))
                    record(
                        "gradients_left", [p.grad is not None and bool((p.grad != 0).any()) for p in params]
                    )
                    record("after", [p.detach() for p in params])
                    record("state_after", optimizer.state_dict()["state"])
                    scaler.update()
                    record("scale", scaler.scale_value)
    with record.step("fresh"):
        p = nn.Parameter(torch.ones(3, device=record.device))
        optimizer = torch.optim.AdamW([p], weight_decay=0.1)
        scaler = make(code)
        set_grad(p, good=False)
        record("stepped", scaler.step(optimizer))
        record("after", p.detach())
        record("state", optimizer.state_dict()["state"])


def probe_only_update(code, given, record):
    for name, good in (("clean", True), ("skipped", False)):
        with record.step(name):
            scaler = make(code, 1024.0, 3.0, 0.25, 1)
            p, optimizer = toy(record.device)
            seen = [scaler.scale_value]
            scaler.scale((p * 2).sum()).backward()
            seen.append(scaler.scale_value)
            if not good:
                p.grad[0] = float("nan")
            scaler.unscale_(optimizer)
            seen.append(scaler.scale_value)
            scaler.step(optimizer)
            seen.append(scaler.scale_value)
            scaler.update()
            seen.append(scaler.scale_value)
            record("scales", seen)
    with record.step("assigned"):
        scaler = make(code, 1024.0)
        with suppress(Exception):
            scaler.scale_value = 5.0
        record("scale", scaler.scale_value)
    with record.step("repeated"):
        scaler = make(code, 1024.0, 3.0, 0.25, 5)
        record("scales", drive(scaler, "bbb", *toy(record.device)))


def drive(scaler, pattern, p, optimizer):
    """One iteration per letter, g for good and b for bad gradients; the scale after each."""
    seen = []
    for letter in pattern:
        set_grad(p, letter == "g")
        scaler.step(optimizer)
        scaler.update()
        seen.append(scaler.scale_value)
    return seen


def probe_small_scale(code, given, record):
    scaler = make(code, 4.0, 2.0, 0.5, 3)
    record("scales", drive(scaler, 40 * "b", *toy(record.device)))


def probe_growth(code, given, record):
    for interval in (1, 2, 3, 5):
        for name, pattern in (("fixed", PATTERN), ("random", given["random"])):
            with record.step(f"{name}{interval}"):
                scaler = make(code, 4096.0, 3.0, 0.25, interval)
                record("scales", drive(scaler, pattern, *toy(record.device)))


def probe_several(code, given, record):
    with record.step("run"):
        scaler = make(code, 4096.0, 2.0, 0.25, 3)
        (p, first), (q, second) = toy(record.device, lr=200.0), toy(record.device, lr=200.0)
        stepped, scales, values = [], [], []
        for pair in given["pairs"]:
            set_grad(p, pair[0] == "g")
            set_grad(q, pair[1] == "g")
            stepped.append([scaler.step(first), scaler.step(second)])
            scaler.update()
            scales.append(scaler.scale_value)
            values.append([p.tolist(), q.tolist()])
        record("stepped", stepped)
        record("scales", scales)
        record("values", values)
    with record.step("unscaled"):
        scaler = make(code, 4096.0, 2.0, 0.25, 3)
        (p, first), (q, second) = toy(record.device, lr=200.0), toy(record.device, lr=200.0)
        set_grad(p, good=False)
        set_grad(q)
        scaler.unscale_(first)
        scaler.unscale_(second)
        record("stepped", [scaler.step(second), scaler.step(first)])
        record("values", [p.detach(), q.detach()])
        scaler.update()
        record("scale", scaler.scale_value)


def probe_empty_update(code, given, record):
    with record.step("fresh"):
        scaler = make(code, 64.0, 2.0, 0.5, 2)
        record.raises("update", scaler.update)
        record("scale", scaler.scale_value)
        record("scales", drive(scaler, "ggg", *toy(record.device)))
    with record.step("other"):
        busy, idle = make(code, 64.0), make(code, 64.0)
        p, optimizer = toy(record.device)
        set_grad(p)
        busy.step(optimizer)
        record.raises("update", idle.update)
    for name, letter in (("clean", "g"), ("skipped", "b")):
        with record.step(name):
            scaler = make(code, 64.0, 2.0, 0.5, 2)
            p, optimizer = toy(record.device)
            drive(scaler, letter, p, optimizer)
            record.raises("update", scaler.update)
            record("scale", scaler.scale_value)
            record("scales", drive(scaler, "ggg", p, optimizer))
    with record.step("unscaled"):
        scaler = make(code, 64.0, 2.0, 0.5, 2)
        p, optimizer = toy(record.device)
        p.grad = torch.full_like(p, 64.0)
        scaler.unscale_(optimizer)
        record.raises("update", scaler.update)
        record("scale", scaler.scale_value)
        record("stepped", scaler.step(optimizer))
        record("p", p.detach())


def probe_state(code, given, record):
    for name, letters in (("two", "bgg"), ("one", "ggggbg"), ("none", "gggg")):
        with record.step(name):
            p, optimizer = toy(record.device)
            scaler = make(code, 6001 / 8192, 3.0, 0.25, 4)
            record("lead", drive(scaler, letters, p, optimizer))
            state = scaler.state_dict()
            text = json.dumps(state, sort_keys=True)
            record("text", text)
            rest = "gggggbgggggggbb"
            record.carry(name, text)
            record("original", drive(scaler, rest, p, optimizer))
            scaler.state_dict()
            record("text_later", json.dumps(state, sort_keys=True))
            loaded = json.loads(text)
            other = make(code, 7.0, 1.5, 0.75, 9)
            other.load_state_dict(loaded)
            drive(other, rest, p, optimizer)
            record("text_loaded", json.dumps(loaded, sort_keys=True))


@new_process
def probe_resumed(code, given, record):
    """Loads the states where the scalers that gave them never existed."""
    for name, text in given["carried"].items():
        with record.step(name):
            scaler = make(code, 7.0, 1.5, 0.75, 9)
            scaler.load_state_dict(json.loads(text))
            record("scale", scaler.scale_value)
            record("scales", drive(scaler, "gggggbgggggggbb", *toy(record.device)))
