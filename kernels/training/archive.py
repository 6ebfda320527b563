"""Reading and writing NumPy archives (.npz) of plain arrays and one JSON text, the header.

There is no pickle in them, so a file from a stranger cannot run code. Nothing that a file says of
itself is believed: the reader names each array with its shape and type, and no more than that is
ever read into memory.
"""

import json
import math
import stat
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kernels.files.atomic import write_atomically
from kernels.plumbing.errors import InputError

VERSION = 1
MAX_HEADER_BYTES = 1 << 26  # the longest run that is allowed writes half of it
# NumPy's own choice, and that of a user who has packed the file again.
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

# kind of file -> (an entry that only its header has, what to say to somebody who has another file)
KINDS = {
    "checkpoint": (
        "step",
        "--resume goes on from the checkpoint.npz of a run, --overwrite begins anew",
    ),
    "model": ("width", "--render takes the model.npz of a run, or a .lake file"),
}

# How a file may begin, and what it is then.
BEGINNINGS = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"BM": "a BMP picture",
    b"P6": "a PPM picture",
    b"II*\0": "a TIFF picture",
    b"MM\0*": "a TIFF picture",
    b"RIFF": "a WebP picture, or a sound",
    b"%PDF": "a PDF document",
    b"\x93NUMPY": "a single NumPy array",
    b"PK": "an archive that is damaged or cut short",
}


class Unfit(ValueError):
    """Something in a file cannot be; the message says what, and begins with "it" or "its"."""


class Archive:
    """An open archive. header: what its JSON text says."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self.file = file
        with self.open("header") as content:
            shape = read_shape(content, "header", np.dtype(np.uint8))
            text = content.read(min(math.prod(shape), MAX_HEADER_BYTES + 1))
        if len(text) > MAX_HEADER_BYTES:
            raise Unfit(f"its header has more than {MAX_HEADER_BYTES:,} bytes")
        self.header: dict[str, Any] = json.loads(text)
        if not isinstance(self.header, dict):
            raise Unfit("its header is no table")

    def array(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """The array of that name. Raises `Unfit` if it has another shape or type."""
        with self.open(name) as content:
            found = read_shape(content, name, dtype)
            if found != shape:
                raise Unfit(f"its {name} has the shape {short(found)} in place of {shape}")
            size = math.prod(shape) * dtype.itemsize
            data = content.read(size + 1)  # at the end, the check sum is compared
        if len(data) != size:
            raise Unfit(f"its {name} is cut short, or too long")
        return np.frombuffer(data, dtype).reshape(shape).copy()

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        try:
            entry = self.file.getinfo(f"{name}.npy")
        except KeyError:
            raise Unfit(f"it has no {name}") from None
        if entry.compress_type not in COMPRESSIONS:
            raise Unfit(f"its {name} is compressed in a way that NumPy does not use")
        with self.file.open(entry) as content:
            yield content  # type: ignore[misc]  # all that is called of it is read


def read_shape(content: BinaryIO, name: str, dtype: np.dtype) -> tuple[int, ...]:
    """Read the head of an array up to where its numbers begin. Raises `Unfit` for another type."""
    np.lib.format.read_magic(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some ways to write a head are outdated
        shape, columns_first, found = np.lib.format.read_array_header_1_0(content)
    if found != dtype or columns_first:
        order = ", column by column," if columns_first else ""
        raise Unfit(f"its {name} holds {str(found)[:60]}{order} in place of {dtype}")
    return shape


@contextmanager
def open_archive(path: Path, kind: str) -> Iterator[Archive]:
    """Open an archive of one of the `KINDS`.

    Raises `InputError`, also for what goes wrong in the `with` block: one line that says what the
    file is, and what was expected.
    """
    try:
        with open_file(path, kind) as file, zipfile.ZipFile(file) as zipped:
            archive = Archive(zipped)
            require_kind(archive.header, kind)
            yield archive
    except (InputError, MemoryError):
        raise
    except Unfit as error:
        raise unusable(path, kind, str(error)) from error
    except Exception as error:  # one wrong byte can surface as any of a dozen exceptions
        raise unusable(path, kind, what_it_is(path)) from error


def open_file(path: Path, kind: str) -> BinaryIO:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise Unfit("it is a folder")
        if not stat.S_ISREG(mode):  # reading a pipe might wait for ever
            raise Unfit("it is not an ordinary file")
        return path.open("rb")
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"no {kind} at {path}: check the path") from None
    except PermissionError:
        raise InputError(
            f"cannot read {path}: permission denied. Give yourself read permission."
        ) from None


def require_kind(header: dict[str, Any], kind: str) -> None:
    """Raise `Unfit` if the header is that of another kind of file, or of another format."""
    for other, (mark, _) in KINDS.items():
        if other != kind and mark in header:
            raise Unfit(f"it is a {other}")
    version = header.get("version")
    if version != VERSION:
        raise Unfit(f"it has the format {short(version)}, and this program reads {VERSION}")


def unusable(path: Path, kind: str, reason: str) -> InputError:
    return InputError(f"{path} is not a whole {kind} file: {reason}; {KINDS[kind][1]}")


def what_it_is(path: Path) -> str:
    """What a file seems to be, as a clause that begins with "it"."""
    try:
        with path.open("rb") as file:
            beginning = file.read(1000)
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    if not beginning:
        return "it is empty"
    for mark, name in BEGINNINGS.items():
        if beginning.startswith(mark):
            return f"it is {name}"
    if all(byte >= 32 or byte in b"\t\n\r" for byte in beginning):
        return "it is a text"
    return "it is something else, or damaged"


def short(value: object) -> str:
    """A value as it is written in Python, cut to a length that fits into a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def write_archive(path: Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write an archive. Raises `InputError` if that is impossible."""
    text = np.frombuffer(json.dumps({"version": VERSION, **header}).encode(), np.uint8)

    def write(file: BinaryIO) -> None:
        # NumPy's own names for arguments are none of ours.
        np.savez(file, header=text, **arrays)  # type: ignore[arg-type]

    write_atomically(path, write)
