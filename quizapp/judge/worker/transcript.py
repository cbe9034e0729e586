"""The wire format between judge and worker: plain data and raw tensor bytes, strictly parsed.

A message is ``MAGIC``, the lengths of the header (4 bytes) and of the tensors (8 bytes), a JSON header, and
the tensors' bytes. Nothing is ever unpickled, so the worst that a hostile worker can send is wrong values.
"""

import ctypes
import json
import math
import struct
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

MAGIC = b"QZT1"
HEADER = struct.Struct("<4sIQ")
MAX_HEADER = 8 << 20
# This is more than three times the largest honest evidence. A larger limit would be a risk, since hidden
# tests look at every value, some with several torch operations each, and may widen or broadcast them.
MAX_BYTES = 16 << 20
MAX_TENSOR = 2 << 20  # bytes of one tensor
MAX_TENSORS = 4000
MAX_VALUES = 25_000
MAX_DEPTH = 24
_MAX_DIMENSIONS = 16
_MAX_EXTENT = 2**40
# Tensors without elements need no bytes, yet tolist() of shape (25_000_000, 0) makes as many lists. This
# bounds the product of the other extents, summed over a message.
_MAX_EMPTY = 2**16
_MAX_BITS = 4096  # of an integer
_MAX_STRING = 20_000
_MAX_TEXT = 4000

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
        *(torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2),
    )
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}

# Bound before a submission is imported, so that patching torch.Tensor changes nothing here.
_detach: Callable[..., Tensor] = torch._C.TensorBase.detach
_to: Callable[..., Tensor] = torch._C.TensorBase.to
_contiguous: Callable[..., Tensor] = torch._C.TensorBase.contiguous
_resolve: Callable[..., Tensor] = torch._C.TensorBase.resolve_conj
_no_overrides = torch._C.DisableTorchFunction
_string_at = ctypes.string_at
_cpu = torch.device("cpu")
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_no_grad = torch.no_grad


class TranscriptError(ValueError):
    """The bytes are not a well-formed message."""


class Opaque:
    """Stands for a value that is neither plain data nor a tensor: its type's name and its repr."""

    def __init__(self, kind: str, text: str):
        self.kind = kind
        self.text = text

    def __repr__(self) -> str:
        return self.text or f"<{self.kind}>"


class Encoder:
    """Turns values into JSON nodes and collects the bytes of their tensors."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.size = 0
        self._values = 0
        self._empty = 0

    def node(self, value: Any, depth: int = 0) -> Any:
        """The JSON node of ``value``. Anything unknown becomes an `Opaque`. Raises `TranscriptError`."""
        kind = type(value)
        self._values += 1
        if self._values > MAX_VALUES:
            raise TranscriptError(f"more than {MAX_VALUES} values")
        if value is None or kind is bool or (kind is int and -(2**53) < value < 2**53):
            return value
        if kind is str:
            return value if len(value) <= _MAX_STRING else {"o": ["str", value[:_MAX_TEXT]]}
        if kind is int:
            bits = value.bit_length()
            return {"i": hex(value)} if bits <= _MAX_BITS else {"o": ["int", f"an integer of {bits} bits"]}
        if kind is float:
            return {"f": value.hex() if math.isfinite(value) else repr(value)}
        if issubclass(kind, Tensor):
            return self._tensor(value)
        if depth < MAX_DEPTH and kind in (list, tuple):
            return {"l" if kind is list else "u": [self.node(v, depth + 1) for v in value]}
        if depth < MAX_DEPTH and issubclass(kind, dict):
            return {"d": [[self.node(k, depth + 1), self.node(v, depth + 1)] for k, v in dict.items(value)]}
        return {"o": [_kind(kind), _safe_repr(value)]}

    def _tensor(self, value: Tensor) -> Any:
        with _no_overrides(), _no_grad():
            try:
                return self._strided(value, _detach(value))
            except TranscriptError:
                raise
            except Exception:  # noqa: BLE001 - a tensor without storage, or a subclass whose dispatch raises
                return {"o": [_kind(type(value)), "a tensor whose values cannot be read"]}

    def _strided(self, value: Tensor, plain: Tensor) -> Any:
        if type(plain) not in _PLAIN or plain.is_nested:
            return {"o": [_kind(type(value)), "a tensor that is not a plain one"]}
        name, shape = _NAMES.get(plain.dtype), [int(n) for n in plain.shape]
        if name is None or plain.layout is not torch.strided:
            return {"o": ["torch.Tensor", f"a tensor of {plain.dtype}, {plain.layout}"]}
        if len(shape) > _MAX_DIMENSIONS or max(shape, default=0) >= _MAX_EXTENT:
            return {"o": ["torch.Tensor", f"a tensor of {len(shape)} dimensions, one of {max(shape)}"]}
        if plain.device.type == "meta":
            return {"m": [name, shape]}
        size = math.prod(shape) * plain.dtype.itemsize
        if size == 0:
            if self._empty + _extents(shape) > _MAX_EMPTY:
                return {"o": ["torch.Tensor", f"a tensor without elements, of shape {tuple(shape)}"]}
            self._empty += _extents(shape)
        if size > MAX_TENSOR:
            raise TranscriptError(f"a tensor of more than {MAX_TENSOR >> 20} MiB")
        if self.size + size > MAX_BYTES:
            raise TranscriptError(f"more than {MAX_BYTES >> 20} MiB of tensors")
        plain = _contiguous(_resolve(_to(plain, _cpu)))
        address = plain.data_ptr()
        if size and not address:
            return {"o": ["torch.Tensor", "a tensor without storage"]}
        if len(self.chunks) == MAX_TENSORS:
            raise TranscriptError(f"more than {MAX_TENSORS} tensors")
        self.chunks.append(_string_at(address, size) if size else b"")
        self.size += size
        return {"t": [self.size - size, size, name, shape]}


def _kind(kind: type) -> str:
    """The full name of a type. The submission's own metaclass may do anything here."""
    try:
        return f"{kind.__module__}.{kind.__qualname__}"[:200]
    except BaseException:  # noqa: BLE001
        return "a class without a name"


def _safe_repr(value: Any) -> str:
    try:
        return str(repr(value)[:_MAX_TEXT])
    except BaseException as error:  # noqa: BLE001 - the submission's own __repr__ may do anything
        return f"<repr raised {_kind(type(error))}>"


def encode(value: Any) -> bytes:
    """Encode ``value`` as one message: plain data, tensors, and lists, tuples and dicts of them.

    Raises `TranscriptError` if it is more than a message may hold.
    """
    encoder = Encoder()
    header = json.dumps(encoder.node(value), allow_nan=False).encode()
    if len(header) > MAX_HEADER:
        raise TranscriptError(f"more than {MAX_HEADER >> 20} MiB of plain data")
    return b"".join([HEADER.pack(MAGIC, len(header), encoder.size), header, *encoder.chunks])


def message_size(start: bytes) -> int:
    """The length of the message that begins with ``start``; 0 if that is too short, -1 if it is invalid."""
    if len(start) < HEADER.size:
        return 0
    magic, header, size = HEADER.unpack_from(start)
    if magic != MAGIC or header > MAX_HEADER or size > MAX_BYTES:
        return -1
    return HEADER.size + int(header) + int(size)


def decode(message: bytes) -> Any:
    """Decode the value of one message. Raises `TranscriptError` if anything is malformed."""
    if len(message) < HEADER.size:
        raise TranscriptError("the message is cut short")
    magic, header, size = HEADER.unpack_from(message)
    if magic != MAGIC or header > MAX_HEADER or size > MAX_BYTES:
        raise TranscriptError("the message has no valid header")
    if len(message) != HEADER.size + header + size:
        raise TranscriptError("the message has the wrong length")
    body = HEADER.size + header
    try:
        node = json.loads(message[HEADER.size : body])
        return Decoder(memoryview(message)[body:]).value(node)
    except TranscriptError:
        raise
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        RecursionError,
        OverflowError,
        RuntimeError,
    ) as error:
        raise TranscriptError(f"the message is malformed: {type(error).__name__}") from None


class Decoder:
    """Turns JSON nodes back into values; ``raw`` holds the tensors' bytes, one tensor after the other."""

    def __init__(self, raw: memoryview):
        self._raw = raw
        self._read = 0
        self._tensors = 0
        self._values = 0
        self._empty = 0

    def value(self, node: Any, depth: int = 0) -> Any:
        """The value of ``node``. Raises `TranscriptError`, or another exception for malformed data."""
        self._values += 1
        if depth > MAX_DEPTH + 1 or self._values > MAX_VALUES:
            raise TranscriptError("the message is nested too deeply or too long")
        if not isinstance(node, dict):
            if isinstance(node, list | float) or _too_large(node):
                raise TranscriptError("the message holds an unknown node")
            return node
        ((tag, content),) = node.items()
        match tag:
            case "f":
                return float.fromhex(content)
            case "i":
                return _integer(content)
            case "t":
                return self._tensor(content)
            case "m":
                return torch.empty(_shape(content[1]), dtype=DTYPES[content[0]], device="meta")
            case "l":
                return [self.value(item, depth + 1) for item in content]
            case "u":
                return tuple(self.value(item, depth + 1) for item in content)
            case "d":
                return {self.value(k, depth + 1): self.value(v, depth + 1) for k, v in content}
            case "o":
                return Opaque(str(content[0])[:200], str(content[1])[:_MAX_TEXT])
        raise TranscriptError("the message holds an unknown node")

    def _tensor(self, content: list[Any]) -> Tensor:
        self._tensors += 1
        if self._tensors > MAX_TENSORS:
            raise TranscriptError("the message holds too many tensors")
        offset, size, name, sizes = content
        dtype = DTYPES[name]
        shape = _shape(sizes)
        # Tensors must not overlap. Each would copy the shared bytes, and one message could fill gigabytes.
        if type(offset) is not int or offset != self._read:
            raise TranscriptError("a tensor's bytes do not follow those of the one before")
        if type(size) is not int or size > MAX_TENSOR or size != math.prod(shape) * dtype.itemsize:
            raise TranscriptError("a tensor's bytes do not fit its shape")
        if offset + size > len(self._raw):
            raise TranscriptError("a tensor is outside the message")
        if size == 0:
            self._empty += _extents(shape)
            if self._empty > _MAX_EMPTY:
                raise TranscriptError("tensors without elements are too large")
            return torch.empty(shape, dtype=dtype)
        self._read += size
        raw = bytearray(self._raw[offset : self._read])
        return torch.frombuffer(raw, dtype=torch.uint8).view(dtype).reshape(shape)


def _too_large(node: Any) -> bool:
    """Whether a plain node is larger than any that `Encoder` writes."""
    if isinstance(node, int):
        return abs(node) >= 2**53
    return isinstance(node, str) and len(node) > _MAX_STRING


def _integer(text: str) -> int:
    if len(text) > _MAX_BITS // 4 + 3:  # sign and 0x
        raise TranscriptError("the message holds an integer that is too long")
    return int(text, 16)


def _extents(shape: list[int]) -> int:
    """The product of the extents that are not zero."""
    return math.prod(extent for extent in shape if extent)


def _shape(sizes: list[Any]) -> list[int]:
    if len(sizes) > _MAX_DIMENSIONS or not all(type(n) is int and 0 <= n < _MAX_EXTENT for n in sizes):
        raise TranscriptError("a tensor has an impossible shape")
    return sizes
