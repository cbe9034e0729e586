"""The compiled bank: a pickle of our own making, read only where its key and owner are ours."""

import contextlib
import os
import pickle
import tempfile
from pathlib import Path

from quizapp.bank.model import Bank


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
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(key.encode() + b"\n")
                pickle.dump(bank, file, protocol=pickle.HIGHEST_PROTOCOL)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
