"""The worker's side of a probe: calls the submission and records what happens, without judging it."""

import builtins
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, TracebackType
from typing import Any, TypeVar

import torch
from torch import Tensor

from quizapp.judge.worker.transcript import MAX_DEPTH

F = TypeVar("F", bound=Callable[..., None])

# Bound in C before the submission is imported, so that it cannot hide what it does to the generators by
# replacing `torch.get_rng_state` or `random.getstate`.
_torch_state = torch.default_generator.get_state
_python_state = super(random.Random, random._inst).getstate
_tensor = torch.tensor

_MARKS = ("distributed", "new_process", "without_submission")

CARRIED = "carried/"
"""What the paths of values begin with that `Recorder.carry` hands on."""


class Recorder:
    """Records what a submission does in one worker: values and exceptions by path, ``probe/step/name``.

    The inputs are on ``device``. ``rank`` and ``world`` are 0 and 1 unless the probe is distributed.
    """

    def __init__(self, device: torch.device, filename: str, rank: int = 0, world: int = 1):
        self.device = device
        self.rank = rank
        self.world = world
        self.values: dict[str, Any] = {}
        self.errors: dict[str, dict[str, Any]] = {}
        self._filename = filename
        self._path: list[str] = []
        # Filling memory takes seconds. Once it has run out, the verdict is certain, so run no further step.
        self.exhausted = False

    def __call__(self, name: str | int, value: Any) -> None:
        """Store ``value`` as it is now (tensors are copied)."""
        self.values["/".join([*self._path, str(name)])] = snapshot(value)

    def carry(self, name: str, value: Any) -> None:
        """Hand ``value``, plain data or tensors, to the probes that run in a new process."""
        self.values[f"{CARRIED}{name}"] = snapshot(value)

    @contextmanager
    def step(self, name: str | int) -> Iterator[None]:
        """Run a part of a probe. An exception is recorded and ends only this part."""
        if self.exhausted:
            raise MemoryError("memory ran out before")
        self._path.append(str(name))
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - a submission may raise SystemExit too
            details = self.errors["/".join(self._path)] = self.describe(error)
            out_of_memory = "MemoryError" in details["types"] or "can't allocate memory" in details["message"]
            self.exhausted |= out_of_memory
        finally:
            self._path.pop()

    def raises(self, name: str | int, call: Callable[[], Any]) -> None:
        """Record the exception that ``call`` raises, or the value that it returns."""
        with self.step(name):
            self("returned", call())

    def describe(self, error: BaseException) -> dict[str, Any]:
        """Describe an exception as plain data.

        ``types`` holds the names of its class and base classes, most specific first. ``line`` is a line of
        the submission's file, 0 if the traceback has none. ``where`` is construct, call or backward.
        """
        trace = _trace_of(error)
        message = _text(error).replace(self._filename, self._filename.rpartition("/")[2])
        return {
            "types": [
                _type_name(kind)[:200] for kind in _mro_of(type(error))[:_MAX_TYPES] if kind is not object
            ],
            "message": message[:500],
            "line": _last_line(trace, self._filename) or _line_of_syntax(error, self._filename),
            "where": _where(trace, self._filename),
        }


# A submission can define an exception class whose attributes raise when they are read. It cannot override
# these accessors, which are the interpreter's own.
_trace_of: Callable[[BaseException], TracebackType | None] = BaseException.__dict__["__traceback__"].__get__
_mro_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_name_of: Callable[[type], str] = type.__dict__["__name__"].__get__
_MAX_TYPES = 50


_BUILT_IN = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}


def _type_name(kind: type) -> str:
    """The name of an exception class, with "your" before it if it only has the name of a built-in one.

    Otherwise a class that merely calls itself ValueError would count as one.
    """
    name = _name_of(kind)
    return name if _BUILT_IN.get(name, kind) is kind else f"your {name}"


def _text(error: BaseException) -> str:
    try:
        # str() of a syntax error repeats file and line. One that was raised by hand may have no message.
        syntax = issubclass(type(error), SyntaxError)
        text = error.msg or "" if syntax else error  # type: ignore[attr-defined]
        # str() may return an instance of the submission's own subclass of str; join returns a plain one.
        return "".join([str(text)])
    except BaseException:  # noqa: BLE001 - the submission's own __str__ may do anything
        return ""


def _line_of_syntax(error: BaseException, filename: str) -> int:
    """The line of a syntax error in the submission's file; 0 for any other exception."""
    kind = type(error)
    if not issubclass(kind, SyntaxError):
        return 0
    try:
        return int(error.lineno or 0) if error.filename in (filename, None) else 0  # type: ignore[attr-defined]
    except BaseException:  # noqa: BLE001 - a submission may have put anything there
        return 0


def _last_line(trace: TracebackType | None, filename: str) -> int:
    line = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _where(trace: TracebackType | None, filename: str) -> str:
    names = set()
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name == "__init__" and code.co_filename == filename:
            names.add("construct")
        elif code.co_name == "backward" and "torch" in code.co_filename:
            names.add("backward")
        trace = trace.tb_next
    return "backward" if "backward" in names else "construct" if names else "call"


# Bound before a submission is imported, so that patching torch.Tensor changes nothing here. The methods of
# TensorBase are written in C, and `DisableTorchFunction` suspends modes that a submission has left on.
_detach: Callable[[Tensor], Tensor] = torch._C.TensorBase.detach
_clone: Callable[[Tensor], Tensor] = torch._C.TensorBase.clone
_device: Callable[[Tensor], torch.device] = torch._C.TensorBase.device.__get__
_no_overrides = torch._C.DisableTorchFunction
_no_grad = torch.no_grad


def snapshot(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """Copy tensors and containers, so that later in-place changes do no harm. Other objects are not copied.

    A container that contains itself, or is nested deeper than a transcript allows, is returned unchanged.
    ``inside`` holds the ids of the containers around ``value``.
    """
    if isinstance(value, Tensor):
        with _no_overrides(), _no_grad():
            return _clone(_detach(value)) if _device(value).type != "meta" else value
    if id(value) in inside or len(inside) > MAX_DEPTH:
        return value
    inside = (*inside, id(value))
    if type(value) in (list, tuple):
        return type(value)(snapshot(item, inside) for item in value)
    if isinstance(value, dict):
        return {key: snapshot(item, inside) for key, item in dict.items(value)}
    return value


def number(value: Any) -> Any:
    """Turn an instance of a float subclass, such as numpy's, into a plain float; keep any other value."""
    return float(value) if isinstance(value, float) else value


def filled_linear(weight: Tensor, bias: Tensor | None, dtype: torch.dtype | None = None) -> torch.nn.Linear:
    """A linear layer with this weight (out, in) and bias (out,), on the weight's device.

    Its dtype is ``dtype``, by default the weight's.
    """
    layer = torch.nn.Linear(
        weight.shape[1],
        weight.shape[0],
        bias=bias is not None,
        device=weight.device,
        dtype=dtype or weight.dtype,
    )
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias)
    return layer


def distributed(probe: F) -> F:
    """Mark a probe that every rank of a gloo group runs, once for each size in ``ranks`` of exercise.yaml."""
    probe.distributed = True  # type: ignore[attr-defined]
    return probe


def new_process(probe: F) -> F:
    """Mark a probe that runs after the others, in a new worker that has only what `Recorder.carry` handed on.

    It gets that as ``given["carried"]``, by name. A submission can therefore not keep in memory what it was
    asked to save.
    """
    probe.new_process = True  # type: ignore[attr-defined]
    return probe


def without_submission(probe: F) -> F:
    """Mark a probe that runs in a worker of its own in which the submission is never imported.

    What it records are therefore facts that a submission cannot change: what happens without it. Hidden tests
    compare evidence with that, never with other evidence from the submission's worker. The probe's argument
    ``code`` is an empty module.
    """
    probe.without_submission = True  # type: ignore[attr-defined]
    return probe


def to_device(value: Any, device: torch.device) -> Any:
    """``value`` with every tensor in it moved to ``device``."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, list | tuple):
        return type(value)(to_device(item, device) for item in value)
    if isinstance(value, dict):
        return {key: to_device(item, device) for key, item in value.items()}
    return value


def probe_names(probes: ModuleType, mark: str = "") -> list[str]:
    """The names of the module's probes with this mark, without the prefix ``probe_``, in the file's order.

    ``mark`` is the name of a decorator of this module; an empty one asks for the probes without any.
    """
    return [
        name.removeprefix("probe_")
        for name, value in vars(probes).items()
        if name.startswith("probe_")
        and [other for other in _MARKS if getattr(value, other, False)] == ([mark] if mark else [])
    ]


def run_probes(
    code: ModuleType,
    probes: ModuleType,
    names: list[str],
    given: Callable[[], Any],
    record: Recorder,
    seed: int,
) -> None:
    """Run the named probes, each with a fresh copy of the inputs (``given()``) and the same global seed."""
    for name in names:
        if record.exhausted:
            break
        random.seed(seed)
        # torch.manual_seed imports modules, which are not there in an exercise that forbids torch.
        torch.default_generator.manual_seed(seed)
        if record.device.type != "cpu":
            torch.manual_seed(seed)
        with record.step(name):
            getattr(probes, f"probe_{name}")(code, to_device(given(), record.device), record)


def random_states() -> list[Tensor]:
    """The states of the global random generators, torch's on the CPU and Python's, as they really are."""
    return [_torch_state(), _tensor(_python_state())]
