"""The function calls a team is in, with their variables and the loops they are in."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..numba_compiler import is_of_user
from ..source import Calls, Source
from .teams import Mask


class Variable(NamedTuple):
    value: object
    defined: Mask | None  # which threads have a value; None: all that are still in the call
    line: int  # where it got its value


class Loop:
    """A loop that a team is in."""

    def __init__(self, nobody: Mask) -> None:
        self.broken = nobody  # threads that have left it by `break`
        self.continued = nobody  # threads that are done with this round by `continue`
        self.jumps: list[tuple[Mask, ast.Break | ast.Continue]] = []  # who has done so, where


class Frame:
    """One call of a function."""

    def __init__(
        self,
        source: Source,
        mask: Mask,
        enclosing: "Frame | None" = None,
        call: ast.Call | None = None,
    ) -> None:
        code = source.function.__code__
        self.source = source
        self.call = call  # in the function that calls; None for a kernel
        self.calls: Calls = ()  # what leads here; set by the stack that the call is on
        self.enclosing = enclosing  # the call that defined the function, if it is an inner one
        self.variables: dict[str, Variable] = {}
        self.has_choices = False  # whether a variable may be a `choices.Choice`
        self.locals = code.co_varnames + code.co_cellvars
        self.live = mask  # threads that have not returned
        self.loops: list[Loop] = []  # from the outermost to the innermost
        self.result: object = None
        self.returned: Mask | None = None  # threads that have returned a value
        self.returns: list[tuple[Mask, int]] = []  # who has returned before its end, in which line

    @property
    def called_in_line(self) -> int:
        """Of the function that calls; 0 for a kernel."""
        return 0 if self.call is None else self.call.lineno


class CallStack:
    """The kernel, and the device functions that it is just calling."""

    def __init__(self, kernel: Source, mask: Mask) -> None:
        self.kernel = kernel
        self.frame = Frame(kernel, mask)
        self.callers: list[Frame] = []

    @property
    def source(self) -> Source:
        """The function that is running."""
        return self.frame.source

    @property
    def depth(self) -> int:
        """0 in the kernel, 1 in a function it calls, and so on."""
        return len(self.callers)

    @property
    def line_of_kernel(self) -> int:
        """The line of the kernel from which the function that runs is called; 0 in the kernel."""
        return (*self.callers, self.frame)[1].called_in_line if self.callers else 0

    @property
    def users_call(self) -> tuple[Source, int] | None:
        """Where a function of Numba's own was called that is running; None if it is the user's."""
        if not self.callers or is_of_user(self.source.filename):
            return None
        return self.users_place(0)

    def users_place(self, line: int) -> tuple[Source, int]:
        """A line of the function that is running, or where it is called if it is Numba's own."""
        frames = [*self.callers, self.frame]
        while len(frames) > 1 and not is_of_user(frames[-1].source.filename):
            line = frames.pop().called_in_line
        return frames[-1].source, line

    def places(self, line: int) -> Iterator[tuple[Source, int]]:
        """A line of the function that is running, then where it is called, up to the kernel."""
        for frame in (self.frame, *reversed(self.callers)):
            yield frame.source, line
            line = frame.called_in_line

    def enter(self, frame: Frame) -> None:
        if frame.call is not None:
            frame.calls = (*self.frame.calls, (self.frame.source, frame.call))
        self.callers.append(self.frame)
        self.frame = frame

    def leave(self) -> None:
        self.frame = self.callers.pop()
