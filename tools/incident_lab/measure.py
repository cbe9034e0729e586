"""Measures every stored run again and compares it with the files of ``content/incidents``.

``python -m tools.incident_lab.measure [ID...] [--cause NAME] [--write]`` exits with 1 if a file differs.
With ids or causes it measures only those. Without, it measures all incidents and causes.
"""

import argparse
import math
import re
import sys
from pathlib import Path
from typing import Any

import torch
import yaml

from quizapp import paths
from tools.incident_lab.catalogue import RUNS
from tools.incident_lab.faults import FAULTS
from tools.incident_lab.reading_texts import SHOWS
from tools.incident_lab.readings import OUTCOMES, RunPair, applicable, outcomes
from tools.incident_lab.scripts import incidents as scripts
from tools.incident_lab.scripts.ddp_trace import TIMED
from tools.incident_lab.setups import BASELINE, SEEDS

# The minus sign of printed texts may be U+2212, which float() does not read.
NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
TOLERANCE = 0.02
WORDS = ("up", "flat", "down", "non-finite", "equal", "data", "comm")

Measured = dict[str, tuple[str, str]]


def measure(case: RunPair) -> Measured:
    """Measure the outcome and the text of every reading that makes sense for the run."""
    return {name: (outcome, SHOWS[name](case)) for name, outcome in outcomes(case).items()}


def expected(folder: Path, cause: str) -> dict[str, list[str]]:
    """Measure the outcomes of ``cause`` on every baseline with seeds 0, 1, 2 and in the stored runs."""
    measured: list[dict[str, str]] = []
    if cause in FAULTS:
        fault = FAULTS[cause]
        bases = [BASELINE.but(seed=seed) for seed in SEEDS]
        measured += [outcomes(RunPair(fault.broken(base), fault.healthy(base))) for base in bases]
        measured += [outcomes(stored.case()) for stored in RUNS.values() if stored.cause == cause]
    for results in scripts.measured_cases(folder, cause):
        measured.append({name: outcome for name, (outcome, _) in results.items()})
    seen: dict[str, set[str]] = {}
    for row in measured:
        for name, outcome in row.items():
            seen.setdefault(name, set()).add(outcome)
    names = [*OUTCOMES, *(name for name in seen if name not in OUTCOMES)]
    return {name: [word for word in WORDS if word in seen[name]] for name in names if name in seen}


def same_text(stored: str, measured: str) -> bool:
    """Whether two texts agree, with numbers to within 2 % or 0.0015.

    Floating-point results differ slightly from machine to machine, and training amplifies the difference.
    """
    if NUMBER.sub("#", stored).split() != NUMBER.sub("#", measured).split():
        return False
    pairs = zip(NUMBER.findall(stored), NUMBER.findall(measured), strict=True)
    return all(_close(float(a.replace("−", "-")), float(b.replace("−", "-"))) for a, b in pairs)


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=0.0015)


def differences(name: str, data: dict[str, Any], measured: Measured) -> list[str]:
    """Return a sentence for each difference between the file of an incident and its run."""
    stored = data.get("readings") or {}
    problems = [f"{name}: {r} is {measured[r][0]}, the file lacks it" for r in measured if r not in stored]
    for reading, row in stored.items():
        if reading not in measured:
            problems.append(f"{name}: {reading} makes no sense for this run; remove it")
            continue
        outcome, shows = measured[reading]
        if row["outcome"] != outcome:
            problems.append(f"{name}: {reading} is {outcome}, the file says {row['outcome']}")
        if reading not in TIMED and not same_text(str(row["shows"]), shows):
            problems.append(f"{name}: {reading} shows other numbers:\n{shows}")
    strange = unknown_numbers(str(data.get("symptom", "")), measured)
    return problems + [f"{name}: the symptom has {text}, a number that no reading shows" for text in strange]


def unknown_numbers(text: str, measured: Measured) -> list[str]:
    """Return the decimal numbers of ``text`` that no number in the readings rounds to."""
    shown = [float(n.replace("−", "-")) for _, shows in measured.values() for n in NUMBER.findall(shows)]
    strange = []
    for figure in re.findall(r"(?<![\w.])\d+\.\d+(?:e[-+]?\d+)?", text):
        digits = len(figure.split("e")[0].partition(".")[2])
        unit = 10.0 ** (int(figure.partition("e")[2] or 0) - digits)
        # Half a unit of the last printed digit, and a little more for binary fractions.
        if not any(abs(float(figure) - k) <= 0.51 * unit for k in shown):
            strange.append(figure)
    return strange


def unrejected_decoys(
    data: dict[str, Any], causes: dict[str, Any], name: str, measured: Measured
) -> list[str]:
    """Return a sentence for each decoy that no reading rejects.

    A reading rejects a decoy if its outcome is not among those that ``expects`` lists for the decoy, and if
    planting the decoy in the same setup gives another outcome or makes the reading impossible.
    """
    problems = []
    for decoy in data["decoys"]:
        planted = RUNS[name].case(decoy)
        possible = applicable(planted.setup)
        rejecting = _rejecting(causes[decoy], measured)
        if not any(r not in possible or OUTCOMES[r](planted) != measured[r][0] for r in rejecting):
            problems.append(f"{name}: no reading rejects the decoy {decoy}")
    return problems


def _rejecting(cause: dict[str, Any], measured: Measured) -> list[str]:
    expects = cause["expects"]
    return [name for name, (word, _) in measured.items() if name in expects and word not in expects[name]]


def unrejected_script_decoys(
    folder: Path, data: dict[str, Any], causes: dict[str, Any], measured: Measured
) -> list[str]:
    """Return a sentence for each decoy of a script incident that no reading rejects."""
    problems = []
    for decoy in data["decoys"]:
        pair = scripts.planted(folder, data["live"], decoy)
        if pair is None:
            problems.append(f"{data['id']}: the laboratory cannot plant the decoy {decoy}")
            continue
        rejecting = _rejecting(causes[decoy], measured)
        # In a generator, so that the first reading that rejects the decoy ends the search.
        planted = ((name, pair.lab.readings[name](pair)) for name in rejecting)
        if not any(row is None or row[0] != measured[name][0] for name, row in planted):
            problems.append(f"{data['id']}: no reading rejects the decoy {decoy}")
    return problems


def readings_block(measured: Measured) -> str:
    """Format the ``readings`` of an incident's file as YAML."""
    lines = ["readings:"]
    for name, (outcome, shows) in measured.items():
        lines += [f"  {name}:", f"    outcome: {outcome}", "    shows: |-"]
        lines += [f"      {line}" for line in shows.splitlines()]
    return "\n".join(lines) + "\n"


def write_readings(path: Path, measured: Measured) -> None:
    """Replace the ``readings`` of a file."""
    # Edited as text, because a round trip through the YAML library would lose comments and layout.
    text = path.read_text(encoding="utf-8")
    block = readings_block(measured)
    text = re.sub(r"^readings:.*\n(?:(?: .*)?\n)*", lambda _: block, text, count=1, flags=re.MULTILINE)
    path.write_text(text, encoding="utf-8")


def expects_line(expects: dict[str, list[str]]) -> str:
    """Format the ``expects`` of a cause as one line of YAML."""
    return "expects: {" + ", ".join(f"{r}: [{', '.join(words)}]" for r, words in expects.items()) + "}"


def write_expects(path: Path, cause: str, expects: dict[str, list[str]]) -> None:
    """Replace the ``expects`` of a cause."""
    text = path.read_text(encoding="utf-8")
    pattern = rf"(^  {re.escape(cause)}:\n(?:    .*\n)*?    )expects: .*"
    line = expects_line(expects)
    path.write_text(
        re.sub(pattern, lambda m: m[1] + line, text, count=1, flags=re.MULTILINE), encoding="utf-8"
    )


def check_causes(folder: Path, names: list[str], *, write: bool) -> list[str]:
    """Return a sentence for each difference between ``causes.yaml`` and the measured outcomes.

    Without ``names``, every cause is measured.
    """
    path = folder / "causes.yaml"
    causes = yaml.safe_load(path.read_text(encoding="utf-8"))["causes"]
    plantable = FAULTS.keys() | scripts.plantable(folder)
    problems = [f"causes.yaml lacks the cause {name}" for name in sorted(plantable - causes.keys())]
    for name, row in causes.items():
        if names and name not in names:
            continue
        if name not in plantable:
            problems.append(f"causes.yaml: the laboratory cannot plant {name}")
            continue
        right = expected(folder, name)
        if write:
            write_expects(path, name, right)
        elif row.get("expects") != right:
            problems.append(f"causes.yaml: {name} {expects_line(right)}")
    return problems


def check_incident(folder: Path, name: str, *, write: bool) -> list[str]:
    """Return the differences of one incident's file from its run. ``write`` updates its readings first."""
    path = folder / f"{name}.yaml"
    if name in RUNS:
        measured = measure(RUNS[name].case())
    else:
        live = scripts.script_incidents(folder)[name]["live"]
        measured = scripts.measure_pair(scripts.assemble(folder, live))
    if not path.exists():
        return [f"{path} is missing; its readings are\n{readings_block(measured)}"]
    if write:
        write_readings(path, measured)
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    causes = yaml.safe_load((folder / "causes.yaml").read_text(encoding="utf-8"))["causes"]
    if name in RUNS:
        unrejected = unrejected_decoys(data, causes, name, measured)
    else:
        unrejected = unrejected_script_decoys(folder, data | {"live": live}, causes, measured)
    return differences(name, data, measured) + unrejected


def main(arguments: list[str]) -> int:
    """Measure, print every difference, and return 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m tools.incident_lab.measure")
    parser.add_argument("ids", nargs="*", metavar="ID", help="incidents (default: all, and every cause)")
    parser.add_argument("--cause", action="append", default=[], metavar="NAME", help="measure this cause too")
    parser.add_argument("--write", action="store_true", help="write what was measured into the files")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # for the same digits on every machine
    folder = paths.content() / "incidents"
    known = [*RUNS, *scripts.script_incidents(folder, but=RUNS)]
    if unknown := [name for name in options.ids if name not in known]:
        parser.error(f"no incident {', '.join(unknown)}; known are {', '.join(known)}")
    every = not options.ids and not options.cause
    problems = []
    if every or options.cause:
        problems += check_causes(folder, options.cause, write=options.write)
    for name in known if every else options.ids:
        wrong = check_incident(folder, name, write=options.write)
        print(f"{name}: {'differs' if wrong else 'as measured'}", flush=True)
        problems += wrong
    for text in problems:
        print(text, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
