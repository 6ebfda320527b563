"""Loops: they go on until the last thread has had enough."""

import ast
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from lessons.lab.numba_types import convert
from lessons.lab.simulator.assignments import Assignments
from lessons.lab.simulator.context import Context
from lessons.lab.simulator.expressions.evaluate import Expressions
from lessons.lab.simulator.frames import Loop
from lessons.lab.simulator.loop_watch import LoopWatch
from lessons.lab.simulator.memory.arrays import ArrayView
from lessons.lab.simulator.stops import Unsupported
from lessons.lab.simulator.teams import Mask

# Runs statements. Returns the mask of the threads that reach the end of them.
RunBody: TypeAlias = Callable[[Sequence[ast.stmt], Mask], Mask]


class Loops:
    """Executes `while`, `for`, `break` and `continue`."""

    def __init__(
        self,
        context: Context,
        expressions: Expressions,
        assignments: Assignments,
        watch: LoopWatch,
        run_body: RunBody,
    ) -> None:
        self.context = context
        self.launch = context.launch
        self.team = context.team
        self.stack = context.stack
        self.expressions = expressions
        self.assignments = assignments
        self.watch = watch
        self.run_body = run_body

    def while_loop(self, node: ast.While, mask: Mask) -> Mask:
        loop = self.enter()
        running, rounds = mask, 0
        while True:
            running = running & self.expressions.condition(node.test, running)
            if not running.any():
                break
            rounds += 1
            self.watch.begin_round(node, running, rounds)
            running = self.one_round(node, running, loop, mask)
            if not running.any():
                break
        return self.leave(node, mask, loop)

    def for_loop(self, node: ast.For, mask: Mask) -> Mask:
        loop = self.enter()
        if not is_range(node.iter):
            self.for_each(node, mask, loop)
            return self.leave(node, mask, loop)
        begin, end, step = self.range_limits(node.iter, mask)
        if np.ndim(begin) or np.ndim(end) or np.ndim(step):
            self.for_uneven(node, mask, loop, begin, end, step)
        else:
            self.for_even(node, mask, loop, begin, end, step)
        return self.leave(node, mask, loop)

    def for_even(
        self, node: ast.For, mask: Mask, loop: Loop, begin: Any, end: Any, step: Any
    ) -> None:
        """A range with the same limits in all threads."""
        kind = begin.dtype.type
        running = mask
        for value in range(int(begin), int(end), int(step)):
            self.launch.spend_round(node.lineno)
            self.assignments.store_to(node.target, kind(value), running)
            running = self.one_round(node, running, loop, mask)
            if not running.any():
                return

    def for_uneven(
        self, node: ast.For, mask: Mask, loop: Loop, begin: Any, end: Any, step: Any
    ) -> None:
        """A range whose limits differ from thread to thread."""
        value = self.team.full(begin)
        running = mask
        while True:
            going_on = np.where(step > 0, value < end, value > end)
            running = running & going_on
            if not running.any():
                return
            self.launch.spend_round(node.lineno)
            self.assignments.store_to(node.target, value, running)
            running = self.one_round(node, running, loop, mask)
            value = value + step

    def for_each(self, node: ast.For, mask: Mask, loop: Loop) -> None:
        """A loop over a tuple, or over an array of one dimension."""
        values = self.expressions.evaluate(node.iter, mask)
        running = mask
        for index in range(self.length(node.iter, values)):
            item = self.item(node.iter, values, index, running)
            self.assignments.store_to(node.target, item, running)
            running = self.one_round(node, running, loop, mask)
            if not running.any():
                return

    def length(self, node: ast.expr, values: object) -> int:
        if isinstance(values, tuple):
            return len(values)
        if isinstance(values, ArrayView) and len(values.shape) == 1:
            return int(values.shape[0])
        raise Unsupported(node, f"a kernel cannot loop over `{ast.unparse(node)}`; use range")

    def item(self, node: ast.expr, values: Any, index: int, running: Mask) -> object:
        if isinstance(values, tuple):
            return values[index]
        return self.context.memory.load(values, [np.int64(index)], running, node)

    def range_limits(self, node: ast.Call, mask: Mask) -> tuple[Any, Any, Any]:
        """(begin, end, step), all of the type that the loop's variable gets."""
        limits = [self.expressions.number(argument, mask) for argument in node.args]
        for limit, argument in zip(limits, node.args, strict=True):
            if limit.dtype.kind not in "iu":
                raise Unsupported(
                    argument,
                    f"`{ast.unparse(argument)}` is a {limit.dtype}; range needs whole numbers",
                )
        small = all(limit.dtype == np.int32 for limit in limits)
        unsigned = all(limit.dtype.kind == "u" for limit in limits)
        dtype = np.dtype(np.int32 if small else np.uint64 if unsigned else np.int64)
        zero, one = dtype.type(0), dtype.type(1)
        limits = [convert(limit, dtype) for limit in limits]
        if len(limits) == 1:
            return zero, limits[0], one
        if len(limits) == 2:
            return limits[0], limits[1], one
        return limits[0], limits[1], limits[2]

    # ------------------------------------------------------------ rounds

    def enter(self) -> Loop:
        loop = Loop(self.team.nobody)
        self.stack.frame.loops.append(loop)
        return loop

    def one_round(self, node: ast.While | ast.For, running: Mask, loop: Loop, mask: Mask) -> Mask:
        """Run a loop's body. Returns the threads that come to its end, or continue.

        mask: the threads that entered the loop.
        """
        loop.continued = self.team.nobody
        if running is mask:
            reached = self.run_body(node.body, running)
        else:
            with self.context.whereabouts.within(node, running):
                reached = self.run_body(node.body, running)
        if loop.continued is self.team.nobody:
            return reached
        return reached | loop.continued

    def leave(self, node: ast.While | ast.For, mask: Mask, loop: Loop) -> Mask:
        """Threads that go on after a loop: all that entered it and did not return inside."""
        frame = self.stack.frame
        frame.loops.pop()
        after = mask if frame.live is mask else mask & frame.live
        if not node.orelse:
            return after
        finished = after & ~loop.broken
        return (after & loop.broken) | self.run_body(node.orelse, finished)

    def break_loop(self, node: ast.Break, mask: Mask) -> Mask:
        loop = self.stack.frame.loops[-1]
        loop.broken = loop.broken | mask
        return self.team.nobody

    def continue_loop(self, node: ast.Continue, mask: Mask) -> Mask:
        loop = self.stack.frame.loops[-1]
        loop.continued = loop.continued | mask
        return self.team.nobody


def is_range(node: ast.expr) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
    )
