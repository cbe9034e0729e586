"""Where a warm judge of this user can be found: a socket in a folder that nobody else may enter."""

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
    """Names a judge that may stand in for one of our own: same user, code, interpreter and data folder."""
    code = max(path.stat().st_mtime_ns for path in Path(__file__).parent.rglob("*.py"))
    parts = (
        quizapp.__version__,
        platform.python_version(),
        sys.executable,
        str(paths.home()),
        os.environ.get("CUDA_VISIBLE_DEVICES", "-"),
        str(code),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _folder() -> Path:
    """The private folder for sockets; raises `OSError` if it is not ours alone."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    base = Path(runtime) if runtime and Path(runtime).is_dir() else Path(tempfile.gettempdir())
    folder = base / f"quizapp-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{folder} is not private")
    return folder


def listen(key: str) -> socket.socket | None:
    """Listen for others of this user; None if a judge does so already or no private folder is to be had."""
    try:
        path = _folder() / f"{key}.sock"
        if connect_running(key) is not None:
            return None
        path.unlink(missing_ok=True)
        door = socket.socket(socket.AF_UNIX)
        door.bind(str(path))
        path.chmod(0o600)
        door.listen(8)
    except OSError:
        return None
    return door


def stop_listening(door: socket.socket) -> None:
    """Stop listening and remove the socket's file."""
    with contextlib.suppress(OSError):
        Path(door.getsockname()).unlink()
    door.close()


def connect_running(key: str) -> socket.socket | None:
    """A connection to this user's warm judge, or None if there is none."""
    try:
        path = _folder() / f"{key}.sock"
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
    """Whether the other end belongs to this user (where the system cannot tell, the folder guards it)."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    _, user, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return bool(user == os.getuid())
