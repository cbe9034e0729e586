import math

import torch
from torch import nn

GAP = 2e-4  # between the scores of any two experts, so that no rounding changes a choice


def apart(logits, bias):
    """Which rows have clearly different scores, with and without the bias."""
    p = logits.double().softmax(-1)
    scores = [p] if bias is None else [p, p + bias.double()]
    return torch.stack([(s.sort(dim=-1).values.diff(dim=-1) > GAP).all(-1) for s in scores]).all(0)


def logits_of(draw, tokens, experts, bias=None, dtype=torch.float32, scale=1.2):
    """Random logits (tokens, experts) that leave no doubt which experts are chosen."""
    rows = torch.zeros(0, experts, dtype=dtype)
    while len(rows) < tokens:
        more = draw.normal(8 * tokens, experts, scale=scale).to(dtype)
        rows = torch.cat([rows, more[apart(more, bias)]])
    return rows[:tokens]


def steering(draw, experts, rejected=True):
    """A bias that changes many choices; nobody chooses the last of its experts."""
    bias = draw.normal(experts, scale=0.3)
    if rejected:
        bias[draw.integer(0, experts - 1)] = -3.0
    return bias


def close_bias(draw, experts):
    """One token whose two best scores, p + bias, differ by 3e-4: half precision cannot tell them apart."""
    logits, bias = logits_of(draw, 1, experts), draw.normal(experts, scale=0.2)
    p = logits[0].double().softmax(-1)
    best, second = (p + bias.double()).topk(2).indices
    bias[second] = (p[best] + bias[best].double() - p[second] - 3e-4).float()
    return {"logits": logits, "k": 1, "bias": bias}


def layer(draw, lead, d, experts, k, bias=None, dtype=torch.float32):
    """Inputs of moe_forward; the router sees clearly different scores for every token."""
    router = draw.normal(experts, d, scale=1.5 / math.sqrt(d), dtype=dtype)
    count, tokens = math.prod(lead), torch.zeros(0, d, dtype=dtype)
    while len(tokens) < count:
        more = draw.normal(8 * count, d, dtype=dtype)
        tokens = torch.cat([tokens, more[apart(more.double() @ router.double().T, bias)]])
    return {
        "x": tokens[:count].reshape(*lead, d),
        "router": router,
        "w": draw.normal(experts, d, d, scale=1 / math.sqrt(d), dtype=dtype),
        "b": draw.normal(experts, d, scale=0.5, dtype=dtype),
        "c": draw.normal(*lead, d, dtype=dtype),
        "k": k,
        "factor": None,
        "bias": bias,
    }


def with_capacity(draw, lead, d, experts, k, factor, bias=None):
    case = layer(draw, lead, d, experts, k, bias)
    case["factor"] = factor
    return case


def close_call(draw, experts, d, k, dtype):
    """Tokens in half precision, of which most have equal scores for two experts if logits are rounded to it.

    Half of these then go to the wrong expert, whatever the rule for equal scores is.
    """
    router = draw.normal(experts, d, scale=1.5 / math.sqrt(d)).to(dtype)
    wanted = 14 if dtype == torch.bfloat16 else 6
    tied = calm = torch.zeros(0, d, dtype=dtype)
    while len(tied) < wanted:
        rows = draw.normal(3000, d).to(dtype)
        logits = rows.float() @ router.float().T
        # A quick look at scores that are nearly equal; only those are worth sorting in float64.
        top = logits.topk(k + 1, dim=-1).values
        near = (top[:, k - 1] - top[:, k]) < 2.0**-6
        logits, close_rows = rows[near].double() @ router.double().T, rows[near]
        order = logits.softmax(-1).sort(dim=-1, descending=True).values
        clear = (order[:, : k + 1].diff(dim=-1).abs() > 2e-5).all(-1)
        rounded = logits.to(dtype).sort(dim=-1, descending=True).values
        tied = torch.cat([tied, close_rows[clear & (rounded[:, k - 1] == rounded[:, k])]])
        calm = rows[~near & apart(rows.double() @ router.double().T, None)][:5]
    return {
        "x": torch.cat([tied[:wanted], calm])[draw.permutation(wanted + 5)],
        "router": router,
        "scale": torch.tensor(draw.shuffled([0.25 + 0.75 * i for i in range(experts)])).to(dtype),
        "k": k,
    }


def inputs(draw):
    d, tokens = draw.sizes(2, 5, 11)
    e = draw.choice([5, 6, 7])
    bias = steering(draw, e)
    routes = [{"logits": logits_of(draw, tokens, e, bias), "k": k, "bias": bias} for k in (1, 2, 3)]
    routes.append({"logits": logits_of(draw, 3, 4), "k": 4, "bias": None})
    routes.append({"logits": logits_of(draw, 1, e, bias, scale=2.0), "k": 2, "bias": bias})
    routes += [close_bias(draw, e) for _ in range(12)]
    for case in routes:
        case["c"] = draw.normal(len(case["logits"]), case["k"])
    dense = [
        layer(draw, (tokens,), d, e, 2),
        layer(draw, (2, 5), d, e, 1),
        layer(draw, (2, 1, 3), d, 4, 3),
        layer(draw, (1,), d, e, 2),
        layer(draw, (6,), d, 3, 3),
        layer(draw, (5,), d, 9, 1),  # more experts than tokens: some get none
    ]
    crowded = steering(draw, e, rejected=False)
    crowded[draw.integer(0, e - 1)] = 1.5  # everybody wants this one
    limited = [
        with_capacity(draw, (13,), d, 5, 2, 1.25),  # 7
        with_capacity(draw, (11,), d, 7, 2, 0.75),
        with_capacity(draw, (2, 5), d, 3, 2, 0.5),
        with_capacity(draw, (9,), d, 4, 1, 0.5),
        with_capacity(draw, (7,), d, e, 2, 0.25),
        with_capacity(draw, (6,), d, 4, 2, 1.0),  # 3: an even share without a remainder
        with_capacity(draw, (5,), d, 4, 2, 8.0),  # room for all
    ]
    masks = []
    for count, k, experts in ((tokens, 2, 3), (9, 3, 4), (7, 1, 3), (6, 2, 6)):
        chosen = torch.stack([draw.permutation(experts)[:k] for _ in range(count)])
        masks += [
            {"chosen": chosen, "experts": experts, "capacity": capacity}
            for capacity in (0, 1, draw.integer(2, 4), count)
        ]
    loads = []
    for count, experts, k in ((tokens, e, 2), (9, 4, 1), (8, 7, 3)):
        live = experts - 1  # the last expert gets nothing
        chosen = torch.stack([draw.permutation(live)[:k] for _ in range(count)])
        loads.append(
            {
                "logits": draw.normal(count, experts, scale=1.5),
                "chosen": chosen,
                "bias": draw.normal(experts, scale=0.1),
                "rate": draw.uniform(0.01, 0.2),
            }
        )
    # An even load of every expert, with uneven probabilities.
    order = draw.permutation(6)
    even = {"logits": draw.normal(6, 6, scale=2.0), "chosen": torch.stack([order, order.roll(1)], 1)}
    # One expert has exactly the mean load of 2, one has more, two have less.
    exact = torch.tensor([[0, 1], [0, 1], [0, 2], [0, 3]])[:, draw.permutation(2)]
    large = torch.zeros(5, 6)
    for row, shift in enumerate((1e4, -1e4, 3e3, -50.0, 0.0)):
        large[row] = shift + draw.normal(6)
    half = {}
    for dtype in (torch.bfloat16, torch.float16):
        name = str(dtype).removeprefix("torch.")
        half[name] = {
            "forward": close_call(draw, 6, 24, 2, dtype),
            "logits": logits_of(draw, 8, 6, dtype=dtype),
            "chosen": torch.stack([draw.permutation(6)[:2] for _ in range(8)]),
            "bias": steering(draw, 6),
        }
    return {
        "routes": routes,
        "dense": dense,
        "biased": [
            layer(draw, (tokens,), d, e, 2, bias),
            layer(draw, (2, 4), d, e, 1, steering(draw, e)),
            with_capacity(draw, (7,), d, e, 2, 0.25, crowded),
        ],
        "limited": limited,
        "masks": masks,
        "loads": loads,
        "even": even,
        "exact": {"chosen": exact, "bias": draw.normal(4, scale=0.1), "rate": 0.125},
        "z": [draw.normal(tokens, e, scale=2.0, shift=1.0), large],
        "half": half,
        "double": {
            "forward": layer(draw, (7,), d, 5, 2, dtype=torch.float64),
            "logits": logits_of(draw, 6, 5, dtype=torch.float64),
            "chosen": torch.stack([draw.permutation(5)[:2] for _ in range(6)]),
        },
    }


class Expert(nn.Module):
    """tanh(x w + b); keeps the rows that it was given, and counts them."""

    def __init__(self, w, b):
        super().__init__()
        self.w, self.b = nn.Parameter(w.clone()), nn.Parameter(b.clone())
        self.given = []

    def forward(self, x):
        self.given.append(x.detach().clone())
        return torch.tanh(x @ self.w + self.b)


class Scale(nn.Module):
    """x times a number."""

    def __init__(self, scale):
        super().__init__()
        self.scale = nn.Parameter(scale.clone())
        self.given = []

    def forward(self, x):
        self.given.append(x.detach().clone())
        return x * self.scale


def copy(value):
    return None if value is None else value.clone()


def probe_route(code, given, record):
    for i, case in enumerate(given["routes"]):
        for name in ("plain", "biased"):
            if name == "biased" and case["bias"] is None:
                continue
            with record.step(f"{name}{i}"):
                logits = case["logits"].clone().requires_grad_()
                bias = case["bias"].clone().requires_grad_() if name == "biased" else None
                if bias is None:
                    weights, chosen = code.route(logits, case["k"])
                else:
                    weights, chosen = code.route(logits, case["k"], bias)
                record("weights", weights)
                record("chosen", chosen)
                record("after", [logits, bias])
                (weights * case["c"]).sum().backward()
                record("grad", logits.grad)
                record("bias_grad", None if bias is None else bias.grad)


def run(code, record, case):
    x, router = case["x"].clone().requires_grad_(), case["router"].clone().requires_grad_()
    bias = case["bias"].clone().requires_grad_() if case["bias"] is not None else None
    experts = [Expert(w, b) for w, b in zip(case["w"], case["b"], strict=True)]
    more = {} if bias is None else {"bias": bias}
    if case["factor"] is not None:
        more["capacity_factor"] = case["factor"]
    out = code.moe_forward(x, router, experts, case["k"], **more)
    record("out", out)
    record("given", [expert.given for expert in experts])
    record("after", [x, router, bias])
    (out * case["c"]).sum().backward()
    record("x_grad", x.grad)
    record("router_grad", router.grad)
    record("grads", [[expert.w.grad, expert.b.grad] for expert in experts])
    record("bias_grad", None if bias is None else bias.grad)


def probe_forward(code, given, record):
    for name in ("dense", "biased", "limited"):
        for i, case in enumerate(given[name]):
            with record.step(f"{name}{i}"):
                run(code, record, case)
    with record.step("double"):
        run(code, record, given["double"]["forward"])


def probe_masks(code, given, record):
    for i, case in enumerate(given["masks"]):
        with record.step(i):
            chosen = case["chosen"].clone()
            record("mask", code.keep_mask(chosen, case["experts"], case["capacity"]))
            record("after", chosen)


def probe_losses(code, given, record):
    for i, case in enumerate([*given["loads"], given["even"]]):
        with record.step(f"balance{i}"):
            logits, chosen = case["logits"].clone().requires_grad_(), case["chosen"].clone()
            loss = code.balance_loss(logits, chosen)
            record("loss", loss)
            record("after", [logits, chosen])
            loss.backward()
            record("grad", logits.grad)
    for i, values in enumerate(given["z"]):
        with record.step(f"z{i}"):
            logits = values.clone().requires_grad_()
            loss = code.z_loss(logits)
            record("loss", loss)
            record("after", logits)
            loss.backward()
            record("grad", logits.grad)
    for i, case in enumerate([*given["loads"], given["exact"]]):
        with record.step(f"bias{i}"):
            bias, chosen = case["bias"].clone(), case["chosen"].clone()
            new = code.update_bias(bias, chosen, case["rate"])
            record("new", new)
            with torch.no_grad():
                new.zero_()
            record("after", [bias, chosen])


def probe_dtypes(code, given, record):
    for name, case in given["half"].items():
        with record.step(f"{name}_forward"):
            data = case["forward"]
            experts = [Scale(s) for s in data["scale"]]
            x, router = data["x"].clone(), data["router"].clone()
            record("out", code.moe_forward(x, router, experts, data["k"]))
            record("after", [x, router])
            record("given", [expert.given for expert in experts])
        with record.step(f"{name}_capacity"):
            experts = [Scale(s) for s in data["scale"]]
            out = code.moe_forward(
                data["x"].clone(), data["router"].clone(), experts, data["k"], capacity_factor=0.5
            )
            record("out", out)
        with record.step(f"{name}_route"):
            for key, bias in (("plain", None), ("biased", case["bias"].clone())):
                weights, chosen = code.route(case["logits"].clone(), 2, bias)
                record(f"{key}/weights", weights)
                record(f"{key}/chosen", chosen)
        with record.step(f"{name}_losses"):
            record("balance", code.balance_loss(case["logits"].clone(), case["chosen"].clone()))
            record("z", code.z_loss(case["logits"].clone()))
    case = given["double"]
    with record.step("double_route"):
        weights, chosen = code.route(case["logits"].clone(), 2)
        record("plain/weights", weights)
        record("plain/chosen", chosen)
    with record.step("double_losses"):
        record("balance", code.balance_loss(case["logits"].clone(), case["chosen"].clone()))
        record("z", code.z_loss(case["logits"].clone()))


def probe_errors(code, given, record):
    case = given["dense"][0]
    x, router, e = case["x"], case["router"], len(case["router"])
    logits, d = given["routes"][0]["logits"], x.shape[-1]
    chosen = torch.tensor([[0, 1], [1, 2]], device=record.device)

    def forward(k=2, **more):
        experts = [Expert(w, b) for w, b in zip(case["w"], case["b"], strict=True)]
        return code.moe_forward(x.clone(), router.clone(), experts, k, **more)

    def zeros(*shape):
        return torch.zeros(*shape, device=record.device)

    for name, call in (
        ("route_k0", lambda: code.route(logits.clone(), 0)),
        ("route_negative", lambda: code.route(logits.clone(), -1)),
        ("route_k_large", lambda: code.route(logits.clone(), logits.shape[1] + 1)),
        ("route_bias_short", lambda: code.route(logits.clone(), 2, zeros(1))),
        ("route_bias_column", lambda: code.route(logits.clone(), 2, zeros(1, logits.shape[1]))),
        ("route_bias_long", lambda: code.route(logits.clone(), 2, zeros(logits.shape[1] + 1))),
        ("forward_k0", lambda: forward(0)),
        ("forward_k_large", lambda: forward(e + 1)),
        ("forward_factor0", lambda: forward(capacity_factor=0.0)),
        ("forward_factor_negative", lambda: forward(capacity_factor=-1.0)),
        ("forward_bias", lambda: forward(bias=zeros(1))),
        ("forward_bias_rows", lambda: forward(bias=zeros(len(x), e))),
        ("mask_negative", lambda: code.keep_mask(chosen, 3, -1)),
    ):
        record.raises(name, call)
    for name, more in (("empty", {}), ("empty_capacity", {"capacity_factor": 1.25})):
        with record.step(name):
            experts = [Expert(w, b) for w, b in zip(case["w"], case["b"], strict=True)]
            record("out", code.moe_forward(zeros(0, d), router.clone(), experts, 2, **more))
