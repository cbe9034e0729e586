import math

import torch

FORMATS = ("e4m3", "e2m1")
FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def grid(fmt):
    """The values of a format that are not negative, in order. Their indices are even for even mantissas."""
    if fmt == "e2m1":
        return torch.tensor(FP4, dtype=torch.float64)
    small = [i * 2.0**-9 for i in range(8)]
    normal = [(8 + m) / 8 * 2.0**e for e in range(-6, 9) for m in range(8)]
    return torch.tensor([*small, *normal][:-1], dtype=torch.float64)  # without 480, which is NaN


def ties(draw, fmt, blocks):
    """Blocks of values halfway between two values of the format, and right beside these."""
    values = grid(fmt)
    middle = ((values[1:] + values[:-1]) / 2).float()
    up = torch.nextafter(middle, torch.tensor(math.inf))
    down = torch.nextafter(middle, torch.tensor(0.0))
    every = torch.cat([middle, up, down, values.float()])
    need = -(-len(every) // 31)
    rows = torch.zeros(max(blocks, need), 32)
    fill = torch.cat([every[draw.permutation(len(every))] for _ in range(len(rows) * 31 // len(every) + 1)])
    rows[:, 1:] = fill[: len(rows) * 31].reshape(len(rows), 31)
    rows[:, 1:] *= 1 - 2.0 * draw.integers(0, 2, len(rows), 31)
    rows[:, 0] = 256.0 if fmt == "e4m3" else 4.0  # fixes the exponent of the block at 0
    shift = torch.tensor([draw.integer(-30, 30) for _ in rows], dtype=torch.float64)
    return (rows.double() * 2.0 ** shift[:, None]).float()[:, draw.permutation(32)]


def edges(draw):
    """Blocks whose largest magnitude is a power of two or right beside one."""
    rows = []
    for power in (4, draw.integer(-40, -2), draw.integer(5, 60), 0):
        two = torch.tensor(2.0**power)
        below = torch.nextafter(two, torch.tensor(0.0))
        for top in (
            two,
            below,
            torch.nextafter(two, torch.tensor(math.inf)),
            two - two * 2.0**-24,
            two * 1.75,
            two * 1.9,
            two * 1.5,
        ):
            row = draw.rand(32, low=-1.0, high=1.0) * float(two) * 0.9
            row[draw.integer(0, 31)] = top * draw.choice([-1.0, 1.0])
            rows.append(row)
    row = draw.normal(32)
    row[draw.integer(0, 31)] = 16 - 2.0**-20
    return torch.stack([*rows, row])


def extremes(draw):
    """Zeros, tiny and huge values, and blocks of very different sizes beside each other."""
    sizes = [0.0, 1e-44, 1e-40, 2e-38, 1e-30, 1e-12, 1.0, 3e7, 1e30, 3e38, 0.0, 1e-37]
    return torch.stack([draw.rand(32, low=-1.0, high=1.0) * size for size in draw.shuffled(sizes)]).float()


def between_floats(draw):
    """float64 values, of which some become a power of two or a tie of e2m1 only as float32."""
    x = draw.normal(3, 64, scale=2.0, dtype=torch.float64).clamp(-5.0, 5.0)
    x[0, draw.integer(0, 31)] = 16 - 2.0**-40
    x[0, 32:36] = torch.tensor([5.5, 2.5 + 2.0**-30, 0.75 - 2.0**-32, -1.25 - 2.0**-31], dtype=torch.float64)
    return x


def inputs(draw):
    m, n, rows = draw.sizes(3)
    matmul = []
    for k in (32, 96, 160):
        a = draw.normal(m, k) * draw.rand(m, k // 32, low=-6, high=6).exp2().repeat_interleave(32, 1)
        b = draw.normal(n, k) * draw.rand(n, k // 32, low=-6, high=6).exp2().repeat_interleave(32, 1)
        matmul.append({"a": a, "b": b})
    mixed = draw.normal(2, rows, 96) * draw.rand(2, rows, 3, low=-20, high=20).exp2().repeat_interleave(
        32, -1
    )
    values = torch.tensor([*FP4, *(-v for v in FP4)])
    codes = torch.cat([torch.arange(16), draw.integers(0, 16, 8)])[draw.permutation(24)]
    return {
        "plain": [
            edges(draw),
            draw.normal(rows, 64, scale=3.0),
            mixed,
            draw.normal(32),
            draw.normal(1, 3, 2, 32),
        ],
        "ties": {fmt: ties(draw, fmt, 4) for fmt in FORMATS},
        "clamped": {
            fmt: draw.rand(5, 32, low=-1.0, high=1.0) * top * 2.0 ** draw.integer(-9, 9)
            for fmt, top in (("e4m3", 511.0), ("e2m1", 7.9))
        },
        "extremes": extremes(draw),
        "matmul": matmul,
        "packed": [values[codes].reshape(2, 12), values[draw.integers(0, 16, 3, 1, 2)], values[codes]],
        "bytes": [
            torch.arange(256).reshape(4, 64).to(torch.uint8),
            draw.integers(0, 256, 2, 3, 5).to(torch.uint8),
        ],
        "typed": between_floats(draw),
    }


def convert(code, record, x, fmt):
    record("exponents", code.shared_exponents(x, fmt))
    elements, exponents = code.quantize(x, fmt)
    record("elements", elements)
    record("given", exponents)
    record("grad", [elements.requires_grad, exponents.requires_grad])
    back = code.dequantize(elements, exponents)
    record("back", back)
    record("kept", [elements, exponents])
    again, same = code.quantize(back, fmt)
    record("again", [again, same])
    record("after", x)


def probe_quantize(code, given, record):
    for fmt in FORMATS:
        for i, x in enumerate(given["plain"]):
            with record.step(f"{fmt}_plain{i}"):
                convert(code, record, x.clone(), fmt)
        with record.step(f"{fmt}_extremes"):
            convert(code, record, given["extremes"].clone(), fmt)
        for name in ("ties", "clamped"):
            with record.step(f"{fmt}_{name}"):
                convert(code, record, given[name][fmt].clone(), fmt)
    with record.step("default"):
        x = given["plain"][0]
        record("exponents", code.shared_exponents(x.clone()))
        record("elements", list(code.quantize(x.clone())))


def probe_matmul(code, given, record):
    for fmt in FORMATS:
        for i, case in enumerate(given["matmul"]):
            with record.step(f"{fmt}{i}"):
                a, b = case["a"].clone(), case["b"].clone()
                record("out", code.mx_matmul(a, b, fmt))
                record("after", [a, b])
    with record.step("default"):
        record("out", code.mx_matmul(given["matmul"][1]["a"].clone(), given["matmul"][1]["b"].clone()))


def probe_packing(code, given, record):
    for i, values in enumerate(given["packed"]):
        with record.step(f"pack{i}"):
            elements = values.clone()
            packed = code.pack_fp4(elements)
            record("packed", packed)
            record("after", elements)
            record("back", code.unpack_fp4(packed))
    for i, raw in enumerate(given["bytes"]):
        with record.step(f"unpack{i}"):
            packed = raw.clone()
            record("values", code.unpack_fp4(packed))
            record("after", packed)


def probe_types(code, given, record):
    for fmt in FORMATS:
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            with record.step(f"{fmt}_{str(dtype).removeprefix('torch.')}"):
                convert(code, record, given["typed"].to(dtype), fmt)
        with record.step(f"{fmt}_turned"):
            x = given["typed"].float().t().contiguous().t()
            convert(code, record, x, fmt)
        with record.step(f"{fmt}_gaps"):
            wide = torch.zeros(3, 128, device=record.device)
            wide[:, ::2] = given["typed"].float()
            convert(code, record, wide[:, ::2], fmt)
        with record.step(f"{fmt}_graph"):
            convert(code, record, given["typed"].float().requires_grad_(), fmt)
    with record.step("matmul"):
        case = given["matmul"][1]
        a, b = case["a"].to(torch.bfloat16).requires_grad_(), case["b"].t().contiguous().t()
        out = code.mx_matmul(a, b)
        record("out", out)
        record("grad", out.requires_grad)
    with record.step("packing"):
        values = given["packed"][0].t().contiguous().t()
        record("packed", code.pack_fp4(values))
        record("values", code.unpack_fp4(given["bytes"][0].t().contiguous().t()))


def probe_errors(code, given, record):
    def ones(*shape):
        return torch.ones(*shape, device=record.device)

    def spoiled(value):
        x = ones(2, 64)
        x[1, 40] = value
        return x

    for name, function in (("exponents", code.shared_exponents), ("quantize", code.quantize)):
        for what, args in (
            ("inf", (spoiled(math.inf),)),
            ("minus_inf", (spoiled(-math.inf), "e2m1")),
            ("nan", (spoiled(math.nan),)),
            ("format", (ones(2, 32), "e5m2")),
            ("length", (ones(2, 48),)),
            ("short", (ones(2, 16), "e2m1")),
            ("nothing", (ones(2, 0),)),
        ):
            record.raises(f"{name}_{what}", lambda function=function, args=args: function(*args))
    for what, args in (
        ("inf", (spoiled(math.inf), ones(3, 64))),
        ("nan", (ones(3, 64), spoiled(math.nan))),
        ("format", (ones(2, 32), ones(3, 32), "fp4")),
        ("length", (ones(2, 40), ones(3, 40))),
        ("differs", (ones(2, 64), ones(3, 32))),
    ):
        record.raises(f"matmul_{what}", lambda args=args: code.mx_matmul(*args))
    for what, values in (
        ("value", [0.5, 2.5]),
        ("large", [1.0, 8.0]),
        ("nan", [1.0, math.nan]),
        ("odd", [1.0, 2.0, 3.0]),
    ):
        record.raises(
            f"pack_{what}", lambda values=values: code.pack_fp4(torch.tensor(values, device=record.device))
        )
