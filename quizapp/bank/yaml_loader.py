"""YAML with line numbers: PyYAML's C loader, and faults that say where and what to do."""

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import yaml

from quizapp.bank.model import Fault

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

MAX_FILE_BYTES = 4 << 20
LINE = "__line__"


class _LineLoader(_Loader):
    """Adds the line of each mapping under `LINE` and refuses a key given twice."""


def _mapping(loader: _LineLoader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        if key_node.value in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key_node.value!r} is given twice; keep one", key_node.start_mark
            )
        seen.add(key_node.value)
    mapping: dict[Hashable, Any] = loader.construct_mapping(node, deep=True)
    mapping[LINE] = node.start_mark.line + 1
    return mapping


_LineLoader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read_yaml(path: Path) -> tuple[Any, Fault | None]:
    """The file's content, every mapping with its line under `LINE`; or None and the fault."""
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            return None, Fault(
                str(path), 1, f"is {size >> 20} MB; split it, {MAX_FILE_BYTES >> 20} MB is the limit"
            )
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        return None, Fault(str(path), 1, f"is not UTF-8 at byte {error.start}; save it as UTF-8")
    except OSError as error:
        return None, Fault(str(path), 1, f"cannot be read: {error.strerror}")
    try:
        return yaml.load(text, Loader=_LineLoader), None  # noqa: S506 - a safe loader with line numbers
    except yaml.YAMLError as error:
        return None, _yaml_fault(path, text, error)
    except RecursionError:
        return None, Fault(str(path), 1, "is nested too deeply; flatten it")


def _yaml_fault(path: Path, text: str, error: yaml.YAMLError) -> Fault:
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark else 1
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    lines = text.splitlines()
    if 0 < line <= len(lines) and "\t" in lines[line - 1]:
        problem = "a tab is used for indentation; use spaces"
    elif "mapping values are not allowed" in problem:
        problem += "; quote a text that contains ': '"
    return Fault(str(path), line, f"is not valid YAML: {problem}")


def yaml_files(folder: Path) -> Iterator[Path]:
    """The YAML files below ``folder``, in a stable order."""
    yield from sorted(p for p in folder.rglob("*") if p.suffix in (".yaml", ".yml") and p.is_file())
