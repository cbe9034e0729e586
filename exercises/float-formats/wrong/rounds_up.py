# fails: 5
# message: away from zero instead
import math


def _check(exp_bits: int, man_bits: int) -> int:
    """The bias of a format that makes sense."""
    if exp_bits < 2 or man_bits < 1:
        raise ValueError("a format needs at least 2 exponent bits and 1 mantissa bit")
    return 2 ** (exp_bits - 1) - 1


def format_info(exp_bits: int, man_bits: int) -> dict[str, float]:
    """max, smallest_normal, smallest_subnormal and eps of a format."""
    bias = _check(exp_bits, man_bits)
    return {
        "max": math.ldexp(2 ** (man_bits + 1) - 1, bias - man_bits),
        "smallest_normal": math.ldexp(1.0, 1 - bias),
        "smallest_subnormal": math.ldexp(1.0, 1 - bias - man_bits),
        "eps": math.ldexp(1.0, -man_bits),
    }


def decode(bits: int, exp_bits: int, man_bits: int) -> float:
    """The value of a bit pattern: sign highest, mantissa lowest."""
    bias = _check(exp_bits, man_bits)
    if not 0 <= bits < 2 ** (1 + exp_bits + man_bits):
        raise ValueError(f"{bits} does not fit into {1 + exp_bits + man_bits} bits")
    mantissa = bits % 2**man_bits
    exponent = (bits >> man_bits) % 2**exp_bits
    sign = -1.0 if bits >> (man_bits + exp_bits) else 1.0
    if exponent == 2**exp_bits - 1:
        return math.nan if mantissa else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - man_bits)
    return sign * math.ldexp(2**man_bits + mantissa, exponent - bias - man_bits)


def quantize(x: float, exp_bits: int, man_bits: int) -> float:
    """The value of the format that is nearest to x, ties to even."""
    bias = _check(exp_bits, man_bits)
    if math.isnan(x) or math.isinf(x):
        return x
    exponent = max(math.frexp(x)[1] - 1, 1 - bias)
    spacing = exponent - man_bits
    value = math.ldexp(math.ceil(math.ldexp(abs(x), -spacing)), spacing)
    if value > format_info(exp_bits, man_bits)["max"]:
        value = math.inf
    return math.copysign(value, x)
