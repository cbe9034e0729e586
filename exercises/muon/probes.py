import copy

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

SETTINGS = ("lr", "momentum", "nesterov", "weight_decay", "ns_steps")


def matrix(draw, m, n, dtype=torch.float32):
    """A random matrix whose sides differ enough that no singular value is tiny."""
    return draw.normal(m, n, scale=draw.uniform(0.5, 2.0), dtype=dtype)


def sides(draw):
    """A short and a long side."""
    short = draw.integer(3, 6)
    return short, 3 * short + draw.integer(1, 5)


def run_of(draw, shapes, steps, **options):
    return {
        "start": [draw.normal(*shape) for shape in shapes],
        "grads": [
            [draw.normal(*shape, scale=draw.uniform(0.3, 3.0)) for shape in shapes] for _ in range(steps)
        ],
        "options": options,
    }


def inputs(draw):
    r, long = sides(draw)
    q, other = sides(draw)
    lr, decay = draw.uniform(0.05, 0.15), draw.uniform(0.3, 0.9)
    momentum = draw.uniform(0.7, 0.9)
    groups = [
        {"lr": draw.uniform(0.02, 0.2), "momentum": draw.uniform(0.5, 0.95), "nesterov": bool(i % 2),
         "weight_decay": draw.uniform(0.1, 0.9), "ns_steps": n}
        for i, n in enumerate(draw.shuffled([2, 3, 6]))
    ]  # fmt: skip
    tall = [(long, r), (r, long), (8, 2), (2, 8)]
    return {
        "matrices": [
            *[matrix(draw, *s) for s in ((r, long), (other, q), (1, long), (long, 1), (q, q + 4), (1, 1))],
            4 * torch.eye(q) + draw.normal(q, q, scale=0.5),
        ],
        "steps": draw.choice([1, 2, 3, 4, 7]),
        "eps": draw.uniform(0.5, 3.0),
        "scaled": matrix(draw, r, long),
        "plain": {
            "nesterov": run_of(draw, [(r, long), (q, other)], 8, lr=lr, momentum=momentum, nesterov=True),
            "plain": run_of(draw, [(r, long), (q, other)], 8, lr=lr, momentum=momentum, nesterov=False),
            "default": run_of(draw, [(r, long)], 3),
        },
        "tall": run_of(draw, tall, 4, lr=lr, momentum=momentum),
        "decay": run_of(draw, [(r, long), (other, q)], 5, lr=lr, momentum=momentum, weight_decay=decay),
        "zero": {
            "start": [draw.normal(r, long), draw.normal(other, q)],
            "grads": [[torch.zeros(r, long), torch.zeros(other, q)]] * 2,
            "options": {"lr": lr, "weight_decay": decay},
        },
        "kernels": run_of(draw, [(r, 4, 3, 2), (7 * q, 2, q), (3, 5, 2)], 3, lr=lr, momentum=momentum),
        "gaps": run_of(
            draw, [(r, long), (other, q), (q, other)], 6, lr=lr, momentum=momentum, weight_decay=decay
        ),
        "missing": [[1], [], [1, 2], [0, 1], [1], [0]],
        "groups": run_of(draw, [(r, long), (other, q), (q, other)], 6),
        "group_options": groups,
        "factors": [draw.uniform(0.2, 3.0) for _ in range(6)],
        "target": draw.normal(r, long),
        "half": matrix(draw, r, 2 * long),
        "double": [matrix(draw, r, long, torch.float64), matrix(draw, other, q, torch.float64)],
        "double_run": {
            "start": [draw.normal(r, long, dtype=torch.float64)],
            "grads": [[draw.normal(r, long, dtype=torch.float64)] for _ in range(4)],
            "options": {"lr": lr, "momentum": momentum, "weight_decay": decay},
        },
    }


def leaves(tensors, dtype=None):
    return [nn.Parameter(t.detach().clone().to(dtype or t.dtype)) for t in tensors]


def follow(optimizer, params, rows, missing=None, before=None):
    """The parameters after each step with the given gradients."""
    seen = []
    for i, row in enumerate(rows):
        if before is not None:
            before(i)
        for k, (p, grad) in enumerate(zip(params, row, strict=True)):
            p.grad = None if missing and k in missing[i] else grad.clone().to(p.dtype)
        optimizer.step()
        seen.append([p.detach().clone() for p in params])
    return seen


def run(code, case, record):
    params = leaves(case["start"])
    optimizer = code.Muon(params, **case["options"])
    record("seen", follow(optimizer, params, case["grads"]))
    with record.step("buffers"):
        record("all", [optimizer.state[p]["momentum_buffer"] for p in params])


class Counter(TorchDispatchMode):
    """Counts the floating-point operations of matrix products."""

    def __init__(self):
        super().__init__()
        self.flops = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        if name in ("mm", "bmm"):
            self.flops += 2 * args[0].numel() * args[1].shape[-1]
        elif name in ("addmm", "baddbmm", "addbmm"):
            self.flops += 2 * args[1].numel() * args[2].shape[-1]
        elif name == "mv":
            self.flops += 2 * args[0].numel()
        return func(*args, **(kwargs or {}))


def probe_ortho(code, given, record):
    for i, g in enumerate(given["matrices"]):
        with record.step(i):
            mine = g.clone()
            record("out", code.newton_schulz(mine))
            record("g", mine)
    g = given["matrices"][0]
    with record.step("steps"):
        record("out", code.newton_schulz(g.clone(), given["steps"]))
    with record.step("eps"):
        record("out", code.newton_schulz(g.clone(), steps=2, eps=given["eps"]))
    with record.step("strided"):
        record("out", code.newton_schulz(given["matrices"][1].T.contiguous().T))


def probe_cost(code, given, record):
    for i, g in enumerate(given["matrices"][:2]):
        with record.step(i):
            counts = []
            for steps in (3, 5):
                with Counter() as counter:
                    code.newton_schulz(g, steps)
                counts.append(counter.flops)
            record("flops", counts)


def probe_size(code, given, record):
    g = given["scaled"]
    for name, factor in (("small", 1e-3), ("one", 1.0), ("large", 1e3)):
        with record.step(name):
            record("out", code.newton_schulz(factor * g))
            record("tall", code.newton_schulz(factor * g.T))
    with record.step("zeros"):
        record("out", [code.newton_schulz(torch.zeros_like(g)), code.newton_schulz(torch.zeros_like(g).T)])


def probe_steps(code, given, record):
    for name, case in given["plain"].items():
        with record.step(name):
            run(code, case, record)
    for name in ("tall", "decay", "zero", "kernels"):
        with record.step(name):
            run(code, given[name], record)
    with record.step("contiguous"):  # a kernel in another memory format
        case = given["kernels"]
        p = nn.Parameter(case["start"][0].clone().contiguous(memory_format=torch.channels_last))
        optimizer = code.Muon([p], **case["options"])
        record("seen", follow(optimizer, [p], [row[:1] for row in case["grads"]]))


class Tied(nn.Module):
    """The head comes first and shares the weight of the embedding."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(5, 9, bias=False)
        self.emb = nn.Embedding(9, 5)
        self.out.weight = self.emb.weight
        self.mix = nn.Linear(5, 5)
        self.again = self.mix


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(9, 6)
        self.pos = nn.Parameter(torch.zeros(7, 6))
        block = {
            "norm": nn.LayerNorm(6),
            "attn": nn.Linear(6, 18),
            "head_proj": nn.Linear(6, 6, bias=False),
            "embedding": nn.Linear(6, 6, bias=False),  # a matrix, whatever its name is
        }
        self.blocks = nn.ModuleList(
            [
                nn.ModuleDict(block),
                nn.ModuleDict(
                    {"Head": nn.Linear(6, 6, bias=False), "head": nn.Linear(6, 12), "gain": nn.Linear(2, 1)}
                ),
            ]
        )
        self.frozen = nn.Linear(6, 6)
        self.frozen.requires_grad_(False)
        self.blocks[0]["attn"].bias.requires_grad_(False)
        self.experts = nn.Parameter(torch.zeros(3, 6, 4))
        self.temperature = nn.Parameter(torch.tensor(1.0))
        self.head = nn.Linear(6, 9)


def vision():
    return nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.Conv1d(6, 4, 3, bias=False), nn.Linear(4, 2)
    )


def nested():
    decoder = {"wte": nn.Embedding(9, 6), "mix": nn.Linear(6, 6, bias=False)}
    return nn.ModuleDict({"model": nn.ModuleDict({"decoder": nn.ModuleDict(decoder)})})


SPLITS = {
    "language": (Language, ()),
    "head": (Language, ["head"]),
    "several": (Language, {"head", "pos", "experts"}),
    "leaf": (Language, ("weight",)),
    "index": (Language, ["1"]),
    "tied": (Tied, ()),
    "tied_excluded": (Tied, ["mix"]),
    "vision": (vision, ()),
    "nested": (nested, ()),
    "embedding": (lambda: nn.Embedding(4, 3), ()),
    "linear": (lambda: nn.Linear(4, 3), ()),
}


def probe_split(code, given, record):
    for name, (make, exclude) in SPLITS.items():
        with record.step(name):
            model = make()
            names = {id(p): n for n, p in model.named_parameters()}
            lists = code.split_parameters(model, exclude) if exclude else code.split_parameters(model)
            record("lists", [[names.get(id(p), "?") for p in found] for found in lists])
            embedded = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
            record(
                "all", [[n, p.dim(), id(p) in embedded, p.requires_grad] for n, p in model.named_parameters()]
            )


def probe_robust(code, given, record):
    with record.step("missing"):
        case = given["gaps"]
        params = leaves(case["start"])
        optimizer = code.Muon(params, **case["options"])
        record("seen", follow(optimizer, params, case["grads"], given["missing"]))
    with record.step("never"):
        params = leaves(given["gaps"]["start"])
        optimizer = code.Muon(params, **given["gaps"]["options"])
        params[0].grad = given["gaps"]["grads"][0][0].clone()
        optimizer.step()
        record("state", [k for k, v in optimizer.state_dict()["state"].items() if v])
        record("grads", [p.grad is None for p in params])
    for nesterov in (True, False):
        with record.step(f"in_place_{nesterov}"):
            case = given["gaps"]
            params = leaves(case["start"])
            optimizer = code.Muon(params, nesterov=nesterov, **case["options"])
            grads = [g.clone() for g in case["grads"][0]]
            for p, grad in zip(params, grads, strict=True):
                p.grad = grad
            pointers = [p.data_ptr() for p in params]
            optimizer.step()
            record("once", [g.clone() for g in grads])
            optimizer.step()
            record("grads", grads)
            record("same_grads", [p.grad is grad for p, grad in zip(params, grads, strict=True)])
            record("storage", [p.data_ptr() == x for p, x in zip(params, pointers, strict=True)])
            record(
                "objects", [a is b for a, b in zip(params, optimizer.param_groups[0]["params"], strict=True)]
            )
            record("leaves", [p.is_leaf and p.requires_grad for p in params])


def grouped(code, params, options):
    return code.Muon([{"params": [p], **chosen} for p, chosen in zip(params, options, strict=True)])


def probe_groups(code, given, record):
    case, options = given["groups"], given["group_options"]
    with record.step("own"):
        params = leaves(case["start"])
        record("seen", follow(grouped(code, params, options), params, case["grads"]))
    with record.step("scheduled"):
        params = leaves(case["start"])
        optimizer = grouped(code, params, options)

        def schedule(i):
            for group, chosen in zip(optimizer.param_groups, options, strict=True):
                group["lr"] = chosen["lr"] * given["factors"][i]

        record("seen", follow(optimizer, params, case["grads"], before=schedule))
    with record.step("resumed"):
        params = leaves(case["start"])
        optimizer = grouped(code, params, options)
        follow(optimizer, params, case["grads"][:3])
        saved = copy.deepcopy(optimizer.state_dict())
        others = leaves(params)
        second = grouped(code, others, [{"lr": 9.0}, {}, {"momentum": 0.1}])
        second.load_state_dict(saved)
        record("first", follow(optimizer, params, case["grads"][3:]))
        record("second", follow(second, others, case["grads"][3:]))
    for name in ("plain", "no_grad"):
        with record.step(f"closure_{name}"):
            p = nn.Parameter(given["target"].clone() * 0.5)
            optimizer, calls = code.Muon([p], lr=0.1), []

            def closure(p=p, optimizer=optimizer, calls=calls):
                calls.append(torch.is_grad_enabled())
                optimizer.zero_grad()
                loss = ((p - given["target"]) ** 2).sum()
                loss.backward()
                return loss

            with torch.set_grad_enabled(name == "plain"):
                losses = [optimizer.step(closure) for _ in range(3)]
            record("losses", [x.detach() if isinstance(x, torch.Tensor) else x for x in losses])
            record("calls", calls)
            record("p", p.detach())
    with record.step("without"):
        p = nn.Parameter(given["target"].clone())
        p.grad = torch.ones_like(p)
        record("returned", code.Muon([p]).step())


def probe_dtypes(code, given, record):
    for name, dtype in (("bfloat16", torch.bfloat16), ("float16", torch.float16)):
        with record.step(name):
            g = given["half"].to(dtype)
            record("out", [code.newton_schulz(g), code.newton_schulz(g.T)])
            if dtype == torch.float16:
                large = given["half"].double()
                record("large", code.newton_schulz((large * (50000 / large.abs().max())).to(dtype)))
            p = nn.Parameter(given["half"].clone().to(dtype))
            optimizer = code.Muon([p], lr=0.5, weight_decay=0.1)
            for _ in range(2):
                p.grad = given["half"].clone().to(dtype)
                optimizer.step()
            record("p", p.detach())
            record("buffer", optimizer.state[p]["momentum_buffer"])
    with record.step("float64"):
        record("out", [code.newton_schulz(g) for g in given["double"]])
        run(code, given["double_run"], record)


def probe_errors(code, given, record):
    def make(shape=(3, 2), **options):
        return type(code.Muon([nn.Parameter(torch.ones(shape))], **options)).__name__

    for name, call in {
        "lr": lambda: make(lr=-0.1),
        "momentum_one": lambda: make(momentum=1.0),
        "momentum_negative": lambda: make(momentum=-0.1),
        "weight_decay": lambda: make(weight_decay=-0.1),
        "ns_steps": lambda: make(ns_steps=0),
        "ns_negative": lambda: make(ns_steps=-3),
        "vector": lambda: make(shape=(4,)),
        "scalar": lambda: make(shape=()),
        "later": lambda: (
            type(code.Muon([nn.Parameter(torch.ones(2, 2)), nn.Parameter(torch.ones(3))])).__name__
        ),
        "second_group": lambda: (
            type(
                code.Muon(
                    [{"params": [nn.Parameter(torch.ones(2, 2))]}, {"params": [nn.Parameter(torch.ones(3))]}]
                )
            ).__name__
        ),
        "ns_vector": lambda: code.newton_schulz(torch.ones(3)),
        "ns_kernel": lambda: code.newton_schulz(torch.ones(3, 2, 2)),
    }.items():
        record.raises(name, call)
    with record.step("valid"):
        p = nn.Parameter(given["target"].clone())
        optimizer = code.Muon([p], lr=0.0, momentum=0.0, weight_decay=0.0, ns_steps=1)
        p.grad = torch.ones_like(p)
        optimizer.step()
        record("p", p.detach())
