"""Hides the judge's own part of a worker from the submission that runs in the same process.

Python offers many ways to look at one's callers: frames, the garbage collector, trace functions, attributes
of functions. Through them a submission could change what the recorder records, or unwrap a function that
observes it. This module closes the ways that need no access to raw memory. It is no more than an obstacle:
hidden tests rely on numbers that only a solution can compute.

Code is recognized by the dict of its globals. The judge's modules and the probes have dicts that a
submission cannot get hold of.
"""

import builtins
import ctypes
import gc
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

_get_frame = sys._getframe
_referents = gc.get_referents
_type_modified = ctypes.pythonapi.PyType_Modified
_py_object = ctypes.py_object
_frame_globals = vars(FrameType)["f_globals"].__get__
_function_globals = vars(FunctionType)["__globals__"].__get__
_module_of: Callable[[type], str] = vars(type)["__module__"].__get__

_HIDDEN: tuple[tuple[type, str, Callable[[Any], dict[str, Any]], Callable[[], Any]], ...] = (
    *((FrameType, name, _frame_globals, dict) for name in ("f_locals", "f_globals", "f_builtins")),
    *((FunctionType, name, _function_globals, dict) for name in ("__globals__", "__builtins__")),
    (FunctionType, "__closure__", _function_globals, type(None)),
)
"""Type, attribute, how to get the globals of an instance, and what to show instead for the judge's own."""

_RESERVED = (
    *((gc, name) for name in ("get_objects", "get_referrers", "get_referents")),
    *((sys, name) for name in ("settrace", "setprofile", "addaudithook", "call_tracing")),
    *((sys, name) for name in ("_current_frames", "_current_exceptions", "remote_exec")),
    *((threading, name) for name in ("settrace", "setprofile")),
    *((threading, name) for name in ("settrace_all_threads", "setprofile_all_threads")),
)
"""Functions that only the judge and the probes may call."""

_RAW_MEMORY = (
    *("pythonapi", "PyDLL", "CDLL", "py_object", "cast"),
    *("memmove", "memset", "string_at", "wstring_at", "memoryview_at"),
)
"""What of ctypes reads or writes at any address, or calls the interpreter's own functions.

Not every version of Python has all of them.
"""

_own_globals: dict[int, dict[str, Any]] = {}
"""The globals of the judge's modules and of the probes, by id. Empty until `install`."""

_hidden_modules: set[str] = set()


def install(probes: ModuleType) -> None:
    """Hide the judge's modules and ``probes`` from code that is imported later, for the rest of the process.

    Classes of the probes stay importable, since a submission may pickle their instances.
    """
    names = {name for name in sys.modules if name.split(".")[0] == "quizapp"} | {probes.__name__}
    _hidden_modules.update(names)
    for name in names:
        module = sys.modules.pop(name)
        _own_globals[id(vars(module))] = vars(module)
    sys.modules[probes.__name__] = _classes_of(probes)
    for kind, attribute, globals_of, empty in _HIDDEN:
        if attribute in vars(kind):
            replace_attribute(kind, attribute, _hidden(vars(kind)[attribute], globals_of, empty))
    replace_attribute(FrameType, "f_back", _hidden_callers(vars(FrameType)["f_back"]))
    replace_attribute(FunctionType, "__code__", _fixed_code(vars(FunctionType)["__code__"]))
    replace_attribute(type, "__subclasses__", _filtered_subclasses(vars(type)["__subclasses__"]))
    sys._getframe = _limited_get_frame
    for module, name in _RESERVED:
        if hasattr(module, name):
            setattr(module, name, _reserved(getattr(module, name), name))
    with suppress(AttributeError):  # since Python 3.12
        del sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    for name in _RAW_MEMORY:
        if hasattr(ctypes, name):
            delattr(ctypes, name)


def copy_of_builtins() -> ModuleType:
    """A copy of the module ``builtins``, which stays as it is if something replaces a builtin function."""
    copied = ModuleType("builtins")
    vars(copied).update(vars(builtins))
    return copied


def hide_classes_of(module: str) -> None:
    """Leave the classes of a module out of what ``__subclasses__`` gives."""
    _hidden_modules.add(module)


def is_own(frame: FrameType) -> bool:
    """Whether a frame runs code of the judge or of the probes."""
    return id(_frame_globals(frame)) in _own_globals


def replace_attribute(kind: type, name: str, value: Any) -> None:
    """Set an attribute of a type written in C, which refuses `setattr`."""
    _referents(vars(kind))[0][name] = value
    _type_modified(_py_object(kind))


def _classes_of(probes: ModuleType) -> ModuleType:
    shown = ModuleType(probes.__name__)
    for name, value in vars(probes).items():
        if isinstance(value, type) and value.__module__ == probes.__name__:
            setattr(shown, name, value)
    return shown


def _hidden(original: Any, globals_of: Callable[[Any], dict[str, Any]], empty: Callable[[], Any]) -> property:
    get = original.__get__

    def value(instance: Any) -> Any:
        own = id(globals_of(instance)) in _own_globals
        return empty() if own and not is_own(_get_frame(1)) else get(instance)

    return property(value)


def _hidden_callers(original: Any) -> property:
    get = original.__get__

    def f_back(frame: FrameType) -> FrameType | None:
        back: FrameType | None = get(frame)
        if back is not None and (is_own(back) or is_own(frame)) and not is_own(_get_frame(1)):
            return None
        return back

    return property(f_back)


def _fixed_code(original: Any) -> property:
    get, set_ = original.__get__, original.__set__

    def change(function: FunctionType, code: CodeType) -> None:
        if id(_function_globals(function)) in _own_globals:
            raise AttributeError("the code of this function cannot be changed")
        set_(function, code)

    return property(get, change)


def _filtered_subclasses(original: Any) -> Callable[[type], list[type]]:
    def __subclasses__(self: type) -> list[type]:  # noqa: N807 - it takes this method's place
        return [kind for kind in original(self) if _module_of(kind) not in _hidden_modules]

    return __subclasses__


def _limited_get_frame(depth: int = 0, /) -> FrameType:
    """What `sys._getframe` does, for a stack that ends where the judge's code begins."""
    frame = _get_frame(depth + 1)
    if is_own(frame) and not is_own(_get_frame(1)):
        raise ValueError("call stack is not deep enough")
    return frame


def _reserved(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def reserved(*arguments: Any, **options: Any) -> Any:
        if not is_own(_get_frame(1)):
            raise RuntimeError(f"{name} is not available while a submission is graded")
        return function(*arguments, **options)

    return reserved
