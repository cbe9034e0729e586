"""The functions that hidden tests use to check evidence and explain a failure to the learner.

Exercise authors import this module. The judge runs the tests with `quizapp.judge.server.test_runner`.
"""

import cmath
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor

from quizapp.judge.testing.quoting import quoted, texts_in
from quizapp.judge.worker.transcript import Opaque

F = TypeVar("F", bound=Callable[..., None])

# Relative and absolute tolerance by dtype. An accelerator sums in a different order, hence the factors below.
TOLERANCES = {
    torch.float64: (1e-7, 1e-9),
    torch.float32: (1e-4, 1e-6),
    torch.bfloat16: (2e-2, 1e-2),
    torch.float16: (3e-3, 1e-3),
}
DEVICE_FACTOR = {"cpu": 1.0, "cuda": 4.0, "mps": 10.0}
MAX_MESSAGE = 2000  # characters; a message quotes evidence, whose length the submission chooses


class Finding(AssertionError):
    """A behavior does not hold. The message is a sentence for the learner.

    ``recognized`` says that the result is the one that a known mistake produces, which the message names.
    """

    def __init__(self, message: str = "", *, recognized: bool = False) -> None:
        super().__init__(message)
        self.recognized = recognized


class CodeRaised(Finding):
    """The submission raised where a value was needed."""


# Parts of torch's error messages for code that reads the values of a meta tensor, which has none.
_WITHOUT_VALUES = (
    "cannot be called on meta tensors",
    "Cannot copy out of meta tensor",
    "convert meta device type tensor to numpy",
    "with Meta tensors",
    "register_meta function",
)


class Raised:
    """An exception that the submission raised.

    ``types`` holds the names of its class and base classes, most specific first. ``line`` is a line of the
    user's file, 0 if unknown. ``where`` is construct, call or backward.

    ``details`` is the worker's description, which may be forged. Raises `KeyError`, `TypeError` or
    `ValueError` if it is malformed.
    """

    def __init__(self, details: Mapping[str, Any], module: str):
        if not isinstance(details, Mapping) or type(details["line"]) is not int:
            raise TypeError("this does not describe an exception")
        self.types = tuple(_type_name(name) for name in details["types"])
        if not self.types:
            raise ValueError("an exception has a type")
        self.message = " ".join(str(details["message"])[:MAX_MESSAGE].split())
        if "gloo/transport" in self.message and "imed out" not in self.message:
            self.message = "the connection to another rank closed: it ended or failed without this call"
        self.line: int = details["line"]
        self.where = str(details.get("where", "call"))
        self._module = module

    @property
    def is_memory(self) -> bool:
        """Whether memory ran out, according to Python or to torch's allocator."""
        return self.is_a("MemoryError", "OutOfMemoryError") or "can't allocate memory" in self.message

    @property
    def wants_values(self) -> bool:
        """Whether the code failed because it reads the values of a meta tensor."""
        return any(text in self.message for text in _WITHOUT_VALUES)

    def is_a(self, *names: str) -> bool:
        """Whether the exception is an instance of one of the named types."""
        return bool(set(names) & set(self.types))

    def __str__(self) -> str:
        stage = {"construct": ", while constructing", "backward": ", in the backward pass"}
        where = (
            f" (line {self.line} of {self._module}{stage.get(self.where, '')})"
            if self.line
            else stage.get(self.where, "").replace(",", "", 1)
        )
        text = f": {quoted(self.message)}" if self.message else ""
        return f"{self.types[0]}{text}{where}"


def _type_name(name: object) -> str:
    """The name of an exception class as the worker reports it, unless it is none."""
    text = str(name)[:200]
    return text if text.removeprefix("your ").replace(".", "").isidentifier() else "an exception"


class Observe:
    """The evidence of one run for a hidden test. ``observe["probe/step/name"]`` is a recorded value.

    ``given`` holds the inputs, which the judge generated itself, so a submission cannot have changed them.
    """

    def __init__(
        self, given: Any, values: Mapping[str, Any], errors: Mapping[str, Any], module: str, device: str
    ):
        self.given = given
        self.device = device
        self._values = values
        self._errors = {path: Raised(details, module) for path, details in errors.items()}

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts of the submission that the evidence contains."""
        return tuple(texts_in(self._values))

    def __contains__(self, path: str) -> bool:
        return path in self._values

    def __getitem__(self, path: str) -> Any:
        """The recorded value; raises `CodeRaised` if the submission raised an exception instead."""
        if path in self._values:
            return self._values[path]
        error = self.error(path)
        if error is not None:
            raise CodeRaised(f"Your code raised {error}")
        raise Finding(f"The run ended before {path!r} could be observed.")

    def tensor(self, path: str, says: str = "A tensor is expected here.") -> Tensor:
        """The value at ``path``. Fails with the sentence ``says`` unless it is a tensor."""
        value = self[path]
        expect(isinstance(value, Tensor), says, f"got {describe(value)}")
        assert isinstance(value, Tensor)
        return value

    def error(self, path: str) -> Raised | None:
        """The exception that ended the step ``path`` or a step around it; None if there was none."""
        parts = path.split("/")
        for length in range(len(parts), 0, -1):
            error = self._errors.get("/".join(parts[:length]))
            if error is not None:
                return error
        return None

    def raised(self, path: str, *names: str, says: str) -> None:
        """Fail with the sentence ``says`` unless ``record.raises(path)`` saw one of the named exceptions."""
        error = self.error(path)
        kinds = " or ".join(names)
        if error is None:
            got = self._values.get(f"{path}/returned")
            raise Finding(f"{says} Expected {kinds}; the call returned {describe(got)}.")
        if not error.is_a(*names):
            raise Finding(f"{says} Expected {kinds}; your code raised {error}.")


def describe(value: Any) -> str:
    """A short description of a value, for a message."""
    if isinstance(value, Tensor):
        values = " without values, on meta" if value.device.type == "meta" else ""
        return f"a {str(value.dtype).removeprefix('torch.')} tensor of shape {tuple(value.shape)}{values}"
    if isinstance(value, Opaque):
        # A tensor or an integer that could not be sent comes with a text that says why.
        return value.text if value.kind in ("torch.Tensor", "int") else f"an object of type {value.kind}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def expect(condition: object, says: str, detail: str = "") -> None:
    """Fail with the sentence ``says`` unless ``condition`` holds."""
    if not condition:
        raise Finding(f"{says} ({detail})" if detail else says)


def alike(left: Any, right: Any) -> bool:
    """Whether two pieces of evidence have the same type, dtype, shape and values; NaN equals NaN."""
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        if left.dtype != right.dtype or left.shape != right.shape:
            return False
        return bool(((left == right) | ((left != left) & (right != right))).all())  # noqa: PLR0124 - NaN
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(alike(value, right[key]) for key, value in left.items())
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(alike, left, right))
    return bool(left == right or (left != left and right != right))  # noqa: PLR0124


def close(
    got: Any,
    want: Any,
    says: str,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    call: str = "",
    mistakes: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
    device: str = "cpu",
) -> None:
    """Fail with the sentence ``says`` unless ``got`` equals ``want`` within the tolerance.

    Both are tensors, numbers or lists of numbers. They are compared in float64, and NaN equals NaN. Without
    ``rtol`` and ``atol``, the tolerance depends on the dtype of ``got`` (`TOLERANCES`). ``mistakes`` maps
    sentences to the values that typical mistakes produce. If ``got`` equals one of them, its sentence is
    shown instead of ``says``. ``call`` describes the call that gave the result.
    """
    expected = _numbers(want)
    assert expected is not None, "the expected value must be numeric"
    # Compare shapes before computing anything, since evidence of a wrong shape may be huge.
    actual = None if _much_longer(got, expected) else _numbers(got, expected.shape)
    context = f" Called: {call}." if call else ""
    if actual is None or (actual.is_complex() and not expected.is_complex()):
        raise Finding(f"{says} Got {describe(got)}.{context}")
    if actual.shape != expected.shape:
        raise Finding(f"{says} Got shape {tuple(actual.shape)}, expected {tuple(expected.shape)}.{context}")
    base = TOLERANCES.get(got.dtype, (0.0, 0.0)) if isinstance(got, Tensor) else TOLERANCES[torch.float64]
    factor = DEVICE_FACTOR.get(device.split(":", maxsplit=1)[0], 1.0)
    relative = (base[0] if rtol is None else rtol) * factor
    absolute = ((base[1] if rtol is None else 0.0) if atol is None else atol) * factor
    if _equal(actual, expected, relative, absolute):
        return
    recognized = False
    items = mistakes.items() if isinstance(mistakes, Mapping) else mistakes
    for sentence, value in items:
        wrong = _numbers(value)
        if wrong is not None and wrong.shape == actual.shape and _equal(actual, wrong, relative, absolute):
            says, recognized = sentence, True
            break
    message = f"{says} {_worst(actual, expected, relative, absolute)}{context}"
    raise Finding(message, recognized=recognized)


def _much_longer(got: Any, expected: Tensor) -> bool:
    return isinstance(got, list | tuple) and len(got) > 1000 + 4 * expected.numel()


def _numbers(value: Any, shape: torch.Size | None = None) -> Tensor | None:
    """``value`` in double precision, or None if it is not numeric.

    A tensor of another shape than ``shape`` is returned unchanged: widening a huge one would cost memory.
    """
    if isinstance(value, Tensor):
        if value.device.type == "meta":
            return None
        if shape is not None and value.shape != shape:
            return value
        return value.detach().to(torch.complex128 if value.is_complex() else torch.float64)
    if isinstance(value, bool | int | float | list | tuple):
        # An integer can be too large for a float.
        with suppress(TypeError, ValueError, RuntimeError, OverflowError):
            return torch.tensor(
                value if isinstance(value, list | tuple) else float(value), dtype=torch.float64
            )
    return None


def _equal(actual: Tensor, expected: Tensor, rtol: float, atol: float) -> bool:
    return bool(torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True).all())


def _worst(actual: Tensor, expected: Tensor, rtol: float, atol: float) -> str:
    """A sentence about the element that is furthest off."""
    bad = ~torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True)
    error = torch.nan_to_num((actual - expected).abs(), nan=float("inf")) * bad
    error = torch.nan_to_num(error, nan=0.0, posinf=float("inf"))
    flat = int(error.flatten().argmax()) if bad.any() else 0
    index = [int(i) for i in torch.unravel_index(torch.tensor(flat), actual.shape)] if actual.dim() else []
    got, want = actual.flatten()[flat].item(), expected.flatten()[flat].item()
    allowed = atol + rtol * abs(want)
    where = f" at index {index}" if index else ""
    share = f", {int(bad.sum())} of {bad.numel()} elements wrong" if bad.numel() > 1 else ""
    off = f"off by {abs(got - want):.2g}, allowed {allowed:.2g}"
    details = f"{off}{share}" if cmath.isfinite(want) else share.removeprefix(", ")
    return f"Got {got:.7g}{where}, expected {want:.7g}" + (f" ({details})." if details else ".")


def behaviour(number: int, *, on_error: str = "", presumes: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Mark a hidden test with the number of the behavior that it checks.

    ``on_error`` is a sentence to show before the exception if the submission raised one instead of
    returning a value. ``presumes`` names simpler hidden tests of the exercise, without ``test_``. While one
    of them fails, this test's own message would blame the wrong thing, so it refers to that test instead.
    """

    def mark(test: F) -> F:
        test.behaviour = number  # type: ignore[attr-defined]
        test.on_error = on_error  # type: ignore[attr-defined]
        test.presumes = presumes  # type: ignore[attr-defined]
        return test

    return mark
