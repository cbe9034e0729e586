"""Seeded randomness: the same card and repetition always give the same number."""

from hashlib import blake2b

RANGES = ((2.5, 7.0, 0.15), (7.0, 20.0, 0.10), (20.0, float("inf"), 0.05))


def seed_of(card: str, repetition: int, purpose: str = "") -> int:
    """A number of 32 bits that depends on its arguments only."""
    digest = blake2b(f"{purpose}\0{card}\0{repetition}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big")


def uniform(card: str, repetition: int) -> float:
    """A number in [0, 1) for the fuzz of a card's repetition."""
    return seed_of(card, repetition, "fuzz") / 2**32


def bounds(interval: float, least: int, most: int) -> tuple[int, int]:
    """The shortest and longest interval in days that fuzz may make of ``interval``.

    Below 2.5 days there is no fuzz; from there the range widens by 1 day + 15 % of the part from 2.5 to
    7 days, 10 % of that to 20 and 5 % of the rest. Anki's rule, bounds included.
    """
    least = min(least, most)
    interval = min(max(interval, least), most)
    if interval < 2.5:
        days = _round(interval)
        return days, days
    delta = 1.0 + sum(share * max(min(interval, end) - start, 0.0) for start, end, share in RANGES)
    low = min(max(_round(interval - delta), least), most)
    high = min(max(_round(interval + delta), least), most)
    if high == low and 2 < high < most:
        high = low + 1
    return low, high


def fuzzed(interval: float, draw: float, least: int, most: int) -> int:
    """The interval in days after fuzz; ``draw`` is uniform in [0, 1)."""
    low, high = bounds(interval, least, most)
    return int(low + draw * (high - low + 1))


def _round(value: float) -> int:
    """Half up: Python's own rounding to even would make 2.5 into 2."""
    return int(value + 0.5)
