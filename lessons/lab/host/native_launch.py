"""A launch on the native engine: fast, and only indices outside an array are found."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from ..compiled.engine import NativeCompileError, NativeRefusal, native
from ..dimensions import Configuration, Dim3
from ..errors import InputError
from ..simulator.findings import Finding
from ..simulator.run import checked_run
from ..source import read_source

PLACE = re.compile(r"^[^:]*?line (\d+): ")
ELEMENT = re.compile(r"index (-?\d+) of ([\w.]+)")
THREAD = re.compile(r"thread \((\d+), (\d+), (\d+)\) of block \((\d+), (\d+), (\d+)\)")


def launched(kernel: Callable, chosen: Configuration, values: Sequence[Any]) -> list[Finding]:
    """The first index outside an array."""
    try:
        native(kernel)[chosen.grid, chosen.block, 0, chosen.shared_bytes](*values)
    except IndexError as error:
        return [outside(kernel, str(error))]
    return []


def run_native(kernel: Callable, chosen: Configuration, values: Sequence[Any]) -> list[Finding]:
    """As `launched`. What this engine cannot compile is checked instead."""
    try:
        return launched(kernel, chosen, values)
    except (NativeCompileError, NativeRefusal):
        report = checked_run(
            kernel, chosen.grid, chosen.block, *values, dynamic_shared=chosen.shared_bytes
        )
        unsupported = [one for one in report.findings if one.kind == "unsupported"]
        if unsupported:
            raise InputError(f"line {unsupported[0].line}: {unsupported[0].message}") from None
        return report.findings


def after_unsupported(
    kernel: Callable, chosen: Configuration, values: Sequence[Any], first: Finding
) -> list[Finding]:
    """Run natively what the simulator could not. `first`: its finding, which says so.

    Raises `InputError` if neither engine can run it: a program must not go on without outputs.
    """
    message = f"{first.message}: it ran natively, with only its indices checked"
    try:
        return launched(kernel, chosen, values) or [first._replace(message=message)]
    except (NativeCompileError, NativeRefusal) as error:
        raise InputError(f"line {first.line}: {first.message}. The other engine: {error}") from None


def outside(kernel: Callable, message: str) -> Finding:
    """The finding of an index outside an array, with the fields that the message holds."""
    finding = located(kernel, "out-of-bounds", message)
    element, thread = ELEMENT.search(message), THREAD.search(message)
    if element:
        finding = finding._replace(array=element[2])
    if thread:
        x, y, z, column, row, layer = map(int, thread.groups())
        place: tuple[Dim3, Dim3] = (x, y, z), (column, row, layer)
        finding = finding._replace(thread=place[0], block=place[1])
    return finding


def located(kernel: Callable, kind: str, message: str) -> Finding:
    source, place = read_source(kernel), PLACE.match(message)
    line = int(place[1]) if place else source.tree.lineno
    return Finding(kind, line, PLACE.sub("", message), file=source.filename)
