import copy

import torch
from torch import nn

NAMES = ("lr", "betas", "eps", "weight_decay")


def with_gaps(grads):
    """The second parameter misses gradients early, in the middle and late, the third one once."""
    rows = [list(row) for row in grads]
    for i in (2, 3, 9, 10, 11, 20):
        rows[i][1] = None
    rows[0][2] = None
    return rows


def inputs(draw):
    a, b, c = draw.sizes(3, 3, 7)
    shapes = [(a, b), (c,), (b, c)]
    starts = [draw.normal(*shape, dtype=torch.float64) for shape in shapes]
    grads = [[draw.normal(*shape, dtype=torch.float64) for shape in shapes] for _ in range(30)]
    return {
        "starts": starts,
        "grads": grads,
        "gaps": with_gaps(grads),
        "first": draw.choice([-1.0, 1.0]) * draw.rand(a, b, low=5.0, high=500.0, dtype=torch.float64),
        "options": [
            {
                "lr": draw.uniform(0.02, 0.1),
                "betas": (draw.uniform(0.5, 0.95), draw.uniform(0.9, 0.999)),
                "eps": draw.uniform(1e-8, 1e-3),
                "weight_decay": draw.uniform(0.05, 0.5),
            }
            for _ in range(3)
        ],
        "late": draw.integer(5, 12),
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


def probe_default(code, given, record):
    params = leaves(given["starts"])
    record("seen", follow(code.AdamW(params), params, given["grads"]))
    with record.step("generator"):
        params = leaves(given["starts"])
        record("seen", follow(code.AdamW(p for p in params), params, given["grads"][:2]))


def probe_first(code, given, record):
    p = nn.Parameter(given["starts"][0].clone())
    p.grad = given["first"].clone()
    code.AdamW([p], lr=0.1, weight_decay=0.0).step()
    record("p", p.detach())


def probe_decay(code, given, record):
    with record.step("zero"):
        params = leaves(given["starts"])
        optimizer = code.AdamW(params, lr=0.1, weight_decay=0.3)
        record("seen", follow(optimizer, params, [[torch.zeros_like(p) for p in params]] * 3))
    with record.step("later"):
        params = leaves(given["starts"])
        rows = [[g * (i not in (3, 4, 7)) for g in row] for i, row in enumerate(given["grads"][:10])]
        record("seen", follow(code.AdamW(params, lr=0.1, weight_decay=0.3), params, rows))
    with record.step("usual"):
        params = leaves(given["starts"])
        record("seen", follow(code.AdamW(params, lr=0.1, weight_decay=0.3), params, given["grads"]))
    with record.step("beyond_one"):
        params = leaves(given["starts"])
        record("seen", follow(code.AdamW(params, lr=1.5, weight_decay=1.0), params, given["grads"][:3]))
    with record.step("none"):
        params = leaves(given["starts"])
        record("seen", follow(code.AdamW(params, lr=0.1, weight_decay=0.0), params, given["grads"]))
    with record.step("scalar"):
        p = nn.Parameter(given["starts"][0][0, 0].clone())
        rows = [[row[0][0, 0]] for row in given["grads"][:5]]
        record("seen", [p for (p,) in follow(code.AdamW([p], lr=0.1, weight_decay=0.3), [p], rows)])


def probe_eps(code, given, record):
    params = leaves(given["starts"])
    record("seen", follow(code.AdamW(params, lr=0.1, eps=0.1, weight_decay=0.0), params, given["grads"]))


def late_start(given):
    rows = [list(row) for row in given["grads"]]
    for row in rows[: given["late"]]:
        row[1] = None
    return rows


def probe_skipped(code, given, record):
    params = leaves(given["starts"])
    record("seen", follow(code.AdamW(params, lr=0.1, weight_decay=0.3), params, given["gaps"]))


def probe_late(code, given, record):
    params = leaves(given["starts"])
    record("seen", follow(code.AdamW(params, lr=0.1, weight_decay=0.3), params, late_start(given)))


def grouped(code, params, options):
    return code.AdamW([{"params": [p], **chosen} for p, chosen in zip(params, options, strict=True)])


def probe_groups(code, given, record):
    with record.step("own"):
        params = leaves(given["starts"])
        record("seen", follow(grouped(code, params, given["options"]), params, given["grads"]))
    with record.step("changed"):
        params = leaves(given["starts"])
        optimizer = code.AdamW(params, lr=0.5, betas=(0.1, 0.2), eps=0.3, weight_decay=0.7)
        optimizer.param_groups[0].update(given["options"][0])
        record("seen", follow(optimizer, params, given["grads"][:10]))
    with record.step("scheduled"):
        params = leaves(given["starts"])
        optimizer = grouped(code, params, given["options"])

        def schedule(i):
            for group, chosen in zip(optimizer.param_groups, given["options"], strict=True):
                group["lr"] = chosen["lr"] / (1 + i)
                group["weight_decay"] = chosen["weight_decay"] * (1 + i % 3)
                group["eps"] = chosen["eps"] * (1 + i % 2)

        record("seen", follow(optimizer, params, given["grads"], schedule))
    with record.step("warmup"):
        params = leaves(given["starts"])
        optimizer = code.AdamW(params, lr=0.0, weight_decay=0.3)

        def warm_up(i):
            optimizer.param_groups[0]["lr"] = 0.1 * max(0, i - 2)

        record("seen", follow(optimizer, params, given["grads"][:10], warm_up))
    with record.step("momentum"):
        params = leaves(given["starts"])
        optimizer = code.AdamW(params, lr=0.1, weight_decay=0.3)

        def cycle(i):
            optimizer.param_groups[0]["betas"] = (0.95 - 0.1 * (i % 3), 0.99 - 0.05 * (i % 2))

        record("seen", follow(optimizer, params, given["grads"][:10], cycle))


def probe_in_place(code, given, record):
    params = leaves(given["starts"])
    optimizer = code.AdamW(params, lr=0.1, weight_decay=0.3)
    pointers = [p.data_ptr() for p in params]
    grads = [g.clone() for g in given["grads"][0]]
    for p, grad in zip(params, grads, strict=True):
        p.grad = grad
    for _ in range(3):
        optimizer.step()
    record("same_storage", [p.data_ptr() == pointer for p, pointer in zip(params, pointers, strict=True)])
    record("same_params", [a is b for a, b in zip(params, optimizer.param_groups[0]["params"], strict=True)])
    record("leaves", [p.is_leaf and p.requires_grad for p in params])
    record("same_grads", [p.grad is grad for p, grad in zip(params, grads, strict=True)])
    record("grads", grads)
    record("params", [p.detach() for p in params])


def probe_closure(code, given, record):
    for name in ("plain", "no_grad"):
        with record.step(name):
            p = nn.Parameter(given["starts"][1].clone())
            optimizer = code.AdamW([p], lr=0.1, weight_decay=0.3)
            calls = []

            def closure(p=p, optimizer=optimizer, calls=calls):
                calls.append(torch.is_grad_enabled())
                optimizer.zero_grad()
                loss = (given["curve"] * p**2).sum() / 2
                loss.backward()
                return loss

            returned, modes = [], []
            for _ in range(3):
                with torch.set_grad_enabled(name == "plain"):
                    value = optimizer.step(closure)
                    modes.append(torch.is_grad_enabled())
                returned.append(value.detach() if isinstance(value, torch.Tensor) else value)
            record("returned", returned)
            record("calls", calls)
            record("modes", modes)
            record("p", p.detach())
    with record.step("zero"):
        p = nn.Parameter(torch.zeros_like(given["starts"][1]))

        def solved():
            loss = (p**2).sum()
            loss.backward()
            return loss

        value = code.AdamW([p]).step(solved)
        record("returned", value.detach() if isinstance(value, torch.Tensor) else value)
    with record.step("without"):
        p = nn.Parameter(given["starts"][1].clone())
        p.grad = torch.ones_like(p)
        record("returned", code.AdamW([p]).step())


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
    params = leaves(given["starts"], torch.float32)
    record("seen", follow(code.AdamW(params, lr=0.1, weight_decay=0.3), params, given["grads"]))


def probe_errors(code, given, record):
    def make(**options):
        return type(code.AdamW([nn.Parameter(torch.ones(3))], **options)).__name__

    for name, options in {
        "lr": {"lr": -0.1},
        "eps": {"eps": -1e-8},
        "weight_decay": {"weight_decay": -0.1},
        "beta1_low": {"betas": (-0.1, 0.9)},
        "beta1_high": {"betas": (1.0, 0.9)},
        "beta2_low": {"betas": (0.9, -0.1)},
        "beta2_high": {"betas": (0.9, 1.0)},
    }.items():
        record.raises(name, lambda o=options: make(**o))
    with record.step("valid"):
        params = leaves(given["starts"])
        follow(code.AdamW(params, lr=0.0), params, given["grads"][:2])
        record("still", [p.detach() for p in params])
        params = leaves(given["starts"])
        optimizer = code.AdamW(params, lr=0.1, betas=(0.0, 0.0), eps=0.0, weight_decay=0.0)
        record("signs", follow(optimizer, params, given["grads"][:2]))
