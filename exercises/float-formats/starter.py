def format_info(exp_bits: int, man_bits: int) -> dict[str, float]:
    """max, smallest_normal, smallest_subnormal and eps of a format."""
    raise NotImplementedError


def decode(bits: int, exp_bits: int, man_bits: int) -> float:
    """The value of a bit pattern: sign highest, mantissa lowest."""
    raise NotImplementedError


def quantize(x: float, exp_bits: int, man_bits: int) -> float:
    """The value of the format that is nearest to x, ties to even."""
    raise NotImplementedError
