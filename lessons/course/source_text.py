"""A Python file's bytes as the text that was meant: other encodings, marks at its beginning."""

import ast
import codecs
import io
import threading
import tokenize

ONE_AT_A_TIME = threading.Lock()
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def source_text(content: bytes) -> str:
    """The text of a Python file: as UTF-8, as its mark or its cookie says, or else Latin-1."""
    for mark, encoding in MARKS.items():
        if content.startswith(mark):
            return content.decode(encoding, "replace")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        return content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return content.decode("latin-1")


def as_utf8(content: bytes) -> bytes:
    """The same file in UTF-8 and without a mark; files of plain UTF-8 stay as they are."""
    return source_text(content).encode("utf-8", "replace")


def syntax_tree(text: str) -> ast.Module | None:
    """The syntax tree of a Python text; None if it has none, or one too deep for Python itself."""
    try:
        # Some Pythons count the depth of all threads' trees together, and raise SystemError.
        with ONE_AT_A_TIME:
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
