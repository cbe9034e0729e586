import math


def _valid(exp_bits, man_bits):
    if not (exp_bits >= 2 and man_bits >= 1):
        raise ValueError(f"no such format: {exp_bits=} {man_bits=}")


def _finite(exp_bits, man_bits):
    return ((1 << exp_bits) - 1) << man_bits


def format_info(exp_bits, man_bits):
    _valid(exp_bits, man_bits)
    one = decode(((1 << (exp_bits - 1)) - 1) << man_bits, exp_bits, man_bits)
    assert one == 1.0
    after = decode((((1 << (exp_bits - 1)) - 1) << man_bits) + 1, exp_bits, man_bits)
    return dict(
        max=decode(_finite(exp_bits, man_bits) - 1, exp_bits, man_bits),
        smallest_normal=decode(1 << man_bits, exp_bits, man_bits),
        smallest_subnormal=decode(1, exp_bits, man_bits),
        eps=after - one,
    )


def decode(bits, exp_bits, man_bits):
    _valid(exp_bits, man_bits)
    if bits < 0 or bits.bit_length() > 1 + exp_bits + man_bits:
        raise ValueError("bits")
    mantissa = bits & ((1 << man_bits) - 1)
    exponent = (bits >> man_bits) & ((1 << exp_bits) - 1)
    sign = (-1) ** (bits >> (exp_bits + man_bits))
    if exponent == (1 << exp_bits) - 1:
        return float("nan") if mantissa else sign * float("inf")
    bias = (1 << (exp_bits - 1)) - 1
    fraction = mantissa / (1 << man_bits)
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias)
    return sign * (1 + fraction) * 2.0 ** (exponent - bias)


def quantize(x, exp_bits, man_bits):
    _valid(exp_bits, man_bits)
    if math.isnan(x) or math.isinf(x):
        return x
    size = abs(x)
    low, high = 0, _finite(exp_bits, man_bits)
    top = format_info(exp_bits, man_bits)["max"]
    if size > top:
        gap = top - decode(high - 2, exp_bits, man_bits)
        return math.copysign(top if size < top + gap / 2 else math.inf, x)
    while high - low > 1:
        middle = (low + high) // 2
        if decode(middle, exp_bits, man_bits) <= size:
            low = middle
        else:
            high = middle
    a = decode(low, exp_bits, man_bits)
    if a == size:
        return math.copysign(a, x)
    b = decode(low + 1, exp_bits, man_bits)
    middle = (a + b) / 2
    if size == middle:
        a, b = (a, a) if low % 2 == 0 else (b, b)
    return math.copysign(a if size < middle else b, x)
