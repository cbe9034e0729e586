import math

FORMATS = [(5, 10), (8, 7), (8, 23), (5, 2), (4, 3)]
NAN, INF = math.nan, math.inf


def value_of(pattern, exp_bits, man_bits):
    """The value of a non-negative finite pattern."""
    exponent, mantissa = divmod(pattern, 2**man_bits)
    bias = 2 ** (exp_bits - 1) - 1
    if exponent == 0:
        return math.ldexp(mantissa, 1 - bias - man_bits)
    return math.ldexp(2**man_bits + mantissa, exponent - bias - man_bits)


def inputs(draw):
    formats = [
        *FORMATS,
        (2, 1),
        (draw.integer(3, 7), draw.integer(4, 9)),
        (draw.integer(2, 4), draw.integer(11, 22)),
    ]
    cases = []
    for exp_bits, man_bits in formats:
        half = 2**man_bits * (2**exp_bits - 1)  # patterns of finite values without their sign
        top = 1 << (exp_bits + man_bits)
        lowest, few = 2**man_bits, 12
        normal = [draw.integer(lowest, half - 1) for _ in range(few)] + [
            lowest,
            half - 1,
            half - 2,
            half // 2,
        ]
        small = [draw.integer(1, lowest - 1) for _ in range(few)] + [1, lowest - 1]
        nans = [half + draw.integer(1, lowest - 1) for _ in range(3)] + [half + 1, half + lowest - 1]
        if top <= 256:
            normal, small = list(range(lowest, half)), list(range(1, lowest))
            nans = list(range(half + 1, top))
        both = {
            "normal": normal + [top + p for p in normal],
            "small": small + [top + p for p in small],
            "zero": [0, top],
            "special": [half, top + half] + nans + [top + p for p in nans],
        }

        def value(p, e=exp_bits, m=man_bits):
            return value_of(p, e, m)

        spots = [p for p in draw.sample(normal, min(few, len(normal))) if p < half - 1]
        between = [value(p) + (value(p + 1) - value(p)) * draw.uniform(0.02, 0.98) for p in spots]
        exact = [value(p) for p in spots]
        pairs = [p // 2 * 2 for p in spots] + [p // 2 * 2 + 1 for p in spots] + [2 * lowest - 1, lowest]
        ties = [(value(p) + value(p + 1)) / 2 for p in pairs if lowest <= p < half - 1]
        near = [math.nextafter(t, toward) for t in ties[:6] for toward in (0.0, INF)]
        low = [p for p in draw.sample(small, min(few, len(small)))]
        step = value(1)
        subnormal = [value(p) + step * draw.uniform(-0.48, 0.48) for p in low]
        small_ties = [
            (value(p) + value(p + 1)) / 2 for p in [0, 1, 2, lowest - 1, lowest - 2, *low] if p < lowest
        ]
        tiny = [
            step / 2,
            math.nextafter(step / 2, 1.0),
            math.nextafter(step / 2, 0.0),
            step * 0.6,
            step * 0.3,
        ]
        largest = value(half - 1)
        limit = largest + (largest - value(half - 2)) / 2
        over = [largest, math.nextafter(largest, INF), largest + (limit - largest) * draw.uniform(0.1, 0.9)]
        over += [
            math.nextafter(limit, 0.0),
            limit,
            math.nextafter(limit, INF),
            limit * draw.uniform(1.01, 1.9),
        ]
        over += [limit * 64.0, 1e300]

        def signed(values):
            return [float(v) for v in values] + [-float(v) for v in values]

        cases.append(
            {
                "format": (exp_bits, man_bits),
                "patterns": both,
                "values": {
                    "nearest": signed(between + exact),
                    "ties": signed(ties),
                    "near": signed(near),
                    "subnormal": signed(subnormal + small_ties + [value(p) for p in low] + tiny),
                    "zero": [0.0, -0.0, 5e-324, -5e-324, 1e-300, -1e-300],
                    "over": signed(over),
                    "special": [NAN, INF, -INF],
                },
                "outside": [2 * top, 2 * top + 5, -1, -top],
            }
        )
    return {"cases": cases}


KEYS = ("max", "smallest_normal", "smallest_subnormal", "eps")


def probe_info(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            info = code.format_info(*case["format"])
            for key in KEYS:
                with record.step(key):
                    record("value", info[key])


def probe_decode(code, given, record):
    for i, case in enumerate(given["cases"]):
        for kind, patterns in case["patterns"].items():
            with record.step(f"{i}/{kind}"):
                record("values", [code.decode(bits, *case["format"]) for bits in patterns])


def probe_quantize(code, given, record):
    for i, case in enumerate(given["cases"]):
        for kind, values in case["values"].items():
            with record.step(f"{i}/{kind}"):
                record("values", [code.quantize(x, *case["format"]) for x in values])
    with record.step("examples"):
        fp16 = [1.9996, 2049.0, 2051.0, 1e-6, 65505.0, 65519.0, 65520.0, 3.0, 1 / 3]
        record("values", [code.quantize(x, 5, 10) for x in fp16])


def probe_errors(code, given, record):
    for i, (exp_bits, man_bits) in enumerate(((1, 3), (0, 3), (-2, 3), (4, 0), (4, -1), (1, 0))):
        record.raises(f"info{i}", lambda e=exp_bits, m=man_bits: code.format_info(e, m))
        record.raises(f"decode{i}", lambda e=exp_bits, m=man_bits: code.decode(0, e, m))
        record.raises(f"quantize{i}", lambda e=exp_bits, m=man_bits: code.quantize(0.75, e, m))
    for i, case in enumerate(given["cases"]):
        for k, bits in enumerate(case["outside"]):
            record.raises(f"bits{i}_{k}", lambda b=bits, f=case["format"]: code.decode(b, *f))
