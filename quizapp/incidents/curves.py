"""Finds the curves in what a reading shows: rows of numbers by step, such as the loss or a norm."""

import math
import re
from dataclasses import dataclass

_NUMBER = r"(?:[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf)|NaN)"
_PAIRS = rf"\d+: {_NUMBER}(?: · \d+: {_NUMBER})+"
_BY_STEP = re.compile(rf"^(?P<label>.*?)\s*(?P<pairs>{_PAIRS})\s*$", re.IGNORECASE)
_VALUES = rf"{_NUMBER}(?:, {_NUMBER})+"
_IN_ORDER = re.compile(rf"^(?P<label>[^:;]*?): (?P<values>{_VALUES})(?P<rest>[;( ].*)?$", re.IGNORECASE)
_STEPS = re.compile(r"(?:^|, )steps (\d+) to (\d+)$")
_FEWEST = 4


@dataclass(frozen=True, slots=True)
class Curve:
    """Values by step, in the order of the steps. A value that is not finite is None.

    ``rest`` is what the row says beside them.
    """

    label: str
    steps: tuple[int, ...]
    values: tuple[float | None, ...]
    rest: str = ""


def curve_in(row: str) -> Curve | None:
    """The curve of a row such as ``step: loss  0: 2.33 · 1: 2.29`` or ``norm, steps 0 to 1: 8, 9``."""
    if match := _BY_STEP.match(row.strip()):
        pairs = [pair.split(": ") for pair in match["pairs"].split(" · ")]
        label = match["label"].removeprefix("step: ").strip(" :")
        return _curve(label, [int(step) for step, _ in pairs], [value for _, value in pairs])
    if match := _IN_ORDER.match(row.strip()):
        values = match["values"].split(", ")
        label = match["label"]
        steps = _STEPS.search(label)
        if steps is None:
            return None
        first = int(steps[1])
        places = [first + place for place in range(len(values))]
        return _curve(label[: steps.start()].strip(), places, values, (match["rest"] or "").strip("; "))
    return None


def _curve(label: str, steps: list[int], texts: list[str], rest: str = "") -> Curve | None:
    values = tuple(value if math.isfinite(value := float(text)) else None for text in texts)
    if len(values) < _FEWEST or sum(value is not None for value in values) < _FEWEST - 1:
        return None
    return Curve(label or "value", tuple(steps), values, rest)
