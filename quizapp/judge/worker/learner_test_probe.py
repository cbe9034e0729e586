"""The probe that runs a learner's test beside a program. The judge sends it to the worker as code.

A test is to judge what the program does, so the program's source is out of its reach: the file is empty by
the time the test runs, and names that lead to source or byte code are refused. A test that gets around this
deceives only its author, because nothing but a part of a review's marks depends on it.
"""

import builtins
import linecache
import shutil
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

FILE = "your test"
_REFUSED_BUILTINS = ("eval", "exec", "compile", "globals", "locals", "breakpoint", "input")
_REFUSED_MODULES = frozenset(
    {"_ctypes", "ast", "bdb", "builtins", "cProfile", "code", "codeop", "ctypes", "dis", "gc", "imp"}
    | {"importlib", "inspect", "linecache", "marshal", "opcode", "pdb", "pkgutil", "profile", "pydoc"}
    | {"runpy", "symtable", "sys", "tokenize", "trace", "traceback", "tracemalloc"}
)


def probe_test(code: ModuleType, given: Any, record: Any) -> None:
    """Run ``check(code)`` of the learner's test and record whether it held."""
    _hide_source(code)
    namespace = {"__name__": "learner_test", "__builtins__": _builtins()}
    try:
        exec(compile(given["test"], FILE, "exec", dont_inherit=True), namespace)  # noqa: S102 - sandboxed
        namespace["check"](code)  # type: ignore[operator]
    except BaseException as error:  # noqa: BLE001 - a test may raise anything, SystemExit too
        record("outcome", "failed" if isinstance(error, AssertionError) else "error")
        record("text", _explanation(error))
    else:
        record("outcome", "held")
        record("text", "it holds")


def _hide_source(code: ModuleType) -> None:
    path = Path(str(code.__file__))
    path.write_bytes(b"")
    shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
    linecache.clearcache()


def _builtins() -> dict[str, Any]:
    """The built-in functions, without those that run text, and with guards on two others."""
    names = {name: value for name, value in vars(builtins).items() if name not in _REFUSED_BUILTINS}
    return names | {"getattr": _getattr, "__import__": _import}


def _getattr(holder: Any, name: str, *default: Any) -> Any:
    if name.startswith(("__", "co_", "f_", "tb_", "gi_")):
        raise AttributeError(f"a test may not look at {name}")
    return getattr(holder, name, *default)


def _import(name: str, *arguments: Any, **options: Any) -> Any:
    if name.partition(".")[0] in _REFUSED_MODULES:
        raise ImportError(f"a test may not import {name}")
    return builtins.__import__(name, *arguments, **options)


def _explanation(error: BaseException) -> str:
    line = _line(error.__traceback__)
    where = f" in line {line} of your test" if line else ""
    message = str(error)
    if isinstance(error, KeyError) and message == "'check'":
        return "it does not define check(m)"
    return f"{type(error).__name__}{where}{': ' if message else ''}{message}"


def _line(trace: TracebackType | None) -> int:
    line = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
