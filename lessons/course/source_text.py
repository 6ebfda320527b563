"""A Python file's bytes as the text that was meant: other encodings, marks at its beginning."""

import ast
import codecs
import functools
import io
import os
import stat
import threading
import tokenize
from pathlib import Path
from typing import IO

ONE_AT_A_TIME = threading.Lock()
MAX_SOURCE = 1 << 18  # bytes; the longest of our own files has 10,000
MOST_NODES = 20_000  # of a syntax tree that is looked at; our longest exercise has some 2,000
# Encodings in which nobody writes a program: they are slow, or turn one text into another.
NOT_FOR_SOURCES = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"}
# A mark of UTF-32 begins with one of UTF-16, so it comes first.
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class Refused(OSError):
    """A file that is not read; the message says why."""


def read_plain_file(path: Path, limit: int = MAX_SOURCE) -> bytes:
    """The bytes of a file. Raises `OSError`, and `Refused` for a link, a pipe or too much."""
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Refused("no plain file: not read")
        return read_at_most(file, limit)


def read_at_most(file: IO[bytes], limit: int) -> bytes:
    content = file.read(limit + 1)
    if len(content) > limit:
        raise Refused(f"more than {limit:,} bytes: not read")
    return content


def source_text(content: bytes) -> str:
    """The text of a Python file: as UTF-8, as its mark or its cookie says, or else Latin-1."""
    for mark, encoding in MARKS.items():
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        if codecs.lookup(encoding).name in NOT_FOR_SOURCES:
            return content.decode("latin-1")
        return content.decode(encoding)
    except (SyntaxError, UnicodeError, LookupError):
        return content.decode("latin-1")


def as_utf8(content: bytes) -> bytes:
    """The same file in UTF-8 and without a mark; files of plain UTF-8 stay as they are."""
    return source_text(content).encode("utf-8", "replace")


def text_of(path: Path) -> str:
    """The text of a student's file; empty for one that cannot be read."""
    try:
        return source_text(read_plain_file(path))
    except OSError:
        return ""


def source_lines(text: str) -> list[str]:
    """The lines of a text as Python counts them.

    `str.splitlines` ends lines at form feeds and at Unicode's own separators as well; Python's
    numbers of lines, and those of editors, do not count these.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def syntax_tree(text: str) -> ast.Module | None:
    """The syntax tree of a Python text; None if it has none, or one too deep for Python itself."""
    try:
        return parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return None


@functools.lru_cache(maxsize=64)
def is_too_long(text: str) -> bool:
    """Whether a text is too long to be read closely: what explains it looks at all pairs of parts.

    Counted are the nodes of its syntax tree, so comments may be as long as they like.
    """
    if len(text) < MOST_NODES // 2:  # `a` alone on a line is three nodes, of two letters
        return False
    tree = syntax_tree(text)
    nodes = enumerate(ast.walk(tree) if tree else ())
    return any(number >= MOST_NODES for number, _ in nodes)


def parsed(text: str) -> ast.Module:
    """The syntax tree of a Python text. Raises what `ast.parse` does."""
    # Some Pythons count the depth of all threads' trees together, and raise SystemError. A lock
    # alone does not help: a tree too deep can leave the count wrong for the one after it.
    with ONE_AT_A_TIME:
        try:
            return ast.parse(text)
        except SystemError:
            return ast.parse(text)
