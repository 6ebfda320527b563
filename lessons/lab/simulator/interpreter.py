"""Run a kernel the way a GPU does: one instruction for many threads, with a mask.

A GPU's warp has one program counter for 32 threads. Where they part, at an `if`, it runs one side
with some of the threads switched off, then the other side with the rest; a loop goes on until the
last thread has had enough. `Lockstep` walks through the kernel's syntax tree in just this way, for
all threads of a team at once: a variable is a NumPy vector with one element for each thread, a
condition makes a mask, and statements return the mask of the threads that go on after them.

What lock step alone would hide (threads of different warps and blocks run in any order) is found
by the history that every element of memory keeps, see `memory`.
"""

import ast
import inspect

import numpy as np

from lessons.lab.numba_types import convert, is_number, truth
from lessons.lab.simulator.expressions import Expressions
from lessons.lab.simulator.memory import View
from lessons.lab.simulator.memory_access import Access, name_of
from lessons.lab.simulator.teams import Stop, Stuck, Unsupported
from lessons.lab.simulator.traffic import count_branch

MAX_DEPTH = 30
ROUNDS_BEFORE_STUCK = 200  # of a loop in which some threads wait for others
ROUNDS_BEFORE_GIVING_WAY = 4
MAX_WHILE_ROUNDS = 20_000


class Frame:
    """One call of a function: its variables, and which lanes are still in it."""

    def __init__(self, source, mask):
        self.source = source
        self.variables = {}  # name -> (value, mask where it has one or None for all, line)
        self.locals = source.function.__code__.co_varnames + source.function.__code__.co_cellvars
        self.live = mask
        self.result = None
        self.returned = None  # mask of lanes that returned a value
        self.loops = []


class Loop:
    def __init__(self, nothing):
        self.broken = nothing
        self.continued = nothing


class Branch:
    """A construct that keeps some lanes away: for explaining who is missing at a barrier."""

    def __init__(self, node, mask, source, other_side=()):
        self.node = node
        self.mask = mask
        self.source = source
        self.other_side = other_side


class Lockstep(Expressions, Access):
    """Executes a kernel for one team."""

    def __init__(self, launch, team, source):
        self.launch = launch
        self.team = team
        self.size = len(team.lanes)
        self.kernel = source
        self.source = source
        self.frame = None
        self.depth = 0
        self.local = {}
        self.outside = {}
        self.constants = {}
        self.branches = []
        self.rounds = {}
        self.exit_line = np.zeros(self.size, np.int64)
        self.known_mask = None
        self.known_active = None
        self.discarded = None
        self.nobody = np.zeros(self.size, bool)

    def run(self, arguments):
        """Run the kernel to its end. Raises `Stop` or `Stuck`."""
        self.frame = Frame(self.source, self.team.present)
        names = [argument.arg for argument in self.source.tree.args.args]
        for name, value in zip(names, arguments, strict=True):
            self.frame.variables[name] = (value, None, self.source.tree.lineno)
        try:
            with np.errstate(all="ignore"):
                self.body(self.source.tree.body, self.team.present)
        except Unsupported as problem:
            self.add_finding("compile", problem.node, problem.message)
            raise Stop from None

    # ------------------------------------------------------------ findings

    def add_finding(self, kind, node, message, key=None, advice=False):
        if self.source is not self.kernel:
            message = f"in {name_of(self.source)}: {message}"
            key = (key, self.source.filename)
        self.launch.report.add(kind, getattr(node, "lineno", 0), message, key, advice)

    def array_name(self, call):
        """The name a new array is assigned to."""
        for node in ast.walk(self.source.tree):
            if (
                isinstance(node, ast.Assign)
                and node.value is call
                and isinstance(node.targets[0], ast.Name)
            ):
                return node.targets[0].id
        return "array"

    def round_of(self, node):
        self.rounds[node] = self.rounds.get(node, 0) + 1
        return self.rounds[node]

    # ------------------------------------------------------------ statements

    def body(self, statements, mask):
        """Run statements one after another. Returns the mask of the lanes that reach the end."""
        for statement in statements:
            if not mask.any():
                return mask
            method = self.STATEMENTS.get(type(statement))
            if method is None:
                text = ast.unparse(statement).splitlines()[0]
                raise Unsupported(statement, f"`{text}` cannot be compiled for a GPU")
            mask = method(self, statement, mask)
        return mask

    def expression(self, node, mask):
        self.discarded = node.value
        self.evaluate(node.value, mask)
        return mask

    def assign(self, node, mask):
        value = self.evaluate(node.value, mask)
        for target in node.targets:
            self.store_to(target, value, mask)
        return mask

    def annotated_assign(self, node, mask):
        if node.value is not None:
            self.store_to(node.target, self.evaluate(node.value, mask), mask)
        return mask

    def store_to(self, target, value, mask):
        if isinstance(target, ast.Name):
            self.bind(target.id, value, mask, target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = self.unpack(target, value)
            for part, item in zip(target.elts, items, strict=True):
                self.store_to(part, item, mask)
        elif isinstance(target, ast.Subscript):
            self.store_subscript(target, value, mask)
        else:
            raise Unsupported(target, f"`{ast.unparse(target)}` cannot be assigned to in a kernel")

    def unpack(self, target, value):
        if any(isinstance(part, ast.Starred) for part in target.elts):
            raise Unsupported(
                target, "a starred name cannot be compiled for a GPU; name each value"
            )
        if not isinstance(value, tuple) or len(value) != len(target.elts):
            count = len(value) if isinstance(value, tuple) else "no tuple"
            raise Unsupported(
                target, f"{len(target.elts)} names on the left, but {count} on the right"
            )
        return value

    def store_subscript(self, target, value, mask):
        array = self.evaluate(target.value, mask)
        if isinstance(array, tuple):
            raise Unsupported(
                target, f"`{ast.unparse(target.value)}` is a tuple and cannot be changed"
            )
        view, indices = self.view_and_indices(target, array, mask)
        if indices is None or len(indices) < len(view.shape):
            raise Unsupported(
                target,
                f"`{ast.unparse(target)}` is a whole row or slice; a thread writes one element at "
                "a time: give every index, in a loop",
            )
        if not is_number(value):
            raise Unsupported(target, "only a number can be stored in an array's element")
        self.store(view, indices, value, mask, target)

    def augmented_assign(self, node, mask):
        operation = type(node.op).__name__
        if isinstance(node.target, ast.Subscript):
            array = self.evaluate(node.target.value, mask)
            view, indices = self.view_and_indices(node.target, array, mask)
            if indices is None or len(indices) < len(view.shape):
                raise Unsupported(node, "a thread changes one element at a time: give every index")
            old = self.load(view, indices, mask, node.target)
            self.store(view, indices, self.combine(node, operation, old, mask), mask, node.target)
            return mask
        old = self.name(node.target, mask)
        if not is_number(old):
            raise Unsupported(node, f"`{node.target.id}` is not a number")
        self.bind(node.target.id, self.combine(node, operation, old, mask), mask, node.target)
        return mask

    def combine(self, node, operation, old, mask):
        from lessons.lab.numba_types import TypeProblem, binary

        value = self.number(node.value, mask)
        try:
            result = binary(operation, old, value)
        except TypeProblem as problem:
            raise Unsupported(node, str(problem)) from None
        self.note_double(node, (node.target, node.value), (old, value), result.dtype)
        return result

    def bind(self, name, value, mask, node):
        """Give a variable a value in the lanes of `mask`; the other lanes keep theirs."""
        frame = self.frame
        former = frame.variables.get(name)
        line = former[2] if former else node.lineno
        if mask is frame.live or not (frame.live & ~mask).any():
            frame.variables[name] = (value, None, node.lineno)
        elif former is None:
            frame.variables[name] = (value, mask, node.lineno)
        else:
            old, defined, _ = former
            merged = self.select(node, mask, value, old)
            frame.variables[name] = (merged, None if defined is None else defined | mask, line)

    # ------------------------------------------------------------ branches

    def branch(self, node, mask):
        condition = truth(self.number(node.test, mask))
        if np.ndim(condition) == 0:
            return self.body(node.body if condition else node.orelse, mask)
        taken, other = mask & condition, mask & ~condition
        if self.launch.measure:
            count_branch(self.traffic_of(node.lineno), taken.reshape(-1, 32), other.reshape(-1, 32))
        if not other.any():
            return self.body(node.body, mask)
        if not taken.any():
            return self.body(node.orelse, mask)
        after = self.inside(node, taken, node.body, node.orelse)
        return after | self.inside(node, other, node.orelse, node.body)

    def inside(self, node, mask, statements, other_side=()):
        self.branches.append(Branch(node, mask, self.source, other_side))
        try:
            return self.body(statements, mask)
        finally:
            self.branches.pop()

    def while_loop(self, node, mask):
        loop = self.enter_loop()
        running, rounds = mask, 0
        while True:
            condition = truth(self.number(node.test, running))
            running = running & condition
            if not running.any():
                break
            rounds += 1
            self.watch_loop(node, running, mask, rounds)
            loop.continued = self.nobody
            running = self.inside(node, running, node.body) | loop.continued
            if not running.any():
                break
        return self.leave_loop(node, mask, loop)

    def for_loop(self, node, mask):
        loop = self.enter_loop()
        if not self.is_range(node.iter):
            self.for_each(node, mask, loop)
            return self.leave_loop(node, mask, loop)
        begin, end, step = self.range_limits(node.iter, mask)
        if np.ndim(begin) or np.ndim(end) or np.ndim(step):
            self.for_uneven(node, mask, loop, begin, end, step)
            return self.leave_loop(node, mask, loop)
        running = mask
        kind = begin.dtype.type
        for value in range(int(begin), int(end), int(step)):
            self.launch.spend(node.lineno)
            self.bind_target(node.target, kind(value), running)
            running = self.one_round(node, running, mask, loop)
            if not running.any():
                break
        return self.leave_loop(node, mask, loop)

    def for_uneven(self, node, mask, loop, begin, end, step):
        """A range whose limits differ from lane to lane."""
        value = self.full(begin)
        running = mask
        while True:
            going_on = np.where(step > 0, value < end, value > end)
            running = running & going_on
            if not running.any():
                return
            self.launch.spend(node.lineno)
            self.bind_target(node.target, value, running)
            running = self.one_round(node, running, mask, loop)
            value = value + step

    def for_each(self, node, mask, loop):
        values = self.evaluate(node.iter, mask)
        if isinstance(values, View) and len(values.shape) == 1:
            items = (
                self.load(values, [np.int64(i)], running_mask, node.iter)
                for i in range(int(values.shape[0]))
                for running_mask in [mask]
            )
        elif isinstance(values, tuple):
            items = values
        else:
            raise Unsupported(
                node, f"a kernel cannot loop over `{ast.unparse(node.iter)}`; use range"
            )
        running = mask
        for item in items:
            self.bind_target(node.target, item, running)
            running = self.one_round(node, running, mask, loop)
            if not running.any():
                return

    def one_round(self, node, running, mask, loop):
        loop.continued = self.nobody
        if running is mask:
            return (
                self.body(node.body, running) | loop.continued
                if self.has_continue(node)
                else self.body(node.body, running)
            )
        return self.inside(node, running, node.body) | loop.continued

    def has_continue(self, node):
        if node not in self.constants:
            self.constants[node] = any(isinstance(n, ast.Continue) for n in ast.walk(node))
        return self.constants[node]

    def bind_target(self, target, value, mask):
        self.store_to(target, value, mask)

    def is_range(self, node):
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "range"
        )

    def range_limits(self, node, mask):
        """(begin, end, step), all of the type that the loop's variable gets."""
        limits = [self.number(argument, mask) for argument in node.args]
        for limit, argument in zip(limits, node.args, strict=True):
            if limit.dtype.kind not in "iu":
                raise Unsupported(
                    argument,
                    f"`{ast.unparse(argument)}` is a {limit.dtype}; range needs whole numbers",
                )
        small = all(limit.dtype == np.int32 for limit in limits)
        unsigned = all(limit.dtype.kind == "u" for limit in limits)
        dtype = np.dtype(np.int32 if small else np.uint64 if unsigned else np.int64)
        limits = [convert(limit, dtype) for limit in limits]
        one = dtype.type(1)
        if len(limits) == 1:
            return dtype.type(0), limits[0], one
        return (*limits, one) if len(limits) == 2 else tuple(limits)

    def enter_loop(self):
        loop = Loop(self.nobody)
        self.frame.loops.append(loop)
        return loop

    def leave_loop(self, node, mask, loop):
        """Lanes that go on after a loop: all that entered it and did not return inside."""
        self.frame.loops.pop()
        after = mask if self.frame.live is mask else mask & self.frame.live
        if not node.orelse:
            return after
        finished = after & ~loop.broken
        return (after & loop.broken) | self.body(node.orelse, finished)

    def break_loop(self, node, mask):
        self.frame.loops[-1].broken = self.frame.loops[-1].broken | mask
        return self.nobody

    def continue_loop(self, node, mask):
        self.frame.loops[-1].continued = self.frame.loops[-1].continued | mask
        return self.nobody

    def watch_loop(self, node, running, mask, rounds):
        """Notice a loop that does not end, or that waits for threads kept waiting themselves."""
        self.launch.spend(node.lineno)
        scheduler = self.launch.scheduler
        if scheduler.several and rounds % ROUNDS_BEFORE_GIVING_WAY == 0:
            scheduler.give_way(self.team)
        others_wait = (self.team.present & ~running & (self.exit_line == 0)).any()
        if rounds == ROUNDS_BEFORE_STUCK and others_wait and self.launch.may_divide:
            raise Stuck
        if rounds <= MAX_WHILE_ROUNDS // scheduler.teams_count:
            return
        waits_for_memory = any(
            isinstance(n, (ast.Subscript, ast.Call)) for n in ast.walk(node.test)
        )
        position = int(np.flatnonzero(running)[0])
        who = f"{self.name_position(position)}{self.and_others(running)}"
        if waits_for_memory:
            self.add_finding(
                "deadlock",
                node,
                f"{who} went round {rounds:,} times waiting for "
                f"`{ast.unparse(node.test)}` to change, and no other thread changes it any more",
            )
        else:
            self.add_finding(
                "endless",
                node,
                f"{who} went round {rounds:,} times: nothing in this loop makes "
                f"`{ast.unparse(node.test)}` false",
            )
        raise Stop

    def give_back(self, node, mask):
        """`return`"""
        frame = self.frame
        value = None if node.value is None else self.evaluate(node.value, mask)
        frame.live = frame.live & ~mask
        if self.depth == 0:
            if value is not None:
                raise Unsupported(node, "a kernel cannot return a value; write it to an array")
            self.exit_line[mask] = node.lineno
        elif frame.returned is None:
            frame.result, frame.returned = value, mask
        else:
            frame.result = self.merge_results(node, mask, value, frame.result)
            frame.returned = frame.returned | mask
        return self.nobody

    def merge_results(self, node, mask, value, former):
        if value is None and former is None:
            return None
        if value is None or former is None:
            raise Unsupported(node, "this function returns a value on one path and none on another")
        return self.select(node, mask, value, former)

    def leave_kernel(self, node, mask):
        """`raise` and a failing `assert` end a thread."""
        self.frame.live = self.frame.live & ~mask
        self.exit_line[mask] = node.lineno
        return self.nobody

    def skip(self, node, mask):
        return mask

    # ------------------------------------------------------------ device functions

    def call_function(self, node, source, arguments, keywords, mask):
        if self.depth >= MAX_DEPTH:
            raise Unsupported(
                node, f"{source.function.__name__} calls itself; recursion is not for kernels"
            )
        try:
            bound = inspect.signature(source.function).bind(*arguments, **keywords)
        except TypeError as error:
            raise Unsupported(node, f"{source.function.__name__}: {error}") from None
        bound.apply_defaults()
        outer = self.frame, self.source
        self.frame, self.source = Frame(source, mask), source
        self.depth += 1
        for name, value in bound.arguments.items():
            value = (
                self.from_outside(node, value, name) if isinstance(value, (int, float)) else value
            )
            self.frame.variables[name] = (value, None, source.tree.lineno)
        try:
            fell_through = self.body(source.tree.body, mask)
            result, returned = self.frame.result, self.frame.returned
        except Unsupported as problem:
            # Report it where it stands, in the function, while `source` still says which that is.
            self.add_finding("compile", problem.node, problem.message)
            raise Stop from None
        finally:
            self.frame, self.source = outer
            self.depth -= 1
        if returned is not None and result is not None and fell_through.any():
            raise Unsupported(
                node, f"{source.function.__name__} returns a value on some paths only"
            )
        return result

    # ------------------------------------------------------------ barriers

    def meet_block(self, node, mask):
        if mask is not self.team.present:
            touched = np.zeros(self.launch.blocks, bool)
            touched[self.team.block_number[mask]] = True
            missing = self.team.present & ~mask & touched[self.team.block_number]
            if missing.any():
                self.report_missing(node, mask, missing)
        scheduler = self.launch.scheduler
        if scheduler.several:
            scheduler.wait_for_block(self.team, node.lineno)
        else:
            blocks = np.unique(self.team.block_number[mask])
            lanes = np.flatnonzero(np.isin(self.launch.clock.block_of, blocks))
            self.launch.clock.meet_in_block(lanes)
            self.launch.phase += 1
        for memory in self.launch.shared.values():
            memory.history.forget_settled_reads(self.launch.clock)

    def meet_grid(self, node, mask):
        missing = self.team.present & ~mask
        if missing.any():
            position, waiting = int(np.flatnonzero(missing)[0]), int(np.flatnonzero(mask)[0])
            self.add_finding(
                "deadlock",
                node,
                f"{self.name_position(waiting)} waits at this grid-wide barrier for "
                f"{self.name_position(position)}, which {self.explain_absence(position)}",
            )
            raise Stop
        scheduler = self.launch.scheduler
        if scheduler.several:
            scheduler.wait_for_grid(self.team, node.lineno)
        else:
            self.launch.clock.meet_in_grid()
            self.launch.phase += 1

    def report_missing(self, node, mask, missing):
        position = int(np.flatnonzero(missing)[0])
        block = self.team.block_number[position]
        waiting = int(np.flatnonzero(mask & (self.team.block_number == block))[0])
        self.add_finding(
            "barrier",
            node,
            f"{self.name_position(waiting)} waits at this barrier for "
            f"{self.name_position(position)}, which {self.explain_absence(position)}; every thread "
            "of a block must reach each barrier: move it out of the branch, or keep the threads with "
            "no work until the end",
        )
        raise Stop

    def explain_absence(self, position):
        """Why a lane is not here, for the end of a sentence."""
        if self.exit_line[position]:
            return f"has returned in line {self.exit_line[position]}"
        for branch in self.branches:
            if branch.mask[position]:
                continue
            where = f"line {branch.node.lineno}"
            if branch.source is not self.kernel:
                where += f" of {name_of(branch.source)}"
            if isinstance(branch.node, (ast.For, ast.While)):
                return f"has left the loop of {where}"
            barrier = first_barrier(branch.other_side)
            if barrier:
                return f"goes to a different barrier, in line {barrier}, at the `if` of {where}"
            return f"goes another way at the `if` of {where}"
        return "is somewhere else"

    STATEMENTS = {
        ast.Expr: expression, ast.Assign: assign, ast.AnnAssign: annotated_assign,
        ast.AugAssign: augmented_assign, ast.If: branch, ast.While: while_loop, ast.For: for_loop,
        ast.Return: give_back, ast.Break: break_loop, ast.Continue: continue_loop, ast.Pass: skip,
        ast.Raise: leave_kernel, ast.Assert: skip,
    }  # fmt: skip


def first_barrier(statements):
    """Line of the first barrier in some statements, or None."""
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute) and node.attr.startswith("syncthreads"):
                return node.lineno
    return None
