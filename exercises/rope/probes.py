import torch


def inputs(draw):
    angles = []
    for head_dim, base in (
        (2, 10000.0),
        (6, 10000.0),
        (draw.choice([10, 14]), draw.uniform(300.0, 900.0)),
        (12, 5e5),
        (4, 1.0),
    ):
        shape = draw.choice([(5,), (3, 4), (2, 3, 2)])
        angles.append({"head_dim": head_dim, "base": base, "positions": draw.integers(0, 100, *shape)})
    angles.append({"head_dim": 6, "base": 10000.0, "positions": torch.tensor(draw.integer(3, 90))})
    cases = []
    # In the second case B = H, in the third H = T: a wrong broadcast fits there.
    for batch, heads, length, head_dim, base in (
        (2, 3, 5, draw.choice([6, 10]), 10000.0),
        (3, 3, 4, 6, draw.uniform(20.0, 90.0)),
        (2, 4, 4, draw.choice([8, 12]), draw.uniform(300.0, 900.0)),
        (1, 2, 7, 2, 10000.0),
    ):
        cases.append(
            {
                "base": base,
                "x": draw.normal(batch, heads, length, head_dim),
                "key": draw.normal(batch, heads, length, head_dim, scale=0.7),
                "positions": torch.arange(length),
                "shuffled": torch.tensor(draw.sample(range(40), length - 1) + [0])[draw.permutation(length)],
                "own": draw.integers(0, 60, batch, length),
                "shift": draw.integer(200, 900),
                "start": draw.integer(1000, 3000),
                "grad": draw.normal(batch, heads, length, head_dim),
            }
        )
        # Left padding: the second sample begins later; and a repeated position.
        cases[-1]["own"][-1] = (torch.arange(length) - draw.integer(1, 2)).clamp(min=0)
    weights = []
    for heads, head_dim, d_in in ((3, 6, 7), (2, 10, 5), (1, 4, 9), (4, 2, 6)):
        weights.append(
            {
                "heads": heads,
                "query": draw.normal(heads * head_dim, d_in, scale=0.5),
                "key": draw.normal(heads * head_dim, d_in, scale=0.5),
                "bias": draw.normal(heads * head_dim),
                "x": draw.normal(2, 5, d_in),
            }
        )
    far = sorted({draw.integer(0, 131071) for _ in range(10)} | {131071, 100000, 100001, 65537, 4097})
    return {
        "angles": angles,
        "cases": cases,
        "weights": weights,
        "far": {
            "positions": torch.tensor(far),
            "x": draw.normal(2, 2, len(far), 8),
            "base": draw.choice([1e4, 5e5]),
        },
    }


def probe_angles(code, given, record):
    for i, case in enumerate(given["angles"]):
        with record.step(i):
            cos, sin = code.rope_angles(case["positions"].clone(), case["head_dim"], case["base"])
            record("cos", cos)
            record("sin", sin)
            with record.step("default"):
                cos, sin = code.rope_angles(case["positions"].clone(), case["head_dim"])
                record("cos", cos)
                record("sin", sin)


def probe_rotate(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            x, base = case["x"], case["base"]
            for name in ("positions", "shuffled", "own"):
                with record.step(name):
                    record("half", code.apply_rope(x.clone(), case[name].clone(), base))
                    record("neighbours", code.apply_rope(x.clone(), case[name].clone(), base, True))
            with record.step("keyword"):
                out = code.apply_rope(
                    x=x.clone(), positions=case["shuffled"].clone(), base=base, interleaved=True
                )
                record("neighbours", out)
            with record.step("default"):
                record("half", code.apply_rope(x.clone(), case["shuffled"].clone()))
            with record.step("zero"):
                zeros = torch.zeros_like(case["positions"])
                record("half", code.apply_rope(x.clone(), zeros, base))
                record("neighbours", code.apply_rope(x.clone(), zeros, base, interleaved=True))
            with record.step("int32"):
                record("half", code.apply_rope(x.clone(), case["own"].int(), base))


def probe_relative(code, given, record):
    for i, case in enumerate(given["cases"]):
        for name, interleaved in (("half", False), ("neighbours", True)):
            with record.step(f"{i}{name}"):
                for step, shift in (("here", 0), ("shifted", case["shift"])):
                    positions = case["shuffled"] + shift
                    q = code.apply_rope(case["x"].clone(), positions.clone(), case["base"], interleaved)
                    k = code.apply_rope(case["key"].clone(), positions.clone(), case["base"], interleaved)
                    record(f"{step}_q", q)
                    record(f"{step}_k", k)


def probe_single(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            positions = case["positions"] + case["start"]
            record("whole", code.apply_rope(case["x"].clone(), positions.clone(), case["base"]))
            for t in range(len(positions)):
                with record.step(t):
                    one = case["x"][:, :, t : t + 1].clone()
                    record("out", code.apply_rope(one, positions[t : t + 1].clone(), case["base"]))
    far = given["far"]
    for t, position in enumerate(far["positions"].tolist()):
        with record.step(f"far{t}"):
            one = far["x"][:, :, t : t + 1].clone()
            position = torch.tensor([position], device=record.device)
            record("out", code.apply_rope(one, position, far["base"]))


def probe_convert(code, given, record):
    for i, case in enumerate(given["weights"]):
        with record.step(i):
            for name in ("query", "key", "bias"):
                with record.step(name):
                    weight = case[name].clone()
                    result = code.to_half_split(weight, case["heads"])
                    record("out", result)
                    record("given", weight)
                    with torch.no_grad():
                        weight.fill_(7.0)
                    record("later", result)


def probe_gradient(code, given, record):
    for i, case in enumerate(given["cases"]):
        for name, interleaved in (("half", False), ("neighbours", True)):
            with record.step(f"{i}{name}"):
                x = case["x"].clone().requires_grad_()
                code.apply_rope(x, case["own"].clone(), case["base"], interleaved).backward(case["grad"])
                record("x", x.grad)


def probe_dtypes(code, given, record):
    far = given["far"]
    for name in ("float32", "bfloat16", "float16"):
        dtype = getattr(torch, name)
        for kind, interleaved in (("half", False), ("neighbours", True)):
            with record.step(f"{name}/{kind}"):
                x = far["x"].to(dtype, copy=True)
                record("out", code.apply_rope(x, far["positions"].clone(), far["base"], interleaved))
    with record.step("float64"):
        case = given["cases"][0]
        record("out", code.apply_rope(case["x"].double(), case["positions"].clone(), case["base"]))


def probe_errors(code, given, record):
    positions = torch.arange(4, device=record.device)
    x = torch.ones(2, 3, 4, 6, device=record.device)
    weight = torch.ones(12, 5, device=record.device)
    for name, size in (("odd", 5), ("one", 1), ("zero", 0), ("negative", -2)):
        record.raises(f"head_dim {name}", lambda size=size: code.rope_angles(positions, size) and None)
    record.raises("odd x", lambda: code.apply_rope(x[..., :5].clone(), positions))
    record.raises("empty x", lambda: code.apply_rope(x[..., :0].clone(), positions))
    for name, base in (("zero", 0.0), ("negative", -10000.0)):
        record.raises(f"base {name}", lambda base=base: code.rope_angles(positions, 6, base) and None)
        record.raises(f"rope base {name}", lambda base=base: code.apply_rope(x, positions, base))
    record.raises("float angles", lambda: code.rope_angles(positions.float(), 6) and None)
    record.raises("half angles", lambda: code.rope_angles(positions.bfloat16(), 6) and None)
    record.raises("float positions", lambda: code.apply_rope(x, positions.float()))
    shapes = {
        "shorter": positions[:3],
        "longer": torch.arange(5, device=record.device),
        "one for all": positions[:1],
        "other batch": positions.expand(3, 4).clone(),
        "transposed": positions[:, None].expand(4, 2).clone(),
        "scalar": positions[2],
        "with heads": positions.expand(2, 3, 4).clone(),
        "column": positions[:, None].clone(),
        "row for all": positions[None].clone(),
    }
    for name, value in shapes.items():
        record.raises(f"positions {name}", lambda value=value: code.apply_rope(x, value))
    for name, heads in (("5 heads", 5), ("12 heads", 12), ("4 heads", 4), ("0 heads", 0), ("-2 heads", -2)):
        record.raises(f"weight {name}", lambda heads=heads: code.to_half_split(weight, heads))


def probe_caller(code, given, record):
    case = given["cases"][0]
    for name, interleaved in (("half", False), ("neighbours", True)):
        with record.step(name), torch.no_grad():
            x, positions = case["x"].clone(), case["own"].clone()
            code.apply_rope(x, positions, case["base"], interleaved)
            record("x", x)
            record("positions", positions)
    with record.step("angles"):
        positions = case["own"].clone()
        code.rope_angles(positions, 6, 50.0)
        record("positions", positions)
    for i, case in enumerate(given["cases"]):
        for name, interleaved in (("half", False), ("neighbours", True)):
            with record.step(f"{i}view{name}"):
                view = case["x"].transpose(1, 2).contiguous().transpose(1, 2)
                record("out", code.apply_rope(view, case["own"].clone(), case["base"], interleaved))
