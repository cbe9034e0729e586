"""Wording that every part of the program shares."""


def plural(count: int, noun: str, many: str = "") -> str:
    """``1 card``, ``2 cards``."""
    return f"{count} {noun if count == 1 else many or noun + 's'}"
