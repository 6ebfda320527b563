"""Which way each thread went: to explain who is missing at a barrier."""

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ..source import Source
from .frames import CallStack
from .memory.race_sides import barriers_in
from .reporter import name_of
from .teams import Mask, Team


class Branch(NamedTuple):
    """A branch or loop that only some of the threads have entered."""

    node: ast.stmt
    mask: Mask  # who entered it
    source: Source
    other_side: Sequence[ast.stmt]  # what the others do instead


class Whereabouts:
    """The branches that a team is in, and the threads that have left the kernel."""

    def __init__(self, team: Team, stack: CallStack) -> None:
        self.stack = stack
        self.branches: list[Branch] = []  # from the outermost to the innermost
        self.exit_line = np.zeros(team.size, np.int64)  # of each thread; 0: still in the kernel

    @contextmanager
    def within(
        self, node: ast.stmt, mask: Mask, other_side: Sequence[ast.stmt] = ()
    ) -> Iterator[None]:
        """While only the threads in `mask` run."""
        self.branches.append(Branch(node, mask, self.stack.source, other_side))
        try:
            yield
        finally:
            self.branches.pop()

    def leave_kernel(self, node: ast.stmt, mask: Mask) -> None:
        self.exit_line[mask] = node.lineno

    def explain_absence(self, position: int) -> str:
        """Why the thread at a position is not here, for the end of a sentence."""
        if self.exit_line[position]:
            return f"has returned in line {self.exit_line[position]}"
        line = self.line_of_return(position)
        if line:
            return f"has returned from {self.stack.source.function.__name__} in line {line}"
        jump = self.jump_of(position)
        if isinstance(jump, ast.Break):
            return f"has left the loop by the `break` of line {jump.lineno}"
        if jump is not None:
            return f"leaves out the rest of the round, by the `continue` of line {jump.lineno}"
        for branch in self.branches:
            if branch.mask[position]:
                continue
            where = f"line {branch.node.lineno}"
            if branch.source is not self.stack.kernel:
                where += f" of {name_of(branch.source)}"
            if isinstance(branch.node, (ast.For, ast.While)):
                return f"has left the loop of {where}, or makes no round of it"
            barrier = next((line for part in branch.other_side for line in barriers_in(part)), 0)
            if barrier:
                return f"goes to a different barrier, in line {barrier}, at the `if` of {where}"
            return f"goes another way at the `if` of {where}"
        return "is somewhere else"

    def line_of_return(self, position: int) -> int:
        """Where the thread at a position has left the function that is running; 0 if it has not."""
        returns = self.stack.frame.returns
        return next((line for mask, line in returns if mask[position]), 0)

    def jump_of(self, position: int) -> ast.Break | ast.Continue | None:
        """What has taken the thread at a position out of a loop, or of its round, that goes on."""
        jumps = (jump for loop in self.stack.frame.loops for jump in loop.jumps)
        return next((node for mask, node in jumps if mask[position]), None)

    def way_back(self, position: int) -> str:
        """What to do so that the thread at a position comes to the barrier, too."""
        if self.exit_line[position] or self.line_of_return(position):
            return (
                "put the work under an `if`, in place of the `return`, and leave outside of it "
                "what has a barrier"
            )
        jump = self.jump_of(position)
        if jump is not None:
            name = type(jump).__name__.lower()
            return f"let all of them stay, with the work under an `if`, in place of the `{name}`"
        branch = next((branch for branch in self.branches if not branch.mask[position]), None)
        if branch is not None and isinstance(branch.node, (ast.For, ast.While)):
            return (
                "let all of them make as many rounds, with the work of a round under an `if` and "
                "the barrier outside of it; or put the barrier behind the loop, if no round reads "
                "what another thread has stored in one"
            )
        return "move it out of the branch, and leave the work in there"
