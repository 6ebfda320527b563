"""Loops: they go on until the last thread has had enough."""

import ast
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from .assignments import Assignments
from .computing_loops import ComputingLoops
from .context import Context
from .expressions.evaluate import Expressions
from .expressions.python_functions import range_limits
from .frames import Loop
from .loop_watch import LoopWatch
from .stops import Stop
from .teams import Mask

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
        self.team = context.team
        self.stack = context.stack
        self.expressions = expressions
        self.assignments = assignments
        self.watch = watch
        self.computing = ComputingLoops(context, watch)
        self.run_body = run_body

    def while_loop(self, node: ast.While, mask: Mask) -> Mask:
        loop = self.enter()
        running, waiting, progress = mask, self.watch.enter(), self.computing.enter(node)
        while True:
            if progress.is_due() and self.computing.finish(running, loop, progress):
                break
            running = running & self.expressions.condition(node.test, running)
            if not running.any():
                break
            self.watch.begin_round(node, running, waiting)
            running = self.one_round(node, running, loop, mask)
            if not running.any():
                break
        return self.leave(node, mask, loop)

    def for_loop(self, node: ast.For, mask: Mask) -> Mask:
        loop = self.enter()
        if not is_range(node.iter):
            self.for_each(node, mask, loop)
            return self.leave(node, mask, loop)
        limits = [self.expressions.number(argument, mask) for argument in node.iter.args]
        begin, end, step = range_limits(node.iter, limits)
        if not np.all(step):
            self.report_no_step(node, mask & (step == 0))
            step = np.where(step == 0, end - begin + 1, step)[()]  # one round at most
        if np.ndim(begin) or np.ndim(end) or np.ndim(step):
            self.for_uneven(node, mask, loop, begin, end, step)
        else:
            self.for_even(node, mask, loop, begin, end, step)
        return self.leave(node, mask, loop)

    def report_no_step(self, node: ast.For, mask: Mask) -> None:
        if mask.any():
            reporter = self.context.reporter
            where = reporter.name_all(mask)
            reporter.add("endless", node.iter, f"the step of this range is 0 in {where}")
            raise Stop

    def for_even(
        self, node: ast.For, mask: Mask, loop: Loop, begin: Any, end: Any, step: Any
    ) -> None:
        """A range with the same limits in all threads."""
        kind, progress = begin.dtype.type, self.computing.enter(node)
        running = mask
        for rounds, value in enumerate(range(int(begin), int(end), int(step)), 1):
            limits = value, end, step
            if progress.is_due() and self.computing.finish(running, loop, progress, limits):
                return
            self.watch.spend_round(node, running, rounds)
            self.assignments.store_to(node.target, kind(value), running)
            running = self.one_round(node, running, loop, mask)
            if not running.any():
                return

    def for_uneven(
        self, node: ast.For, mask: Mask, loop: Loop, begin: Any, end: Any, step: Any
    ) -> None:
        """A range whose limits differ from thread to thread."""
        value, progress = self.team.full(begin), self.computing.enter(node)
        running = mask
        for rounds in itertools.count(1):
            limits = value, end, step
            if progress.is_due() and self.computing.finish(running, loop, progress, limits):
                return
            going_on = np.where(step > 0, value < end, value > end)
            running = running & going_on
            if not running.any():
                return
            self.watch.spend_round(node, running, rounds)
            self.assignments.store_to(node.target, value, running)
            running = self.one_round(node, running, loop, mask)
            value = value + step

    def for_each(self, node: ast.For, mask: Mask, loop: Loop) -> None:
        """A loop over a tuple, an array, `enumerate`, `zip`."""
        values = self.expressions.evaluate(node.iter, mask)
        iteration = self.expressions.calls.python.iteration(node.iter, values)
        running = mask
        for index in range(int(np.max(iteration.length, initial=0))):
            if np.ndim(iteration.length):
                running = running & (index < iteration.length)
                if not running.any():
                    return
            item = iteration.item(index, running)
            self.assignments.store_to(node.target, item, running)
            running = self.one_round(node, running, loop, mask)
            if not running.any():
                return

    # ------------------------------------------------------------ rounds

    def enter(self) -> Loop:
        loop = Loop(self.team.nobody)
        self.stack.frame.loops.append(loop)
        return loop

    def one_round(self, node: ast.While | ast.For, running: Mask, loop: Loop, mask: Mask) -> Mask:
        """Run a loop's body. Returns the threads that come to its end, or continue.

        mask: the threads that entered the loop.
        """
        if loop.continued is not self.team.nobody:
            loop.continued = self.team.nobody
            loop.jumps = [jump for jump in loop.jumps if isinstance(jump[1], ast.Break)]
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
        loop.jumps.append((mask, node))
        return self.team.nobody

    def continue_loop(self, node: ast.Continue, mask: Mask) -> Mask:
        loop = self.stack.frame.loops[-1]
        loop.continued = loop.continued | mask
        loop.jumps.append((mask, node))
        return self.team.nobody


def is_range(node: ast.expr) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
    )
