"""One grid spacing decides everything: 2**(max(exponent, 1 - bias) - man_bits).

Every value of a format up to (8, 23) is a multiple of a power of two that a Python float holds exactly,
so scaling by powers of two never rounds and the only rounding is the one that is asked for.
"""

import math


def _bias(exp_bits: int, man_bits: int) -> int:
    if exp_bits < 2 or man_bits < 1:
        raise ValueError("a format needs at least 2 exponent bits and 1 mantissa bit")
    return 2 ** (exp_bits - 1) - 1


def format_info(exp_bits: int, man_bits: int) -> dict[str, float]:
    """The keys max, smallest_normal, smallest_subnormal and eps of a format."""
    bias = _bias(exp_bits, man_bits)
    return {
        "max": (2 - 2.0**-man_bits) * 2.0**bias,
        "smallest_normal": 2.0 ** (1 - bias),
        "smallest_subnormal": 2.0 ** (1 - bias - man_bits),
        "eps": 2.0**-man_bits,
    }


def decode(bits: int, exp_bits: int, man_bits: int) -> float:
    """The value of a bit pattern: sign, exponent, mantissa from the highest bit to the lowest."""
    bias = _bias(exp_bits, man_bits)
    if not 0 <= bits < 2 ** (1 + exp_bits + man_bits):
        raise ValueError("the bits do not fit the format")
    sign = -1.0 if bits >> (exp_bits + man_bits) else 1.0
    exponent = (bits >> man_bits) & (2**exp_bits - 1)
    mantissa = bits & (2**man_bits - 1)
    if exponent == 2**exp_bits - 1:
        return math.nan if mantissa else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - man_bits)
    return sign * math.ldexp(2**man_bits + mantissa, exponent - bias - man_bits)


def quantize(x: float, exp_bits: int, man_bits: int) -> float:
    """The value of the format nearest to x, ties to even."""
    bias = _bias(exp_bits, man_bits)
    if x == 0 or not math.isfinite(x):
        return float(x)
    # frexp gives x = m * 2**e with 0.5 <= m < 1, so the exponent of the leading bit is e - 1.
    exponent = max(math.frexp(x)[1] - 1, 1 - bias)
    steps = round(math.ldexp(abs(x), man_bits - exponent))
    value = steps * 2.0 ** (exponent - man_bits)  # ldexp would raise where the largest doubles round up
    if value > (2 - 2.0**-man_bits) * 2.0**bias:
        value = math.inf
    return math.copysign(value, x)
