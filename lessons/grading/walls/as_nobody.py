"""A worker that root has started gives up being root: as another user, or at least without rights.

No user has to exist for that: a number which nobody has is enough. Each worker takes another one,
so that workers cannot reach each other either. It has to be able to read Python and the project:
where these are in root's own home, nobody else can.
"""

import ctypes
import os
import stat
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FIRST_USER, USERS = 61_184, 4_000  # numbers that systems leave free
PR_CAPBSET_DROP, LAST_CAPABILITY = 24, 63
CAPABILITY_VERSION = 0x20080522
NEEDED = (ROOT / "kernels" / "config.py", ROOT / "lessons" / "lab" / "source.py")


class CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("process", ctypes.c_int)]


def give_up_root(folder: Path) -> str:
    """Become another user if this is root. folder: what it will own. Returns a line on it."""
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
