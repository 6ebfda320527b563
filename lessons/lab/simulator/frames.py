"""The function calls a team is in, with their variables and the loops they are in."""

from typing import NamedTuple

from ..source import Source
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


class Frame:
    """One call of a function."""

    def __init__(self, source: Source, mask: Mask, enclosing: "Frame | None" = None) -> None:
        code = source.function.__code__
        self.source = source
        self.enclosing = enclosing  # the call that defined the function, if it is an inner one
        self.variables: dict[str, Variable] = {}
        self.has_choices = False  # whether a variable may be a `choices.Choice`
        self.locals = code.co_varnames + code.co_cellvars
        self.live = mask  # threads that have not returned
        self.loops: list[Loop] = []  # from the outermost to the innermost
        self.result: object = None
        self.returned: Mask | None = None  # threads that have returned a value


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

    def enter(self, frame: Frame) -> None:
        self.callers.append(self.frame)
        self.frame = frame

    def leave(self) -> None:
        self.frame = self.callers.pop()
