"""What the native engine says where something cannot be done, or went wrong."""

import ast
import re
from typing import NamedTuple, NoReturn

import numpy as np

from ..errors import InputError, without_colours
from ..source import Source, file_label


class NativeRefusal(InputError):
    """The kernel does something that this engine cannot do."""


def refuse(source: Source, node: ast.expr | ast.stmt, what: str) -> NoReturn:
    raise NativeRefusal(f"{place(source, node)}: the native engine cannot do {what}")


def place(source: Source, node: ast.expr | ast.stmt) -> str:
    return f"{file_label(source.filename)}, line {node.lineno}"


PLACE = re.compile(r'File "(.*?)", line (\d+)')


class Site(NamedTuple):
    """A place in the source where an array is indexed, or where threads of a warp meet."""

    file: str
    line: int
    text: str  # of the array


class NativeCompileError(InputError):
    """Numba could not compile the kernel; the message names the line."""


def index_error(sites: list[Site], notes: np.ndarray) -> IndexError:
    """Its attributes: site, thread, block and, without the place, what is wrong.

    notes: what a check of an index wrote.
    """
    number, axis, index, length, *where = notes.tolist()[:10]
    site, thread, block = sites[number - 1], tuple(where[:3]), tuple(where[3:])
    problem = "is negative" if index < 0 else f"is not below {length}"
    what = f"index {index} of {site.text}, axis {axis}, {problem}; thread {thread} of block {block}"
    error = IndexError(f"{site.file}, line {site.line}: {what}")
    vars(error).update(site=site, thread=thread, block=block, what=what)
    return error


def stuck_message(sites: list[Site], notes: np.ndarray) -> str:
    """notes: what `warps.open_barrier` wrote."""
    _, thread, number = notes.tolist()[:3]
    site = sites[number]
    return (
        f"{site.file}, line {site.line}: {site.text} waits for ever: not all threads that its mask "
        f"names come here (thread {thread} of the block does)"
    )


def endless_message(site: Site) -> str:
    """site: the loop in which a thread waits, when all do."""
    return (
        f"{site.file}, line {site.line}: `{site.text}` waits for ever: all threads that run wait "
        "for what none of them changes, or for a block that comes later; checked_run says more"
    )


def compile_error(source: Source, error: Exception) -> NativeCompileError:
    """A Numba error as one line with the place in the student's file."""
    text = without_colours(str(error)) or type(error).__name__
    line = PLACE.search(text)
    filename, number = (line[1], line[2]) if line else (source.filename, "")
    if filename == "<string>":  # our own loop over the threads: it is about an argument
        filename, number = source.filename, str(source.tree.lineno)
    unknown = re.search(r"name '(\w+)' is not defined", text)
    if unknown:
        number = str(line_of_name(source, unknown[1]) or number)
    if "Cannot modify readonly array" in text:
        text = (
            "an array outside the kernel lies in constant memory, and an argument may be read-only"
        )
    where = file_label(filename) + (f", line {number}" if number else "")
    return NativeCompileError(f"{where}: Numba cannot compile this: {reason(text)}")


def line_of_name(source: Source, name: str) -> int | None:
    nodes = (node for node in ast.walk(source.tree) if isinstance(node, ast.Name))
    return min((node.lineno for node in nodes if node.id == name), default=None)


def reason(text: str) -> str:
    """The most telling line of a Numba error."""
    text = re.sub(r"Literal\[\w+\]\(([^()]*)\)", r"\1", text.split("\nDuring:")[0])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    specific = [line for line in lines if re.match(r"\w*(Error|Exception): ", line)]
    if specific:
        return specific[-1].split(": ", 1)[1]
    due = re.search(r'due to "\w+: (.*?)"', text)
    if due:
        return due[1]
    known = ("No implementation", "Cannot unify", "NameError", "Unknown attribute", "Use of")
    chosen = next((line for line in lines if line.startswith(known)), None)
    asked = next((line for line in lines if line.startswith(">>> ")), None)
    if chosen and chosen.startswith("No implementation") and asked:
        return f"there is no {asked.removeprefix('>>> ')}"
    return chosen or next((line for line in lines if not line.startswith("Failed in")), text)
