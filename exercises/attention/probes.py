import math

import torch

PROJECTIONS = ("q", "k", "v", "o")


def layer(draw, batch, length, heads, head_dim, kv=None, *, query=1.4, key=1.2, dtype=torch.float32):
    """Weights for scores of about `query` times `key`, and outputs of about 1."""
    width, kv = heads * head_dim, kv or heads

    def weight(rows, columns, scale):
        return draw.normal(rows, columns, scale=scale / math.sqrt(columns), dtype=dtype)

    return {
        "heads": heads,
        "kv": kv,
        "q": weight(width, width, query),
        "k": weight(kv * head_dim, width, key),
        "v": weight(kv * head_dim, width, 1.2),
        "o": weight(width, width, 1.2),
        "x": draw.normal(batch, length, width, dtype=dtype),
        "up": draw.normal(batch, length, width, dtype=dtype),
    }


def negative(draw, width):
    """A layer with one head whose scores are all below -15,000, and other tokens for it."""
    case = layer(draw, 2, 6, 1, width)
    case["k"] = -case["q"]
    low = 0.0
    while low < 0.1:  # tokens that all point the same way, so that no score is near 0
        common = draw.normal(width)
        x, other = (common + draw.normal(2, 6, width, scale=0.05) for _ in range(2))
        rows = torch.cat([x, other], 1) @ case["q"].T
        low = float((rows @ rows.transpose(1, 2)).min()) / math.sqrt(width)
    scale = math.sqrt(15_000 / low)
    case["x"], case["other"] = x * scale, other * scale
    case["v"] = case["v"] / scale
    return case


def padding(draw, length):
    """Rows with padding left, right, left and in between, in between, everywhere, and nowhere."""
    rows = torch.zeros(6, length, dtype=torch.bool)
    rows[0, : draw.integer(2, length - 3)] = True
    rows[1, draw.integer(3, length - 2) :] = True
    rows[2, [0, draw.integer(2, 3), length - 2]] = True
    rows[3, [draw.integer(1, 2), 4, length - 1]] = True
    rows[4] = True
    order = draw.permutation(6)
    # A first row without padding would make "the mask of the first row" look like "no mask".
    return rows[order.flip(0) if order[0] == 5 else order]


def padded(draw, heads, head_dim, kv=None):
    length = draw.choice([7, 9, 10])
    case = layer(draw, 6, length, heads, head_dim, kv)
    case["pad"] = padding(draw, length)
    # At padding, other values: no real token may see them.
    case["other"] = torch.where(case["pad"][..., None], case["x"] * -30.0, case["x"])
    return case


def inputs(draw):
    heads = draw.sample([2, 3, 5, 6], 3)
    dims = draw.sample([3, 5, 6, 7], 3)
    lengths = draw.sample([4, 6, 8, 9, 11], 3)
    cases = [
        layer(draw, batch, t, h, d) for batch, t, h, d in zip((3, 2, 1), lengths, heads, dims, strict=True)
    ]
    grouped = [
        layer(draw, 2, draw.choice([5, 7]), h, draw.choice([3, 5]), kv)
        for h, kv in ((6, 2), (6, 3), (draw.choice([3, 5]), 1), (draw.choice([4, 8]), 2))
    ]
    causal = layer(draw, 2, draw.choice([6, 7, 9]), draw.choice([2, 3]), 5)
    causal["other"] = draw.normal(*causal["x"].shape)
    causal["far"] = draw.normal(*causal["x"].shape, scale=80.0)
    batch = layer(draw, 3, draw.choice([5, 7]), draw.choice([2, 3]), 5)
    batch["other"] = draw.normal(*batch["x"].shape, scale=9.0)
    # Longer and shorter, more samples and fewer, in changing order.
    shapes = [(2, 3), *draw.shuffled([(1, 1), (4, 6), (1, 13), (5, 1), (3, draw.integer(14, 19))]), (3, 5)]
    width = batch["x"].shape[-1]
    long = layer(draw, 1, draw.integer(2050, 2090), 1, 2)
    wide = [
        layer(draw, 2, 5, 3, 5, dtype=torch.float64),
        {**padded(draw, 4, 3, 2)},
    ]
    wide[1] = {
        n: t.double() if torch.is_tensor(t) and t.is_floating_point() else t for n, t in wide[1].items()
    }
    return {
        "cases": cases,
        "single": layer(draw, 1, 1, draw.choice([2, 3]), 5),
        "causal": causal,
        "cuts": [0, draw.integer(1, 2), 4],
        "negative": negative(draw, draw.choice([3, 5])),
        "batch": batch,
        "shapes": [draw.normal(*shape, width) for shape in shapes],
        "long": long,
        "padded": [padded(draw, draw.choice([2, 3]), 5), padded(draw, 1, draw.choice([3, 6]))],
        "nobody": layer(draw, 2, 4, 2, 3),
        "lone": {
            **layer(draw, 4, 1, 2, 3),
            "pad": torch.tensor([[True], [True], [False], [False]])[draw.permutation(4)],
        },
        "grouped": grouped,
        "grouped_padded": [padded(draw, 6, 3, 2), padded(draw, 3, 5, 1)],
        "wide": wide,
        "half": [layer(draw, 2, 5, 2, 6), padded(draw, 4, 3, 2)],
        "steep": [layer(draw, 2, 6, 2, 5, query=100.0, key=100.0), negative(draw, 3)],
        "strided": padded(draw, 2, 5),
    }


def build(code, case, dtype=None):
    """The user's module with the weights of the case."""
    width = case["q"].shape[1]
    if case["kv"] == case["heads"]:
        module = code.CausalSelfAttention(width, case["heads"])
    else:
        module = code.CausalSelfAttention(width, case["heads"], case["kv"])
    module = module.to(case["q"].device).to(dtype or case["q"].dtype)
    with torch.no_grad():
        for name in PROJECTIONS:
            getattr(module, f"{name}_proj").weight.copy_(case[name])
    return module


def gradients(module, case, record, *masks):
    """Record the gradients to x and to the four weights."""
    x = case["x"].clone().requires_grad_()
    out = module(x, *masks)
    record("out", out)
    if out.requires_grad:  # zeros for a batch of padding alone may be constants
        (out * case["up"]).sum().backward()
    record("x", x.grad)
    for name in PROJECTIONS:
        record(name, getattr(module, f"{name}_proj").weight.grad)


def probe_formula(code, given, record):
    for i, case in enumerate([*given["cases"], given["single"]]):
        with record.step(i):
            record("out", build(code, case)(case["x"].clone()))


def probe_causal(code, given, record):
    case = given["causal"]
    with record.step("same"):
        module = build(code, case)
        record("out", module(case["x"].clone()))
        for cut in given["cuts"]:
            for name in ("other", "far"):
                x = case["x"].clone()
                x[:, cut + 1 :] = case[name][:, cut + 1 :]
                record(f"{name}{cut}", module(x))
    with record.step("gradient"):
        module = build(code, case)
        x = case["x"].clone().requires_grad_()
        out = module(x) * case["up"]
        for cut in given["cuts"]:
            (grad,) = torch.autograd.grad(out[:, : cut + 1].sum(), x, retain_graph=True)
            record(f"x{cut}", grad)
    case = given["negative"]
    with record.step("negative"):
        module = build(code, case)
        record("out", module(case["x"].clone()))
        for cut in given["cuts"]:
            x = case["x"].clone()
            x[:, cut + 1 :] = case["other"][:, cut + 1 :]
            record(f"other{cut}", module(x))


def probe_shapes(code, given, record):
    with record.step("one_module"):
        module = build(code, given["batch"])
        for i, x in enumerate(given["shapes"]):
            record(i, module(x.clone()))
    for i, x in enumerate(given["shapes"]):
        with record.step(f"alone{i}"):
            record("out", build(code, given["batch"])(x.clone()))
    with record.step("samples"):
        case = given["batch"]
        module = build(code, case)
        record("out", module(case["x"].clone()))
        for sample in range(3):
            x = case["other"].clone()
            x[sample] = case["x"][sample]
            record(f"other{sample}", module(x))


def probe_long(code, given, record):
    case = given["long"]
    with torch.no_grad():
        record("out", build(code, case)(case["x"].clone()))


def probe_gradients(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            gradients(build(code, case), case, record)
        with record.step(f"eval{i}"):
            gradients(build(code, case).eval(), case, record)
    for i, case in enumerate(given["cases"]):
        with record.step(f"modes{i}"):
            module = build(code, case)
            module.train()
            record("train", module(case["x"].clone()))
            record("again", module(case["x"].clone()))
            module.eval()
            record("eval", module(case["x"].clone()))


def probe_padding(code, given, record):
    for i, case in enumerate(given["padded"]):
        with record.step(i):
            module = build(code, case)
            record("out", module(case["x"].clone(), case["pad"].clone()))
            record("other", module(case["other"].clone(), case["pad"].clone()))
        with record.step(f"alone{i}"):
            module = build(code, case)
            outs = [module(case["x"][j : j + 1].clone(), case["pad"][j : j + 1].clone()) for j in range(6)]
            record("out", torch.cat(outs))
        with record.step(f"gradient{i}"):
            gradients(build(code, case), case, record, case["pad"].clone())
        with record.step(f"none{i}"):
            module = build(code, case)
            record("out", module(case["x"].clone(), torch.zeros_like(case["pad"])))
            record("without", module(case["x"].clone(), None))
    with record.step("lone"):
        case = given["lone"]
        gradients(build(code, case), case, record, case["pad"].clone())
    with record.step("nobody"):
        case = given["nobody"]
        everything = torch.ones(case["x"].shape[:2], dtype=torch.bool, device=record.device)
        gradients(build(code, case), case, record, everything)


def probe_parameters(code, given, record):
    for i, case in enumerate([given["cases"][0], *given["grouped"]]):
        with record.step(i):
            module = build(code, case)
            record("shapes", {name: list(p.shape) for name, p in module.named_parameters()})
            record("state", sorted(module.state_dict()))
        with record.step(f"used{i}"):
            module = build(code, case)
            module(case["x"].clone())
            record("shapes", {name: list(p.shape) for name, p in module.named_parameters()})
            record("state", sorted(module.state_dict()))


def probe_grouped(code, given, record):
    for i, case in enumerate(given["grouped"]):
        with record.step(i):
            gradients(build(code, case), case, record)
    for i, case in enumerate(given["grouped_padded"]):
        with record.step(f"padded{i}"):
            gradients(build(code, case), case, record, case["pad"].clone())
    with record.step("explicit"):
        case = given["cases"][0]
        module = code.CausalSelfAttention(case["q"].shape[1], case["heads"], n_kv_heads=case["heads"])
        module = module.to(record.device)
        with torch.no_grad():
            for name in PROJECTIONS:
                getattr(module, f"{name}_proj").weight.copy_(case[name])
        record("out", module(case["x"].clone()))


def probe_errors(code, given, record):
    sizes = {
        "d_model_zero": (0, 1),
        "d_model_negative": (-4, 2),
        "heads_zero": (6, 0),
        "heads_negative": (6, -2),
        "kv_zero": (6, 3, 0),
        "kv_negative": (6, 3, -3),
        "indivisible": (10, 3),
        "too_many_heads": (3, 6),
        "kv_indivisible": (12, 6, 4),
        "kv_more": (12, 3, 6),
    }
    for name, arguments in sizes.items():

        def construct(arguments=arguments):
            code.CausalSelfAttention(*arguments)

        record.raises(name, construct)
    case = given["padded"][0]
    x, pad = case["x"], case["pad"]
    masks = {
        "int": pad.long(),
        "byte": pad.to(torch.uint8),
        "float": pad.float(),
        "long": torch.cat([pad, pad[:, :1]], 1),
        "short": pad[:, :-1],
        "rows": pad[:-1],
        "row": pad[:1],
        "flat": pad[0],
        "column": pad[:, :1],
        "turned": pad.t().contiguous(),
        "four": pad[:, None, None, :],
    }
    for name, mask in masks.items():
        record.raises(f"mask_{name}", lambda mask=mask: build(code, case)(x.clone(), mask.clone()))


def probe_dtypes(code, given, record):
    for name, dtype in (("wide", torch.float64), ("half", torch.bfloat16)):
        for i, case in enumerate(given[name]):
            with record.step(f"{name}{i}"):
                module = build(code, case, dtype)
                masks = (case["pad"].clone(),) if "pad" in case else ()
                record("out", module(case["x"].to(dtype), *masks))
    for i, case in enumerate(given["steep"]):
        with record.step(f"steep{i}"):
            record("out", build(code, case)(case["x"].clone()))


def probe_strided(code, given, record):
    case = given["strided"]
    x, pad = case["x"], case["pad"]
    with record.step("same"):
        inputs_, mask = x.clone(), pad.clone()
        module = build(code, case)
        with torch.no_grad():
            module(inputs_, mask)
            module(inputs_)
        record("x", inputs_)
        record("pad", mask)
    views = {
        "transposed": (x.transpose(0, 1).contiguous().transpose(0, 1), pad.t().contiguous().t()),
        "features": (x.transpose(1, 2).contiguous().transpose(1, 2), pad.clone()),
        "sliced": (
            torch.stack([x, -x], -1).flatten(2)[..., ::2],
            torch.stack([pad, ~pad], -1).flatten(1)[:, ::2],
        ),
        "expanded": (x[:1].clone().expand(6, -1, -1), pad[:1].clone().expand(6, -1)),
    }
    for name, (inputs_, mask) in views.items():
        with record.step(name):
            record("out", build(code, case)(inputs_, mask))
        with record.step(f"{name}_plain"):
            record("out", build(code, case)(inputs_))
