"""One program at a time in a folder, by a lock that ends with the program, however that ends."""

import errno
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from kernels.files.atomic import unwritable
from kernels.plumbing.errors import InputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK = ".training.lock"  # that this file is there means nothing; that it is locked does
NOTE = ".training.process"  # only where there are no locks
# Windows lets nobody read what is locked, and so the lock is on a byte far behind the text.
FAR = 1 << 30


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep every other program that asks for this lock out of an existing folder.

    Raises `InputError` at once if one of them is in there, or if no file can be written. Network
    folders may know no locks: there the process at work is written down, and asked for. One of
    another machine cannot be asked, and counts as ended.
    """
    try:
        file = open_and_lock(folder / LOCK)
        if file is None:
            claim(folder / NOTE)
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        yield
    finally:
        if file is None:
            remove(folder / NOTE)
        else:
            remove_and_unlock(folder / LOCK, file)


def open_and_lock(path: Path) -> BinaryIO | None:
    """The locked file; None where there are no locks. Raises `InputError` if it is locked."""
    while True:
        file = open(path, "r+b", buffering=0, opener=open_or_make)
        try:
            lock(file)
        except BlockingIOError:
            owner = file.read(100)
            file.close()
            raise in_use(path.parent, owner) from None
        except OSError:
            file.close()
            remove(path)
            return None
        if is_at(path, file):
            file.truncate(0)
            file.write(this_process())
            return file
        # Whoever had the lock has removed the file after we opened it.
        file.close()


def open_or_make(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)


def lock(file: BinaryIO) -> None:
    """Raises BlockingIOError if the lock is held, another OSError if there are no locks here."""
    if sys.platform == "win32":
        try:
            file.seek(FAR)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(errno.EAGAIN, error.strerror) from None
        finally:
            file.seek(0)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def remove_and_unlock(path: Path, file: BinaryIO) -> None:
    if sys.platform == "win32":  # removes no open file; if another has opened it, it stays
        file.close()
        remove(path)
    else:  # in this order, or it would be a file that another has just locked
        remove(path)
        file.close()


def remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


# ---------------------------------------------------------------- without locks


def claim(path: Path) -> None:
    """Write this process into a new file. Raises `InputError` if one at work is in there."""
    while True:
        try:
            with open(path, "xb") as file:
                file.write(this_process())
            return
        except FileExistsError:
            owner = path.read_bytes()[:100]
            if is_at_work(owner):
                raise in_use(path.parent, owner) from None
            path.unlink(missing_ok=True)


def this_process() -> bytes:
    return f"{os.getpid()} {platform.node()}".encode()


def is_at_work(owner: bytes) -> bool:
    """Whether another process runs that has written `this_process()`."""
    number, _, machine = owner.decode(errors="replace").partition(" ")
    # After a restart of a container, ours may well be the number of the one that was killed.
    if machine != platform.node() or not number.isdecimal() or int(number) == os.getpid():
        return False
    if sys.platform == "win32":  # has no way to ask that does no harm
        return False
    try:
        os.kill(int(number), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def in_use(folder: Path, owner: bytes) -> InputError:
    number = owner.decode(errors="replace").partition(" ")[0]
    process = f" (process {number})" if number.isdecimal() else ""
    return InputError(
        f"another run{process} is writing to {folder}: wait until it has ended, "
        "or choose another folder with --out"
    )
