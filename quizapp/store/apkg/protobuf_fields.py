"""Splits a protobuf message into its fields, without knowing its schema."""

from collections.abc import Iterator

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


class ProtobufError(ValueError):
    """The bytes are not a protobuf message."""


def read_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The number and value of each field: an int, or the bytes of texts, messages and fixed-size numbers.

    Raises `ProtobufError`.
    """
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield number, value
            continue
        if kind == _BYTES:
            size, place = _varint(message, place)
        elif kind in {_EIGHT_BYTES, _FOUR_BYTES}:
            size = 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ProtobufError(f"wire type {kind}")
        if size > len(message) - place:
            raise ProtobufError("it ends within a field")
        yield number, message[place : place + size]
        place += size


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(message):
            break
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ProtobufError("it ends within a number, or the number is too long")
