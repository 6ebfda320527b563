"""Look at each number that a kernel computes, or put another in its place.

This is for tools that ask where a kernel goes wrong: with `checked_run(..., watch=...)` they see
what no array shows.
"""

import ast
from collections.abc import Callable
from typing import NamedTuple

from ..numba_types import Number
from ..source import Source
from .teams import Launch, Mask, Team


class Computed(NamedTuple):
    """A number that some threads of a team have just computed.

    value: a NumPy scalar for all threads, or a vector with one element per thread of the team.
    mask: the threads that have computed it. node: an expression, or a `+=` and the like. evaluate:
    gives what another expression is there, (node, mask) -> its value.
    """

    source: Source
    node: ast.expr | ast.AugAssign
    value: Number
    mask: Mask
    team: Team
    launch: Launch
    evaluate: Callable[[ast.expr, Mask], object]
