import math
from fractions import Fraction


def check(exp_bits, man_bits):
    if exp_bits <= 1 or man_bits <= 0:
        raise ValueError(f"no such format: ({exp_bits}, {man_bits})")


def two(n):
    return Fraction(2) ** n


def format_info(exp_bits, man_bits):
    check(exp_bits, man_bits)
    bias = (1 << (exp_bits - 1)) - 1
    low = 1 - bias
    return dict(
        max=float(two(bias + 1) - two(bias - man_bits)),
        smallest_normal=float(two(low)),
        smallest_subnormal=float(two(low - man_bits)),
        eps=float(two(-man_bits)),
    )


def decode(bits, exp_bits, man_bits):
    check(exp_bits, man_bits)
    width = 1 + exp_bits + man_bits
    if bits < 0 or bits.bit_length() > width:
        raise ValueError("bits")
    text = format(bits, f"0{width}b")
    negative, exponent, mantissa = (
        text[0] == "1",
        int(text[1 : 1 + exp_bits], 2),
        int(text[1 + exp_bits :], 2),
    )
    bias = (1 << (exp_bits - 1)) - 1
    if set(text[1 : 1 + exp_bits]) == {"1"}:
        value = float("inf") if mantissa == 0 else float("nan")
    else:
        fraction = Fraction(mantissa, 2**man_bits)
        value = float(fraction * two(1 - bias) if exponent == 0 else (1 + fraction) * two(exponent - bias))
    return -value if negative else value


def quantize(x, exp_bits, man_bits):
    check(exp_bits, man_bits)
    if math.isnan(x) or math.isinf(x) or x == 0:
        return x
    info = format_info(exp_bits, man_bits)
    size = Fraction(abs(x))
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if two(exponent) > size:
        exponent -= 1
    spacing = max(two(exponent - man_bits), Fraction(info["smallest_subnormal"]))
    value = round(size / spacing) * spacing
    out = math.inf if value > Fraction(info["max"]) else float(value)
    return math.copysign(out, x)
