"""Reads design questions, estimates and the project sheet from YAML; every fault has a file and a line."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from quizapp import paths
from quizapp.bank.decks.parse_question import read_question
from quizapp.bank.model import Fault, Question
from quizapp.bank.yaml_loader import LINE, read_yaml
from quizapp.interview.rounds.material import (
    DESIGN_PHASES,
    PROJECT_TOPIC,
    QUANTITIES,
    DesignQuestion,
    Estimate,
    ProjectSheet,
    RoundMaterial,
)
from quizapp.util.suggest import did_you_mean

DESIGN, NAPKIN, PROJECT = "design.yaml", "napkin.yaml", "project.yaml"
_SHARED = ("misconceptions", "sources")
_DESIGN_KEYS = ("id", "title", "topic", "exercise", "prompt", "say", "phases", "follow_ups", *_SHARED)
_PHASE_KEYS = ("answer", "key_points")
_NO_TERM = "interview-craft-has-no-term"

Row = Mapping[str, Any]
Reporter = Callable[[int, str], None]
Entry = TypeVar("Entry")


def material_folder() -> Path:
    """The folder of the shipped material."""
    return paths.content() / "interviews" / "rounds"


def load_material(folder: Path | None = None) -> RoundMaterial:
    """Return the material in ``folder`` (default: the shipped one). Bad content never raises."""
    return _cached_material(folder or material_folder())


@lru_cache(4)
def _cached_material(folder: Path) -> RoundMaterial:
    return parse_material(folder)


def parse_material(folder: Path) -> RoundMaterial:
    """Read the material without the cache. A file that does not exist holds nothing."""
    faults: list[Fault] = []
    designs = {entry.id: entry for entry in _entries(folder / DESIGN, "questions", _design, faults)}
    estimates = {
        entry.question.id: entry for entry in _entries(folder / NAPKIN, "estimates", _estimate, faults)
    }
    return RoundMaterial(designs, estimates, _project(folder / PROJECT, faults), tuple(faults))


def _open(path: Path, keys: tuple[str, ...], faults: list[Fault]) -> Row | None:
    """Read the mapping of a file; None, with faults, if it cannot be used."""
    if not path.exists():
        return None
    data, fault = read_yaml(path)
    if fault is not None:
        faults.append(fault)
        return None
    if not isinstance(data, dict):
        faults.append(Fault(str(path), 1, f"must be a mapping with {' and '.join(keys)}"))
        return None
    before = len(faults)
    _only(data, keys, _reporter(path, "", faults))
    return data if len(faults) == before else None


def _entries(
    path: Path, key: str, read: Callable[[Row, str, Reporter, list[Fault]], Entry | None], faults: list[Fault]
) -> list[Entry]:
    """Read the list under ``key``; entries with a fault or with the id of an earlier one are left out."""
    data = _open(path, (key,), faults)
    if data is None:
        return []
    rows = data.get(key) or []
    if not isinstance(rows, list):
        faults.append(Fault(str(path), 1, f"'{key}' must be a list, one '- id:' an entry"))
        return []
    entries: list[Entry] = []
    seen: set[str] = set()
    for row in rows:
        if not isinstance(row, dict):
            faults.append(Fault(str(path), 1, f"each entry of '{key}' must be a mapping that starts '- id:'"))
            continue
        name = str(row.get("id", "?"))[:100]
        report = _reporter(path, name, faults)
        if name in seen:
            report(row[LINE], "the id is taken by an earlier entry; choose another")
            continue
        seen.add(name)
        entry = read(row, str(path), report, faults)
        if entry is not None:
            entries.append(entry)
    return entries


def _reporter(path: Path, name: str, faults: list[Fault]) -> Reporter:
    def report(line: int, text: str) -> None:
        faults.append(Fault(str(path), line, f"'{name}': {text}" if name else text))

    return report


def _only(row: Row, keys: Iterable[str], report: Reporter) -> bool:
    """Report each key that is not among ``keys``."""
    allowed = tuple(keys)
    unknown = [str(key) for key in row if key != LINE and key not in allowed]
    for key in unknown:
        hint = did_you_mean(key, allowed, f"the keys are {', '.join(allowed)}", most=1)
        report(int(row[LINE]), f"unknown key '{key[:40]}'; {hint}")
    return not unknown


def _lacks(row: Row, keys: Iterable[str], report: Reporter) -> bool:
    missing = [key for key in keys if not isinstance(row.get(key), str) or not row[key].strip()]
    for key in missing:
        report(int(row[LINE]), f"'{key}' is missing or not a text; add it")
    return bool(missing)


def _question(data: dict[str, Any], topic: str, file: str, faults: list[Fault]) -> Question | None:
    question, found = read_question(data, topic, file)
    faults += found
    return question


def _design(row: Row, file: str, report: Reporter, faults: list[Fault]) -> DesignQuestion | None:
    if not _only(row, _DESIGN_KEYS, report) or _lacks(
        row, ("title", "topic", "exercise", "prompt", "say"), report
    ):
        return None
    line, phases = int(row[LINE]), row.get("phases")
    if not isinstance(phases, dict):
        report(line, f"'phases' must map {', '.join(DESIGN_PHASES)} to an answer and key points")
        return None
    names = [str(name) for name in phases if name != LINE]
    if names != list(DESIGN_PHASES):
        report(int(phases[LINE]), f"the phases must be {', '.join(DESIGN_PHASES)}, in this order")
        return None
    read: dict[str, Question] = {}
    for name in DESIGN_PHASES:
        phase = phases[name]
        if not isinstance(phase, dict) or not _only(phase, _PHASE_KEYS, report):
            if not isinstance(phase, dict):
                report(int(phases[LINE]), f"the phase '{name}' must have an answer and key points")
            return None
        data = {
            LINE: phase[LINE], "id": f"{row.get('id', '?')}-{name}", "level": "hard", "kind": "recall",
            "prompt": row["prompt"], "exercise": row["exercise"], "say": row["say"],
            "answer": phase.get("answer"), "key_points": phase.get("key_points"),
        }  # fmt: skip
        # What is wrong or asked next about the whole design is marked once, in its longest phase.
        if name == "plan":
            data |= {key: row[key] for key in ("follow_ups", *_SHARED) if row.get(key)}
        question = _question(data, row["topic"], file, faults)
        if question is None:
            return None
        read[name] = question
    return DesignQuestion(str(row["id"]), row["title"], row["topic"], row["prompt"], read, file, line)


def _estimate(row: Row, file: str, report: Reporter, faults: list[Fault]) -> Estimate | None:
    if _lacks(row, ("title", "topic"), report):
        return None
    about = row.get("about")
    if about not in QUANTITIES:
        report(int(row[LINE]), f"'about' must be one of {', '.join(QUANTITIES)}, not {str(about)[:40]!r}")
        return None
    data = {key: value for key, value in row.items() if key not in ("title", "topic", "about")}
    question = _question({**data, "kind": "numeric"}, row["topic"], file, faults)
    if question is None:
        return None
    if not question.key_points:
        report(int(row[LINE]), "'key_points' is missing; name the steps of the working")
        return None
    return Estimate(row["title"], str(about), question)


def _project(path: Path, faults: list[Fault]) -> ProjectSheet | None:
    data = _open(path, ("worksheet", "probes"), faults)
    if data is None:
        return None
    report = _reporter(path, "", faults)
    sheet, rows = data.get("worksheet"), data.get("probes")
    if not isinstance(sheet, dict) or not isinstance(rows, list):
        report(int(data[LINE]), "needs 'worksheet', a mapping, and 'probes', a list")
        return None
    before = len(faults)
    worksheet = _own_words(sheet, path, faults)
    probes = [_own_words(row, path, faults) for row in rows]
    names = [probe.id for probe in probes if probe is not None]
    for name in sorted({name for name in names if names.count(name) > 1}):
        report(int(data[LINE]), f"two probes have the id '{name}'; choose another")
    if len(faults) > before or worksheet is None:
        return None
    return ProjectSheet(worksheet, tuple(probe for probe in probes if probe is not None))


def _own_words(row: object, path: Path, faults: list[Fault]) -> Question | None:
    """Read a question about the learner's own project. Its key points may come without terms."""
    if not isinstance(row, dict):
        faults.append(Fault(str(path), 1, "the worksheet and each probe must be a mapping that starts 'id:'"))
        return None
    points = row.get("key_points")
    if isinstance(points, list):
        # A point of the bank must have terms, because a drilled answer is compared with them.
        points = [
            {**point, "terms": point.get("terms") or [_NO_TERM]} if isinstance(point, dict) else point
            for point in points
        ]
    data = {"level": "medium", "kind": "recall", "exercise": "none", **row, "key_points": points}
    question = _question(data, PROJECT_TOPIC, str(path), faults)
    return None if question is None else _without_placeholder(question)


def _without_placeholder(question: Question) -> Question:
    points = tuple(
        replace(point, terms=tuple(term for term in point.terms if term != _NO_TERM))
        for point in question.key_points
    )
    return replace(question, key_points=points)
