"""User, pid, network and IPC namespaces without root: one set for the zygote, a pid namespace per worker."""

import contextlib
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from quizapp.judge.sandbox.syscalls import libc_call

_NEWUSER, _NEWPID, _NEWNET, _NEWIPC = 0x10000000, 0x20000000, 0x40000000, 0x08000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_IFF_UP = 1


def enter() -> None:
    """Move this single-threaded process into new namespaces; its future children get a new pid namespace.

    The user id stays the same. The network has a loopback interface and nothing else.
    """
    user, group = os.getuid(), os.getgid()
    libc_call("unshare", _NEWUSER | _NEWPID | _NEWNET | _NEWIPC)
    with contextlib.suppress(FileNotFoundError):
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    _loopback_up()


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(sock, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


class PidNamespaces:
    """Creates one pid namespace per forked child. Its process must be forked from one that called `enter`."""

    def __init__(self) -> None:
        self._own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    @contextlib.contextmanager
    def new(self) -> Iterator[None]:
        """Make the child of a fork in this block the first process of a new pid namespace.

        When that process ends, the kernel kills every other process of the namespace.
        """
        libc_call("unshare", _NEWPID)
        try:
            yield
        finally:
            libc_call("setns", self._own, _NEWPID)
