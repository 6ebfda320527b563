"""What a worker can no longer do once it has a student's file, where the system can see to that.

On Linux (5.13 and later) this is Landlock: a process gives up rights, for itself and all that it
will ever start, also if it belongs to root. What is handled depends on the kernel's version.
"""

import ctypes
import os
import sys
from pathlib import Path

# Numbers of Linux, the same on x86-64 and ARM.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION = 1
PATH_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38

# Rights to files that change something: write a file, remove, make; from version 2 on move, from
# 3 on truncate. Reading is not among them: Python itself reads in many places.
CHANGES = 0b1_1111_1111_0010
MOVE, TRUNCATE = 1 << 13, 1 << 14
WRITE_FILE = 1 << 1
TCP = 0b11  # bind and connect; from version 4 on
SOCKETS_AND_SIGNALS = 0b11  # to processes that are not confined with it; from version 6 on
WRITABLE_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")


class Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64),
                ("scoped", ctypes.c_uint64)]  # fmt: skip


class Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def version() -> int:
    """That of Landlock in this kernel; 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, system_call(CREATE_RULESET, None, 0, ASK_VERSION))


def what_is_enforced() -> list[str]:
    """What `confine` sees to on this machine, and what it does not; a line each."""
    known = version()
    if known == 0:
        return ["NOT enforced: files, network and processes of this account (no Landlock here)"]
    lines = [
        "(what follows: on a machine without a GPU)",
        "a worker writes in its own folder only, and cannot reach into the judge's memory",
        "a worker opens no TCP connection" if known >= 4 else "NOT enforced: network",
        "a worker sends no signal to the judge" if known >= 6 else "NOT enforced: signals",
        "NOT enforced: what a worker can read of this account's files",
    ]
    return lines


def confine(folder: Path) -> None:
    """Give up, for good, what a worker does not need. folder: where it may write.

    Does what it can: nothing without Landlock. Raises `OSError` if Landlock is there and fails:
    then no student's file may be loaded.
    """
    known = version()
    if known == 0:
        return
    files = CHANGES | (MOVE if known >= 2 else 0) | (TRUNCATE if known >= 3 else 0)
    rules = Ruleset(files, TCP if known >= 4 else 0, SOCKETS_AND_SIGNALS if known >= 6 else 0)
    # Older versions refuse a longer structure.
    size = 8 if known < 4 else 16 if known < 6 else 24
    ruleset = required(system_call(CREATE_RULESET, ctypes.byref(rules), size, 0))
    try:
        allow(ruleset, folder, files)
        for device in WRITABLE_DEVICES:
            if os.path.exists(device):
                allow(ruleset, Path(device), WRITE_FILE | (files & TRUNCATE))
        required(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        required(system_call(RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def allow(ruleset: int, path: Path, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = Beneath(rights, descriptor)
        required(system_call(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(descriptor)


def system_call(number: int, *arguments: object) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return int(library.syscall(ctypes.c_long(number), *arguments))


def required(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
