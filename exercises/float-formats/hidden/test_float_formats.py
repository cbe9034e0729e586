import math
from fractions import Fraction

from quizapp.judge.testing.checks import behaviour, expect


def bias_of(e):
    return 2 ** (e - 1) - 1


def decoded(bits, e, m):
    sign = -1.0 if bits >> (e + m) else 1.0
    exponent, mantissa = (bits >> m) & (2**e - 1), bits & (2**m - 1)
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias_of(e) - m)
    return sign * (2**m + mantissa) * 2.0 ** (exponent - bias_of(e) - m)


def rounded(x, e, m):
    """Nearest value of the format by exact fractions, ties to even."""
    if x == 0 or not math.isfinite(x):
        return x
    size = Fraction(abs(x))
    exponent = max(math.frexp(x)[1] - 1, 1 - bias_of(e))
    spacing = Fraction(2) ** (exponent - m)
    value = round(size / spacing) * spacing
    largest = (2 - Fraction(1, 2**m)) * Fraction(2) ** bias_of(e)
    return math.copysign(math.inf if value > largest else float(value), x)


def same(got, want):
    """Equal numbers, NaN with NaN, and zeros with their sign. An int is equal to the float of its value."""
    if type(got) not in (int, float):
        return False
    if math.isnan(want):
        return math.isnan(got)
    return got == want and (got != 0 or math.copysign(1.0, got) == math.copysign(1.0, want))


def compare(got, want, calls, says, mistakes=(), floats=False):
    """Demand equal lists; the first difference is shown, and a known mistake named."""
    expect(len(got) == len(want), says)
    for value, right, call in zip(got, want, calls, strict=True):
        numeric = type(value) is float or (type(value) is int and not floats)
        if not numeric:
            kind = getattr(value, "kind", type(value).__name__)
            expect(False, f"The result must be a Python float, not {kind}.", f"{call[0]} gave {value!r}")
        if not same(value, right):
            sentence = says
            for text, wrong in mistakes:
                mistaken = wrong(call)
                if mistaken is not None and same(value, mistaken):
                    sentence = text
                    break
            expect(False, sentence, f"{call[0]} gave {value!r}, expected {right!r}")


def formats(observe):
    for i, case in enumerate(observe.given["cases"]):
        yield i, case, *case["format"]


@behaviour(1)
def test_format_info(observe):
    for i, _, e, m in formats(observe):
        bias = bias_of(e)
        want = {
            "max": (2 - 2.0**-m) * 2.0**bias,
            "smallest_normal": 2.0 ** (1 - bias),
            "smallest_subnormal": 2.0 ** (1 - bias - m),
            "eps": 2.0**-m,
        }
        info = observe[f"info/{i}/info"]
        expect(isinstance(info, dict), "format_info returns a dict.")
        wrong = {
            "max": [
                (
                    "FP16 ends at 65504, not 131008: the exponent of all ones is reserved.",
                    (2 - 2.0**-m) * 2.0 ** (bias + 1),
                ),
                (
                    "The mantissa bits add 1/2 + 1/4 + ...: the largest value is just below 2 * 2**bias.",
                    2.0 ** (bias + 1),
                ),
            ],
            "smallest_normal": [
                ("The smallest normal exponent is 1 - bias: 0 is reserved for subnormals.", 2.0**-bias)
            ],
            "smallest_subnormal": [
                (
                    "A subnormal's exponent is 1 - bias, like that of the smallest normal value.",
                    2.0 ** (-bias - m),
                )
            ],
            "eps": [("eps is the gap after 1, not half of it.", 2.0 ** (-m - 1))],
        }
        for key, value in want.items():
            expect(key in info, f"format_info lacks the key {key!r}.")
            if not same(info[key], value):
                says = next((text for text, v in wrong[key] if same(info[key], v)), f"{key} is wrong.")
                expect(False, says, f"format ({e}, {m}): {key} is {info[key]!r}, expected {value!r}")


def without_lead(bits, e, m):
    return (bits & (2**m - 1)) * 2.0 ** (((bits >> m) & (2**e - 1)) - bias_of(e) - m)


@behaviour(2)
def test_normal_numbers(observe):
    for i, case, e, m in formats(observe):
        calls = [(f"decode({bits:#x}, {e}, {m})", bits) for bits in case["normal"]]
        compare(
            observe[f"decode/{i}/normal/values"],
            [decoded(bits, e, m) for bits in case["normal"]],
            calls,
            "A normal number is (1 + mantissa / 2**man_bits) * 2**(exponent - bias).",
            [
                (
                    "Normal numbers have an implicit leading 1.",
                    lambda c, e=e, m=m: math.copysign(without_lead(c[1], e, m), decoded(c[1], e, m)),
                ),
                ("The highest bit is the sign.", lambda c, e=e, m=m: abs(decoded(c[1], e, m))),
            ],
        )


@behaviour(3)
def test_subnormals(observe):
    for i, case, e, m in formats(observe):
        bits = [b | s for b in case["subnormal"] for s in (0, 1 << (e + m))]
        compare(
            observe[f"decode/{i}/subnormal/values"],
            [decoded(b, e, m) for b in bits],
            [(f"decode({b:#x}, {e}, {m})", b) for b in bits],
            "With exponent bits 0 the value is mantissa / 2**man_bits * 2**(1 - bias).",
            [
                (
                    "With exponent bits 0 there is no leading 1.",
                    lambda c, e=e, m=m: math.copysign(
                        abs(decoded(c[1], e, m)) / 2 + 2.0 ** -bias_of(e), decoded(c[1], e, m)
                    ),
                ),
                (
                    "With exponent bits 0 there is no leading 1.",
                    lambda c, e=e, m=m: math.copysign(
                        abs(decoded(c[1], e, m)) + 2.0 ** (1 - bias_of(e)), decoded(c[1], e, m)
                    ),
                ),
                (
                    "The exponent of a subnormal is 1 - bias, not -bias.",
                    lambda c, e=e, m=m: decoded(c[1], e, m) / 2,
                ),
                ("The highest bit is the sign.", lambda c, e=e, m=m: -decoded(c[1], e, m)),
                ("Subnormals are not zero.", lambda c, e=e, m=m: math.copysign(0.0, decoded(c[1], e, m))),
            ],
        )


@behaviour(3)
def test_zeros(observe):
    for i, _, e, m in formats(observe):
        compare(
            observe[f"decode/{i}/zeros/values"],
            [0.0, -0.0],
            [(f"decode(0, {e}, {m})", 0), (f"decode({1 << (e + m):#x}, {e}, {m})", 1)],
            "Both zeros are 0, and -0.0 keeps its sign.",
        )


@behaviour(4)
def test_infinities_and_nan(observe):
    for i, case, e, m in formats(observe):
        compare(
            observe[f"decode/{i}/infinities/values"],
            [math.inf, -math.inf],
            [(f"decode of all exponent bits, sign {s}, format ({e}, {m})", s) for s in (0, 1)],
            "Exponent bits of all ones with a mantissa of zero are an infinity, with its sign.",
        )
        count = 2 * len(case["nan"])
        compare(
            observe[f"decode/{i}/nan/values"],
            [math.nan] * count,
            [(f"decode of all exponent bits with a mantissa, format ({e}, {m})", k) for k in range(count)],
            "Exponent bits of all ones with any mantissa but zero are NaN.",
        )


def truncated(x, e, m):
    exponent = max(math.frexp(x)[1] - 1, 1 - bias_of(e))
    return math.copysign(math.floor(math.ldexp(abs(x), m - exponent)) * 2.0 ** (exponent - m), x)


def up_at_ties(x, e, m):
    exponent = max(math.frexp(x)[1] - 1, 1 - bias_of(e))
    return math.copysign(math.floor(math.ldexp(abs(x), m - exponent) + 0.5) * 2.0 ** (exponent - m), x)


def at_tie(x, e, m):
    """Whether x is half way between two subnormals."""
    return math.fabs(x) / 2.0 ** (1 - bias_of(e) - m) % 1 == 0.5


def other_at_tie(x, e, m):
    """The odd neighbor of a tie between subnormals, and None for any other number."""
    if not at_tie(x, e, m):
        return None
    down, up = truncated(x, e, m), up_at_ties(x, e, m)
    return down if up == rounded(x, e, m) else up


def quantized(observe, i, case, name, says, mistakes=()):
    e, m = case["format"]
    compare(
        observe[f"quantize/{i}/{name}/values"],
        [rounded(x, e, m) for x in case[name]],
        [(f"quantize({x!r}, {e}, {m})", x) for x in case[name]],
        says,
        mistakes,
        floats=True,
    )


@behaviour(5)
def test_nearest(observe):
    for i, case, e, m in formats(observe):
        quantized(
            observe,
            i,
            case,
            "numbers",
            "That is not the nearest value of the format.",
            [
                (
                    "1.9996 should become 2 in FP16, not 1.999: round, do not truncate.",
                    lambda c, e=e, m=m: truncated(c[1], e, m),
                )
            ],
        )


@behaviour(5)
def test_nearest_beside_a_tie(observe):
    for i, case, _, _ in formats(observe):
        quantized(
            observe,
            i,
            case,
            "beside",
            "A number just beside a tie is no tie: it goes to the nearer neighbor. Round once, from the exact value.",
        )


@behaviour(5)
def test_values_of_the_format_stay(observe):
    for i, case, e, m in formats(observe):
        values = [decoded(bits, e, m) for bits in case["kept"]["exact"]]
        compare(
            observe[f"quantize/{i}/exact/values"],
            values,
            [(f"quantize({x!r}, {e}, {m})", x) for x in values],
            "A value that the format holds must stay as it is.",
        )


@behaviour(6)
def test_ties(observe):
    for i, case, e, m in formats(observe):
        quantized(
            observe,
            i,
            case,
            "ties",
            "A tie goes to the neighbor whose last mantissa bit is 0.",
            [
                (
                    "2049 lies half way in FP16 and goes to 2048, whose mantissa is even.",
                    lambda c, e=e, m=m: up_at_ties(c[1], e, m),
                ),
                (
                    "A tie goes to the even neighbor, not always towards zero.",
                    lambda c, e=e, m=m: truncated(c[1], e, m),
                ),
            ],
        )


@behaviour(7)
def test_subnormal_range(observe):
    for i, case, e, m in formats(observe):
        quantized(
            observe,
            i,
            case,
            "small",
            "Below the smallest normal value the spacing stays constant, and half of the smallest subnormal becomes zero.",
            [
                ("The sign is kept, for zero too.", lambda c, e=e, m=m: -rounded(c[1], e, m)),
                (
                    "Flushed to zero: 1e-6 is a subnormal FP16 number, about 1.01e-6.",
                    lambda c, e=e, m=m: None if at_tie(c[1], e, m) else math.copysign(0.0, c[1]),
                ),
                (
                    "Half of the smallest subnormal becomes zero: zero is the even neighbor.",
                    lambda c, e=e, m=m: other_at_tie(c[1], e, m) if rounded(c[1], e, m) == 0 else None,
                ),
                (
                    "Half way between two subnormals the even neighbor wins, as it does among normal numbers.",
                    lambda c, e=e, m=m: other_at_tie(c[1], e, m),
                ),
            ],
        )
        compare(
            observe[f"quantize/{i}/zeros/values"],
            [0.0, -0.0],
            [(f"quantize(0.0, {e}, {m})", 0), (f"quantize(-0.0, {e}, {m})", 1)],
            "The sign is kept, for zero too.",
        )


@behaviour(8)
def test_overflow(observe):
    for i, case, e, m in formats(observe):
        top = (2 - 2.0**-m) * 2.0 ** bias_of(e)
        quantized(
            observe,
            i,
            case,
            "large",
            "Infinity begins at max plus half the last spacing; below that a number rounds to max.",
            [
                (
                    "65505 still rounds to 65504; infinity begins at 65520.",
                    lambda c, top=top: math.copysign(math.inf if abs(c[1]) > top else abs(c[1]), c[1]),
                ),
                (
                    "Numbers beyond the range become infinity, not max.",
                    lambda c, top=top: math.copysign(top, c[1]),
                ),
            ],
        )


@behaviour(12)
def test_top_of_the_doubles(observe):
    for i, case, _, _ in formats(observe):
        says = "A double near the end of Python's own range becomes infinity, without an OverflowError."
        quantized(observe, i, case, "huge", says)


@behaviour(9)
def test_special_values(observe):
    for i, _, e, m in formats(observe):
        compare(
            observe[f"quantize/{i}/special/values"],
            [math.inf, -math.inf, math.nan, math.nan],
            [(f"quantize({x}, {e}, {m})", x) for x in ("inf", "-inf", "nan", "-nan")],
            "NaN stays NaN and infinities stay as they are.",
        )


@behaviour(10)
def test_impossible_arguments_are_refused(observe):
    sentences = {
        "info_exp": "exp_bits below 2 must be refused in format_info.",
        "info_man": "man_bits below 1 must be refused in format_info.",
        "decode_exp": "exp_bits below 2 must be refused in decode.",
        "decode_man": "man_bits below 1 must be refused in decode.",
        "quantize_exp": "exp_bits below 2 must be refused in quantize.",
        "quantize_man": "man_bits below 1 must be refused in quantize.",
        "quantize_zero_exp": "exp_bits below 2 must be refused for x = 0 too.",
        "quantize_nan_man": "man_bits below 1 must be refused for NaN too.",
        "info_no_exp": "exp_bits=0 must be refused in format_info, not only 1.",
        "decode_no_exp": "exp_bits=0 must be refused in decode, not only 1.",
        "quantize_no_exp": "exp_bits=0 must be refused in quantize, not only 1.",
        "negative_man": "A negative man_bits must be refused.",
        "negative_bits": "Negative bits must be refused.",
        "too_many_bits": "A pattern of 17 bits does not fit FP16.",
        "too_many_bits_small": "A pattern of 9 bits does not fit FP8.",
    }
    for name, says in sentences.items():
        observe.raised(f"errors/{name}", "ValueError", says=says)
