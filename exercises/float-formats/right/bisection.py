import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    exp_bits: int
    man_bits: int

    def __post_init__(self):
        if self.exp_bits < 2 or self.man_bits < 1:
            raise ValueError(f"no such format: {self}")

    @property
    def bias(self):
        return (1 << self.exp_bits - 1) - 1

    def value(self, magnitude):
        """Value of a pattern without sign; the pattern after max would be infinity."""
        exp, man = divmod(magnitude, 1 << self.man_bits)
        if exp == 0:
            return man * 2.0 ** (1 - self.bias - self.man_bits)
        return (1 + man / (1 << self.man_bits)) * 2.0 ** (exp - self.bias)

    @property
    def reserved(self):
        return ((1 << self.exp_bits) - 1) << self.man_bits


def format_info(exp_bits, man_bits):
    f = Format(exp_bits, man_bits)
    return dict(
        max=f.value(f.reserved - 1),
        smallest_normal=f.value(1 << man_bits),
        smallest_subnormal=f.value(1),
        eps=f.value((f.bias << man_bits) + 1) - 1.0,
    )


def decode(bits, exp_bits, man_bits):
    f = Format(exp_bits, man_bits)
    if not 0 <= bits < 2 ** (1 + exp_bits + man_bits):
        raise ValueError("bits")
    negative, magnitude = divmod(bits, 2 ** (exp_bits + man_bits))
    if magnitude > f.reserved:
        return float("nan")
    value = float("inf") if magnitude == f.reserved else f.value(magnitude)
    return -value if negative else value


def quantize(x, exp_bits, man_bits):
    """Bisection over the ordered patterns, no rounding function at all."""
    f = Format(exp_bits, man_bits)
    if x != x or x in (math.inf, -math.inf):
        return x
    size, low, high = abs(x), 0, f.reserved
    while high - low > 1:
        mid = (low + high) // 2
        if f.value(mid) <= size:
            low = mid
        else:
            high = mid
    below, above = f.value(low), f.value(high)
    if size >= above:
        high_wins = True
    else:
        down, up = size - below, above - size
        high_wins = up < down or (up == down and high % 2 == 0)
    code = high if high_wins else low
    return math.copysign(math.inf if code >= f.reserved else f.value(code), x)
