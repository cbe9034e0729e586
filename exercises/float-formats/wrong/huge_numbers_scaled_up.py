# fails: 12
# message: OverflowError
import math


def check(exp_bits, man_bits):
    if exp_bits < 2 or man_bits < 1:
        raise ValueError("bad format")


def format_info(exp_bits, man_bits):
    check(exp_bits, man_bits)
    bias = 2 ** (exp_bits - 1) - 1
    top = 2**exp_bits - 2 - bias
    return {
        "max": (2.0 - 2.0**-man_bits) * 2.0**top,
        "smallest_normal": 2.0 ** (1 - bias),
        "smallest_subnormal": 2.0 ** (1 - bias - man_bits),
        "eps": 2.0**-man_bits,
    }


def decode(bits, exp_bits, man_bits):
    check(exp_bits, man_bits)
    if bits < 0 or bits >= 2 ** (1 + exp_bits + man_bits):
        raise ValueError("bits do not fit")
    bias = 2 ** (exp_bits - 1) - 1
    m = bits % 2**man_bits
    e = (bits >> man_bits) % 2**exp_bits
    s = -1.0 if bits >> (exp_bits + man_bits) else 1.0
    if e == 2**exp_bits - 1:
        return math.nan if m else s * math.inf
    if e == 0:
        return s * (m / 2**man_bits) * 2.0 ** (1 - bias)
    return s * (1 + m / 2**man_bits) * 2.0 ** (e - bias)


def quantize(x, exp_bits, man_bits):
    check(exp_bits, man_bits)
    if x == 0 or math.isnan(x) or math.isinf(x):
        return x
    info = format_info(exp_bits, man_bits)
    bias = 2 ** (exp_bits - 1) - 1
    a = abs(x)
    scaled = a * 2.0**man_bits
    if int(scaled) < 0:
        return x
    e = math.frexp(a)[1] - 1
    e = max(e, 1 - bias)
    step = 2.0 ** (e - man_bits)
    y = round(a / step) * step
    if y > info["max"]:
        y = math.inf
    return math.copysign(y, x)
