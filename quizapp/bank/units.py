"""Reads numbers with units as people type them, and converts them to the unit of a question."""

import math
import re

from quizapp.bank.expressions import ExpressionError, evaluate

_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}

# Unit to (dimension, factor). A dimension's base unit has the factor 1.
UNITS: dict[str, tuple[str, float]] = {}
for _prefix, _size in _DECIMAL.items():
    UNITS[f"{_prefix}B"] = ("bytes", _size)
    UNITS[f"{_prefix}bit"] = ("bytes", _size / 8)
    UNITS[f"{_prefix}FLOP"] = ("flop", _size)
    for _rate in ("/s", "ps"):
        UNITS[f"{_prefix}B{_rate}"] = ("bytes/s", _size)
        UNITS[f"{_prefix}bit{_rate}"] = ("bytes/s", _size / 8)
    UNITS[f"{_prefix}FLOP/s"] = ("flop/s", _size)
    UNITS[f"{_prefix}FLOPS"] = ("flop/s", _size)
    UNITS[f"{_prefix}FLOPs"] = ("flop", _size)
for _prefix, _size in _BINARY.items():
    UNITS[f"{_prefix}B"] = ("bytes", _size)
    UNITS[f"{_prefix}B/s"] = ("bytes/s", _size)
for _names, _seconds in {
    "ns": 1e-9,
    "us µs μs": 1e-6,
    "ms": 1e-3,
    "s sec second seconds": 1.0,
    "min minute minutes": 60.0,
    "h hr hour hours": 3600.0,
    "d day days": 86400.0,
    "week weeks": 604800.0,
    "year years": 365.0 * 86400.0,
}.items():
    for _name in _names.split():
        UNITS[_name] = ("time", _seconds)
_COUNTS = {"tokens": "token tokens tok", "params": "param params parameter parameters"}
_COUNTS |= {"steps": "step steps", "samples": "sample samples", "USD": "USD $ dollar dollars"}
_COUNTS |= {
    "tokens/s": "tokens/s tok/s token/s",
    "GPU-hours": "GPU-hours GPU-hour GPUh GPU-h",
    "W": "W watt watts",
}
_COUNTS |= {"x": "x × times-larger times", "GPUs": "GPU GPUs", "epochs": "epoch epochs"}
_WORDS = {"thousand": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12}
_COUNT_PREFIX = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
for _dimension, _names in _COUNTS.items():
    for _name in _names.split():
        UNITS[_name] = (_dimension, 1.0)
for _word, _size in _WORDS.items():
    for _dimension in ("params", "tokens"):
        for _name in _COUNTS[_dimension].split():
            UNITS[f"{_word} {_name}"] = (_dimension, _size)
UNITS["%"] = ("share", 0.01)
UNITS["percent"] = ("share", 0.01)
UNITS["kW"] = ("W", 1e3)

_MAX_TEXT = 200  # the patterns below are slow on longer texts
_NUMBER = re.compile(
    r"(?P<sign>[-+−–]?)\s*(?P<digits>(?:\d[\d,_ ]*\d|\d)?(?:\.\d*)?)"
    r"(?:[eE](?P<exp>[-+−]?\d+)|\s*(?:[x×*·]\s*)10(?:\^|\*\*)?(?P<ten>[-+−]?\d+|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))?"
    r"\s*(?P<unit>.*)",
    re.DOTALL,
)
_SUM = re.compile(r"(?P<sum>[-+*/^().\deE ]*[\d)])\s*(?P<unit>(?:[^\d(].*)?)", re.DOTALL)
_OPERATOR = re.compile(r"[\d)] ?(?:\*\*|[-+*/^]) ?[-\d(.]")
_RAISED = re.compile(r"[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−–", "0123456789-+--")
_SIGNS = str.maketrans("×·−–", "**--")
_TIMES = str.maketrans("⋅∙•∗✕⨯", "····××")
_GROUPED = re.compile(r"\d[\d.,'’]*\d")
_POWER_OF_TEN = re.compile(
    r"(?<![\w.,^/])(?<!/ )(?:(\d+(?:\.\d+)?)\s*[×·*]\s*)?"
    r"10(?:(?:\^|\*\*)([-−]?\d+)|([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))(?![\d.]|\s*(?:\^|\*\*))"
)


def plain_numbers(text: str) -> str:
    """A text with its numbers as Python writes them: 4.2e22 for 4.2·10²², 4.2 for 4,2, 1000 for 1'000.

    One comma is a decimal comma unless exactly three digits follow, as in 12,345.
    """
    text = _GROUPED.sub(lambda match: _ungrouped(match[0]), text.translate(_TIMES))
    text = re.sub(r"(?<=\d)([eE])[−–](?=\d)", r"\1-", text)
    return _POWER_OF_TEN.sub(
        lambda match: f"{match[1] or 1}e{int((match[2] or match[3]).translate(_SUPERSCRIPT))}", text
    )


def _ungrouped(digits: str) -> str:
    digits = re.sub(r"(?<=\d)['’](?=\d{3}(?!\d))", "", digits)
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+", digits):  # 1.000,5
        return digits.replace(".", "").replace(",", ".")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits) and not re.match("0+,", digits):
        return digits.replace(",", "")
    head, comma, tail = digits.partition(",")
    return f"{head}.{tail}" if comma and head.isdigit() and tail.isdigit() else digits


def not_a_number(unit: str) -> str:
    """The sentence for a text that is not a number in a unit."""
    return f"That is not a number{f' in {unit}' if unit else ''}; 4200, 4.2e3, 4.2·10³ and 1/3 are."


def parse_number(text: str, unit: str) -> float | None:
    """Read the number in ``text`` and convert it to ``unit``.

    Returns None if there is no number or the units do not match. A bare number counts as being in ``unit``.
    ``112 GB``, ``1.12e11 B``, ``104.3 GiB`` and ``0.112 TB`` give the same size. ``3/4``, ``2^24``, ``4,2``,
    ``1.5 × 10^3`` and expressions such as ``6*7e9*2e12/1e21`` are numbers too.
    """
    if len(text) > _MAX_TEXT:
        return None
    line = plain_numbers(" ".join(text.strip().lstrip("~≈=$").split()))
    parsed = _calculated(line) or _split(line)
    if parsed is None:
        return None
    number, written = parsed
    if "$" in text and not written:
        written = "USD"
    factor = _factor(written, unit)
    return None if factor is None or not math.isfinite(number) else number * factor


def _split(text: str) -> tuple[float, str] | None:
    match = _NUMBER.fullmatch(text)
    if match is None or not any(c.isdigit() for c in match["digits"]):
        return None
    digits = re.sub(r"[,_ ]", "", match["digits"])
    exponent_text = (match["exp"] or match["ten"] or "0").translate(_SUPERSCRIPT)
    try:
        number = float(f"{digits}e{int(exponent_text)}")
    except ValueError:
        return None
    return (-number if match["sign"] in ("-", "−", "–") and match["sign"] else number), match["unit"].strip()


def _calculated(text: str) -> tuple[float, str] | None:
    """Compute an expression such as ``6*7e9``. Returns its value and the unit after it."""
    plain = _RAISED.sub(lambda raised: f"^{raised[0].translate(_SUPERSCRIPT)}", text).translate(_SIGNS)
    plain = re.sub(r"(?<=\d)[,_ ](?=\d{3}(?!\d))", "", plain)
    match = _SUM.fullmatch(plain)
    if match is None or not _OPERATOR.search(match["sum"]):
        return None
    # Turn integers into floats: powers of powers then overflow at once, and no limit on integers applies.
    formula = re.sub(r"(?<![\d.eE])\d+(?![\d.eE])", r"\g<0>.0", match["sum"].replace("^", "**"))
    formula = re.sub(r"(?<![\d.])0+(?=\d)", "", formula)  # Python refuses leading zeros
    try:
        value = float(evaluate(formula, {}))
    except (ExpressionError, TypeError, OverflowError):
        return None
    return (value, match["unit"].strip()) if math.isfinite(value) else None


def _factor(written: str, unit: str) -> float | None:
    written, unit = written.rstrip(".").strip(), unit.strip()
    if not written or written.casefold() == unit.casefold():
        return 1.0
    if not unit:  # the question asks for a plain number, so "7B" means seven billion
        return {"%": 0.01, "percent": 0.01, "x": 1.0, "×": 1.0, **_COUNT_PREFIX, **_WORDS}.get(written)
    target = UNITS.get(unit)
    if target is None:
        return 1.0 if written.casefold().rstrip("s") == unit.casefold().rstrip("s") else None
    source = UNITS.get(written)
    if source is None or source[0] != target[0]:
        source = _relaxed(written, target[0])
    if source is None:
        return None
    return source[1] / target[1]


def _relaxed(written: str, dimension: str) -> tuple[str, float] | None:
    """Accept other spellings of a unit of ``dimension``: case, ``bytes``, ``7B`` for 7 billion parameters."""
    if dimension in _COUNTS:
        head, _, tail = written.partition(" ")
        factor = _COUNT_PREFIX.get(head) or _WORDS.get(head.casefold())
        if factor is not None and (not tail or tail.casefold() in _COUNTS[dimension].casefold().split()):
            return dimension, factor
    folded = written.casefold().replace("bytes", "b").replace("byte", "b").replace(" ", "")
    matches = {value for name, value in UNITS.items() if value[0] == dimension and name.casefold() == folded}
    return matches.pop() if len(matches) == 1 else None
