"""Writes files in one step: readers see the old content or the new content, even after a crash."""

import os
from collections.abc import Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def write_atomic(
    path: Path, content: str | bytes | Iterable[str], *, durable: bool = False, mode: int = 0o666
) -> None:
    """Write ``content`` (text as UTF-8, newlines as given) to ``path``, replacing what is there.

    Missing folders are created. ``durable`` waits until the content is on disk. The umask narrows ``mode``.
    Raises ``OSError`` and leaves the old file unchanged.
    """
    with _draft(path, content, durable=durable, mode=mode) as draft:
        draft.replace(path)


def create_atomic(path: Path, content: str | bytes | Iterable[str], *, mode: int = 0o666) -> bool:
    """Write ``content`` to ``path`` unless the path exists; return whether it was written."""
    with _draft(path, content, durable=False, mode=mode) as draft:
        try:
            os.link(draft, path)  # unlike a rename, a link never replaces what is there
        except FileExistsError:
            return False
        return True


def publish(draft: Path, path: Path) -> None:
    """Rename a finished draft to ``path`` after its content has reached the disk."""
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    draft.replace(path)


@contextmanager
def _draft(path: Path, content: str | bytes | Iterable[str], *, durable: bool, mode: int) -> "Iterator[Path]":
    """Yield a temporary file with the content; it is removed afterwards unless it was renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target: a rename is atomic only within one file system.
    draft = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _fill(file, content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        yield draft
    finally:
        with suppress(OSError):
            draft.unlink()


def _fill(file: IO[bytes], content: str | bytes | Iterable[str]) -> None:
    if isinstance(content, bytes):
        file.write(content)
    elif isinstance(content, str):
        file.write(content.encode())
    else:
        file.writelines(line.encode() for line in content)
