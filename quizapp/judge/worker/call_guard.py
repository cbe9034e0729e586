"""Makes forbidden functions and classes refuse calls from the submission at run time.

`quizapp.judge.server.name_rules` finds forbidden names that are written in the source. This guard catches
names that are computed at run time. It refuses by caller, so torch and the probes can still call the same
functions. It can be circumvented on purpose, so no verdict depends on it. What a rule calls absent is broken
for everybody instead, by `quizapp.judge.worker.absence`.
"""

import builtins
import functools
import importlib
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import torch

from quizapp.judge.worker import absence, introspection_guard

# Where a forbidden attribute such as ".softmax" is looked for.
_PLACES = (
    *(torch, torch.Tensor, torch.special, torch._C._nn),
    *(torch.nn, torch.nn.Module, torch.nn.functional, torch.nn.utils),
)
# What these modules offer is allowed even if a forbidden module defines it, as torch.autograd defines
# torch.no_grad.
_SHARED = (torch, torch.nn, torch.utils.data, torch.profiler)
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)


# What calls a function that it was given, as a thread does: what counts is who gave it.
_MESSENGERS = {
    *("asyncio", "code", "concurrent", "contextlib", "functools", "importlib", "operator", "runpy", "sched"),
    *("threading", "timeit", "unittest", "weakref"),
}
# Bound before a submission can replace them.
_get_frame = sys._getframe
_modules = sys.modules
_known: set[int] = set()  # ids of the globals of the modules that were loaded before the submission
_ROOTS = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_caller_of: Callable[[types.FrameType], types.FrameType | None] = vars(types.FrameType)["f_back"].__get__
_globals_of: Callable[[types.FrameType], dict[str, Any]] = vars(types.FrameType)["f_globals"].__get__


class NotAllowed(RuntimeError):
    """The submission called something that its exercise forbids."""


@functools.cache
def targets(name: str, *, private: bool = False) -> list[tuple[Any, str]]:
    """The classes and functions of torch that a forbidden name means, as pairs of holder and attribute.

    A dotted name is a class, a function, or everything public that a module and its direct submodules define,
    with ``private`` also what is not public.
    A name with a leading dot is that attribute wherever torch has it. The result is cached, and the zygote
    asks for it before it forks, so that it costs a worker nothing.
    """
    if name.startswith("."):
        candidates = [(place, name[1:]) for place in _PLACES]
    elif name in sys.modules:
        candidates = list(_defined_below(name, private)) if name.startswith("torch.") else []
    else:
        place, _, attribute = name.rpartition(".")
        candidates = (
            [(sys.modules[place], attribute)]
            if place.split(".")[0] == "torch" and place in sys.modules
            else []
        )
    return [target for target in candidates if isinstance(_value(*target), (type, *_FUNCTIONS))]


def _value(holder: Any, attribute: str) -> Any:
    if holder is torch.Tensor:
        return getattr(holder, attribute, None)  # most methods are inherited from a class written in C
    return vars(holder).get(attribute)


def _defined_below(name: str, private: bool) -> Iterator[tuple[types.ModuleType, str]]:
    elsewhere = {id(value) for place in _SHARED for value in vars(place).values()}
    for key, module in list(sys.modules.items()):
        if key == name or key.rpartition(".")[0] == name:
            for attribute, value in vars(module).items():
                where = getattr(value, "__module__", None)
                defined_here = isinstance(where, str) and (where == name or where.startswith(f"{name}."))
                if defined_here and (private or not attribute.startswith("_")) and id(value) not in elsewhere:
                    yield module, attribute


def install(rules: Iterable[tuple[Iterable[str], str, bool]], path: str) -> None:
    """Make everything that ``rules`` forbid refuse calls from the file ``path``.

    A rule consists of names, the sentence to say about them, and whether they should be absent: then they
    refuse calls from everybody, and modules cannot be imported. Unknown names are ignored.
    """
    _known.update(id(vars(module)) for module in _modules.values())
    modules: dict[str, str] = {}
    sources: set[str] = set()
    for names, says, absent in rules:
        refuse = _Refusal(path, says)
        for name in names:
            if not name.startswith("."):
                modules[name] = says
            for holder, attribute in targets(name, private=absent):
                value = _value(holder, attribute)
                if absent:
                    sources.update(absence.source_of(value))
                    absence.break_callable(holder, attribute, value, NotAllowed, f"{says} ({attribute})")
                elif isinstance(value, type):
                    _guard_class(value, attribute, refuse)
                else:
                    setattr(holder, attribute, _guarded(value, attribute, refuse))
        if absent:
            absence.break_attributes(names, NotAllowed, says)
            absence.break_operators(names, NotAllowed, says)
            absence.remove_modules(names)
    if modules:
        _watch_imports(modules, path)
    absence.hide_sources(sources)


class _Refusal:
    """Raises if the caller is the submission."""

    def __init__(self, path: str, says: str):
        self._path = path
        self._says = says

    def check(self, name: str, *, importing: bool = False) -> None:
        """Raise `NotAllowed` if the submission called the function that calls this one.

        Modules of Python that are loaded only now may be ``importing``.
        """
        frame: types.FrameType | None = _get_frame(2)
        while frame is not None and self._calls_for_others(frame):
            frame = _caller_of(frame)
        if frame is None or not (self._is_library(frame) or (importing and self._is_new_module(frame))):
            raise NotAllowed(f"{self._says} ({name})")

    def _calls_for_others(self, frame: types.FrameType) -> bool:
        name = str(_globals_of(frame).get("__name__")).split(".")[0]
        return name in _MESSENGERS and self._is_library(frame)

    def _is_library(self, frame: types.FrameType) -> bool:
        """Whether a frame runs code of the judge, or of a module that was there before the submission.

        A file name can be invented, so the frame's globals must be those of the module, too.
        """
        file = frame.f_code.co_filename
        # Code compiled from a string also belongs to the submission, but frozen modules belong to Python.
        if file == self._path or (file.startswith("<") and not file.startswith("<frozen")):
            return False
        return id(_globals_of(frame)) in _known or introspection_guard.is_own(frame)

    def _is_new_module(self, frame: types.FrameType) -> bool:
        module = _modules.get(_globals_of(frame).get("__name__", ""))
        file = frame.f_code.co_filename
        return module is not None and vars(module) is _globals_of(frame) and file.startswith(_ROOTS)


def _guard_class(kind: type, name: str, refuse: _Refusal) -> None:
    """Refuse to create instances. The class itself stays, so that ``isinstance`` works.

    A class that has only ``__new__`` (an enum, a named tuple) is left alone. An added ``__init__`` would call
    object's, which takes no arguments, so torch itself could not create an instance.
    """
    constructor = vars(kind).get("__init__", _inherited(kind))
    if isinstance(constructor, types.FunctionType) and isinstance(kind.__init__, types.FunctionType):  # type: ignore[misc]
        with suppress(TypeError):  # a class written in C
            kind.__init__ = _guarded(constructor, name, refuse)  # type: ignore[misc]


def _inherited(kind: type) -> Callable[..., None]:
    def initialize(self: Any, *arguments: Any, **options: Any) -> None:
        super(kind, self).__init__(*arguments, **options)  # type: ignore[arg-type]

    return initialize


def _guarded(function: Callable[..., Any], name: str, refuse: _Refusal) -> Callable[..., Any]:
    def guarded(*arguments: Any, **options: Any) -> Any:
        refuse.check(name)
        return function(*arguments, **options)

    guarded.__name__ = getattr(function, "__name__", name)
    # Copy the attributes that torch's decorators set, since torch relies on them to unwrap functions.
    # functools.wraps would also set __wrapped__, which would hand out the unguarded function.
    guarded.__dict__.update(getattr(function, "__dict__", {}))
    return guarded


def _watch_imports(modules: dict[str, str], path: str) -> None:
    """Refuse imports of these modules by the submission, even under a computed name."""

    def watch(function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            wanted = arguments[0] if arguments else options.get("name")
            # Code written in C, such as the pickler, passes an empty list of names.
            if isinstance(wanted, str) and arguments[3:4] != ([],):
                parts = wanted.split(".")
                for length in range(1, len(parts) + 1):
                    says = modules.get(".".join(parts[:length]))
                    if says is not None:
                        _Refusal(path, says).check(wanted, importing=True)
            return function(*arguments, **options)

        return watched

    builtins.__import__ = watch(builtins.__import__)
    importlib.import_module = watch(importlib.import_module)
