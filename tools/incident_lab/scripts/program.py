"""Runs training scripts and keeps their logs, checkpoints and definitions."""

import contextlib
import io
import re
import sys
import tempfile
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import torch

from tools.incident_lab.scripts.ranks import run_ranks

_PAIR = re.compile(r"(\w+) (\S+)")


@dataclass(frozen=True)
class ScriptRecord:
    """What a run of a script left.

    ``rows`` has the fields of each log line. ``namespace`` has the script's definitions for readings that
    probe them. ``checkpoint`` is empty if the script wrote none, and ``error`` says how it failed.
    """

    rows: tuple[dict[str, float], ...]
    checkpoint: dict[str, Any]
    namespace: dict[str, Any]
    error: str

    def column(self, field: str) -> list[float]:
        """Return a field of every log line that has it."""
        return [row[field] for row in self.rows if field in row]


@lru_cache(256)
def run_script(source: str, seed: int, steps: int | None = None, ranks: int = 1) -> ScriptRecord:
    """Run a script in an empty folder and record it. A failure is recorded, not raised.

    A script with one rank runs in this process, which saves it from importing torch. Ranks are processes.
    """
    if ranks > 1:
        ended = run_ranks(source, seed, ranks, steps)
        rows = tuple(map(parse_line, ended.log.splitlines()))
        return ScriptRecord(rows, ended.checkpoint, load_definitions(source), ended.error)
    command = ["run.py", "--seed", str(seed), *(["--steps", str(steps)] if steps is not None else [])]
    with tempfile.TemporaryDirectory() as folder:
        namespace, log, error = _execute(source, command, folder)
        path = Path(folder, "checkpoint.pt")
        checkpoint = torch.load(path, weights_only=True) if path.exists() else {}
    return ScriptRecord(tuple(map(parse_line, log.splitlines())), checkpoint, namespace, error)


def train_state(source: str, seed: int, steps: int) -> dict[str, Any]:
    """Return the local variables with which ``train`` ends after some steps."""
    state: dict[str, Any] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "return" and frame.f_code.co_name == "train":
            state.update(frame.f_locals)

    sys.setprofile(watch)
    try:
        run_script.__wrapped__(source, seed, steps)
    finally:
        sys.setprofile(None)
    return state


def parse_line(line: str) -> dict[str, float]:
    """Return the fields of a log line, ``step 3  loss 1.25``; what is not a number is left out."""
    fields = {}
    for name, value in _PAIR.findall(line):
        with contextlib.suppress(ValueError):
            fields[name] = float(value)
    return fields


def load_definitions(source: str) -> dict[str, Any]:
    """Return the names that a script defines, without training."""
    return _execute(source, ["run.py"], ".", name="run")[0]


def _execute(
    source: str, command: list[str], folder: str, name: str = "__main__"
) -> tuple[dict[str, Any], str, str]:
    module = types.ModuleType(name)
    output, error = io.StringIO(), ""
    with _as_module(module), patch.object(sys, "argv", command), contextlib.chdir(folder), _threads():
        try:
            with contextlib.redirect_stdout(output):
                exec(compile(source, "run.py", "exec"), module.__dict__)  # noqa: S102 - scripts of this repository
        except (Exception, SystemExit) as problem:  # noqa: BLE001 - a broken script may raise anything
            error = f"{type(problem).__name__}: {problem}"
    return module.__dict__, output.getvalue(), error


@contextlib.contextmanager
def _as_module(module: types.ModuleType) -> Iterator[None]:
    """Register a module, since classes look theirs up by its name, for instance to resolve annotations."""
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        sys.modules.pop(module.__name__)
        if before is not None:
            sys.modules[module.__name__] = before


@contextlib.contextmanager
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)
