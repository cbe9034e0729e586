"""Reads the ``exercise.yaml`` of exercise folders and reports faults with file and line."""

import re
from pathlib import Path
from typing import Any

from quizapp.bank import LEVELS, Level, PointKind
from quizapp.bank.model import ONLY_STAGE, ROBUST, Exercise, Fault, Forbidden, Hint, KeyPoint, Stage
from quizapp.bank.yaml_loader import LINE, read_yaml

REQUIRED = ("title", "level", "topic", "minutes", "module", "behaviours", "hints", "rubric")
OPTIONAL = ("forbidden", "ranks", "timeout", "stages")
_FEWEST_STAGES, _MOST_STAGES = 2, 5
FILES = ("prompt.md", "starter.py", "solution.py", "probes.py")


def load_exercise(folder: Path) -> tuple[Exercise | None, list[Fault]]:
    """Load the exercise in ``folder``. If its ``exercise.yaml`` is faulty, return None and the faults."""
    path = folder / "exercise.yaml"
    data, fault = read_yaml(path)
    if fault is not None:
        return None, [fault]
    if not isinstance(data, dict):
        return None, [Fault(str(path), 1, "must be a mapping with the keys " + ", ".join(REQUIRED))]
    faults = list(_key_faults(path, data, folder))
    if faults:
        return None, faults
    try:
        return _exercise(folder, data), []
    except _StageError as error:
        return None, [Fault(str(path), error.line, str(error))]
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        return None, [Fault(str(path), int(data[LINE]), f"has a value of the wrong form: {error}")]


def _key_faults(path: Path, data: dict[Any, Any], folder: Path) -> list[Fault]:
    line = int(data[LINE])
    faults = [
        Fault(str(path), line, f"needs the key '{key}'; add it") for key in REQUIRED if not data.get(key)
    ]
    faults += [
        Fault(str(path), line, f"has an unknown key '{key}'; use {', '.join(REQUIRED + OPTIONAL)}")
        for key in data
        if key not in (*REQUIRED, *OPTIONAL, LINE)
    ]
    if data.get("level") not in LEVELS:
        faults.append(Fault(str(path), line, f"level must be one of {', '.join(LEVELS)}"))
    if not re.fullmatch(r"[a-z][a-z0-9_]*\.py", str(data.get("module", ""))):
        faults.append(Fault(str(path), line, "module must be a file name such as 'lora.py'"))
    faults += [
        Fault(str(folder / name), 1, "is missing; write it")
        for name in FILES
        if not (folder / name).is_file()
    ]
    return faults


def _exercise(folder: Path, data: dict[str, Any]) -> Exercise:
    behaviours = {int(k): str(v) for k, v in data["behaviours"].items() if k != LINE}
    if list(behaviours) != list(range(1, len(behaviours) + 1)):
        raise ValueError("behaviours must be numbered 1, 2, 3, ...")
    return Exercise(
        slug=folder.name,
        title=str(data["title"]),
        level=Level(data["level"]),
        topic=str(data["topic"]),
        minutes=int(data["minutes"]),
        module=str(data["module"]),
        behaviours=behaviours,
        hints=tuple(_hint(item) for item in data["hints"]),
        folder=folder,
        rubric=tuple(_point(item) for item in data["rubric"]),
        forbidden=tuple(
            Forbidden(
                tuple(map(str, f["names"])), str(f["says"]), int(f.get("behaviour", 0)), bool(f.get("absent"))
            )
            for f in data.get("forbidden") or []
        ),
        ranks=tuple(int(n) for n in data.get("ranks") or []),
        timeout=float(data.get("timeout", 10.0)),
        stages=_stages(data, behaviours),
    )


class _StageError(ValueError):
    """What is wrong with the stages, and the line that says so."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def _stages(data: dict[str, Any], behaviours: dict[int, str]) -> tuple[Stage, ...]:
    """The stages; one with every behavior if the exercise names none. Raises `_StageError`."""
    if not data.get("stages"):
        return (Stage(ONLY_STAGE, int(data["minutes"]), "", tuple(behaviours)),)
    stages = tuple(
        Stage(str(item["name"]), int(item["minutes"]), str(item["brief"]).strip(), tuple(item["behaviours"]))
        for item in data["stages"]
    )
    line, names = int(data["stages"][0][LINE]), [stage.name for stage in stages]
    if not _FEWEST_STAGES <= len(stages) <= _MOST_STAGES:
        raise _StageError(line, f"has {len(stages)} stages; {_FEWEST_STAGES} to {_MOST_STAGES} are wanted")
    if len(set(names)) < len(names) or "" in names:
        raise _StageError(line, "two stages have the same name; rename one")
    if ROBUST in names[:-1]:
        raise _StageError(line, f"the stage '{ROBUST}' must be the last")
    for stage, item in zip(stages, data["stages"], strict=True):
        if stage.minutes < 1:
            raise _StageError(int(item[LINE]), f"the stage '{stage.name}' needs at least one minute")
        if unknown := [n for n in stage.behaviours if n not in behaviours]:
            text = f"the stage '{stage.name}' names behavior {unknown[0]}, which does not exist"
            raise _StageError(int(item[LINE]), text)
    placed = [number for stage in stages for number in stage.behaviours]
    for number in behaviours:
        if placed.count(number) != 1:
            text = f"behavior {number} must be in exactly one stage, not in {placed.count(number)}"
            raise _StageError(line, text)
    return stages


def _hint(item: Any) -> Hint:
    if isinstance(item, str):
        return Hint(item)
    return Hint(str(item["text"]), tuple(int(n) for n in item.get("behaviours") or []))


def _point(item: dict[str, Any]) -> KeyPoint:
    terms = tuple(str(term) for term in item.get("terms") or [])
    return KeyPoint(str(item["text"]), int(item.get("weight", 1)), PointKind.CORE, terms)


def load_exercises(folder: Path) -> tuple[dict[str, Exercise], list[Fault]]:
    """Load the exercises in the subfolders of ``folder``, by slug, and the faults of those left out."""
    exercises: dict[str, Exercise] = {}
    faults: list[Fault] = []
    if not folder.is_dir():
        return exercises, faults
    for path in sorted(folder.iterdir()):
        if path.name.startswith(("_", ".")) or not (path / "exercise.yaml").is_file():
            continue
        exercise, its_faults = load_exercise(path)
        faults += its_faults
        if exercise is not None:
            exercises[exercise.slug] = exercise
    return exercises, faults
