import torch
from torch import nn


def inputs(draw):
    cases = []
    for rank, dtype in ((1, torch.float64), (2, torch.float64), (3, torch.float64), (1, torch.float32)):
        a, b, c = draw.sizes(3, 5, 11)
        shape = (a, b, c)[:rank]
        lead = draw.sizes(2, 3, 6)
        cases.append(
            {
                "shape": list(shape),
                "as_int": rank == 1 and dtype == torch.float64,
                "eps": draw.uniform(0.05, 0.15),
                "weight": draw.rand(*shape, low=0.5, high=2.0, dtype=dtype),
                "bias": draw.normal(*shape, dtype=dtype),
                "x": [
                    draw.normal(*front, *shape, scale=1.5, shift=2.0, dtype=dtype)
                    for front in ((), (lead[0],), tuple(lead), (2, *lead), (1,))
                ],
                "up": draw.normal(*lead, *shape, dtype=dtype),
            }
        )
    d, rows = draw.integer(9, 13), 6
    flat = draw.normal(rows, d, dtype=torch.float64)
    flat = (flat - flat.mean(1, keepdim=True)) / flat.std(1, keepdim=True)
    spread = draw.rand(rows, 1, low=2e-3, high=5e-3, dtype=torch.float64)
    spread[0], spread[-1] = 2e-3, 5e-3  # variances on both sides of the default eps
    width = draw.integer(21, 27)
    return {
        "cases": cases,
        "flat": {
            "layer": flat * spread + 0.3,
            "rms": flat * draw.rand(rows, 1, low=5e-4, high=2e-3, dtype=torch.float64),
            "wide": flat * draw.rand(rows, 1, low=0.1, high=0.4, dtype=torch.float64) - 1.0,
            "eps": draw.uniform(0.05, 0.15),
        },
        "half": {
            "weight": draw.rand(width, low=0.5, high=2.0),
            "bias": draw.normal(width),
            "float16": draw.normal(12, width, scale=1000.0, dtype=torch.float16),
            "bfloat16": draw.normal(12, width, scale=4.0, shift=200.0, dtype=torch.bfloat16),
            "small": draw.normal(12, width, scale=2.0, dtype=torch.float16),
        },
        "offset": draw.normal(7, 61, shift=10000.0),
        "mixed": torch.cat(
            [draw.normal(1, 61), draw.normal(3, 61, shift=10000.0), draw.normal(3, 61, shift=-10000.0)]
        ),
    }


def shape_of(case):
    return case["shape"][0] if case["as_int"] else tuple(case["shape"])


def fill(layer, weight, bias=None):
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias)
    return layer


def make(code, case, device, **options):
    return code.LayerNorm(shape_of(case), **options).to(device=device, dtype=case["weight"].dtype)


def probe_layer(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            layer = make(code, case, record.device)
            for k, x in enumerate(case["x"]):
                with record.step(k):
                    record("out", layer(x))
                    record("x", x)
            with record.step("filled"):
                layer = fill(make(code, case, record.device, eps=case["eps"]), case["weight"], case["bias"])
                record("out", layer(case["x"][2]))
                record("x", case["x"][2])
            with record.step("plain"):
                layer = make(code, case, record.device, eps=case["eps"], affine=False)
                record("out", layer(case["x"][3]))
                record("x", case["x"][3])
            with record.step("strided"):
                layer = make(code, case, record.device)
                wide = torch.stack([case["x"][2], case["x"][2] + 1.0], dim=-1)
                record("out", layer(wide[..., 0]))
                turned = case["x"][2].transpose(0, -1).contiguous().transpose(0, -1)
                record("turned", layer(turned))


def probe_batch(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            x = case["x"][2]
            layer = make(code, case, record.device)
            layer(case["x"][3] * 5.0 + 9.0)
            with record.step("modes"):
                record("train", [layer.train()(x), layer(x)])
                record("eval", layer.eval()(x))
                record("later", layer(case["x"][1] * 3.0 - 4.0))
            with record.step("alone"):
                layer.train()
                record("outs", [layer(row) for row in x])


def probe_eps(code, given, record):
    flat = given["flat"]
    d = flat["layer"].shape[1]

    def double(layer):
        return layer.to(device=record.device, dtype=torch.float64)

    with record.step("layer"):
        record("default", double(code.LayerNorm(d))(flat["layer"]))
        record("given", double(code.LayerNorm(d, flat["eps"]))(flat["wide"]))
        record("fine", double(code.LayerNorm(d, 1e-9))(flat["layer"]))
        record("none", double(code.LayerNorm(d, 0.0))(flat["layer"]))
        record("constant", double(code.LayerNorm(d))(torch.full_like(flat["wide"], 2.0)))
        record("wider", code.LayerNorm(d).to(record.device)(flat["wide"]))
    with record.step("rms"):
        record("fine", double(code.RMSNorm(d, 1e-9))(flat["rms"]))
        record("none", double(code.RMSNorm(d, 0.0))(flat["rms"]))
        record("constant", double(code.RMSNorm(d))(torch.zeros_like(flat["wide"])))
        record("wider", code.RMSNorm(d).to(record.device)(flat["wide"]))
        record("default", double(code.RMSNorm(d))(flat["rms"]))
        record("given", double(code.RMSNorm(d, flat["eps"]))(flat["wide"]))


def probe_state(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            layer = make(code, case, record.device)
            record("weight", layer.weight)
            record("bias", layer.bias)
            record("names", sorted(name for name, p in layer.named_parameters() if p.requires_grad))
            with record.step("plain"):
                plain = make(code, case, record.device, affine=False)
                record("weight", plain.weight)
                record("bias", plain.bias)
                record("count", len(list(plain.parameters())))
            ours = make(code, case, record.device)
            theirs = nn.LayerNorm(tuple(case["shape"])).to(record.device, case["weight"].dtype)
            with record.step("from_torch"):
                fill(theirs, case["weight"], case["bias"])
                ours.load_state_dict(theirs.state_dict())
                record("out", ours(case["x"][1]))
                ours.eval()(case["x"][1])
                record("later", fill(ours, case["weight"] + 0.5, case["bias"] - 1.0)(case["x"][1]))
            with record.step("to_torch"):
                ours = fill(make(code, case, record.device), case["weight"], case["bias"])
                fresh = nn.LayerNorm(tuple(case["shape"])).to(record.device, case["weight"].dtype)
                fresh.load_state_dict(ours.state_dict())
                record("weight", fresh.weight)
                record("bias", fresh.bias)
            with record.step("plain_state"):
                theirs = nn.LayerNorm(tuple(case["shape"]), elementwise_affine=False)
                theirs.load_state_dict(plain.state_dict())
                plain.load_state_dict(theirs.state_dict())
                record("done", True)


def probe_rms(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            d, dtype = case["shape"][-1], case["weight"].dtype
            weight = case["weight"].reshape(-1, d)[0]
            layer = code.RMSNorm(d).to(device=record.device, dtype=dtype)
            record("weight", layer.weight)
            record("names", sorted(name for name, p in layer.named_parameters() if p.requires_grad))
            record("all", sorted(name for name, _ in layer.named_parameters()))
            for k, x in enumerate(case["x"]):
                with record.step(k):
                    record("out", layer(x))
                    record("x", x)
            with record.step("filled"):
                layer = fill(code.RMSNorm(d, eps=case["eps"]).to(device=record.device, dtype=dtype), weight)
                record("out", layer(case["x"][2]))
            with record.step("modes"):
                record("eval", layer.eval()(case["x"][2]))
                record("later", fill(layer, weight + 0.5)(case["x"][2]))


def probe_gradient(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            x = case["x"][2].clone().requires_grad_()
            layer = fill(make(code, case, record.device, eps=case["eps"]), case["weight"], case["bias"])
            layer(x).backward(case["up"])
            record("x", x.grad)
            record("weight", layer.weight.grad)
            record("bias", layer.bias.grad)
            x = case["x"][2].clone().requires_grad_()
            layer.eval()(x).backward(case["up"])
            record("x_eval", x.grad)
        with record.step(f"plain{i}"):
            x = case["x"][2].clone().requires_grad_()
            make(code, case, record.device, eps=case["eps"], affine=False)(x).backward(case["up"])
            record("x", x.grad)
        with record.step(f"rms{i}"):
            x = case["x"][2].clone().requires_grad_()
            d, dtype = case["shape"][-1], case["weight"].dtype
            layer = code.RMSNorm(d, eps=case["eps"]).to(device=record.device, dtype=dtype)
            fill(layer, case["weight"].reshape(-1, d)[0])
            layer(x).backward(case["up"])
            record("x", x.grad)
            record("weight", layer.weight.grad)
            x = case["x"][2].clone().requires_grad_()
            layer.eval()(x).backward(case["up"])
            record("x_eval", x.grad)


def probe_half(code, given, record):
    half = given["half"]
    width = half["weight"].shape[0]
    for name in ("float16", "bfloat16", "small"):
        x = half[name]
        for kind, dtype in (("wide", torch.float32), ("same", x.dtype)):
            with record.step(f"layer_{name}_{kind}"):
                layer = code.LayerNorm(width).to(device=record.device, dtype=dtype)
                record("out", fill(layer, half["weight"], half["bias"])(x))
                record("x", x)
            with record.step(f"rms_{name}_{kind}"):
                layer = code.RMSNorm(width).to(device=record.device, dtype=dtype)
                record("out", fill(layer, half["weight"])(x))
                record("x", x)
        with record.step(f"gradient_{name}"):
            for kind, make_one in (("layer", code.LayerNorm), ("rms", code.RMSNorm)):
                with record.step(kind):
                    layer = make_one(width).to(record.device)
                    layer(x).sum(dtype=torch.float32).backward()
                    record("weight", layer.weight.grad)
        with record.step(f"plain_{name}"):
            record("out", code.LayerNorm(width, affine=False).to(record.device)(x))


def probe_offset(code, given, record):
    x = given["offset"]
    layer = code.LayerNorm(x.shape[-1]).to(record.device)
    record("out", layer(x))
    record("mixed", layer(given["mixed"]))


def probe_errors(code, given, record):
    def layer(shape, *size, affine=True):
        return code.LayerNorm(shape, affine=affine).to(record.device)(torch.ones(*size, device=record.device))

    def rms(dim, *size):
        return code.RMSNorm(dim).to(record.device)(torch.ones(*size, device=record.device))

    record.raises("other", lambda: layer(5, 3, 6))
    record.raises("one", lambda: layer(5, 3, 1))
    record.raises("leading", lambda: layer(5, 5, 3))
    record.raises("tuple_order", lambda: layer((3, 5), 2, 5, 3))
    record.raises("tuple_one", lambda: layer((3, 5), 2, 1, 5))
    record.raises("tuple_first", lambda: layer((3, 5), 2, 6, 5))
    record.raises("tuple_short", lambda: layer((3, 5), 5))
    record.raises("to_one", lambda: layer(1, 3, 6))
    record.raises("tuple_to_one", lambda: layer((1, 5), 2, 4, 5))
    record.raises("plain_other", lambda: layer(5, 3, 6, affine=False))
    record.raises("plain_tuple", lambda: layer((3, 5), 2, 5, 3, affine=False))
    record.raises("rms_other", lambda: rms(5, 3, 6))
    record.raises("rms_one", lambda: rms(5, 3, 1))
    record.raises("rms_to_one", lambda: rms(1, 3, 6))
