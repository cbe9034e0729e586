"""Assembles the programs of script incidents, and measures what they and their causes show."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from quizapp.judge.authoring.mutants import MutantEdit, apply_edits
from tools.incident_lab.scripts.ddp_trace import TIMED
from tools.incident_lab.scripts.pair import ScriptPair
from tools.incident_lab.scripts.registry import LABS, READ_ONLY

SEED = 7
SEEDS = (0,)
NO_FAULT = "no-fault"
# Each of these trains once more, so causes are asked for them in the stored runs only.
RERUNS = ("lr-div-10", "control-run", "one-batch")


def script_incidents(folder: Path, *, but: Collection[str] = ()) -> dict[str, dict[str, Any]]:
    """Return the incidents of a folder whose baseline has a laboratory for scripts, by id.

    One that has no live form is given that of the laboratory, so that each has its program under ``live``.
    """
    incidents = {}
    for path in sorted(folder.glob("*.yaml")):
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        data.setdefault("live", READ_ONLY.get(path.stem, {}))
        if data["live"].get("baseline") in LABS and path.stem not in but:
            incidents[path.stem] = data
    return incidents


def edits_of(rows: Iterable[Mapping[str, str]]) -> tuple[MutantEdit, ...]:
    """Convert the edits of a file."""
    return tuple(MutantEdit(row["replace"], row["with"], row.get("after", "")) for row in rows)


def assemble(
    folder: Path, live: Mapping[str, Any], seed: int = SEED, edits: tuple[MutantEdit, ...] | None = None
) -> ScriptPair:
    """Return the program of an incident beside its healthy version. ``edits`` plants another fault."""
    script = (folder / live["baseline"] / "run.py").read_text(encoding="utf-8")
    sound = apply_edits(script, edits_of(live.get("setup", ())))
    broken = apply_edits(sound, edits_of(live.get("edits", ())) if edits is None else edits)
    return ScriptPair(broken, sound, LABS[live["baseline"]], seed)


def measure_pair(pair: ScriptPair, *, but: Collection[str] = ()) -> dict[str, tuple[str, str]]:
    """Measure the outcome and the text of every reading that makes sense for the run, ``but`` some."""
    measured = {name: reading(pair) for name, reading in pair.lab.readings.items() if name not in but}
    return {name: row for name, row in measured.items() if row is not None}


def planted(folder: Path, live: Mapping[str, Any], cause: str) -> ScriptPair | None:
    """Return an incident's program broken by another cause, or None if the laboratory cannot plant it."""
    edits = fault_edits(folder, live["baseline"]).get(cause)
    return None if edits is None else assemble(folder, live, edits=edits)


def fault_edits(folder: Path, baseline: str) -> dict[str, tuple[MutantEdit, ...]]:
    """Return the edits that plant each cause in a baseline."""
    edits = {NO_FAULT: (), **LABS[baseline].plants}
    for data in script_incidents(folder).values():
        if data["live"]["baseline"] == baseline:
            edits.setdefault(data["cause"], edits_of(data["live"].get("edits", ())))
    return edits


def plantable(folder: Path) -> set[str]:
    """Return the causes that some baseline can show."""
    return {cause for baseline in LABS for cause in fault_edits(folder, baseline)}


def measured_cases(folder: Path, cause: str) -> Iterator[dict[str, tuple[str, str]]]:
    """Yield what a cause gives in its incidents, and on every baseline with other seeds."""
    own = [data["live"] for data in script_incidents(folder).values() if data["cause"] == cause]
    for live in own:
        yield measure_pair(assemble(folder, live))
        yield from (measure_pair(assemble(folder, live, seed), but=RERUNS) for seed in SEEDS)
    for baseline in LABS:
        edits = fault_edits(folder, baseline).get(cause)
        if edits is not None and not any(live["baseline"] == baseline and live.get("edits") for live in own):
            pairs = (assemble(folder, {"baseline": baseline}, seed, edits) for seed in SEEDS)
            yield from (measure_pair(pair, but=RERUNS) for pair in pairs)
    yield from _timed_cases(folder, cause, own)


def _timed_cases(folder: Path, cause: str, own: list[dict[str, Any]]) -> Iterator[dict[str, tuple[str, str]]]:
    """Yield what the clock shows of a cause where steps are long enough for it."""
    live = next(iter(READ_ONLY.values()))
    edits = fault_edits(folder, live["baseline"]).get(cause)
    if edits is None or any(live["setup"] == other.get("setup") for other in own):
        return
    untimed = LABS[live["baseline"]].readings.keys() - TIMED
    yield from (measure_pair(assemble(folder, live, seed, edits), but=untimed) for seed in SEEDS)
