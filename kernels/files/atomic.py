"""The one way this project writes any file, and the folder that files go to.

A file is either the old one or the whole new one, never half of it: whatever
fills the disk, takes away the folder or kills the program on the way.
"""

import errno
import io
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from kernels.plumbing.errors import InputError

UNFINISHED = ".unfinished-"  # how the name of a file begins that is not whole yet
RANDOM_BYTES = 6  # of which the rest of that name is made

OTHER_PLACE = "Write to another place, for example with --out"
FORBIDDEN = (
    "permission denied",
    "Use a folder of yours, for example with --out, and close programs showing the file",
)

# errno: what went wrong, what to try
OBSTACLES = {
    errno.ENOSPC: ("the disk is full", "Free some space, or write to another disk"),
    errno.EDQUOT: ("your disk quota is used up", "Free some space, or write to another disk"),
    errno.EFBIG: ("a file may not grow this large here", "Raise the limit on file size"),
    errno.EACCES: FORBIDDEN,
    errno.EPERM: FORBIDDEN,
    errno.EROFS: ("the disk is read-only", OTHER_PLACE),
    errno.ENOENT: ("the folder does not exist and cannot be made", OTHER_PLACE),
    errno.ENOTDIR: ("a part of the path is a file, not a folder", OTHER_PLACE),
    errno.EEXIST: ("a file of this name is in the way", "Rename it, or use another name"),
    errno.EISDIR: ("a folder of this name is in the way", "Rename it, or use another name"),
    errno.ENAMETOOLONG: ("the name is too long", "Use a shorter one"),
}


def write_atomically(
    path: str | os.PathLike[str], write: Callable[[BinaryIO], Any], overwrite: bool = True
) -> None:
    """Make the file `path` hold what `write(file)` writes to the binary file it is given.

    `write` fills memory first, so an encoder never meets a full disk halfway. Then a
    temporary file in the same folder is written, flushed to the disk and renamed.
    An error removes it and leaves an older `path` as it was. OSError becomes
    InputError; any other exception passes through.

    overwrite: whether there may be an older `path`, a file. Nothing else is ever replaced.
    """
    content = io.BytesIO()
    temporary = temporary_beside(path)
    try:
        refuse_to_replace(path, overwrite)
        write(content)
        with open(temporary, "xb") as file:
            file.write(content.getbuffer())
            file.flush()
            # Without it, a power failure may keep the new name and lose the bytes.
            os.fsync(file.fileno())
        # Writing may have taken its time.
        refuse_to_replace(path, overwrite)
        os.replace(temporary, path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        # After success the name is gone already.
        with suppress(OSError):
            os.unlink(temporary)


def refuse_to_replace(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Raise `InputError` if something is at `path`, unless it is a file and `overwrite` is set."""
    if not os.path.lexists(path):
        return
    if os.path.isdir(path):
        raise unwritable(path, OSError(errno.EISDIR, ""))
    # Renaming would put a file in the place of a device, such as /dev/null.
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(f"cannot write {path}: it is not an ordinary file. Use another name.")
    if not overwrite:
        raise InputError(f"{path} exists already: use another name, or add --overwrite")


def make_output_folder(path: str | Path) -> Path:
    """Create a folder and its parents if missing, prove that a file can be written there.

    Returns it as a Path. Raises InputError if it is a file, or cannot be made or written.
    """
    path = Path(path)
    trial = temporary_beside(path / "trial")
    try:
        path.mkdir(parents=True, exist_ok=True)
        with open(trial, "xb") as file:
            file.write(bytes(4096))
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        with suppress(OSError):
            os.unlink(trial)
    return path


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed program left unfinished; another may not be writing there now."""
    for leftover in folder.glob(UNFINISHED + "[0-9a-f]" * (2 * RANDOM_BYTES)):
        with suppress(OSError):
            leftover.unlink()


def temporary_beside(path: str | os.PathLike[str]) -> Path:
    # Not made of the file's name, which may already have the greatest length allowed.
    return Path(path).parent / f"{UNFINISHED}{secrets.token_hex(RANDOM_BYTES)}"


def unwritable(path: str | os.PathLike[str], error: OSError) -> InputError:
    """The error to raise when `path` cannot be written: what went wrong, and what to try."""
    other = error.strerror or str(error), OTHER_PLACE
    reason, advice = OBSTACLES.get(error.errno or 0, other)
    return InputError(f"cannot write {path}: {reason}. {advice}.")
