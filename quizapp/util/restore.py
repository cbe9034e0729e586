"""Fast unpickling of frozen dataclasses with slots, of which the compiled bank holds thousands."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, TypeVar

_Class = TypeVar("_Class")


def restore_by_slots(cls: type[_Class]) -> type[_Class]:
    """Let ``cls``, a dataclass with slots, restore a pickled object through the descriptors of its slots.

    The method that `dataclasses` adds asks for the fields again for each object, which is half of the time
    in which the bank is read. The pickled form stays the same: a list of values in the order of the fields.
    """
    setters = [vars(cls)[field.name].__set__ for field in fields(cls)]  # type: ignore[arg-type]

    def set_state(self: object, state: Iterable[Any]) -> None:
        for put, value in zip(setters, state, strict=True):
            put(self, value)

    cls.__setstate__ = set_state  # type: ignore[attr-defined]
    return cls
