"""A launch on the native engine: fast, and only indices outside an array are found."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from ..compiled.engine import NativeCompileError, NativeRefusal, native
from ..dimensions import Configuration
from ..errors import InputError
from ..simulator.findings import Finding
from ..simulator.run import checked_run
from ..source import read_source


def launched(kernel: Callable, chosen: Configuration, values: Sequence[Any]) -> list[Finding]:
    """The first index outside an array."""
    try:
        native(kernel)[chosen.grid, chosen.block, 0, chosen.shared_bytes](*values)
    except IndexError as error:
        return [outside(kernel, error)]
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


def outside(kernel: Callable, error: IndexError) -> Finding:
    """The finding of an index outside an array."""
    source, found = read_source(kernel), vars(error)
    if "site" not in found:  # where Numba looks itself
        line = source.tree.lineno
        return Finding("out-of-bounds", line, str(error), file=source.filename)
    name = re.match(r"[\w.]+", found["site"].text)
    return Finding(
        "out-of-bounds",
        found["site"].line,
        found["what"],
        file=source.filename,
        thread=found["thread"],
        block=found["block"],
        array=name[0] if name else None,
    )
