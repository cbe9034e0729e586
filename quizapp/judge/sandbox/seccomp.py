"""A seccomp filter that refuses new processes, sockets, and access to other processes or the system.

Call numbers are pairs (x86_64, aarch64), with -1 if an architecture lacks the call. Calls above `_NEWEST`
fail with "not implemented", so that calls that later kernels add are refused too.
"""

import ctypes
import errno
import os
import signal
import struct
from collections.abc import Iterator

from quizapp.judge.sandbox.syscalls import COLUMN, PR_SET_NO_NEW_PRIVS, prctl, syscall

STACK_SIGNAL = signal.SIGUSR1

_AUDIT_ARCH = (0xC000003E, 0xC00000B7)
_SECCOMP = (317, 277)
_SET_MODE_FILTER, _TSYNC = 1, 1
_X32 = 0x40000000
_NEWEST = 462
_CLONE3 = 435

# fmt: off - a table, several to a line
REFUSED: dict[str, tuple[int, int]] = {
    # new processes and programs
    "fork": (57, -1),
    "vfork": (58, -1),
    "execve": (59, 221),
    "execveat": (322, 281),
    "setsid": (112, 157),
    "setpgid": (109, 154),
    # sockets (a stream socketpair stays: asyncio needs one, and it only connects the process to itself)
    "socket": (41, 198),
    "connect": (42, 203),
    "accept": (43, 202),
    "accept4": (288, 242),
    "bind": (49, 200),
    "listen": (50, 201),
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "tkill": (200, 130),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    # inotify reports on files that Landlock keeps closed; the others change priority and memory placement
    "inotify_init": (253, -1),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "setpriority": (141, 140),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "ioprio_set": (251, 30),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # kernel surfaces that no exercise needs
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "fanotify_init": (300, 262),
    "personality": (135, 92),
    "modify_ldt": (154, -1),
    "uselib": (134, -1),
    "lookup_dcookie": (212, 18),
    # mounts and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "statmount": (457, 457),
    "listmount": (458, 458),
    # the machine
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "iopl": (172, -1),
    "ioperm": (173, -1),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # memory that RLIMIT_DATA does not count, and objects that outlive a process
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    # file attributes, which Landlock does not cover
    "chown": (92, -1),
    "lchown": (94, -1),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    # Landlock before version 3 does not cover this one
    "truncate": (76, 45),
}
# These set file attributes too, but shutil.copy needs them, so they do nothing and report success.
PRETENDED: dict[str, tuple[int, int]] = {
    "chmod": (90, -1),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "utime": (132, -1),
    "utimes": (235, -1),
    "futimesat": (261, -1),
}
# fmt: on
_CLONE = (56, 220)
_KILL, _TGKILL = (62, 129), (234, 131)
_SIGQUEUE, _TGSIGQUEUE = (129, 138), (297, 240)
_SIGACTION = (13, 134)
_PRCTL, _FCNTL, _IOCTL = (157, 167), (72, 25), (16, 29)
_PRLIMIT, _SETAFFINITY = (302, 261), (203, 122)
_UTIMENSAT = (280, 88)
_SOCKET, _SOCKETPAIR, _SENDTO = (41, 198), (53, 199), (44, 206)
# AF_INET, AF_INET6 and AF_NETLINK (names of interfaces) stay within a network namespace. Unix sockets, such
# as the judge's own, and sockets of virtual machines would lead out of it.
_FAMILIES = (2, 10, 16)
_CLONE_THREAD = 0x10000
_REFUSED_IOCTLS = (
    *(0x5412, 0x541C, 0x8901, 0x8902),  # TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP
    # FS_IOC_SETFLAGS (and its 32-bit form), FS_IOC_FSSETXATTR, FS_IOC_ENABLE_VERITY: readable is enough
    *(0x40086602, 0x40046602, 0x401C5820, 0x40806685),
)

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def _argument(index: int, *, high: bool = False) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * index + (4 if high else 0))


def _fail(code: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | code)


def _when(number: int, body: list[Instruction]) -> Iterator[Instruction]:
    """Run ``body``, which must end in a return, if the call number in the accumulator is ``number``."""
    if number >= 0:
        yield (_EQUAL, 0, len(body), number)
        yield from body


def _only_if_equal(index: int, *allowed: int) -> list[Instruction]:
    """Allow a call only if its argument is one of the given 32-bit values."""
    tests: list[Instruction] = [
        (_EQUAL, len(allowed) - position, 0, value) for position, value in enumerate(allowed)
    ]
    return [_argument(index), *tests, _fail(errno.EPERM), (_RETURN, 0, 0, _ALLOW)]


def _not_if_equal(index: int, *refused: int) -> list[Instruction]:
    tests: list[Instruction] = [
        (_EQUAL, len(refused) - position, 0, value) for position, value in enumerate(refused)
    ]
    return [_argument(index), *tests, (_RETURN, 0, 0, _ALLOW), _fail(errno.EPERM)]


def program(pid: int, *, sockets: bool = False) -> list[Instruction]:
    """The filter for the process ``pid``.

    ``sockets`` allows network sockets, which is safe only in a network namespace without a way out.
    """
    kept = ("socket", "connect", "accept", "accept4", "bind", "listen") if sockets else ()
    code: list[Instruction] = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, _AUDIT_ARCH[COLUMN]),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, _X32),
        _fail(errno.ENOSYS),
        (_AT_LEAST, 0, 1, _NEWEST + 1),
        _fail(errno.ENOSYS),
        # A filter cannot read clone3's flags, which are behind a pointer. glibc then falls back to clone.
        *_when(_CLONE3, [_fail(errno.ENOSYS)]),
        *_when(
            _CLONE[COLUMN],
            [_argument(0), (_ANY_BIT, 1, 0, _CLONE_THREAD), _fail(errno.EPERM), (_RETURN, 0, 0, _ALLOW)],
        ),
        *_when(_KILL[COLUMN], _only_if_equal(0, pid)),
        *_when(_TGKILL[COLUMN], _only_if_equal(0, pid)),
        *_when(_SIGQUEUE[COLUMN], _only_if_equal(0, pid)),
        *_when(_TGSIGQUEUE[COLUMN], _only_if_equal(0, pid)),
        # Protect the handler that writes the user's line when the time is up.
        *_when(_SIGACTION[COLUMN], _not_if_equal(0, int(STACK_SIGNAL))),
        *_when(_PRCTL[COLUMN], _not_if_equal(0, 1, 36)),  # PDEATHSIG, CHILD_SUBREAPER
        *_when(_FCNTL[COLUMN], _not_if_equal(1, 8, 10, 15)),  # F_SETOWN, F_SETSIG, F_SETOWN_EX
        *_when(_IOCTL[COLUMN], _not_if_equal(1, *_REFUSED_IOCTLS)),
        *_when(_PRLIMIT[COLUMN], _only_if_equal(0, 0, pid)),
        *_when(_SETAFFINITY[COLUMN], _only_if_equal(0, 0, pid)),
        *(_when(_SOCKET[COLUMN], _only_if_equal(0, *_FAMILIES)) if sockets else ()),
        *_when(
            _SOCKETPAIR[COLUMN],
            [
                _argument(0),
                (_EQUAL, 0, 3, 1),  # AF_UNIX
                _argument(1),
                (_AND, 0, 0, 0xF),
                (_EQUAL, 1, 0, 1),  # SOCK_STREAM: unlike a datagram socket it cannot address others
                _fail(errno.EPERM),
                (_RETURN, 0, 0, _ALLOW),
            ],
        ),
        *_when(
            _SENDTO[COLUMN],
            [
                _argument(4),
                (_EQUAL, 0, 2, 0),
                _argument(4, high=True),
                (_EQUAL, 1, 0, 0),
                _fail(errno.EPERM),
                (_RETURN, 0, 0, _ALLOW),
            ],
        ),
        # Pretend to set the times of a file as well, except to "now": Path.touch would take success as a sign
        # that the file exists.
        *_when(
            _UTIMENSAT[COLUMN],
            [
                _argument(2),
                (_EQUAL, 0, 2, 0),
                _argument(2, high=True),
                (_EQUAL, 1, 0, 0),
                _fail(0),
                _fail(errno.EPERM),
            ],
        ),
    ]
    for name, numbers in REFUSED.items():
        if name not in kept:
            code += _when(numbers[COLUMN], [_fail(errno.EPERM)])
    for numbers in PRETENDED.values():
        code += _when(numbers[COLUMN], [_fail(0)])
    return [*code, (_RETURN, 0, 0, _ALLOW)]


def install(*, sockets: bool = False) -> None:
    """Install the filter permanently in every thread of this process. Raises `OSError`."""
    if COLUMN < 0:
        raise OSError(errno.ENOSYS, "no table of system calls for this processor")
    code = program(os.getpid(), sockets=sockets)
    raw = b"".join(struct.pack("<HBBI", *instruction) for instruction in code)
    filters = ctypes.create_string_buffer(raw, len(raw))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(filters)))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    syscall(_SECCOMP[COLUMN], _SET_MODE_FILTER, _TSYNC, ctypes.addressof(header))
