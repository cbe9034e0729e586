import copy

import torch
from torch import nn


def with_gaps(grads):
    """The second parameter misses gradients early, in the middle and late, the third one at first."""
    rows = [list(row) for row in grads]
    for i in (2, 3, 9, 10, 11, 18):
        rows[i][1] = None
    rows[0][2] = None
    return rows


def inputs(draw):
    a, b, c = draw.sizes(3, 3, 7)
    shapes = [(a, b), (c,), (b, c)]
    starts = [draw.normal(*shape, dtype=torch.float64) for shape in shapes]
    grads = [[draw.normal(*shape, dtype=torch.float64) for shape in shapes] for _ in range(20)]
    return {
        "starts": starts,
        "grads": grads,
        "gaps": with_gaps(grads),
        "options": [
            {
                "lr": draw.uniform(0.02, 0.1),
                "momentum": draw.uniform(0.3, 0.95),
                "weight_decay": draw.uniform(0.05, 0.5),
                "nesterov": i == 1,
            }
            for i in range(3)
        ],
        "curve": draw.rand(c, low=0.5, high=1.5, dtype=torch.float64),
    }


def leaves(tensors, dtype=torch.float64):
    """Parameters; the last one is a transposed view, as weights often are."""
    params = [nn.Parameter(t.detach().clone().to(dtype)) for t in tensors]
    params[-1] = nn.Parameter(params[-1].detach().T.contiguous().T)
    return params


def follow(optimizer, params, grads, before=None):
    """Step with the given gradients (None: no gradient) and return the parameters after each step."""
    seen = []
    for i, row in enumerate(grads):
        if before is not None:
            before(i)
        for p, grad in zip(params, row, strict=True):
            p.grad = None if grad is None else grad.clone().to(p.dtype)
        optimizer.step()
        seen.append([p.detach().clone() for p in params])
    return seen


def reused(given):
    """Gradients with some rows of zeros among them."""
    return [[g * (i % 4 != 2) for g in row] for i, row in enumerate(given["grads"])]


def with_scalar(given):
    """A parameter without dimensions beside the last one, and the gradients of both."""

    def rows(row):
        return [row[1][0], row[2]]

    return rows(given["starts"]), [rows(row) for row in given["grads"]]


def follow_reused(optimizer, params, grads):
    """As follow, but the gradients are written into the same tensors, as zero_grad(set_to_none=False) does."""
    for p in params:
        p.grad = torch.zeros_like(p)
    seen = []
    for row in grads:
        for p, grad in zip(params, row, strict=True):
            p.grad.copy_(grad)
        optimizer.step()
        seen.append([p.detach().clone() for p in params])
    return seen


CASES = {
    "plain": {"lr": 0.1},
    "momentum": {"lr": 0.1, "momentum": 0.9},
    "light": {"lr": 0.1, "momentum": 0.3},
    "decay": {"lr": 0.1, "weight_decay": 0.3},
    "small_decay": {"lr": 0.1, "weight_decay": 5e-4},
    "decay_momentum": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.3},
    "nesterov": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "nesterov_decay": {"lr": 0.1, "momentum": 0.8, "weight_decay": 0.3, "nesterov": True},
}


def probe_run(code, given, record):
    for name, options in CASES.items():
        with record.step(name):
            params = leaves(given["starts"])
            record("seen", follow(code.SGD(params, **options), params, given["grads"]))
    for name in ("momentum", "nesterov"):
        with record.step(f"{name}_reused"):
            params = leaves(given["starts"])
            record("seen", follow_reused(code.SGD(params, **CASES[name]), params, reused(given)))
    with record.step("scalar"):
        starts, rows = with_scalar(given)
        params = leaves(starts)
        record("seen", follow(code.SGD(params, **CASES["momentum"]), params, rows))
    with record.step("generator"):
        params = leaves(given["starts"])
        record("seen", follow(code.SGD((p for p in params), 0.1), params, given["grads"][:2]))


def probe_skipped(code, given, record):
    for name in ("decay_momentum", "nesterov", "decay"):
        with record.step(name):
            params = leaves(given["starts"])
            record("seen", follow(code.SGD(params, **CASES[name]), params, given["gaps"]))


def grouped(code, params, options, lr=0.01):
    return code.SGD([{"params": [p], **chosen} for p, chosen in zip(params, options, strict=True)], lr=lr)


def probe_groups(code, given, record):
    with record.step("own"):
        params = leaves(given["starts"])
        record("seen", follow(grouped(code, params, given["options"]), params, given["grads"]))
    with record.step("twins"):
        params = leaves([given["starts"][1], given["starts"][1], given["starts"][2]])
        rows = [[row[1], -2.0 * row[1], row[2]] for row in given["grads"]]
        record("seen", follow(code.SGD(params, lr=0.1, momentum=0.9), params, rows))
    with record.step("scheduled"):
        params = leaves(given["starts"])
        optimizer = grouped(code, params, given["options"])

        def schedule(i):
            for group, chosen in zip(optimizer.param_groups, given["options"], strict=True):
                group["lr"] = chosen["lr"] / (1 + i)
                group["weight_decay"] = chosen["weight_decay"] * (1 + i % 3)
                group["momentum"] = chosen["momentum"] * (0.9 if i % 2 else 1.0)

        record("seen", follow(optimizer, params, given["grads"], schedule))
    with record.step("added"):
        params = leaves(given["starts"])
        optimizer = code.SGD(params[:1], lr=0.1, momentum=0.9)
        follow(optimizer, params[:1], [row[:1] for row in given["grads"][:2]])
        optimizer.add_param_group({"params": params[1:], "lr": 0.05})
        record("seen", follow(optimizer, params, given["grads"][2:]))
    with record.step("paused"):
        params = leaves(given["starts"])
        optimizer = code.SGD(params, lr=0.0, momentum=0.9)

        def warm(i):
            optimizer.param_groups[0]["lr"] = 0.0 if i % 4 < 2 else 0.1
            optimizer.param_groups[0]["momentum"] = 0.9 if i < 10 else 0.6

        record("seen", follow(optimizer, params, given["grads"], warm))


def probe_in_place(code, given, record):
    for name in ("plain", "momentum", "nesterov", "decay_momentum", "nesterov_decay"):
        with record.step(name):
            params = leaves(given["starts"])
            optimizer = code.SGD(params, **CASES[name])
            pointers = [p.data_ptr() for p in params]
            grads = [g.clone() for g in given["grads"][0]]
            for p, grad in zip(params, grads, strict=True):
                p.grad = grad
            for _ in range(3):
                optimizer.step()
            record("same_storage", [p.data_ptr() == at for p, at in zip(params, pointers, strict=True)])
            held = optimizer.param_groups[0]["params"]
            record("same_params", [a is b for a, b in zip(params, held, strict=True)])
            record("leaves", [p.is_leaf and p.requires_grad for p in params])
            record("same_grads", [p.grad is grad for p, grad in zip(params, grads, strict=True)])
            record("grads", grads)
            record("params", [p.detach() for p in params])


def probe_closure(code, given, record):
    for name in ("plain", "no_grad"):
        with record.step(name):
            p = nn.Parameter(given["starts"][1].clone())
            optimizer = code.SGD([p], lr=0.1, momentum=0.9)
            calls, losses, same, modes = [], [], [], []

            def closure(p=p, optimizer=optimizer, calls=calls, losses=losses):
                calls.append(torch.is_grad_enabled())
                optimizer.zero_grad()
                loss = (given["curve"] * p**2).sum() / 2
                loss.backward()
                losses.append(loss)
                return loss

            returned = []
            for _ in range(3):
                if name == "plain":
                    value = optimizer.step(closure)
                    modes.append(torch.is_grad_enabled())
                else:
                    with torch.no_grad():
                        value = optimizer.step(closure)
                        modes.append(not torch.is_grad_enabled())
                same.append(value is losses[-1])
                returned.append(value.detach() if isinstance(value, torch.Tensor) else value)
            record("returned", returned)
            record("calls", calls)
            record("same", same)
            record("modes", modes)
            record("p", p.detach().clone())
            record("after", optimizer.step())
    with record.step("zero"):
        p = nn.Parameter(given["starts"][1].clone())
        record("returned", code.SGD([p], lr=0.1).step(lambda: torch.zeros(())))
    with record.step("without"):
        p = nn.Parameter(given["starts"][1].clone())
        p.grad = torch.ones_like(p)
        record("returned", code.SGD([p], lr=0.1).step())


def probe_resume(code, given, record):
    rows = given["gaps"]
    params = leaves(given["starts"])
    optimizer = grouped(code, params, given["options"])
    follow(optimizer, params, rows[:6])
    saved = copy.deepcopy(optimizer.state_dict())
    record("state_size", len(saved["state"]))
    params = leaves([p.detach() for p in params])
    optimizer = grouped(code, params, [{"lr": 1.0}, {}, {"weight_decay": 0.0}])
    optimizer.load_state_dict(saved)
    record("seen", follow(optimizer, params, rows[6:]))


def probe_single(code, given, record):
    with record.step("bfloat16"):
        params = leaves(given["starts"], torch.bfloat16)
        optimizer = code.SGD(params, lr=0.1, momentum=0.9)
        follow(optimizer, params, given["grads"][:2])
        values = [v for p in params for v in optimizer.state[p].values() if isinstance(v, torch.Tensor)]
        record("dtypes", sorted({str(v.dtype) for v in values if v.dim()}))
        record("params", [str(p.dtype) for p in params])
    for name in ("plain", "nesterov_decay"):
        with record.step(name):
            params = leaves(given["starts"], torch.float32)
            record("seen", follow(code.SGD(params, **CASES[name]), params, given["grads"]))


def probe_errors(code, given, record):
    def make(**options):
        return type(code.SGD([nn.Parameter(torch.ones(3))], **{"lr": 0.1, **options})).__name__

    for name, options in {
        "lr": {"lr": -0.1},
        "momentum_low": {"momentum": -0.1},
        "momentum_high": {"momentum": 1.0},
        "momentum_above": {"momentum": 1.5},
        "weight_decay": {"weight_decay": -0.1},
        "nesterov": {"nesterov": True},
    }.items():
        record.raises(name, lambda o=options: make(**o))
    with record.step("valid"):
        params = leaves(given["starts"])
        optimizer = code.SGD(params, lr=0.0, momentum=0.0, weight_decay=0.0, nesterov=False)
        follow(optimizer, params, given["grads"][:2])
        record("still", [p.detach() for p in params])
