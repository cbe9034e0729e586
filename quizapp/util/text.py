"""Numbers, shares and times as people write them."""

import math


def plural(count: int, noun: str, many: str = "") -> str:
    """``1 card``, ``2 cards``; ``many`` is the plural where it does not end in s."""
    return f"{count} {noun if count == 1 else many or noun + 's'}"


def duration(seconds: float) -> str:
    """A length of time: ``45 s``, ``12 min``, ``3 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def clock(seconds: float) -> str:
    """A running time on a clock face: ``4:05`` or ``1:04:05``."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


def percent(share: float | None) -> str:
    """A share from 0 to 1 as ``84 %``, or a dash where there is none."""
    return "–" if share is None else f"{100 * share:.0f} %"


def number_text(value: float | str) -> str:
    """A number with up to six significant digits, thousands separated, without a lone ``.0``."""
    if isinstance(value, str | bool):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    size = abs(value)
    if size and (size >= 1e12 or size < 1e-4):
        mantissa, _, exponent = f"{value:.5e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    if float(value).is_integer():
        return f"{int(value):,}"
    digits = max(0, 5 - math.floor(math.log10(size)))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
