"""How the programs of one user find a judge that is already running."""

import contextlib
import hashlib
import os
import platform
import socket
import stat
import struct
import sys
import tempfile
from pathlib import Path

import quizapp
from quizapp import paths


def socket_key() -> str:
    """A key shared by programs that can use the same judge: same code, interpreter, data folder, devices."""
    code = max(path.stat().st_mtime_ns for path in Path(__file__).parents[1].rglob("*.py"))
    parts = (
        quizapp.__version__,
        platform.python_version(),
        sys.executable,
        str(paths.home()),
        os.environ.get("CUDA_VISIBLE_DEVICES", "-"),
        str(code),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def listen(key: str) -> socket.socket | None:
    """Listen for other programs of this user.

    Returns None if another judge already does, or if there is no private folder for the socket.
    """
    try:
        path = _private_folder() / f"{key}.sock"
        if (running := connect_running(key)) is not None:
            running.close()
            return None
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(8)
    except OSError:
        return None
    return listener


def stop_listening(listener: socket.socket) -> None:
    """Close the socket and remove its file."""
    with contextlib.suppress(OSError):
        Path(listener.getsockname()).unlink()
    listener.close()


def connect_running(key: str) -> socket.socket | None:
    """A connection to this user's warm judge, or None if none is running."""
    try:
        path = _private_folder() / f"{key}.sock"
        if not path.exists():
            return None
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(path))
    except OSError:
        return None
    if same_user(sock):
        return sock
    sock.close()
    return None


def same_user(sock: socket.socket) -> bool:
    """Whether the process at the other end runs as this user.

    True on systems that cannot tell. There, the permissions of the socket's folder protect it.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    _, user, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return bool(user == os.getuid())


def _private_folder() -> Path:
    """The folder for sockets. Raises `OSError` if anyone else could have access to it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    base = Path(runtime) if runtime and Path(runtime).is_dir() else Path(tempfile.gettempdir())
    folder = base / f"quizapp-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PermissionError(f"{folder} is not private")
    return folder
