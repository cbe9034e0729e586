"""What a script printed, as numbers: ``step 12  loss 1.2345  rate 0.1`` is one row."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from quizapp.incidents.model import LiveSymptom

_ROW = re.compile(r"step (\d{1,9})(?:  \S+ \S+)*\s*")
_PAIR = re.compile(r"  (\S+) (\S+)")


@dataclass(frozen=True, slots=True)
class LogRow:
    """One step's line of a log: the numbers by field."""

    step: int
    values: dict[str, float] = field(default_factory=dict)


def read_rows(log: str) -> list[LogRow]:
    """The rows of a log, in order. Other lines, and values that are not numbers, are left out."""
    rows = []
    for line in log.splitlines():
        if (match := _ROW.fullmatch(line)) is not None:
            pairs = ((name, _number(text)) for name, text in _PAIR.findall(line))
            rows.append(LogRow(int(match[1]), {name: value for name, value in pairs if value is not None}))
    return rows


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def shows(symptom: LiveSymptom, rows: Sequence[LogRow]) -> bool:
    """Whether a log shows the symptom."""
    return any(_shown(symptom, row) for row in rows if symptom.at is None or row.step == symptom.at)


def _shown(symptom: LiveSymptom, row: LogRow) -> bool:
    value = row.values.get(symptom.field)
    if value is None:
        return False
    if symptom.non_finite:
        return not math.isfinite(value)
    if symptom.equal_to:
        return value == row.values.get(symptom.equal_to)
    if symptom.above is not None:
        return value > symptom.above
    return symptom.below is not None and value < symptom.below


def same_rows(left: str, right: str, timed: Collection[str] = ()) -> bool:
    """Whether two logs agree to the last digit, apart from the fields in ``timed``."""
    if not timed:
        return left == right
    return _untimed(left, timed) == _untimed(right, timed)


def _untimed(log: str, timed: Collection[str]) -> str:
    names = "|".join(map(re.escape, timed))
    return re.sub(rf"(?<=  )(?:{names}) \S+", "", log)
