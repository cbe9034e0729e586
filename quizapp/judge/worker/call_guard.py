"""The second line against forbidden names: what torch offers under them refuses calls from a submission.

`quizapp.judge.server.name_rules` finds names that are written down; a name computed at run time meets the
guard. It looks at the caller only, so torch itself and the probes call the same functions and notice nothing.
Whoever wants to get round it can; no verdict rests on it.
"""

import builtins
import functools
import importlib
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import torch

# Where a forbidden attribute of any object is looked for.
_PLACES = (
    *(torch, torch.Tensor, torch.special, torch._C._nn),
    *(torch.nn, torch.nn.Module, torch.nn.functional, torch.nn.utils),
)
# What these offer is allowed wherever it was defined: torch.no_grad comes from torch.autograd.
_SHARED = (torch, torch.nn, torch.utils.data, torch.profiler)
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)


class NotAllowed(RuntimeError):
    """The submission called what its exercise asks to write."""


@functools.cache
def targets(name: str) -> list[tuple[Any, str]]:
    """What of torch a forbidden name stands for: classes and functions, as holders and attributes.

    A dotted name is a class, a function, or all that a module and those right below it define for others;
    one with a leading dot is that attribute wherever torch has it. Asked before the fork, it costs no worker.
    """
    if name.startswith("."):
        found = [(place, name[1:]) for place in _PLACES]
    elif name in sys.modules:
        found = list(_defined_below(name)) if name.startswith("torch.") else []
    else:
        place, _, attribute = name.rpartition(".")
        found = (
            [(sys.modules[place], attribute)]
            if place.split(".")[0] == "torch" and place in sys.modules
            else []
        )
    return [target for target in found if isinstance(_value(*target), (type, *_FUNCTIONS))]


def _value(holder: Any, attribute: str) -> Any:
    if holder is torch.Tensor:
        return getattr(holder, attribute, None)  # most methods are inherited from a class of C
    return vars(holder).get(attribute)


def _defined_below(name: str) -> Iterator[tuple[types.ModuleType, str]]:
    elsewhere = {id(value) for place in _SHARED for value in vars(place).values()}
    for key, module in list(sys.modules.items()):
        if key == name or key.rpartition(".")[0] == name:
            for attribute, value in vars(module).items():
                where = getattr(value, "__module__", None)
                own = isinstance(where, str) and (where == name or where.startswith(f"{name}."))
                if own and not attribute.startswith("_") and id(value) not in elsewhere:
                    yield module, attribute


def install(rules: Iterable[tuple[Iterable[str], str]], path: str) -> None:
    """Have everything that ``rules`` (names, sentence) forbid refuse the code of the file ``path``."""
    modules: dict[str, str] = {}
    for names, says in rules:
        refuse = _Refusal(path, says)
        for name in names:
            if not name.startswith("."):
                modules[name] = says
            for holder, attribute in targets(name):
                value = _value(holder, attribute)
                if isinstance(value, type):
                    _guard_class(value, attribute, refuse)
                else:
                    setattr(holder, attribute, _guarded(value, attribute, refuse))
    if modules:
        _watch_imports(modules, path)


class _Refusal:
    """Refuses by raising, if it is the submission that calls."""

    def __init__(self, path: str, says: str):
        self._path = path
        self._says = says

    def check(self, name: str) -> None:
        """Look at the caller of the function that calls this."""
        file = sys._getframe(2).f_code.co_filename
        # Code from a string is the submission's too; frozen modules are Python's own.
        if file == self._path or (file.startswith("<") and not file.startswith("<frozen")):
            raise NotAllowed(f"{self._says} ({name})")


def _guard_class(kind: type, name: str, refuse: _Refusal) -> None:
    """A class keeps its identity, for ``isinstance``; making an instance is what refuses.

    One that is made by ``__new__`` alone (an enum, a named tuple) stays: object's ``__init__`` under
    another one takes no arguments, so that torch itself could not make one.
    """
    own = vars(kind).get("__init__", _inherited(kind))
    if isinstance(own, types.FunctionType) and isinstance(kind.__init__, types.FunctionType):  # type: ignore[misc]
        with suppress(TypeError):  # a class of C
            kind.__init__ = _guarded(own, name, refuse)  # type: ignore[misc]


def _inherited(kind: type) -> Callable[..., None]:
    def make(self: Any, *arguments: Any, **options: Any) -> None:
        super(kind, self).__init__(*arguments, **options)  # type: ignore[arg-type]

    return make


def _guarded(function: Callable[..., Any], name: str, refuse: _Refusal) -> Callable[..., Any]:
    def guarded(*arguments: Any, **options: Any) -> Any:
        refuse.check(name)
        return function(*arguments, **options)

    guarded.__name__ = getattr(function, "__name__", name)
    # As torch decorated it, for torch looks below that itself; functools.wraps would show what is below this.
    guarded.__dict__.update(getattr(function, "__dict__", {}))
    return guarded


def _watch_imports(modules: dict[str, str], path: str) -> None:
    """Refuse imports of the named modules by the submission, however it came by the name."""

    def look(function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            wanted = arguments[0] if arguments else options.get("name")
            # Code in C, such as the pickler, names what it wants from the module by an empty list.
            if isinstance(wanted, str) and arguments[3:4] != ([],):
                parts = wanted.split(".")
                for length in range(1, len(parts) + 1):
                    says = modules.get(".".join(parts[:length]))
                    if says is not None:
                        _Refusal(path, says).check(wanted)
            return function(*arguments, **options)

        return watched

    builtins.__import__ = look(builtins.__import__)
    importlib.import_module = look(importlib.import_module)
