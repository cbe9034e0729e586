"""Random numbers that repeat, and the fuzz that spreads cards over the days around their ideal interval."""

from hashlib import blake2b

# (from, to, share): fuzz widens its range by this share of the part of an interval between these days.
_FUZZ_RANGES = ((2.5, 7.0, 0.15), (7.0, 20.0, 0.10), (20.0, float("inf"), 0.05))


def seed_of(card: str, repetition: int, purpose: str = "") -> int:
    """A 32-bit number that depends only on the arguments, so every replay and device agrees on it."""
    digest = blake2b(f"{purpose}\0{card}\0{repetition}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big")


def fuzz_sample(card: str, repetition: int) -> float:
    """The number in [0, 1) that decides the fuzz of one repetition of a card."""
    return seed_of(card, repetition, "fuzz") / 2**32


def fuzz_bounds(interval: float, least: int, most: int) -> tuple[int, int]:
    """The shortest and the longest interval in days that fuzz may choose for ``interval``.

    Below 2.5 days there is no fuzz. Above, the range extends each way by 1 day, plus 15 % of the part between
    2.5 and 7 days, 10 % of the part between 7 and 20, and 5 % of the rest. Both bounds are possible results.
    This is Anki's rule.
    """
    least = min(least, most)
    interval = min(max(interval, least), most)
    if interval < 2.5:
        days = _round_half_up(interval)
        return days, days
    delta = 1.0 + sum(share * max(min(interval, end) - start, 0.0) for start, end, share in _FUZZ_RANGES)
    low = min(max(_round_half_up(interval - delta), least), most)
    high = min(max(_round_half_up(interval + delta), least), most)
    if high == low and 2 < high < most:
        high = low + 1
    return low, high


def fuzzed(interval: float, sample: float, least: int, most: int) -> int:
    """The interval in days after fuzz; ``sample`` is uniform in [0, 1)."""
    low, high = fuzz_bounds(interval, least, most)
    return int(low + sample * (high - low + 1))


def _round_half_up(value: float) -> int:
    return int(value + 0.5)  # round() would turn 2.5 into 2: it rounds halves to even
