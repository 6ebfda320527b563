"""The files of a submission, out of a folder or a zip: read within bounds, no link followed.

What a stranger hands in may hold links to other files, pipes that never end, archives that unpack
to a thousand times their size, names that climb out of their folder. Nothing is ever unpacked to
the disk: a name is only something to show and to recognise, and each read has an end.
"""

import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from lessons.course.source_text import MAX_SOURCE, Refused, read_at_most, read_plain_file

MAX_NOTEBOOK = 1 << 24  # with the pictures that it shows
MAX_ARCHIVE = 1 << 24
MAX_TOTAL = 1 << 26  # of all that is read for one submission
MAX_ENTRIES = 20_000
MAX_DEPTH = 20  # folders within folders
MAX_NESTED = 2  # archives within archives
LIMITS = {
    (".py", ".py.txt"): MAX_SOURCE, (".ipynb",): MAX_NOTEBOOK, (".zip",): MAX_ARCHIVE,
}  # fmt: skip
IGNORED = (
    "__MACOSX", "__pycache__", ".git", ".ipynb_checkpoints", ".venv", "node_modules",
    "site-packages", "venv",
)  # fmt: skip
SYMBOLIC_LINK = 0o120000  # of the mode that a zip made on Unix keeps of a file


class Item(NamedTuple):
    """A file of a submission."""

    path: str  # within the submission, with "/"; only to be shown and recognised
    content: bytes | None  # None: of no interest, or not read for the `reason`
    reason: str = ""
    is_loose: bool = False  # beside a folder of the same student


class Budget:
    """What may still be read of one submission."""

    def __init__(self) -> None:
        self.entries = MAX_ENTRIES
        self.bytes = MAX_TOTAL

    def take_entry(self) -> None:
        self.entries -= 1
        if self.entries < 0:
            raise Refused(f"more than {MAX_ENTRIES:,} files: the rest was not looked at")

    def limit_for(self, path: str) -> int:
        """How many bytes a file may have; 0 if nobody wants to read it.

        Raises `Refused` if so much was read that nothing more will be.
        """
        name = path.lower()
        limits = (limit for endings, limit in LIMITS.items() if name.endswith(endings))
        limit = next(limits, 0)
        if limit and self.bytes <= 0:
            raise Refused(f"more than {MAX_TOTAL >> 20} MiB in all: the rest was not read")
        return min(limit, self.bytes)


def items_of(path: Path) -> Iterator[Item]:
    """Every file of a submission: a folder, a zip, or a single file. Raises nothing."""
    budget = Budget()
    try:
        if path.is_symlink():
            yield Item(path.name, None, "a link: not followed")
        elif path.is_dir():
            yield from items_of_folder(path, "", budget, 0)
        else:
            yield from items_of_file(path, path.name, budget, 0)
    except Refused as refusal:
        yield Item("", None, str(refusal))


def items_of_folder(folder: Path, inside: str, budget: Budget, depth: int) -> Iterator[Item]:
    if depth > MAX_DEPTH:
        yield Item(inside, None, f"folders within folders, {MAX_DEPTH} deep: not looked at")
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield Item(inside, None, f"cannot be read: {error.strerror}")
        return
    for entry in entries:
        budget.take_entry()
        path = f"{inside}{entry.name}"
        if is_ignored(entry.name):
            continue
        if entry.is_symlink():
            yield Item(path, None, "a link: not followed")
        elif entry.is_dir(follow_symlinks=False):
            yield from items_of_folder(Path(entry.path), f"{path}/", budget, depth + 1)
        else:
            yield from items_of_file(Path(entry.path), path, budget, 0)


def items_of_file(path: Path, inside: str, budget: Budget, nested: int) -> Iterator[Item]:
    """One file, or if it is an archive, what that holds."""
    limit = budget.limit_for(inside)
    if not limit:
        yield Item(inside, None)
        return
    try:
        content = read_plain_file(path, limit)
    except (OSError, Refused) as error:
        budget.bytes -= limit if isinstance(error, Refused) else 0
        yield Item(inside, None, getattr(error, "strerror", None) or str(error))
        return
    yield from opened(inside, content, budget, nested)


def opened(inside: str, content: bytes, budget: Budget, nested: int) -> Iterator[Item]:
    budget.bytes -= len(content)
    if not inside.lower().endswith(".zip"):
        yield Item(inside, content)
    elif nested >= MAX_NESTED:
        yield Item(inside, None, "archives within archives: not opened")
    else:
        yield from items_of_zip(inside, content, budget, nested)


def items_of_zip(inside: str, content: bytes, budget: Budget, nested: int) -> Iterator[Item]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in sorted(archive.infolist(), key=lambda member: member.filename):
                budget.take_entry()
                yield from items_of_member(archive, member, inside, budget, nested)
    except Refused:
        raise
    except Exception as error:  # a stranger decides what is wrong with it
        yield Item(inside, None, f"no zip that can be opened: {error}")


def items_of_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, inside: str, budget: Budget, nested: int
) -> Iterator[Item]:
    name = member.filename.replace("\\", "/")
    path = f"{inside}/{name}"
    parts = PurePosixPath(name).parts
    if member.is_dir() or any(map(is_ignored, parts)):
        return
    if name.startswith("/") or ".." in parts:
        yield Item(path, None, "its name leaves the archive: not read")
        return
    if (member.external_attr >> 16) & 0o170000 == SYMBOLIC_LINK:
        yield Item(path, None, "a link: not followed")
        return
    limit = budget.limit_for(name)
    if not limit:
        yield Item(path, None)
        return
    try:
        with archive.open(member) as file:
            content = read_at_most(file, limit)
    except Refused as refusal:
        budget.bytes -= limit  # so much of it was read
        yield Item(path, None, str(refusal))
    except Exception as error:  # a password, a method that is not known, or nonsense
        yield Item(path, None, f"cannot be unpacked: {error}")
    else:
        yield from opened(path, content, budget, nested + 1)


def is_ignored(name: str) -> bool:
    return name in IGNORED or name.startswith("._") or name == ".DS_Store"
