"""A kernel as somebody might have written it, with what the lab has to say of it."""

import inspect
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

MARK = "# HERE"  # at the lines that a finding may name
CASES: list["Case"] = []


class Case(NamedTuple):
    """One kernel, its launch, and what comes of it.

    result: name of a parameter -> what it holds afterwards; checker: looks at all arguments, where
    a result may differ from run to run. kind: of the finding, None for a right kernel. also:
    another kind, of what follows from the mistake. says, never: words that the findings have, and
    have not. native, rules: whether the native engine runs it, and the lab's rules find it without
    Numba's compiler.
    """

    topic: str
    kernel: object
    grid: object
    block: object
    arguments: tuple
    result: Mapping[str, object]
    shared_bytes: int
    options: Mapping[str, object]
    checker: Callable | None = None
    native: bool = True
    rules: bool = True
    kind: str | None = None
    also: str = ""
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.kernel.py_func.__name__

    @property
    def fresh_arguments(self) -> list:
        return [a.copy() if writeable(a) else a for a in self.arguments]


def writeable(argument: object) -> bool:
    return isinstance(argument, np.ndarray) and argument.flags.writeable


def topic_of_caller() -> str:
    return inspect.stack()[2].frame.f_globals["__name__"].rpartition(".")[2]


def right(
    kernel, grid, block, *arguments,
    shared_bytes=0, options=None, native=True, checker=None, **result,
):  # fmt: skip
    """A kernel without a mistake; `result` says what its arguments hold afterwards."""
    assert result or checker, kernel
    CASES.append(
        Case(
            topic_of_caller(), kernel, grid, block, arguments, result, shared_bytes, options or {},
            checker, native,
        )
    )  # fmt: skip


def wrong(
    kernel, grid, block, *arguments,
    kind, says=(), never=(), also="", shared_bytes=0, options=None, rules=True,
):  # fmt: skip
    """A kernel with one mistake; the lines that a finding may name end in `# HERE`."""
    says = (says,) if isinstance(says, str) else says
    never = (never,) if isinstance(never, str) else never
    CASES.append(
        Case(
            topic_of_caller(), kernel, grid, block, arguments, {}, shared_bytes, options or {},
            rules=rules, kind=kind, also=also, says=says, never=never,
        )
    )  # fmt: skip


class Program(NamedTuple):
    """A host program: it asserts its own results. kind, says: as those of a `Case`."""

    run: Callable
    kind: str | None
    says: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.run.__name__


PROGRAMS: list[Program] = []


def program(kind=None, says=()):
    """Decorates a function that is run as if there were a GPU."""
    says = (says,) if isinstance(says, str) else says

    def keep(run):
        PROGRAMS.append(Program(run, kind, says))
        return run

    return keep
