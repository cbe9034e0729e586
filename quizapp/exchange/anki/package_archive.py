"""Takes the database out of an Anki package, a zip that anybody may have made: nothing in it is trusted."""

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from quizapp.errors import QuizError

OLD_FORMATS = ("collection.anki21", "collection.anki2")
NEW_FORMAT = "collection.anki21b"


class PackageError(QuizError):
    """The file is not a package that can be imported; the message says why and needs no subject."""


class ArchiveLimits(NamedTuple):
    """The most that a package may hold: files, bytes of its directory and of the unpacked database.

    ``ratio`` bounds how far the database may grow when unpacked, beyond ``free`` bytes.
    """

    files: int = 100_000
    directory: int = 32 << 20
    database: int = 512 << 20
    ratio: int = 200
    free: int = 16 << 20


LIMITS = ArchiveLimits()
_CHUNK = 1 << 18
_ENCRYPTED = 1
_LARGEST_WINDOW = 1 << 27  # bytes; a larger one would only make the decoder allocate
_NOT_A_ZIP = "it is not a zip file"


def unpack_database(package: Path, target: Path, limits: ArchiveLimits = LIMITS) -> None:
    """Write the database of ``package`` to the new file ``target``. Raises `PackageError`.

    No name in the package is ever used as a path.
    """
    with _opened(package) as file:
        _check_directory(file, limits)
        try:
            with zipfile.ZipFile(file) as archive:
                entry = _database_entry(archive.infolist(), limits)
                with archive.open(entry) as packed, target.open("xb") as out:
                    _copy(packed, out, entry, limits)
        except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, UnicodeDecodeError, ValueError):
            raise PackageError("the zip file is damaged or has not arrived in full") from None
        except OSError as error:
            raise PackageError(f"its database cannot be unpacked ({error.strerror})") from None
        except (NotImplementedError, RuntimeError):
            raise PackageError("its database is encrypted or packed in a way that Anki never uses") from None


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a regular file. A pipe or a device could block or never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise PackageError(f"it cannot be read ({error.strerror})") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PackageError("it is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        yield file


def _check_directory(file: IO[bytes], limits: ArchiveLimits) -> None:
    """Refuse a directory of files so large that listing it would fill the memory."""
    size = file.seek(0, os.SEEK_END)
    start = max(0, size - 65_557)  # the end record and the longest comment
    file.seek(start)
    tail = file.read()
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) - place < 22:
        raise PackageError(_NOT_A_ZIP)
    files, directory = struct.unpack("<HI", tail[place + 10 : place + 16])
    if tail[max(0, place - 20) : place].startswith(b"PK\x06\x07"):
        (where,) = struct.unpack("<Q", tail[place - 12 : place - 4])
        if where > size - 56:
            raise PackageError("the zip file is damaged or has not arrived in full")
        file.seek(where)
        files, directory = struct.unpack("<QQ", file.read(56)[32:48])
    if files > limits.files or directory > limits.directory:
        raise PackageError(f"it lists more than {limits.files:,} files")


def _database_entry(entries: list[zipfile.ZipInfo], limits: ArchiveLimits) -> zipfile.ZipInfo:
    if len(entries) > limits.files:
        raise PackageError(f"it lists more than {limits.files:,} files")
    by_name: dict[str, zipfile.ZipInfo] = {}
    for entry in entries:
        name = entry.orig_filename
        if entry.filename != name or "/" in name or "\\" in name or name in {"", ".", ".."}:
            raise PackageError(f"it holds a file named {name[:60]!r}, and Anki never writes such a name")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise PackageError(f"it holds a link named {name[:60]!r}, and Anki never writes links")
        if name in by_name:
            raise PackageError(f"it holds {name[:60]!r} twice")
        by_name[name] = entry
    for name in (NEW_FORMAT, *OLD_FORMATS):
        if name in by_name:
            return by_name[name]
    raise PackageError("it holds no collection of Anki")


def _copy(packed: IO[bytes], out: IO[bytes], entry: zipfile.ZipInfo, limits: ArchiveLimits) -> None:
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise PackageError("its database is encrypted or packed in a way that Anki never uses")
    # Count what really comes out: the sizes in the directory are claims of whoever made the file.
    most = min(limits.database, limits.free + limits.ratio * entry.compress_size)
    chunks = _zstd_chunks(packed) if entry.filename == NEW_FORMAT else _chunks(packed)
    written = 0
    for chunk in chunks:
        written += len(chunk)
        if written > most:
            raise PackageError(f"its database unpacks to more than {most >> 20} MB")
        out.write(chunk)


def _chunks(source: IO[bytes]) -> Iterator[bytes]:
    while chunk := source.read(_CHUNK):
        yield chunk


def _zstd_chunks(packed: IO[bytes]) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise PackageError(
            "it is in Anki's newer format, for which a library is missing: run "
            "pip install 'quizapp-ml[anki]', or tick 'Support older Anki versions' when you export it"
        ) from None
    decoder = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW)
    try:
        with decoder.stream_reader(packed, read_across_frames=False) as reader:
            yield from _chunks(reader)
    except zstandard.ZstdError:
        raise PackageError("its database cannot be unpacked") from None
