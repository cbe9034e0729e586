# fails: 5,8
# message: Round once
import math


def _check(e, m, bits=0):
    if e < 2 or m < 1 or bits < 0 or bits >> (1 + e + m):
        raise ValueError(f"no such format or pattern: {e}, {m}, {bits}")
    return 2 ** (e - 1) - 1


def format_info(exp_bits, man_bits):
    b = _check(exp_bits, man_bits)
    return {
        "max": math.ldexp(2 ** (man_bits + 1) - 1, b - man_bits),
        "smallest_normal": math.ldexp(1, 1 - b),
        "smallest_subnormal": math.ldexp(1, 1 - b - man_bits),
        "eps": math.ldexp(1, -man_bits),
    }


def decode(bits, exp_bits, man_bits):
    b = _check(exp_bits, man_bits, bits)
    s = -1.0 if bits >> (exp_bits + man_bits) else 1.0
    e, m = (bits >> man_bits) % 2**exp_bits, bits % 2**man_bits
    if e == 2**exp_bits - 1:
        return math.nan if m else s * math.inf
    return s * math.ldexp(m + (e > 0) * 2**man_bits, max(e, 1) - b - man_bits)


def quantize(x, exp_bits, man_bits):
    b = _check(exp_bits, man_bits)
    if x != x or math.isinf(x):
        return x
    f, k = math.frexp(x)
    x = math.copysign(math.ldexp(round(f * 2**24), k - 24), x)
    step = max(math.frexp(x)[1] - 1, 1 - b) - man_bits
    v = math.ldexp(round(math.ldexp(abs(x), -step)), step)
    return math.copysign(v if v < 2.0 ** (b + 1) else math.inf, x)
