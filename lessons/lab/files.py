"""The one way the lab writes any file: it is there as a whole, or not at all."""

import io
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from .errors import InputError


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
