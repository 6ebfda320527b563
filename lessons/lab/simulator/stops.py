"""What ends a run of the simulator before the kernel's end."""

import ast


class Stop(Exception):
    """The kernel cannot go on; a finding says why."""


class Stuck(Exception):
    """Some threads wait in a loop for others that lock step keeps waiting."""


class AllEnded(Exception):
    """Every thread that was in a function has ended within a function that it called."""


class Unsupported(Exception):
    """Something that the simulator cannot run. `node` is where in the syntax tree.

    The message says why it does not compile for a GPU. If Numba's compiler has said that it does,
    it is the simulator that lacks something.
    """

    def __init__(self, node: ast.expr | ast.stmt, message: str) -> None:
        super().__init__(message)
        self.node = node
        self.message = message


class NotSimulated(Unsupported):
    """Something that compiles for a GPU, and that the simulator does not know."""
