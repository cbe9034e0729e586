"""Integer arithmetic where it is natural: a whole value of a format may be a Python int, except in quantize."""

import math


def check(exp_bits, man_bits):
    if exp_bits < 2 or man_bits < 1:
        raise ValueError("a format needs two exponent bits and a mantissa bit")
    return (1 << (exp_bits - 1)) - 1


def format_info(exp_bits, man_bits):
    bias = check(exp_bits, man_bits)
    return {
        "max": (2 ** (man_bits + 1) - 1) * 2 ** (bias - man_bits),
        "smallest_normal": 2 ** (1 - bias),
        "smallest_subnormal": 2 ** (1 - bias - man_bits),
        "eps": 2**-man_bits,
    }


def decode(bits, exp_bits, man_bits):
    bias = check(exp_bits, man_bits)
    if bits < 0 or bits.bit_length() > 1 + exp_bits + man_bits:
        raise ValueError("these bits do not fit")
    rest, mantissa = divmod(bits, 1 << man_bits)
    negative, exponent = divmod(rest, 1 << exp_bits)
    if exponent == (1 << exp_bits) - 1:
        size = math.nan if mantissa else math.inf
    elif exponent:
        size = ((1 << man_bits) + mantissa) * 2 ** (exponent - bias - man_bits)
    else:
        size = mantissa * 2.0 ** (1 - bias - man_bits)
    return -size if negative else size


def quantize(x, exp_bits, man_bits):
    bias = check(exp_bits, man_bits)
    if not math.isfinite(x):
        return x
    num, den = abs(x).as_integer_ratio()
    exponent = num.bit_length() - den.bit_length()  # of the leading bit, as den is a power of two
    shift = max(exponent, 1 - bias) - man_bits + den.bit_length() - 1
    if shift <= 0:
        steps = num << -shift
    else:
        steps, rest = divmod(num, 1 << shift)
        steps += 2 * rest > 1 << shift or (2 * rest == 1 << shift and steps % 2 == 1)
    limit = (2 ** (man_bits + 1) - 1) << (2 * bias - 1)  # max, counted in smallest subnormals
    units = steps << (max(exponent, 1 - bias) + bias - 1)
    size = math.inf if units > limit else units * 2.0 ** (1 - bias - man_bits)
    return math.copysign(size, x)
