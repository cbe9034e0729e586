"""Applies the layers of one isolation tier to a worker."""

import os
import sys
import sysconfig
from functools import cache
from pathlib import Path

from quizapp import paths
from quizapp.judge.sandbox import landlock, limits, seccomp
from quizapp.judge.sandbox.syscalls import COLUMN, drop_privileges

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/nix/store")
_FILES = ("/dev/urandom", "/dev/random", "/dev/zero", "/proc/cpuinfo", "/proc/meminfo", "/etc/localtime")


@cache
def readable() -> tuple[tuple[Path, int], ...]:
    """The rules for reading: the interpreter, its packages except this one, and system libraries."""
    ours = [Path(__file__).resolve().parents[2], paths.content().resolve(), paths.exercises().resolve()]
    folders = {Path(name) for name in _SYSTEM}
    folders |= {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {Path(entry) for entry in sys.path if entry and "packages" in Path(entry).name}
    folders.add(Path(sys.base_prefix) / "lib")
    rules = [(Path(name), landlock.READ_FILE) for name in _FILES]
    rules.append((Path("/dev/null"), landlock.READ_FILE | landlock.WRITE_FILE))
    for folder in sorted({folder.resolve() for folder in folders if folder.is_dir()}):
        rules += [(path, landlock.READ) for path in landlock.without(folder, ours)]
        # An import has to list the folder, and file names are not secret.
        rules.append((folder, landlock.READ_DIR))
    return tuple(rules)


def apply(tier: str, scratch: Path, seconds: float, *, sockets: bool = False) -> None:
    """Restrict this process permanently to ``tier``; ``scratch`` stays writable. Raises `OSError`.

    ``seconds`` is the deadline. ``sockets`` allows those that a process group needs on the loopback.
    """
    if tier == "T0":
        return
    _apply_limits(seconds)
    if tier == "T1":
        return
    rules = [*readable(), (scratch, landlock.READ | landlock.WRITE)]
    landlock.restrict(rules, network=not sockets)
    seccomp.install(sockets=sockets)


def _apply_limits(seconds: float) -> None:
    limits.apply(seconds)
    if COLUMN >= 0:
        drop_privileges()
    os.umask(0o077)
