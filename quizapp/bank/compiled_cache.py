"""The compiled bank: a pickle of our own making, read only where its key and owner are ours."""

import contextlib
import os
import pickle
from pathlib import Path

from quizapp.bank.model import Bank
from quizapp.util.atomic import write_atomic


def read_cache(path: Path, key: str) -> Bank | None:
    """The cached bank, or None where there is none for ``key`` or it is not this user's own file."""
    try:
        with path.open("rb") as file:
            if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
                return None
            if file.readline().strip() != key.encode():
                return None
            bank = pickle.load(file)  # noqa: S301 - written by this program for this user
    except (
        OSError,
        EOFError,
        pickle.UnpicklingError,
        AttributeError,
        ImportError,
        IndexError,
        TypeError,
        ValueError,
    ):
        return None
    return bank if isinstance(bank, Bank) else None


def write_cache(path: Path, key: str, bank: Bank) -> None:
    """Keep the bank for the next start; a cache that cannot be written is only slower."""
    content = key.encode() + b"\n" + pickle.dumps(bank, protocol=pickle.HIGHEST_PROTOCOL)
    with contextlib.suppress(OSError):
        # A pickle runs code when it is read, so nobody else may be able to write it.
        write_atomic(path, content, mode=0o600)
