def format_info(exp_bits: int, man_bits: int) -> dict[str, float]:
    """The keys max, smallest_normal, smallest_subnormal and eps of a format."""
    raise NotImplementedError


def decode(bits: int, exp_bits: int, man_bits: int) -> float:
    """The value of a bit pattern: sign, exponent, mantissa from the highest bit
    to the lowest.
    """
    raise NotImplementedError


def quantize(x: float, exp_bits: int, man_bits: int) -> float:
    """The value of the format nearest to x, ties to even."""
    raise NotImplementedError
