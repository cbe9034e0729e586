import math
from fractions import Fraction


class FormatError(ValueError):
    pass


class Format:
    def __init__(self, exp_bits, man_bits):
        if exp_bits < 2:
            raise FormatError("exp_bits")
        if man_bits < 1:
            raise FormatError("man_bits")
        self.e, self.m = exp_bits, man_bits
        self.bias = (1 << (exp_bits - 1)) - 1
        self.low = Fraction(2) ** (1 - self.bias)
        self.top = Fraction(2) ** self.bias * (2 - Fraction(1, 1 << man_bits))


def format_info(exp_bits, man_bits):
    f = Format(exp_bits, man_bits)
    return {
        "max": float(f.top),
        "smallest_normal": float(f.low),
        "smallest_subnormal": float(f.low / 2**f.m),
        "eps": 1 / 2**f.m,
        "bias": f.bias,
    }


def decode(bits, exp_bits, man_bits):
    f = Format(exp_bits, man_bits)
    text = format(bits, "b").zfill(1 + f.e + f.m)
    if bits < 0 or len(text) > 1 + f.e + f.m:
        raise FormatError("bits")
    sign, e, m = text[0] == "1", int(text[1 : 1 + f.e], 2), int(text[1 + f.e :], 2)
    if set(text[1 : 1 + f.e]) == {"1"}:
        value = math.inf if m == 0 else math.nan
    else:
        value = float(
            f.low * Fraction(m, 2**f.m) if e == 0 else f.low * 2 ** (e - 1) * (1 + Fraction(m, 2**f.m))
        )
    return -value if sign else value


def quantize(x, exp_bits, man_bits):
    f = Format(exp_bits, man_bits)
    if x != x or x in (math.inf, -math.inf):
        return x
    exact = abs(Fraction(x))
    spacing = f.low / 2**f.m
    while exact >= spacing * 2 ** (f.m + 1) and spacing * 2**f.m <= f.top:
        spacing *= 2
    value = round(exact / spacing) * spacing
    return math.copysign(math.inf if value > f.top else float(value), x)
