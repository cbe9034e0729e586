import torch


def weight(draw, *shape, axis, dtype=torch.float32):
    """Channels along `axis` of very different ranges, one of them all negative, one all positive."""
    w = draw.normal(*shape, dtype=torch.float64).movedim(axis, 0).clone()
    count = w.shape[0]
    spread = torch.exp(draw.rand(count, low=-3.0, high=2.0, dtype=torch.float64))
    w = w * spread.view(-1, *[1] * (w.dim() - 1))
    w[0] = -w[0].abs() - 0.1 * spread[0]
    w[-1] = w[-1].abs() + 0.1 * spread[-1]
    return w.movedim(0, axis).to(dtype)


def calibration(draw, kind):
    """Four batches whose smallest and largest values sit in different ones."""
    step = draw.uniform(0.01, 0.05)
    # -min / scale is far from halfway, above it in one case and below it in another.
    zero = draw.integer(70, 180)
    frac = {"below": 0.3, "above": -0.3}.get(kind, 0.25)
    low, high = -(zero + frac) * step, (255 - zero - frac) * step
    if kind == "positive":
        low, high = 255 * step * 0.4, 255 * step
    elif kind == "negative":
        low, high = -255 * step, -255 * step * 0.4
    d1, d2, d3 = draw.sizes(3, 3, 7)
    shapes = draw.shuffled([(d1, d2), (d3,), (2, d1, d3), (d2, 2, 1, d3)])
    batches = [
        draw.rand(
            *shape,
            low=low + (high - low) * draw.uniform(0.25, 0.4),
            high=high - (high - low) * draw.uniform(0.25, 0.4),
        )
        for shape in shapes
    ]
    where = draw.sample(range(4), 2)
    batches[where[0]].view(-1)[draw.integer(0, batches[where[0]].numel() - 1)] = low
    batches[where[1]].view(-1)[draw.integer(0, batches[where[1]].numel() - 1)] = high
    return {"kind": kind, "batches": batches}


def grid(draw, zero_point, dtype=torch.float32):
    """Values at known codes, never near halfway; the first are those at the borders and 0.0 itself."""
    scale = draw.uniform(0.013, 0.03)
    codes = [0, 255, 0, 255, -1, 256, -1, 256, zero_point]
    fracs = [-0.3, 0.3, 0.3, -0.3, 0.3, -0.3, -0.3, 0.3, 0.0]
    count = 96 - len(codes)
    codes = torch.cat([torch.tensor(codes), draw.integers(-160, 420, count)])
    fracs = torch.cat(
        [torch.tensor(fracs, dtype=torch.float64), draw.rand(count, low=-0.4, high=0.4, dtype=torch.float64)]
    )
    x = ((codes - zero_point + fracs) * scale).to(dtype)
    return {
        "scale": scale,
        "zero_point": zero_point,
        "kept": {"codes": codes.view(4, 3, 8)},
        "x": x.view(4, 3, 8),
        "upstream": draw.normal(4, 3, 8, dtype=dtype),
    }


def steps(draw):
    """Values of a channel whose scale is 1: the largest, ties beside even and odd codes, and others."""
    values = [draw.choice([-1, 1]) * (draw.integer(1, 125) + part) for part in (0.4, 0.4, 0.6, 0.6)]
    for sign in (-1, 1):
        even = 2 * draw.integer(1, 61)
        values += [sign * 0.5, sign * (even + 0.5), sign * (even + 1.5), sign * 1.6, sign * 0.6, sign * 0.4]
    return [127.0, *draw.shuffled(values)]


def inputs(draw):
    d = draw.sizes(3, 3, 7)
    shapes = [
        (draw.sizes(2), 0),
        (draw.sizes(2), 1),
        (draw.sizes(2), -1),
        (draw.sizes(2), -2),
        (d, 0),
        (d, 1),
        (d, 2),
        (d, -2),
        ([3, 5, 2, 6], 1),
        ([5, 3, 2, 6], -2),
        ([3, 6, 2, 5], 3),
        ([3, 6, 2, 5], -4),
    ]
    weights = [{"w": weight(draw, *shape, axis=axis), "axis": axis} for shape, axis in shapes]
    weights.append({"w": weight(draw, *d, axis=1, dtype=torch.float64), "axis": 1})
    tiny = draw.normal(5, 9)
    tiny[1] = 0.0
    tiny[3] = draw.normal(9) * 1e-8
    tiny[3, 4] = 2e-8
    return {
        "weights": weights,
        "single": weight(draw, 4, 1, 6, axis=1),
        "vector": draw.normal(7) + draw.choice([-3.0, 3.0]),
        "tiny": tiny,
        "calibration": [
            calibration(draw, kind) for kind in ("below", "above", "below", "above", "positive", "negative")
        ],
        "grids": [
            grid(draw, draw.integer(60, 120)),
            grid(draw, draw.integer(130, 190)),
            grid(draw, 0),
            grid(draw, 255),
            grid(draw, draw.integer(60, 190), torch.float64),
        ],
        "exact_codes": draw.integers(0, 256, 30),
        "steps": steps(draw),
        "even": 2 * draw.integer(1, 40),
    }


def note(record, q, scale, device):
    record("q", q)
    record("scale", scale)
    record("flags", [q.requires_grad, scale.requires_grad])
    record("devices", q.device == device and scale.device == device)


def probe_weights(code, given, record):
    for i, case in enumerate(given["weights"]):
        with record.step(i):
            w = case["w"].clone().requires_grad_(i % 2 == 0)
            if i % 3 == 1:
                w = w.detach().transpose(0, -1).contiguous().transpose(0, -1)
            q, scale = code.quantize_per_channel(w, case["axis"])
            note(record, q, scale, w.device)
            record("after", w)
    with record.step("default"):
        q, scale = code.quantize_per_channel(given["weights"][0]["w"])
        note(record, q, scale, record.device)
    for name in ("vector", "tiny"):
        with record.step(name):
            q, scale = code.quantize_per_channel(given[name], 0)
            note(record, q, scale, record.device)
    with record.step("single"):
        q, scale = code.quantize_per_channel(given["single"], 1)
        note(record, q, scale, record.device)
    with record.step("zeros"):
        q, scale = code.quantize_per_channel(torch.zeros(3, 4, device=record.device))
        note(record, q, scale, record.device)


def probe_rounding(code, given, record):
    steps = given["steps"]
    w = torch.tensor([steps, [-0.25 * value for value in steps]], device=record.device)
    q, scale = code.quantize_per_channel(w)
    record("q", q)
    record("scale", scale)


def calibrate(code, batches, record):
    scale, zero_point = code.calibrate_affine(batches)
    record("types", [isinstance(scale, float), isinstance(zero_point, int)])
    record("kinds", [type(scale).__name__, type(zero_point).__name__])
    record("scale", float(scale))
    record("zero_point", float(zero_point))


def probe_calibration(code, given, record):
    for i, case in enumerate(given["calibration"]):
        with record.step(i):
            calibrate(code, case["batches"], record)
    case = given["calibration"][0]
    with record.step("generator"):
        calibrate(code, (batch for batch in case["batches"]), record)
    with record.step("tuple"):
        calibrate(code, tuple(case["batches"]), record)
    with record.step("one"):
        calibrate(code, [torch.cat([batch.reshape(-1) for batch in case["batches"]])], record)
    with record.step("zeros"):
        calibrate(
            code, [torch.zeros(3, 5, device=record.device), torch.zeros(2, device=record.device)], record
        )
    for name, value in (("constant", 3.0), ("constant_negative", -3.0)):
        with record.step(name):
            calibrate(code, [torch.full((2, 3), value, device=record.device)], record)
    down, up = -(given["even"] + 0.5), -(given["even"] - 0.5)
    for name, low, high in (
        ("tie_down", down, down + 255),
        ("tie_up", up, up + 255),
        ("narrow", -2e-8, 8e-8),
    ):
        with record.step(name):
            calibrate(code, [torch.tensor([low, high / 4, high], device=record.device)], record)
    with record.step("relu"):
        calibrate(code, [torch.tensor([0.0, 1.7, 0.0, 5.1], device=record.device)], record)


def probe_fake(code, given, record):
    for i, case in enumerate(given["grids"]):
        with record.step(i):
            x = case["x"].clone()
            out = code.fake_quantize(x, case["scale"], case["zero_point"])
            record("out", out)
            record("after", x)
            record("again", code.fake_quantize(out.detach().clone(), case["scale"], case["zero_point"]))
            with torch.no_grad():
                record("no_grad", code.fake_quantize(x, case["scale"], case["zero_point"]))
            turned = x.transpose(0, -1).contiguous().transpose(0, -1)
            record("turned", code.fake_quantize(turned, case["scale"], case["zero_point"]))
    with record.step("far"):
        x = torch.tensor([1e5, -1e5, 3e6, -3e6, 1e12, -1e12], device=record.device)
        record("plain", code.fake_quantize(x, 0.02, 100))
        record("trained", code.fake_quantize(x.requires_grad_(), 0.02, 100))
    for name, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        with record.step(name):
            x = ((given["exact_codes"] - 100) * 0.125).to(dtype)
            record("out", code.fake_quantize(x, 0.125, 100))


def probe_gradient(code, given, record):
    for i, case in enumerate(given["grids"]):
        with record.step(i):
            x = case["x"].clone().requires_grad_()
            out = code.fake_quantize(x, case["scale"], case["zero_point"])
            record("attached", out.requires_grad)
            record("out", out)
            out.backward(case["upstream"])
            record("grad", x.grad)
    with record.step("coarse"):  # in the middle of a network, with a step above 1
        leaf = torch.tensor([-300.0, -10.6, 3.2, 7.4, 600.0], device=record.device, requires_grad=True)
        out = code.fake_quantize(leaf * 1.0, 2.0, 100)
        record("out", out)
        (out * torch.tensor([3.0, -1.5, 2.0, 0.5, 4.0], device=record.device)).sum().backward()
        record("grad", leaf.grad)


def probe_errors(code, given, record):
    good = torch.tensor([[0.5, -1.0, 2.0], [0.1, 0.2, 0.3]], device=record.device)
    for name, bad in (("inf", float("inf")), ("minus_inf", -float("inf")), ("nan", float("nan"))):
        spoiled = good.clone()
        spoiled[1, 1] = bad
        record.raises(f"weight_{name}", lambda w=spoiled: code.quantize_per_channel(w))
        record.raises(f"weight_axis_{name}", lambda w=spoiled: code.quantize_per_channel(w, axis=1))
        for position in range(3):
            batches = [good.clone() for _ in range(3)]
            batches[position] = spoiled
            record.raises(f"batch_{name}_{position}", lambda b=batches: code.calibrate_affine(b))
    calls = {
        "no_batches": lambda: code.calibrate_affine([]),
        "empty_generator": lambda: code.calibrate_affine(batch for batch in ()),
        "scale_zero": lambda: code.fake_quantize(good, 0.0, 3),
        "scale_negative": lambda: code.fake_quantize(good, -0.1, 3),
        "zero_point_low": lambda: code.fake_quantize(good, 0.1, -1),
        "zero_point_high": lambda: code.fake_quantize(good, 0.1, 256),
    }
    for name, call in calls.items():
        record.raises(name, call)
    with record.step("limits"):
        record("out", [code.fake_quantize(good, 0.1, 0), code.fake_quantize(good, 0.1, 255)])
    # Finite, though the sum of so many is not.
    huge = torch.linspace(-2e35, 2e36, 900, device=record.device).view(3, 300)
    with record.step("huge_weight"):
        record("shape", list(code.quantize_per_channel(huge)[0].shape))
    with record.step("huge_batch"):
        record("scale", float(code.calibrate_affine([huge])[0]))
