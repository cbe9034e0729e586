"""Rounds with the adder: a large number of the right exponent is added and taken away again."""

import math


def _valid(exp_bits: int, man_bits: int) -> int:
    if not (exp_bits >= 2 and man_bits >= 1):
        raise ValueError("exp_bits >= 2 and man_bits >= 1 are needed")
    return (1 << exp_bits - 1) - 1


def format_info(exp_bits: int, man_bits: int) -> dict[str, float]:
    emax = _valid(exp_bits, man_bits)
    top = ((1 << (exp_bits + man_bits)) - (1 << man_bits)) - 1
    return {
        "eps": math.ldexp(1.0, -man_bits),
        "smallest_subnormal": decode(1, exp_bits, man_bits),
        "smallest_normal": math.ldexp(1.0, 1 - emax),
        "max": decode(top, exp_bits, man_bits),
    }


def decode(bits: int, exp_bits: int, man_bits: int) -> float:
    emax = _valid(exp_bits, man_bits)
    if bits < 0 or bits >> (exp_bits + man_bits + 1):
        raise ValueError("pattern out of range")
    mantissa = bits % (1 << man_bits)
    exponent = (bits // (1 << man_bits)) % (1 << exp_bits)
    magnitude = 0.0
    if exponent == (1 << exp_bits) - 1:
        magnitude = math.nan if mantissa else math.inf
    elif exponent:
        magnitude = (1.0 + mantissa / (1 << man_bits)) * 2.0 ** (exponent - emax)
    else:
        magnitude = mantissa / (1 << man_bits) * 2.0 ** (1 - emax)
    return math.copysign(magnitude, -1.0 if (bits >> (exp_bits + man_bits)) & 1 else 1.0)


def quantize(x: float, exp_bits: int, man_bits: int) -> float:
    emax = _valid(exp_bits, man_bits)
    size = abs(x)
    if not 0.0 < size < math.inf:
        return x
    if size >= 2.0 ** (emax + 1):
        return math.copysign(math.inf, x)
    exponent = max(math.frexp(size)[1] - 1, 1 - emax)
    # Doubles have 52 bits: adding 2**(52 + spacing) leaves exactly the bits above the spacing.
    anchor = math.ldexp(1.0, 52 + exponent - man_bits)
    value = (size + anchor) - anchor
    if value > math.ldexp(2.0 - math.ldexp(1.0, -man_bits), emax):
        value = math.inf
    return math.copysign(value, x)
