"""A baseline: a small training script that works, what a run of it prints, and when a run is healthy."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from quizapp import paths
from quizapp.bank.model import Fault
from quizapp.errors import QuizError

SCRIPT = "run.py"
MEASURE = "measure.py"
DESCRIPTION = "baseline.yaml"
MOST_LINES = 150
MOST_RANKS = 4
_KEYS = ("title", "brief", "ranks", "steps", "seconds", "fields", "band")


@dataclass(frozen=True, slots=True)
class LogField:
    """A field of a script's log lines. One with ``curve`` is worth drawing.

    A ``timed`` one depends on the clock, so two runs of the same command need not agree in it.
    """

    name: str
    title: str
    curve: bool = False
    timed: bool = False


@dataclass(frozen=True, slots=True)
class Baseline:
    """A training script in ``folder`` with its description.

    ``brief`` says what a learner must know about it. A run has ``ranks`` processes and, by default,
    ``steps`` steps; it may take ``seconds``. ``band`` holds, by metric of ``measure.py``, the lowest and the
    highest value of a healthy run.
    """

    name: str
    folder: Path
    title: str
    brief: str
    ranks: int
    steps: int
    seconds: int
    fields: tuple[LogField, ...]
    band: Mapping[str, tuple[float, float]]
    script: str

    @property
    def curves(self) -> tuple[LogField, ...]:
        """The fields that are worth drawing."""
        return tuple(field for field in self.fields if field.curve)

    @property
    def timed(self) -> tuple[str, ...]:
        """The names of the fields that depend on the clock."""
        return tuple(field.name for field in self.fields if field.timed)


def load_baseline(name: str, folder: Path | None = None) -> Baseline:
    """Load the baseline ``name``; ``folder`` is that of the incidents (default: the shipped ones).

    Raises `QuizError` with its first fault if it has any.
    """
    baseline, faults = read_baseline((folder or paths.content() / "incidents") / name)
    if baseline is None:
        raise QuizError(str(faults[0]))
    return baseline


def read_baseline(folder: Path) -> tuple[Baseline | None, list[Fault]]:
    """Read the baseline in ``folder``. It is None if there are faults."""
    # Imported here because most commands never load a baseline.
    from quizapp.bank.yaml_loader import read_yaml
    from quizapp.incidents.live.live_form import MOST_STEPS, read_band
    from quizapp.incidents.mapping_reader import MappingReader, line_of

    path = folder / DESCRIPTION
    for name in (DESCRIPTION, SCRIPT, MEASURE):
        if not (folder / name).is_file():
            return None, [Fault(str(folder / name), 1, f"the baseline '{folder.name}' has no {name}; add it")]
    data, fault = read_yaml(path)
    if fault is not None:
        return None, [fault]
    reader = MappingReader(str(path), f"baseline '{folder.name}'")
    values = reader.mapping(data, DESCRIPTION, 1)
    reader.only(values, _KEYS, 1)
    fields = []
    for name, row in reader.mapping(values.get("fields"), "fields", 1).items():
        at = line_of(row, 1)
        entry = reader.mapping(row, name, at)
        reader.only(entry, ("title", "curve", "timed"), at)
        curve, timed = (reader.flag(entry, key, at) for key in ("curve", "timed"))
        fields.append(LogField(name, reader.text(entry, "title", at), curve, timed))
    band = read_band(values.get("band"), reader, 1)
    if not band:
        reader.fault(1, "'band' is missing; give each metric's lowest and highest value of a healthy run")
    baseline = Baseline(
        name=folder.name,
        folder=folder,
        title=reader.text(values, "title", 1),
        brief=reader.text(values, "brief", 1),
        ranks=reader.whole(values, "ranks", 1, 1, MOST_RANKS, 1),
        steps=reader.whole(values, "steps", 1, 1, MOST_STEPS, 1),
        seconds=reader.whole(values, "seconds", 1, 1, 600, 60),
        fields=tuple(fields),
        band=band,
        script=_script(folder / SCRIPT, reader.faults),
    )
    return (None, reader.faults) if reader.faults else (baseline, [])


def _script(path: Path, faults: list[Fault]) -> str:
    try:
        source = path.read_text(encoding="utf-8")
        compile(source, SCRIPT, "exec", dont_inherit=True)
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
        faults.append(Fault(str(path), getattr(error, "lineno", None) or 1, f"is not a Python file: {error}"))
        return ""
    if (count := len(source.splitlines())) > MOST_LINES:
        faults.append(
            Fault(str(path), MOST_LINES, f"has {count} lines; {MOST_LINES} are the most, shorten it")
        )
    return source
