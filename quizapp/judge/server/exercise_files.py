"""Loads an exercise's own code, which is trusted: its probes and its hidden tests."""

import ast
import importlib.util
import marshal
import sys
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from quizapp.bank.model import Exercise
from quizapp.bank.parse_exercise import load_exercise
from quizapp.errors import QuizError
from quizapp.judge.server.test_runner import HiddenTest, behaviour_of
from quizapp.judge.server.worker_view import probe_code_without_inputs
from quizapp.judge.testing.probes import probe_names
from quizapp.util.sanitize import escape_unprintable


@dataclass(frozen=True)
class LoadedExercise:
    """An exercise with its probes and hidden tests loaded.

    ``probe_code`` is marshaled code, the part of the probes that workers get. ``preload`` names the modules
    that the probes import.
    """

    exercise: Exercise
    probes: ModuleType
    tests: tuple[HiddenTest, ...]
    probe_code: bytes
    preload: list[str]
    probe_names: tuple[str, ...]
    distributed_names: tuple[str, ...]
    new_process_names: tuple[str, ...]
    reference_names: tuple[str, ...]


_Stamp = tuple[tuple[str, int, int], ...]


class ExerciseCache:
    """Keeps exercises loaded until one of their files changes. Safe for several threads."""

    def __init__(self) -> None:
        self._loaded: dict[Path, tuple[_Stamp, LoadedExercise]] = {}
        self._lock = threading.Lock()

    def load(self, folder: Path) -> LoadedExercise:
        """The exercise in ``folder``. Raises `QuizError` if it is broken."""
        with self._lock:
            stamp = _stamp(folder)
            cached = self._loaded.get(folder)
            if cached is None or cached[0] != stamp:
                self._loaded[folder] = cached = (stamp, load_exercise_code(folder))
            return cached[1]


def _stamp(folder: Path) -> _Stamp:
    """Path, modification time and size of every file that loading the exercise reads."""
    files = [folder / "exercise.yaml", folder / "probes.py", *sorted((folder / "hidden").glob("*.py"))]
    return tuple((str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in files if p.is_file())


def load_exercise_code(folder: Path) -> LoadedExercise:
    """Load the exercise in ``folder``. Raises a `QuizError` that names the file if it is broken."""
    exercise, faults = load_exercise(folder)
    if exercise is None:
        raise QuizError(str(faults[0]))
    probes = load_probes(exercise)
    tests = tuple(load_tests(exercise))
    if not tests:
        raise QuizError(f"{folder / 'hidden'} contains no test; add one so that submissions can be judged.")
    path = folder / "probes.py"
    text = path.read_text(encoding="utf-8")
    return LoadedExercise(
        exercise,
        probes,
        tests,
        marshal.dumps(compile(probe_code_without_inputs(text), str(path), "exec", dont_inherit=True)),
        _imports(text),
        tuple(probe_names(probes)),
        tuple(probe_names(probes, "distributed")),
        tuple(probe_names(probes, "new_process")),
        tuple(probe_names(probes, "without_submission")),
    )


def _imports(text: str) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # In "from a import b", b may be a module. `preload` skips it if it is not.
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def load_module(path: Path, name: str) -> ModuleType:
    """Import the file as the module ``name``, registered so that dataclasses and pickling work.

    Raises a `QuizError` that names the file and the line if that fails, also if the file ends the program.
    """
    if not path.is_file():  # reading a pipe would wait forever
        raise QuizError(f"{path} is not a regular file; write it or remove it.")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        path.read_text(encoding="utf-8")
        spec.loader.exec_module(module)
    except BaseException as error:
        raise QuizError(f"{place_of(error, path)}: cannot be loaded: {told(error)}; correct it.") from error
    return module


def place_of(error: BaseException, path: Path) -> str:
    """``path`` with the last line of it that led to the exception, if there is one."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append(error.lineno)
    return f"{path}:{lines[-1]}" if lines and lines[-1] else str(path)


def told(error: BaseException) -> str:
    """The type of an exception, and the first line of what it says."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    first = escape_unprintable((text or "").partition("\n")[0])
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def load_probes(exercise: Exercise) -> ModuleType:
    """The exercise's ``probes.py``."""
    return load_module(exercise.folder / "probes.py", f"_probes_{exercise.slug.replace('-', '_')}")


def load_tests(exercise: Exercise) -> list[HiddenTest]:
    """The exercise's hidden tests, ordered by behavior."""
    tests: list[HiddenTest] = []
    for path in sorted((exercise.folder / "hidden").glob("test_*.py")):
        module = load_module(path, f"_hidden_{exercise.slug.replace('-', '_')}_{path.stem}")
        tests += [
            value for name, value in vars(module).items() if name.startswith("test_") and callable(value)
        ]
    try:
        return sorted(tests, key=behaviour_of)
    except (TypeError, ValueError):
        raise QuizError(
            f"{exercise.folder / 'hidden'}: a test's behavior is not a number; correct it."
        ) from None
