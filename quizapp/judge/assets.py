"""Loads an exercise's own code: its probes and its hidden tests (trusted, never the user's)."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from quizapp.bank.model import Exercise
from quizapp.judge.hidden import Observe


def load_module(path: Path, name: str) -> ModuleType:
    """Import the file under ``name`` (registered, so that dataclasses and pickling work)."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_probes(exercise: Exercise) -> ModuleType:
    """The exercise's ``probes.py``."""
    return load_module(exercise.folder / "probes.py", f"_probes_{exercise.slug.replace('-', '_')}")


def load_tests(exercise: Exercise) -> list[Callable[[Observe], None]]:
    """The exercise's hidden tests, ordered by behaviour."""
    tests: list[Callable[[Observe], None]] = []
    for path in sorted((exercise.folder / "hidden").glob("test_*.py")):
        module = load_module(path, f"_hidden_{exercise.slug.replace('-', '_')}_{path.stem}")
        tests += [
            value for name, value in vars(module).items() if name.startswith("test_") and callable(value)
        ]
    return sorted(tests, key=lambda test: getattr(test, "behaviour", 0))
