"""The one way the lab writes any file: it is there as a whole, or not at all."""

import io
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from .errors import InputError

# What stands at the beginning of each kind of file that the lab writes: such a one is replaced.
OWN = {
    "json": b'{\n  "launches"', "sarif": b"sarif-2.1.0.json", "html": b"<title>Replay",
    "baseline": b'"accepted by the lab"',
}  # fmt: skip


def refuse_foreign(kind: str, path: str | None) -> None:
    """Raise `InputError` if a file is there that the lab has not written. kind: a key of `OWN`."""
    if path and (path.endswith((".py", ".pyw", ".ipynb")) or os.path.isdir(path)):
        raise InputError(f"{path} is no name for a {kind} of the lab: use another one")
    if not path or not os.path.isfile(path) or not os.path.getsize(path):
        return
    with open(path, "rb") as file:
        if OWN[kind] in file.read(4096):
            return
    raise InputError(f"{path} exists already, and is no {kind} of the lab: use another name")


def write_whole(path: str | os.PathLike[str], write: Callable[[BinaryIO], Any]) -> None:
    """Make the file `path` hold what `write(file)` writes to the binary file it is given.

    Replaces an older file. Raises `InputError` if the file cannot be written; then an older one is
    as it was.
    """
    path = Path(path)
    content = io.BytesIO()
    write(content)
    temporary = path.parent / f".unfinished-{secrets.token_hex(6)}"
    try:
        # Renaming would put a file in the place of a device, such as /dev/null.
        if path.exists() and not path.is_file():
            raise InputError(f"cannot write {path}: it is not an ordinary file; use another name")
        temporary.write_bytes(content.getbuffer())
        os.replace(temporary, path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot write {path}: {reason}; write to another place") from None
    finally:
        with suppress(OSError):  # after success the name is gone already
            temporary.unlink()
