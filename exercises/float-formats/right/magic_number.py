from math import copysign, floor, inf, isfinite, log2, nan


def bias(exp_bits, man_bits):
    if exp_bits < 2 or man_bits < 1:
        raise ValueError("format")
    return 2 ** (exp_bits - 1) - 1


def format_info(exp_bits, man_bits):
    b = bias(exp_bits, man_bits)
    eps = 2.0**-man_bits
    return {
        "max": (2 - eps) * 2.0**b,
        "smallest_normal": 2.0 ** (1 - b),
        "smallest_subnormal": 2.0 ** (1 - b) * eps,
        "eps": eps,
    }


def decode(bits, exp_bits, man_bits):
    b = bias(exp_bits, man_bits)
    if bits not in range(2 ** (1 + exp_bits + man_bits)):
        raise ValueError("bits")
    rest, mantissa = divmod(bits, 2**man_bits)
    negative, exponent = divmod(rest, 2**exp_bits)
    if exponent == 2**exp_bits - 1:
        value = nan if mantissa else inf
    else:
        value = (mantissa + (2**man_bits if exponent else 0)) * 2.0 ** (max(exponent, 1) - b - man_bits)
    return copysign(value, -1 if negative else 1)


def quantize(x, exp_bits, man_bits):
    info = format_info(exp_bits, man_bits)
    if not isfinite(x):
        return float(x)
    size = abs(x)
    if size >= info["max"] + 2.0 ** (bias(exp_bits, man_bits) - man_bits - 1):
        return copysign(inf, x)
    spacing = info["smallest_subnormal"]
    if size > info["smallest_normal"]:
        exponent = floor(log2(size))
        if 2.0**exponent > size:
            exponent -= 1
        elif 2.0 ** (exponent + 1) <= size:
            exponent += 1
        spacing = 2.0**exponent * info["eps"]
    magic = 1.5 * 2.0**52 * spacing
    return copysign((size + magic) - magic, x)
