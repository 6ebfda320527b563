"""What ends a run of the simulator before the kernel's end."""

import ast


class Stop(Exception):
    """The kernel cannot go on; a finding says why."""


class Stuck(Exception):
    """Some threads wait in a loop for others that lock step keeps waiting."""


class Unsupported(Exception):
    """Something that does not compile for a GPU. `node` is where in the syntax tree."""

    def __init__(self, node: ast.expr | ast.stmt, message: str) -> None:
        super().__init__(message)
        self.node = node
        self.message = message
