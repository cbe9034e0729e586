"""Files written in one step: a reader, or a crash, sees the old content or the new, never a part."""

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

    The folder is made where it is missing. ``durable`` waits until the content is on disk. ``mode`` is
    narrowed by the umask. Raises ``OSError``; the file is unchanged then.
    """
    with _draft(path, content, durable=durable, mode=mode) as draft:
        draft.replace(path)


def create_atomic(path: Path, content: str | bytes | Iterable[str], *, mode: int = 0o666) -> bool:
    """Write ``content`` to ``path`` unless something is there already; whether it was written."""
    with _draft(path, content, durable=False, mode=mode) as draft:
        try:
            os.link(draft, path)  # unlike a rename, a link never replaces what is there
        except FileExistsError:
            return False
        return True


def publish(draft: Path, path: Path) -> None:
    """Give a finished file its name, once its content is on disk."""
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    draft.replace(path)


@contextmanager
def _draft(path: Path, content: str | bytes | Iterable[str], *, durable: bool, mode: int) -> "Iterator[Path]":
    """The content in a file beside ``path``, removed afterwards unless it was renamed."""
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
