import math
import sys

from quizapp.judge.testing.probes import number

FORMATS = ((5, 10), (8, 7), (5, 2), (4, 3), (8, 23), (2, 1), (3, 4), (6, 9))


def largest(exp_bits, man_bits):
    return (2 - 2.0**-man_bits) * 2.0 ** (2 ** (exp_bits - 1) - 1)


def patterns(draw, exp_bits, man_bits):
    """Bit patterns of normal numbers over the whole range, both signs, the ends included."""
    top = 2**exp_bits - 2
    exponents = [1, top, (1 + top) // 2, *(draw.integer(1, top) for _ in range(5))]
    out = []
    for exponent in exponents:
        for mantissa in (0, 2**man_bits - 1, draw.integer(0, 2**man_bits - 1)):
            out.append((draw.integer(0, 1) << (exp_bits + man_bits)) | (exponent << man_bits) | mantissa)
    return out


def numbers(draw, exp_bits, man_bits):
    """Normal numbers all over the format, of both signs. None is beyond the largest: overflow is a later stage's."""
    bias = 2 ** (exp_bits - 1) - 1
    out = []
    for _ in range(24):
        exponent = draw.integer(1 - bias, bias)
        high = 1.99 if exponent < bias else 2 - 2.0**-man_bits
        out.append(draw.choice([-1.0, 1.0]) * draw.uniform(1.0, high) * 2.0**exponent)
    return out


def ties(draw, exp_bits, man_bits):
    """Values half way between two neighbours, the lower of which is odd or even."""
    bias = 2 ** (exp_bits - 1) - 1
    out = []
    for _ in range(10):
        mantissa = draw.integer(0, 2**man_bits - 1)
        exponent = draw.integer(1 - bias, bias - 1)
        value = (2**man_bits + mantissa + 0.5) * 2.0 ** (exponent - man_bits)
        out.append(draw.choice([-1.0, 1.0]) * value)
    carry = (2 ** (man_bits + 1) - 0.5) * 2.0 ** (-man_bits)
    return [*out, carry, -carry]


def beside(values):
    """The doubles next to each value: just off a tie, so that nothing is left to a tie's rule."""
    return [math.nextafter(value, towards) for value in values for towards in (0.0, math.inf * value)]


def value_of(bits, e, m):
    """The value of the positive finite pattern `bits`, for inputs that lie on the grid."""
    exponent, mantissa = bits >> m, bits & (2**m - 1)
    bias = 2 ** (e - 1) - 1
    lead, power = (2**m, exponent) if exponent else (0, 1)
    return (lead + mantissa) * 2.0 ** (power - bias - m)


def inputs(draw):
    cases = []
    for exp_bits, man_bits in FORMATS:
        bias = 2 ** (exp_bits - 1) - 1
        tiny = 2.0 ** (1 - bias - man_bits)
        top, spacing = largest(exp_bits, man_bits), 2.0 ** (bias - man_bits)
        edge = top + spacing / 2
        exact = draw.sample(
            range(1, 2 ** (exp_bits + man_bits) - 2**man_bits), min(12, 2 ** (exp_bits + man_bits - 1) - 2)
        )
        halves = ties(draw, exp_bits, man_bits)
        cases.append(
            {
                "format": [exp_bits, man_bits],
                "normal": patterns(draw, exp_bits, man_bits),
                "subnormal": sorted(
                    {1, 2**man_bits - 1, *(draw.integer(1, 2**man_bits - 1) for _ in range(4))}
                ),
                "nan": sorted({1, 2**man_bits - 1, draw.integer(1, 2**man_bits - 1)}),
                "numbers": numbers(draw, exp_bits, man_bits),
                "ties": halves,
                "beside": beside(halves),
                "small": [
                    *(s * draw.uniform(0.0, 2.0**man_bits) * tiny for s in (1, -1) for _ in range(5)),
                    *(
                        s * f * tiny
                        for s in (1, -1)
                        for f in (0.5, 0.4, 0.500001, 1.0, 1.5, 2.5, 1.2)
                        if f <= 2**man_bits
                    ),
                    2.0 ** (1 - bias) - tiny / 2,
                    -(2.0 ** (1 - bias) - tiny / 2),
                    tiny * 1e-9,
                    -tiny * 1e-9,
                    5e-324,
                    -sys.float_info.min,
                ],
                "large": [
                    *(
                        s * v
                        for s in (1, -1)
                        for v in (top, math.nextafter(edge, 0.0), edge, math.nextafter(edge, math.inf))
                    ),
                    top + 0.2 * spacing,
                    top + 0.7 * spacing,
                    -1.5 * top,
                    1e300,
                    -1e300,
                ],
                "huge": [s * draw.uniform(1.0, 1.99) * 2.0**1023 for s in (1, -1)] + [1e308, -1e308],
                "exact": [value_of(bits, exp_bits, man_bits) for bits in exact],
                "kept": {"exact": exact},
            }
        )
    return {"cases": draw.shuffled(cases)}


def probe_info(code, given, record):
    for i, case in enumerate(given["cases"]):
        with record.step(i):
            record(
                "info", {str(key): number(value) for key, value in code.format_info(*case["format"]).items()}
            )


def probe_decode(code, given, record):
    for i, case in enumerate(given["cases"]):
        e, m = case["format"]
        sign, ones = 1 << (e + m), (2**e - 1) << m
        with record.step(i):
            with record.step("normal"):
                record("values", [number(code.decode(bits, e, m)) for bits in case["normal"]])
            with record.step("subnormal"):
                record(
                    "values",
                    [number(code.decode(bits | s, e, m)) for bits in case["subnormal"] for s in (0, sign)],
                )
            with record.step("zeros"):
                record("values", [number(code.decode(0, e, m)), number(code.decode(sign, e, m))])
            with record.step("infinities"):
                record("values", [number(code.decode(ones, e, m)), number(code.decode(ones | sign, e, m))])
            with record.step("nan"):
                record(
                    "values",
                    [number(code.decode(ones | bits | s, e, m)) for bits in case["nan"] for s in (0, sign)],
                )


def probe_quantize(code, given, record):
    for i, case in enumerate(given["cases"]):
        e, m = case["format"]
        with record.step(i):
            for name in ("numbers", "ties", "beside", "small", "large", "huge", "exact"):
                with record.step(name):
                    record("values", [number(code.quantize(x, e, m)) for x in case[name]])
            with record.step("zeros"):
                record("values", [number(code.quantize(0.0, e, m)), number(code.quantize(-0.0, e, m))])
            with record.step("special"):
                record(
                    "values",
                    [number(code.quantize(x, e, m)) for x in (math.inf, -math.inf, math.nan, -math.nan)],
                )


def probe_errors(code, given, record):
    calls = {
        "info_exp": lambda: code.format_info(1, 10),
        "info_man": lambda: code.format_info(5, 0),
        "decode_exp": lambda: code.decode(1, 1, 10),
        "decode_man": lambda: code.decode(1, 5, 0),
        "quantize_exp": lambda: code.quantize(1.5, 1, 10),
        "quantize_man": lambda: code.quantize(1.5, 5, 0),
        "quantize_zero_exp": lambda: code.quantize(0.0, 1, 10),
        "quantize_nan_man": lambda: code.quantize(math.nan, 5, 0),
        "info_no_exp": lambda: code.format_info(0, 10),
        "decode_no_exp": lambda: code.decode(1, 0, 10),
        "quantize_no_exp": lambda: code.quantize(1.5, 0, 10),
        "negative_man": lambda: code.quantize(1.5, 5, -1),
        "negative_bits": lambda: code.decode(-1, 5, 10),
        "too_many_bits": lambda: code.decode(2**16, 5, 10),
        "too_many_bits_small": lambda: code.decode(256, 5, 2),
    }
    for name, call in calls.items():
        record.raises(name, call)
