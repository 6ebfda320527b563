"""What a worker can no longer do once it has a student's file, where the system can see to that.

On Linux there are four walls, one behind the other, and each process builds them around itself:
another user, or no rights of root (`give_up_root`); no writing outside of one folder and no reading
of other people's files (Landlock, here); no processes, sockets, signals (`system_calls`); and
limits on memory and files (`limits.limit_resources`).

    python -m lessons.grading.walls.confine FOLDER    build them, and say which of them stand
"""

import ctypes
import functools
import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lessons.grading.walls.system_calls import refuse_calls

ROOT = Path(__file__).resolve().parents[3]

# Numbers of Linux, the same on x86-64 and ARM.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION = 1
PATH_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38

# Rights to files. From version 2 of Landlock on there is MOVE, from 3 on TRUNCATE, from 5 on IOCTL.
EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
READ = EXECUTE | READ_FILE | READ_FOLDER
REMOVE_FOLDER, REMOVE_FILE, MAKE_FOLDER, MAKE_FILE = 1 << 4, 1 << 5, 1 << 7, 1 << 8
MAKE_ANY = 0b1_1111_1100_0000  # also links, pipes, sockets, devices
MOVE, TRUNCATE, IOCTL = 1 << 13, 1 << 14, 1 << 15
IN_ITS_FOLDER = READ | WRITE_FILE | REMOVE_FOLDER | REMOVE_FILE | MAKE_FOLDER | MAKE_FILE | TRUNCATE
TCP = 0b11  # bind and connect; from version 4 on
SOCKETS_AND_SIGNALS = 0b11  # to processes that are not confined with it; from version 6 on
WRITABLE_DEVICES = ("/dev/null", "/dev/zero", "/dev/full")
SYSTEM = ("/usr", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev")
OF_THE_PROJECT = ("lessons/lab", "lessons/grading")
SECONDS_TO_PROBE = 60
# No user has to exist: a number that nobody has is enough. Each worker takes another one, so that
# workers cannot reach each other either.
FIRST_USER, USERS = 61_184, 4_000  # numbers that systems leave free
PR_CAPBSET_DROP, LAST_CAPABILITY = 24, 63
CAPABILITY_VERSION = 0x20080522
NEEDED = (ROOT / "kernels" / "config.py", ROOT / "lessons" / "lab" / "source.py")


class CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("process", ctypes.c_int)]


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


def confine(folder: Path) -> list[str]:
    """Give up, for good, what a worker does not need. folder: where it may write.

    Does what the system can, and returns a line on each wall: what it keeps out, or "NOT enforced".
    Raises `OSError` if a wall is there and cannot be built: then no student's file may be loaded.
    """
    if not sys.platform.startswith("linux"):
        return ["NOT enforced: files, network and processes of this account (no Linux)"]
    known = version()
    lines = [give_up_root(folder), *restrict_files(folder, known)]
    if refuse_calls():
        lines.append("a worker starts no process, opens no socket, and signals nobody but itself")
    else:
        lines.append("NOT enforced: processes, UDP, owners and times of files (no filter of calls)")
        lines += [] if known >= 4 else ["NOT enforced: TCP"]
        lines += [] if known >= 6 else ["NOT enforced: signals"]
    return lines


def give_up_root(folder: Path) -> str:
    """Become another user if this is root, or at least without rights; returns a line on it.

    folder: what it will own. The user has to be able to read Python and the project: where these
    are in root's own home, nobody else can.
    """
    if os.geteuid() != 0:
        return "a worker has the rights of this account, which is not root's"
    needed = [*NEEDED, Path(ctypes.__file__), Path(sys.executable).resolve(), folder.parent]
    needed += [Path(entry) for entry in sys.path if entry and os.path.exists(entry)]
    if all(is_for_everybody(path) for path in needed):
        user = FIRST_USER + os.getpid() % USERS
        os.chown(folder, user, user)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        return "a worker is another user, who owns nothing"
    if all(path.stat().st_uid == 0 for path in needed) and drop_capabilities():
        return "a worker is root without root's rights (another user could not read Python here)"
    return "NOT enforced: another user (it could not read Python and this project)"


def is_for_everybody(path: Path) -> bool:
    """Whether anybody can read a file or a folder, and pass through all folders above it."""
    known = path.stat()
    above = [path, *path.parents] if stat.S_ISDIR(known.st_mode) else path.parents
    if not known.st_mode & stat.S_IROTH:
        return False
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in above)


def drop_capabilities() -> bool:
    """Give up all that root may do and others may not, for good. Returns whether that worked."""
    library = ctypes.CDLL(None, use_errno=True)
    for capability in range(LAST_CAPABILITY + 1):
        library.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # those that do not exist fail
    header = CapabilityHeader(CAPABILITY_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    return bool(library.capset(ctypes.byref(header), nothing) == 0)


def restrict_files(folder: Path, known: int) -> Iterator[str]:
    """Landlock. known: its version."""
    if known == 0:
        yield "NOT enforced: files of this account, and the judge's memory (no Landlock here)"
        return
    files = READ | WRITE_FILE | REMOVE_FOLDER | REMOVE_FILE | MAKE_ANY
    files |= (MOVE if known >= 2 else 0) | (TRUNCATE if known >= 3 else 0)
    files |= IOCTL if known >= 5 else 0
    rules = Ruleset(files, TCP if known >= 4 else 0, SOCKETS_AND_SIGNALS if known >= 6 else 0)
    # Older versions refuse a longer structure.
    size = 8 if known < 4 else 16 if known < 6 else 24
    ruleset = required(system_call(CREATE_RULESET, ctypes.byref(rules), size, 0))
    try:
        for readable in readable_folders():
            allow(ruleset, readable, READ)
        allow(ruleset, folder, IN_ITS_FOLDER & files)
        for device in WRITABLE_DEVICES:
            if os.path.exists(device):
                allow(ruleset, Path(device), (READ_FILE | WRITE_FILE | TRUNCATE) & files)
        required(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        required(system_call(RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)
    yield "a worker writes in its own folder only, and cannot reach into the judge's memory"
    yield "a worker reads the system's files, Python and its packages, and nothing of other people"


def readable_folders() -> list[Path]:
    """What a worker may read: the system, Python and its packages, and of this project the code."""
    packages = [Path(entry).resolve() for entry in sys.path if entry]
    # Not the checkout, in which there may be submissions and grades.
    packages = [path for path in packages if not ROOT.is_relative_to(path) and path != Path.cwd()]
    prefixes = [Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)]
    project = [ROOT / name for name in OF_THE_PROJECT]
    everything = [*map(Path, SYSTEM), *prefixes, *packages, *project]
    return [path for path in dict.fromkeys(everything) if path.is_dir() and path != Path("/")]


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


# ---------------------------------------------------------------- what stands


@functools.cache
def what_is_enforced() -> tuple[str, ...]:
    """What `confine` sees to on this machine, and what it does not; a line each.

    A process of its own tries it, so this is what was done, and not what should have been.
    """
    command = [sys.executable, "-m", "lessons.grading.walls.confine"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]])}
    try:
        with tempfile.TemporaryDirectory(prefix="lesson-") as folder:
            tried = subprocess.run(
                [*command, folder], capture_output=True, text=True, env=environment,
                timeout=SECONDS_TO_PROBE,
            )  # fmt: skip
        lines = tuple(map(str, json.loads(tried.stdout)))
    except (OSError, ValueError, TypeError, subprocess.TimeoutExpired):
        return ("NOT enforced: files, network and processes (the walls could not be tried)",)
    return ("(what follows: on a machine without a GPU)", *lines)


if __name__ == "__main__":
    print(json.dumps(confine(Path(sys.argv[1]))))
