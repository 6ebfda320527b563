"""Run a kernel the way a GPU does: one instruction for many threads, with a mask.

A GPU's warp has one program counter for 32 threads. Where they part, at an `if`, it runs one side
with some of the threads switched off, then the other side with the rest; a loop goes on until the
last thread has had enough. `Interpreter` walks through the kernel's syntax tree in just this way,
for all threads of a team at once: a variable is a NumPy vector with one element per thread, a
condition makes a mask, and statements return the mask of the threads that go on after them.

What lock step alone would hide (threads of different warps and blocks run in any order) is found
by the history that every element of memory keeps, see `memory.history`.
"""

import ast
import inspect
from collections.abc import Callable, Sequence

import numpy as np

from ..source import Source
from .assignments import Assignments
from .context import Context
from .expressions.evaluate import Expressions
from .frames import Frame, Variable
from .loops import Loops
from .scheduler import Scheduler
from .stops import AllEnded, NotSimulated, Stop, Stuck, Unsupported
from .teams import Launch, Mask, Team, anybody, first_of
from .values import Call, Choice, as_number, groups_of

MAX_DEPTH = 30
# Statements that do something, and so nothing for no thread.
EFFECTS = (ast.Expr, ast.Assert, ast.Raise)


def is_never_read(statement: ast.stmt, tree: ast.FunctionDef) -> bool:
    """Whether it only gives a value, without a call, to a name that nothing reads."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    name = statement.targets[0].id
    reads = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }
    calls = any(isinstance(node, ast.Call) for node in ast.walk(statement))
    return name not in reads and not calls


class Interpreter:
    """Executes a kernel for one team."""

    def __init__(self, launch: Launch, team: Team, kernel: Source, scheduler: Scheduler) -> None:
        context = Context(launch, team, kernel, scheduler)
        self.team = team
        self.launch = launch
        self.debug = launch.options.debug
        self.for_nobody = 0  # how many of the calls that it is in are for no thread
        self.seen = launch.seen
        self.stack = context.stack
        self.reporter = context.reporter
        self.recorder = context.recorder
        self.memory = context.memory
        self.whereabouts = context.whereabouts
        self.expressions = Expressions(context, self.call_device_function)
        self.variables = self.expressions.variables
        assignments = Assignments(context, self.expressions)
        loops = Loops(context, self.expressions, assignments, self.run_body)
        # Each takes a node of its own class and a mask, and returns a mask.
        self.methods: dict[type[ast.stmt], Callable[..., Mask]] = {
            ast.Expr: self.expression,
            ast.Assign: assignments.assign,
            ast.AnnAssign: assignments.annotated_assign,
            ast.AugAssign: assignments.augmented_assign,
            ast.If: self.branch,
            ast.While: loops.while_loop,
            ast.For: loops.for_loop,
            ast.Return: self.return_value,
            ast.Break: loops.break_loop,
            ast.Continue: loops.continue_loop,
            ast.Pass: self.skip,
            ast.FunctionDef: self.define_function,
            ast.Nonlocal: self.skip,
            ast.Raise: self.raise_exception,
            ast.Assert: self.assert_condition,
        }

    def run(self, arguments: Sequence[object]) -> None:
        """Run the kernel to its end. Raises `Stop` or `Stuck`."""
        kernel = self.stack.kernel
        for argument, value in zip(kernel.tree.args.args, arguments, strict=True):
            self.stack.frame.variables[argument.arg] = Variable(value, None, kernel.tree.lineno)
        try:
            with np.errstate(all="ignore"):
                self.run_function(kernel, self.team.present)
        finally:
            self.recorder.count_all()
            # The parts refer to each other, and to all arrays of the run: without this, its memory
            # would be free only after the next search for garbage.
            for part in (self.expressions.calls.python, self.expressions, self):
                vars(part).clear()

    def run_function(self, source: Source, mask: Mask) -> Mask:
        """Run the body of the function on top of the stack. Returns who reaches its end."""
        try:
            return self.run_body(source.tree.body, mask)
        except Unsupported as problem:
            # Report it while the stack still says which function it is in.
            self.reporter.refuse(problem)
            raise Stop from None
        except (Stop, Stuck, AllEnded):
            raise
        except Exception as error:
            # A mistake of the simulator's own: the user reads where, and no traceback.
            self.reporter.admit_failure(error)
            raise Stop from None

    def run_body(self, statements: Sequence[ast.stmt], mask: Mask) -> Mask:
        """Run statements one after another. Returns the mask of the threads that reach the end."""
        mask = self.team.going_on(mask)
        work, line = self.launch.report.work, self.stack.line_of_kernel
        for statement in statements:
            if not anybody(mask):
                if not self.for_nobody:
                    return mask
                if isinstance(statement, EFFECTS):
                    continue
            method = self.methods.get(type(statement))
            if method is None:
                text = ast.unparse(statement).splitlines()[0]
                raise Unsupported(statement, f"`{text}` cannot be compiled for a GPU")
            self.seen.add(statement)
            if self.launch.options.measure:
                work.execute(line, statement, mask)
            try:
                if self.stack.frame.has_choices:
                    mask = self.run_in_groups(method, statement, mask)
                else:
                    mask = method(statement, mask)
            except AllEnded:
                return self.team.nobody
            except Unsupported:
                # Numba leaves out what nobody reads before it looks at it.
                unread = is_never_read(statement, self.stack.source.tree)
                if not (unread and self.launch.options.compiles):
                    raise
            if self.team.ended is not None:
                mask = self.team.going_on(mask)
        return mask

    def run_in_groups(self, method: Callable[..., Mask], statement: ast.stmt, mask: Mask) -> Mask:
        """Run a statement once for each of the arrays that a name in it stands for."""
        values = {name: v.value for name, v in self.stack.frame.variables.items()}
        choices = {name: value for name, value in values.items() if isinstance(value, Choice)}
        groups = groups_of(statement, choices, mask)
        if len(groups) == 1:
            return method(statement, mask)
        after = self.team.nobody
        for group in groups:
            with self.whereabouts.within(statement, group):
                after = after | method(statement, group)
        return after

    # ------------------------------------------------------------ statements

    def expression(self, node: ast.Expr, mask: Mask) -> Mask:
        self.memory.unused_results.add(node.value)
        self.expressions.evaluate(node.value, mask)
        return mask

    def skip(self, node: ast.stmt, mask: Mask) -> Mask:
        return mask

    def define_function(self, node: ast.FunctionDef, mask: Mask) -> Mask:
        if node.decorator_list:
            raise Unsupported(node, "a function inside a kernel cannot be decorated")
        self.variables.bind(node.name, self.expressions.function(node, mask), mask, node)
        return mask

    def branch(self, node: ast.If, mask: Mask) -> Mask:
        condition = self.expressions.condition(node.test, mask)
        if np.ndim(condition) == 0:
            return self.run_body(node.body if condition else node.orelse, mask)
        taken, other = mask & condition, mask & ~condition
        self.recorder.count_branch(node, taken, other)
        if not anybody(other):
            return self.run_body(node.body, mask)
        if not anybody(taken):
            return self.run_body(node.orelse, mask)
        with self.whereabouts.within(node, taken, node.orelse):
            after = self.run_body(node.body, taken)
        with self.whereabouts.within(node, other, node.body):
            return after | self.run_body(node.orelse, other)

    def return_value(self, node: ast.Return, mask: Mask) -> Mask:
        frame = self.stack.frame
        value = None if node.value is None else self.expressions.evaluate(node.value, mask)
        if self.stack.depth == 0:
            if value is not None:
                raise Unsupported(node, "a kernel cannot return a value; write it to an array")
            return self.leave_kernel(node, mask)
        frame.live = frame.live & ~mask
        frame.returns.append((mask, node.lineno))
        if frame.returned is None:
            frame.result, frame.returned = value, mask
        else:
            frame.result = self.merge_results(node, mask, value, frame.result)
            frame.returned = frame.returned | mask
        return self.team.nobody

    def merge_results(self, node: ast.Return, mask: Mask, value: object, former: object) -> object:
        if value is None and former is None:
            return None
        if value is None or former is None:
            raise Unsupported(node, "this function returns a value on one path and none on another")
        return self.variables.select(node, mask, value, former)

    def assert_condition(self, node: ast.Assert, mask: Mask) -> Mask:
        failed = mask & ~self.expressions.condition(node.test, mask)
        if failed.any():
            values = self.values_in(node.test, failed)
            self.end_threads(node, failed, f"`{ast.unparse(node)}` fails{values}")
        return mask

    def raise_exception(self, node: ast.Raise, mask: Mask) -> Mask:
        tests = [
            branch.test
            for branch in ast.walk(self.stack.source.tree)
            if isinstance(branch, ast.If) and node in (*branch.body, *branch.orelse)
        ]
        values = self.values_in(tests[0], mask) if tests else ""
        return self.end_threads(node, mask, f"`{ast.unparse(node)}`{values}")

    def values_in(self, test: ast.expr, mask: Mask) -> str:
        """Numbers that a condition is made of, in the first thread: " with i = 3, x[i] = 0.5"."""
        first = first_of(mask)
        here = np.arange(self.team.size) == first
        found = {}
        for part in ast.walk(test):
            if isinstance(part, (ast.Name, ast.Subscript)):
                value = as_number(self.expressions.evaluate(part, here))
                if value is not None:
                    found[ast.unparse(part)] = self.team.full(value)[first].item()
        return " with " * bool(found) + ", ".join(f"{n} = {v}" for n, v in sorted(found.items()))

    def end_threads(self, node: ast.stmt, mask: Mask, what: str) -> Mask:
        """An exception ends threads, in whichever function they are."""
        self.reporter.add(
            "raised",
            node,
            f"{what} in {self.reporter.name_all(mask)}, which ends there"
            + (
                ""
                if self.debug
                else "; a GPU tells this only with @cuda.jit(debug=True, opt=False)"
            ),
            place=self.reporter.place_of(first_of(mask)),
        )
        self.team.end(mask)
        return self.leave_kernel(node, mask)

    def leave_kernel(self, node: ast.stmt, mask: Mask) -> Mask:
        """`return` from the kernel ends a thread."""
        for frame in (self.stack.frame, *self.stack.callers):
            frame.live = frame.live & ~mask
        self.whereabouts.leave_kernel(node, mask)
        self.recorder.note("return", node, mask)
        return self.team.nobody

    # ------------------------------------------------------------ device functions

    def call_device_function(
        self, source: Source, call: Call, enclosing: Frame | None = None
    ) -> object:
        """Run a device function for the threads that call. Returns what it returns.

        enclosing: the call that defined the function, if a kernel did.
        """
        node, mask, name = call.node, call.mask, source.function.__name__
        if self.for_nobody and source is self.stack.frame.source:
            return np.bool_(False)  # it calls itself, and no thread is there to end it
        if self.stack.depth >= MAX_DEPTH:
            message = f"{name} calls itself: this simulator follows that {MAX_DEPTH} calls deep"
            raise NotSimulated(node, message)
        try:
            bound = inspect.signature(source.function).bind(*call.arguments, **call.keywords)
        except TypeError as error:
            raise Unsupported(node, f"{name}: {error}") from None
        bound.apply_defaults()
        frame = Frame(source, mask, enclosing, node)
        self.stack.enter(frame)
        try:
            for parameter, value in bound.arguments.items():
                if isinstance(value, (int, float)):  # a default, as Python keeps it
                    value = self.variables.from_outside(node, value, parameter)
                frame.variables[parameter] = Variable(value, None, source.tree.lineno)
            run = self.run_function if mask.any() else self.run_for_nobody
            fell_through = run(source, mask)
        finally:
            self.stack.leave()
        if self.team.ended is not None and frame.returned is None:
            return self.result_of_nobody(mask)
        if frame.returned is not None and frame.result is not None and fell_through.any():
            raise Unsupported(node, f"{name} returns a value on some paths only")
        return frame.result

    def run_for_nobody(self, source: Source, mask: Mask) -> Mask:
        """Run a function that no thread calls, for the type of what it would return.

        It is needed where both sides of an expression decide its type.
        """
        self.for_nobody += 1
        try:
            return self.run_function(source, mask)
        finally:
            self.for_nobody -= 1

    def result_of_nobody(self, mask: Mask) -> object:
        """What a function returns to threads that have all ended in it: nothing they could see."""
        if not self.stack.frame.live.any():
            raise AllEnded
        return None if self.team.going_on(mask).any() else np.bool_(False)
