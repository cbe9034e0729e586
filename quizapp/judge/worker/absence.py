"""Breaks what an exercise forbids because writing it is the task, in this process and for everybody.

A guard that looks at the caller can be deceived about the caller. Nothing can be deceived about a function
that no longer works: its code is replaced in place, so that every reference to it refuses. Operators of torch
refuse in torch's dispatcher, through which all of its interfaces call them. Modules cannot be imported, and
other modules that hold something of theirs are forgotten, so that nobody can be asked for it.
"""

import contextlib
import functools
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from quizapp.judge.worker import introspection_guard

_OPERATOR_PLACES = ("", "torch", "torch.nn.functional", "torch.special", "torch.linalg", "torch.Tensor")
_METHODS = ("__init__", "__call__", "forward", "step")
_libraries: list[Any] = []
"""Keeps the kernels that refuse registered. An operator would work again without them."""


def break_attributes(names: Iterable[str], kind: type[Exception], says: str) -> None:
    """Make functions of Python's own modules among ``names``, such as ``marshal.dumps``, refuse."""
    for name in names:
        place, _, attribute = name.rpartition(".")
        if place.split(".")[0] in sys.stdlib_module_names and hasattr(sys.modules.get(place), attribute):
            setattr(sys.modules[place], attribute, _refusing(kind, f"{says} ({name})"))


def break_callable(holder: Any, attribute: str, value: Any, kind: type[Exception], text: str) -> None:
    """Make the function or class ``value``, which is ``holder.attribute``, raise ``kind(text)`` if called."""
    if isinstance(value, type):
        for name in _METHODS:
            method = vars(value).get(name)
            if isinstance(method, types.FunctionType):
                _break_function(method, kind, text)
    elif isinstance(value, types.FunctionType):
        _break_function(value, kind, text)
    else:
        setattr(holder, attribute, _refusing(kind, text))


def _break_function(function: types.FunctionType, kind: type[Exception], text: str) -> None:
    inner = getattr(function, "__wrapped__", None)
    if isinstance(inner, types.FunctionType):
        _break_function(inner, kind, text)
    refusing = _refusing_code(kind, text)
    function.__code__ = refusing.replace(co_freevars=function.__code__.co_freevars)


def _refusing(kind: type[Exception], text: str) -> Callable[..., Any]:
    return types.FunctionType(_refusing_code(kind, text), {"__builtins__": {}})


def _refusing_code(kind: type[Exception], text: str) -> types.CodeType:
    def refuse(*_: Any, **__: Any) -> Any:
        error: Any = "KIND"
        raise error("TEXT")

    values: dict[Any, Any] = {"KIND": kind, "TEXT": text}
    code = refuse.__code__
    return code.replace(co_consts=tuple(values.get(constant, constant) for constant in code.co_consts))


def source_of(value: Any) -> Iterator[str]:
    """The file that defines a function or class in Python, if it is broken without any operator's help.

    `torch.nn.functional` is left readable: what it does, operators do, and `torch.jit` reads it.
    """
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    file = getattr(module, "__file__", None) or ""
    if file.endswith(".py") and not file.endswith(("__init__.py", "functional.py")):
        yield file


def hide_sources(files: Iterable[str]) -> None:
    """Refuse to open these files, and what Python has compiled from them, for the rest of the process.

    Otherwise a submission could load them once more, under another name.
    """
    stems = {os.path.basename(file).removesuffix(".py") for file in files}  # noqa: PTH119
    if not stems:
        return
    scratch = os.getcwd()  # noqa: PTH109 - pathlib calls what a submission may replace

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str):
            path = arguments[0]
            stem, _, ending = path.rpartition("/")[2].partition(".")
            if stem in stems and ending.endswith(("py", "pyc")) and not path.startswith(scratch):
                raise PermissionError("this file is part of what the exercise forbids")

    sys.addaudithook(refuse)


@functools.cache
def operators(name: str) -> tuple[str, ...]:
    """The operators of torch that a forbidden name calls, such as ``aten::nll_loss_forward``."""
    place, _, last = name.rpartition(".")
    last = last.strip("_")
    if place not in _OPERATOR_PLACES or not last or "." not in name:
        return ()
    wanted = (last, f"special_{last}", f"linalg_{last}")
    names = (
        full.removeprefix("aten::") for full in torch._C._dispatch_get_all_op_names() if "aten::" in full
    )
    return tuple(op for op in names if op.strip("_").startswith(wanted))


def break_operators(names: Iterable[str], kind: type[Exception], says: str) -> None:
    """Make the operators behind ``names`` refuse in torch's dispatcher, however they are called."""
    wanted = {op for name in names for op in operators(name)}
    if not wanted:
        return
    with _silence():
        library = torch._C._dispatch_library("IMPL", "aten", "", __file__, 0)
        for op in wanted:
            refuse = _refusing(kind, f"{says} ({op.partition('.')[0]})")
            for key in ("CPU", "AutogradCPU", "CUDA", "AutogradCUDA"):
                library.impl(op, key, refuse)
        _libraries.append(library)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Torch warns on the standard error stream that a kernel is replaced, which is what is wanted here."""
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


def remove_modules(names: Iterable[str]) -> None:
    """Make the modules among ``names`` impossible to import, and forget the modules that refer to them.

    If torch is among them, so are all packages that are not part of Python. The worker keeps what it has.
    """
    roots = {name for name in names if name and "." not in name}
    absent = {name for root in roots for name in (root, f"_{root}")}
    hidden = {
        name
        for name in sys.modules
        if name.split(".")[0] in absent or ("torch" in roots and _is_foreign(name.split(".")[0]))
    }
    if not hidden:
        return
    things = {id(sys.modules[name]) for name in hidden}
    for name in absent & hidden:
        things |= {id(value) for value in _contents(sys.modules[name]) if _home(value) in absent}
    while True:
        more = {
            name
            for name, module in sys.modules.items()
            if name not in hidden and name != "__main__" and not things.isdisjoint(map(id, _contents(module)))
        }
        if not more:
            break
        hidden |= more
        things |= {id(sys.modules[name]) for name in more}
    for name in hidden:
        if not name.startswith(("quizapp", "_probes")):
            introspection_guard.hide_classes_of(name)
            sys.modules.pop(name)
            package, _, last = name.rpartition(".")
            if package in sys.modules and package not in hidden:
                vars(sys.modules[package]).pop(last, None)
    if "memoryview" in roots:
        cast = _without_floats(memoryview.cast)
        introspection_guard.replace_attribute(memoryview, "cast", cast)
    # An import of a name that stands for None raises ModuleNotFoundError.
    vacant: dict[str, Any] = sys.modules
    vacant.update(dict.fromkeys(absent))


def _home(value: Any) -> str:
    """The package that defines a class or a function; empty for anything else."""
    return str(getattr(value, "__module__", "")).split(".")[0] if callable(value) else ""


def _contents(module: types.ModuleType) -> list[Any]:
    """What a module holds, without what the import system has put there: dunder names and submodules."""
    inside = f"{module.__name__}."
    return [
        value
        for name, value in vars(module).items()
        if not name.startswith("__")
        and not (isinstance(value, types.ModuleType) and value.__name__.startswith(inside))
    ]


def _without_floats(cast: Callable[..., Any]) -> Callable[..., Any]:
    """``memoryview.cast``, which Python's own modules need, except between floats and their bits."""

    def guarded(view: Any, format: str, *shape: Any) -> Any:  # noqa: A002 - its name
        if format.strip("@") in ("e", "f", "d"):
            raise TypeError("a memoryview is not allowed to show bytes as floats here")
        return cast(view, format, *shape)

    return guarded


def _is_foreign(root: str) -> bool:
    return root not in sys.stdlib_module_names and root not in ("quizapp", "_probes", "__main__")
