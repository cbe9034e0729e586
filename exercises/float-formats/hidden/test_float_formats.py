import math
from fractions import Fraction

from quizapp.judge.hidden import behaviour, expect

KEYS = ("max", "smallest_normal", "smallest_subnormal", "eps")
BAD = ((1, 3), (0, 3), (-2, 3), (4, 0), (4, -1), (1, 0))


def bias_of(exp_bits):
    return 2 ** (exp_bits - 1) - 1


def largest(exp_bits, man_bits):
    return (2 - Fraction(1, 2**man_bits)) * Fraction(2) ** bias_of(exp_bits)


def value_of(bits, exp_bits, man_bits, variant=""):
    sign = -1.0 if bits >> (exp_bits + man_bits) else 1.0
    exponent, mantissa = divmod(bits % 2 ** (exp_bits + man_bits), 2**man_bits)
    if exponent == 2**exp_bits - 1 and variant != "not reserved":
        return math.nan if mantissa else sign * math.inf
    bias = 2 ** (exp_bits - 1) if variant == "bias" else bias_of(exp_bits)
    part = Fraction(mantissa, 2**man_bits)
    if exponent == 0 and variant == "subnormal exponent":
        value = part * Fraction(2) ** -bias
    elif exponent == 0 and variant != "implicit":
        value = part * Fraction(2) ** (1 - bias)
    else:
        value = (part if variant == "no leading one" else 1 + part) * Fraction(2) ** (exponent - bias)
    return math.copysign(float(value), sign)


def rounded(x, exp_bits, man_bits, variant=""):
    if math.isnan(x) or math.isinf(x):
        return x
    bias, exact = bias_of(exp_bits), abs(Fraction(x))
    exponent = max(math.frexp(x)[1] - 1, 1 - bias) if x else 1 - bias
    spacing = Fraction(2) ** (exponent - man_bits)
    steps = exact / spacing
    if variant == "truncate":
        whole = math.floor(steps)
    elif variant == "away":
        whole = math.floor(steps + Fraction(1, 2))
    elif variant == "up":
        whole = math.ceil(steps)
    elif variant == "down":
        whole = math.ceil(steps - Fraction(1, 2))
    else:
        whole = round(steps)
    value, top = whole * spacing, largest(exp_bits, man_bits)
    if variant == "flush" and exact < Fraction(2) ** (1 - bias):
        value = Fraction(0)
    if variant == "flush result" and value < Fraction(2) ** (1 - bias):
        value = Fraction(0)
    if variant == "early" and exact > top:
        return math.copysign(math.inf, x)
    if variant == "reserved" and value < 2 * Fraction(2) ** (bias + 1):
        return math.copysign(float(value), x)
    if value > top:
        value = math.inf if variant != "clamp" else top
    value = float(value)
    return value if variant == "unsigned zero" and value == 0 else math.copysign(value, x)


def same(got, want):
    if isinstance(got, bool) or not isinstance(got, int | float):
        return False
    if math.isnan(want):
        return math.isnan(got)
    return got == want and (want != 0 or math.copysign(1.0, got) == math.copysign(1.0, want))


def told(value):
    return value.hex() if isinstance(value, float) and 0 < abs(value) < 1e-4 else repr(value)


def check(got, want, says, called, mistakes=()):
    """Element by element; names the mistake that gives all values."""
    bad = [k for k, value in enumerate(want) if not same(got[k], value)]
    if not bad:
        return
    for sentence, other in mistakes:
        if all(same(a, b) for a, b in zip(got, other, strict=True)):
            says = sentence
            break
    k = bad[0]
    expect(False, says, f"{called(k)} gave {told(got[k])}, expected {told(want[k])}")


INFO = {
    "max": "The largest finite value is (2 - 2**-man_bits) * 2**bias.",
    "smallest_normal": "The smallest normal value is 2**(1 - bias).",
    "smallest_subnormal": "The smallest subnormal value is 2**(1 - bias - man_bits).",
    "eps": "eps is the gap between 1 and the next larger value, 2**-man_bits.",
}


@behaviour(1)
def test_format_info(observe):
    for i, case in enumerate(observe.given["cases"]):
        exp_bits, man_bits = case["format"]
        low = Fraction(2) ** (1 - bias_of(exp_bits))
        want = {
            "max": largest(exp_bits, man_bits),
            "smallest_normal": low,
            "smallest_subnormal": low / 2**man_bits,
            "eps": Fraction(1, 2**man_bits),
        }
        for key in KEYS:
            got, right = observe[f"info/{i}/{key}/value"], float(want[key])
            says = INFO[key]
            if key == "max" and isinstance(got, int | float) and got == 2 * right:
                says = "The all-ones exponent is reserved: FP16 ends at 65504, not 131008."
            expect(
                same(got, right),
                says,
                f"format_info{case['format']}[{key!r}] is {told(got)}, expected {told(right)}",
            )


def decoded(observe, kind, says, variants):
    for i, case in enumerate(observe.given["cases"]):
        patterns, form = case["patterns"][kind], case["format"]
        check(
            observe[f"decode/{i}/{kind}/values"],
            [value_of(bits, *form) for bits in patterns],
            says,
            lambda k, p=patterns, f=form: f"decode({p[k]:#x}, {f[0]}, {f[1]})",
            [
                (text, [value_of(bits, *form, variant) for bits in patterns])
                for variant, text in variants.items()
            ],
        )


@behaviour(2)
def test_decode_normal(observe):
    variants = {
        "no leading one": "Normal numbers have an implicit leading 1.",
        "bias": "The bias is 2**(exp_bits - 1) - 1.",
    }
    decoded(observe, "normal", "A normal number is decoded wrongly.", variants)


@behaviour(3)
def test_decode_subnormal(observe):
    variants = {
        "implicit": "With exponent bits 0 there is no leading 1.",
        "subnormal exponent": "The exponent of subnormals is 1 - bias, not -bias.",
    }
    decoded(observe, "small", "A subnormal number is decoded wrongly.", variants)


@behaviour(3)
def test_decode_zeros(observe):
    decoded(observe, "zero", "Zero is decoded wrongly: both zeros exist, and -0.0 keeps its sign.", {})


@behaviour(4)
def test_decode_infinity_and_nan(observe):
    variants = {"not reserved": "The all-ones exponent is reserved for infinity and NaN."}
    says = "With exponent bits all ones, mantissa zero is infinity and any other mantissa is NaN."
    decoded(observe, "special", says, variants)


def quantized(observe, kind, says, variants):
    for i, case in enumerate(observe.given["cases"]):
        values, form = case["values"][kind], case["format"]
        check(
            observe[f"quantize/{i}/{kind}/values"],
            [rounded(x, *form) for x in values],
            says,
            lambda k, v=values, f=form: f"quantize({told(v[k])}, {f[0]}, {f[1]})",
            [(text, [rounded(x, *form, variant) for x in values]) for variant, text in variants.items()],
        )


@behaviour(5)
def test_rounds_to_nearest(observe):
    variants = {
        "truncate": "It truncates: 1.9996 should become 2 in FP16, not 1.999.",
        "up": "It rounds away from zero instead of to the nearest value.",
    }
    quantized(observe, "nearest", "The result is not the nearest value of the format.", variants)
    quantized(
        observe, "near", "Just beside a tie the result is not the nearest value of the format.", variants
    )


@behaviour(5)
def test_examples(observe):
    values = [1.9996, 2049.0, 2051.0, 1e-6, 65505.0, 65519.0, 65520.0, 3.0, 1 / 3]
    check(
        observe["quantize/examples/values"],
        [rounded(x, 5, 10) for x in values],
        "A number is rounded wrongly to FP16.",
        lambda k: f"quantize({values[k]!r}, 5, 10)",
    )


@behaviour(5)
def test_result_is_a_float(observe):
    for i, case in enumerate(observe.given["cases"]):
        for kind in case["values"]:
            for x, got in zip(case["values"][kind], observe[f"quantize/{i}/{kind}/values"], strict=True):
                expect(
                    type(got) is float,
                    "quantize returns a Python float.",
                    f"{got!r} for {x!r} in {case['format']}",
                )


@behaviour(6)
def test_ties_to_even(observe):
    variants = {
        "away": "Ties went away from zero: 2049 lies half way in FP16 and goes to 2048, whose mantissa is even.",
        "down": "Ties went towards zero: 2051 lies half way in FP16 and goes to 2052, whose mantissa is even.",
        "truncate": "It truncates instead of rounding.",
    }
    quantized(observe, "ties", "Half way between two neighbours the even mantissa wins.", variants)


@behaviour(7)
def test_subnormals(observe):
    variants = {
        "flush": "Flushed to zero: 1e-6 is a subnormal FP16 number, about 1.01e-6.",
        "flush result": "Flushed to zero: 1e-6 is a subnormal FP16 number, about 1.01e-6.",
        "truncate": "Subnormals are rounded to the nearest, not truncated.",
        "away": "Ties among subnormals go to even too, and half of the smallest subnormal becomes zero.",
        "unsigned zero": "The sign is kept, also for a result of zero.",
    }
    quantized(observe, "subnormal", "Below the smallest normal value the spacing stays constant.", variants)


@behaviour(7)
def test_zeros(observe):
    quantized(observe, "zero", "Zero and far smaller numbers become zero, with their sign.", {})


@behaviour(8)
def test_overflow(observe):
    variants = {
        "early": "Infinity too early: in FP16 65505 still rounds to 65504, and infinity begins at 65520.",
        "clamp": "Far too large numbers become infinity, not max.",
        "truncate": "From max plus half of the last spacing on the result is infinity.",
        "reserved": "The all-ones exponent is reserved: beyond max there are no more values.",
    }
    quantized(observe, "over", "Around the largest value the result is wrong.", variants)


@behaviour(9, on_error="NaN and infinity are numbers to pass through.")
def test_nan_and_infinity(observe):
    quantized(observe, "special", "NaN stays NaN and infinities stay as they are.", {})


@behaviour(10)
def test_bad_formats(observe):
    for i, form in enumerate(BAD):
        for name in ("info", "decode", "quantize"):
            called = {"info": "format_info(", "decode": "decode(0, ", "quantize": "quantize(0.75, "}[name]
            observe.raised(
                f"errors/{name}{i}", "ValueError", says=f"{called}{form[0]}, {form[1]}) should be refused."
            )


@behaviour(10)
def test_bad_patterns(observe):
    for i, case in enumerate(observe.given["cases"]):
        exp_bits, man_bits = case["format"]
        for k, bits in enumerate(case["outside"]):
            observe.raised(
                f"errors/bits{i}_{k}",
                "ValueError",
                says=f"decode({bits}, {exp_bits}, {man_bits}): the pattern does not fit and should be refused.",
            )
