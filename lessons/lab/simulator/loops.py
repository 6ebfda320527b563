"""`while` and `for`: which loop waits for others, has used up its budget, or can be compiled."""

import ast
import functools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from ..source import Source, is_element, names_in
from ..uninterrupted import uninterrupted
from .assignments import Assignments
from .context import Context
from .expressions.evaluate import Expressions
from .expressions.python_functions import range_limits
from .frames import Loop, Variable
from .loop_compiler import AnyLoop, Kinds, Plan, compile_loop, plan_of
from .memory.arrays import Memory
from .memory.out_of_bounds import assigned
from .scheduler import Wait
from .stops import Stop, Stuck
from .teams import WARP, Launch, Mask, Team, anybody, first_of

# ---------------------------------------------------------------- loops that wait, and the budget

# What decides whether a loop goes on are its tests, and the variables that these are made of. If
# these variables come back to what they were, and no memory that others can write was read, the
# loop is endless, whatever it stores. If such memory was read, all of it has to be as it was, too:
# then the team is set aside until others have written; if nobody can any more, it is a deadlock, or
# endless where there is nobody else to wait for. A state is remembered at rounds 64, 128, 256, ...
# and compared with each round that follows. All other loops run as long as the budget lasts.


ROUNDS_BEFORE_GIVING_WAY = 16
FIRST_REMEMBERED = 64  # round of a loop that changes memory, or looks at none
MOST_BYTES = 8 << 20  # of memory that is compared in each round; of more, in a few


class Waiting:
    """A loop of a team: what it has done so far, and a state that it was in before."""

    def __init__(self, launch: Launch, team: Team) -> None:
        self.rounds = 0
        self.changes = launch.changes
        self.looks = team.looks
        self.looked = self.changed = False  # since a state is remembered
        self.since = 0  # the round of that state; 0: none is remembered
        self.running = 0  # threads then
        self.state: dict[str, Variable] = {}
        self.memory: list[bytes] = []


class LoopWatch:
    """Looks at every round of a team's `while` loops."""

    def __init__(self, context: Context) -> None:
        self.launch = context.launch
        self.team = context.team
        self.stack = context.stack
        self.reporter = context.reporter
        self.whereabouts = context.whereabouts
        self.scheduler = context.scheduler

    def enter(self) -> Waiting:
        return Waiting(self.launch, self.team)

    def begin_round(self, node: ast.While, running: Mask, last: Waiting) -> None:
        """The threads `running` begin another round of a loop.

        Raises `Stuck` where smaller teams may get further, and `Stop` where nobody can go on, or
        the budget is used up.
        """
        last.rounds += 1
        self.spend_round(node, running, last.rounds)
        looked, changed = self.team.looks != last.looks, self.launch.changes != last.changes
        last.looks, last.changes = self.team.looks, self.launch.changes
        last.looked, last.changed = last.looked or looked, last.changed or changed
        if looked and last.rounds % ROUNDS_BEFORE_GIVING_WAY == 0:
            self.scheduler.give_way(self.team)
        if last.since:
            self.compare(node, running, last)
        waits = looked and not changed
        power = last.rounds & (last.rounds - 1) == 0
        if power and last.rounds >= FIRST_REMEMBERED:
            held = ((name, held.value) for name, held in self.stack.frame.variables.items())
            values = {n: v[running] if isinstance(v, np.ndarray) else v for n, v in held}
            self.look_ahead(node, running, last.rounds, values)
        if waits and (power or last.changed or not last.since):
            self.remember(node, running, last, with_memory=False)
        elif not waits and power and last.rounds >= FIRST_REMEMBERED:
            self.remember(node, running, last, with_memory=True)

    def look_ahead(
        self, node: ast.While, running: Mask, rounds: int, values: Mapping[str, Any]
    ) -> None:
        """Raises `Stop` if each round leads away from the end. values: of these threads."""
        steps = Ahead(node, self.stack.source, values).steps
        if steps:
            added = " and ".join(f"{np.ravel(steps[n])[0]} to `{n}`" for n in sorted(steps))
            why = f"each adds {added}, which does not bring the end nearer"
            self.report_endless(node, running, rounds, why)
            raise Stop

    def compare(self, node: ast.While, running: Mask, last: Waiting) -> None:
        """Is this round as the one that is remembered? Raises `Stop` or `Stuck` if none ends it."""
        of_memory, of_others = asks(node)
        simple = not of_others and not (of_memory and last.looked)
        if not self.is_same_state(running, last, decide(node) if simple else matter(node)):
            return
        if simple:
            if last.changed and of_memory and not self.is_same_memory(last, only_own=True):
                return
            again = "it goes in a circle"
            if last.rounds - last.since == 1:
                again = "each round is like the one before"
            self.report_endless(node, running, last.rounds, again)
            raise Stop
        others = self.team.present & ~running & (self.whereabouts.exit_line == 0)
        if others.any() and self.launch.may_divide:
            raise Stuck  # it may change memory back and forth, and wait all the same
        if not last.changed or self.is_same_memory(last, only_own=False):
            self.wait(node, running, last, bool(others.any()))

    def memory(self, only_own: bool) -> list[Memory]:
        own = list(self.team.local.values())
        return own if only_own else [*own, *self.launch.memories, *self.launch.shared.values()]

    def is_same_memory(self, last: Waiting, only_own: bool) -> bool:
        """Whether memory holds what it did then: a thread's own arrays, or all that there is."""
        parts = self.memory(only_own)
        much = sum(part.data.nbytes for part in parts) > MOST_BYTES
        if len(last.memory) < len(parts) or (much and last.rounds - last.since > 2):
            return False
        pairs = zip(parts, last.memory, strict=False)
        return all(part.data.tobytes() == before for part, before in pairs)

    def wait(self, node: ast.While, running: Mask, last: Waiting, others: bool) -> None:
        """The loop is where it was: only others can end it."""
        nobody = self.launch.blocks * self.launch.threads_per_block == 1 or self.is_own(node)
        state = [(n, np.asarray(v.value).tobytes()) for n, v in sorted(last.state.items())]
        memory = [hash(part.data.tobytes()) for part in self.memory(only_own=False)]
        wait = Wait(
            node.lineno,
            others,
            "endless" if nobody else "deadlock",
            self.explain(node, running, last.rounds, nobody),
            self.reporter.place_of(first_of(running)),
            (node.lineno, str(state), str(memory)) if last.changed else None,
        )
        self.scheduler.wait_for_change(self.team, wait)

    def is_own(self, node: ast.While) -> bool:
        """Whether each thread waits for an element that only it can write."""
        tree = self.stack.source.tree
        asked = {ast.unparse(part) for part in ast.walk(node.test) if is_element(part)}
        arrays = {text.partition("[")[0] for text in asked}
        parts = [part for part in ast.walk(tree) if is_element(part)]
        same = [part for part in parts if ast.unparse(part.value) in arrays]
        if not asked or any(ast.unparse(part) not in asked for part in same):
            return False
        given = dict(assigned(tree))
        for part in same:
            names = [given[name] for name in names_in(part.slice) if name in given]
            made_of = ast.unparse(ast.Tuple([part.slice, *names], ast.Load()))
            if "cuda.grid" not in made_of and self.launch.grid != (1, 1, 1):
                return False
            if "cuda.grid" not in made_of and "threadIdx" not in made_of:
                return False
        atomics = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and n.args)
        return not any(ast.unparse(call.args[0]) in arrays for call in atomics)

    def remember(self, node: ast.While, running: Mask, last: Waiting, with_memory: bool) -> None:
        """Note how a round begins."""
        variables = self.stack.frame.variables
        last.since, last.looked, last.changed = last.rounds, False, False
        last.running = int(np.count_nonzero(running))
        last.state = {n: variables[n] for n in matter(node) | decide(node) if n in variables}
        last.memory = []
        if with_memory and asks(node)[0]:
            last.memory = [part.data.tobytes() for part in self.memory(only_own=False)]

    def is_same_state(self, running: Mask, last: Waiting, names: frozenset[str]) -> bool:
        """Whether these variables are as they were in the round that is remembered."""
        variables = self.stack.frame.variables
        return int(np.count_nonzero(running)) == last.running and all(
            n in last.state and is_same(last.state[n], variables[n], running)
            for n in names
            if n in variables
        )

    def explain(self, node: ast.While, running: Mask, rounds: int, nobody: bool) -> str:
        why = "there is no other thread that can change it"
        if not nobody:
            why = "no other thread changes it any more"
        return (
            f"{self.reporter.name_all(running)} went round {rounds:,} times waiting for "
            f"`{waits_for(node)}` to change, and {why}"
        )

    def spend_round(
        self, node: ast.While | ast.For, running: Mask, rounds: int, count: int = 1
    ) -> None:
        """Count one round of a loop, or more. Raises `Stop` when the budget is used up."""
        launch = self.launch
        launch.rounds_left -= count
        if launch.rounds_left >= 0 and not launch.cancelled:
            return
        launch.report.budget_used_up |= launch.rounds_left < 0
        if not launch.cancelled and not launch.lost:
            why = f"the budget of {launch.options.budget:,} rounds of loops is used up"
            self.report_endless(node, running, rounds, why)
        raise Stop

    def report_endless(
        self, node: ast.While | ast.For, running: Mask, rounds: int, why: str
    ) -> None:
        ends = "ends it"
        if isinstance(node, ast.While) and not isinstance(node.test, ast.Constant):
            ends = f"makes `{ast.unparse(node.test)}` false"
        larger = ""
        if self.launch.rounds_left < 0:
            larger = " If it only takes long, try a smaller input, or a larger budget="
        self.reporter.add(
            "endless",
            node,
            f"{self.reporter.name_all(running)} went round {rounds:,} times, and {why}. "
            f"Is there anything in this loop that {ends}?{larger}",
            place=self.reporter.place_of(first_of(running)),
        )


def is_same(before: Variable, now: Variable, running: Mask) -> bool:
    """Whether a variable still has the value it had, in the threads that run."""
    old, new = before.value, now.value
    if old is new:
        return True
    if not (
        isinstance(old, (np.generic, np.ndarray)) and isinstance(new, (np.generic, np.ndarray))
    ):
        return False
    return bool((~running | (old == new)).all())


def waits_for(node: ast.While) -> str:
    """The condition that a loop waits for: its own, or the one before its first `break`."""
    if not isinstance(node.test, ast.Constant):
        return ast.unparse(node.test)
    for part in ast.walk(node):
        if isinstance(part, ast.If) and any(isinstance(s, ast.Break) for s in part.body):
            return ast.unparse(part.test)
    return ast.unparse(node.test)


# ---------------------------------------------------------------- which variables matter


@functools.lru_cache(maxsize=1024)
def matter(loop: ast.While) -> frozenset[str]:
    """Variables that decide what a round of a loop does; a mere counter of rounds is none."""
    needs: dict[str, set[str]] = {}  # name -> names that its value is made of
    matter: set[str] = set()
    for part in ast.walk(loop):
        if isinstance(part, ast.Assign) and all(isinstance(t, ast.Name) for t in part.targets):
            for target in part.targets:
                needs.setdefault(ast.unparse(target), set()).update(names_in(part.value))
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            needs.setdefault(part.target.id, set()).update(names_in(part.value))
        elif isinstance(part, (ast.While, ast.If, ast.IfExp)):
            matter.update(names_in(part.test))
        elif isinstance(part, ast.For):
            matter.update(names_in(part.iter))
        elif isinstance(
            part, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Subscript, ast.Return)
        ):
            matter.update(names_in(part))
        elif isinstance(part, ast.Call) and not is_nap(part):
            matter.update(names_in(part))
    pending = list(matter)
    while pending:
        for name in needs.get(pending.pop(), set()) - matter:
            matter.add(name)
            pending.append(name)
    return frozenset(matter)


PURE = (
    "min", "max", "abs", "len", "range", "int", "float", "bool", "round", "divmod", "pow",
    "int32", "int64", "uint32", "uint64", "float32", "float64",
)  # fmt: skip


@functools.lru_cache(maxsize=1024)
def deciding(loop: ast.While) -> tuple[ast.expr, ...]:
    """The tests in a loop, and all that the variables in them are made of."""
    made_of: dict[str, list[ast.expr]] = {}
    tests: list[ast.expr] = []
    for part in ast.walk(loop):
        if isinstance(part, (ast.While, ast.If, ast.IfExp, ast.Assert)):
            tests.append(part.test)
        elif isinstance(part, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For)):
            value = part.iter if isinstance(part, ast.For) else part.value
            if value is None:
                continue
            for target in part.targets if isinstance(part, ast.Assign) else [part.target]:
                for name in names_in(target):
                    made_of.setdefault(name, []).append(value)
    known: set[str] = set()
    for test in tests:  # which grows meanwhile
        for name in names_in(test) - known:
            known.add(name)
            tests += made_of.get(name, [])
    return tuple(tests)


@functools.lru_cache(maxsize=1024)
def decide(loop: ast.While) -> frozenset[str]:
    """The variables that decide whether a loop goes on."""
    return frozenset().union(*map(names_in, deciding(loop)))


@functools.lru_cache(maxsize=1024)
def asks(loop: ast.While) -> tuple[bool, bool]:
    """Whether what decides comes from memory; whether from other threads, without memory."""
    parts = [part for test in deciding(loop) for part in ast.walk(test)]
    calls = [ast.unparse(part.func) for part in parts if isinstance(part, ast.Call)]
    others = any("sync" in call or "activemask" in call for call in calls)
    return not all(map(is_pure, parts)), others


def is_pure(node: ast.AST) -> bool:
    """Whether what a node stands for depends on nothing but the variables in it."""
    if isinstance(node, ast.Call):
        call = ast.unparse(node.func)
        return call.removeprefix("np.") in PURE or call.startswith(("math.", "cuda.grid"))
    return not is_element(node)


def is_nap(call: ast.Call) -> bool:
    """Whether a call only takes time."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "nanosleep"


# ---------------------------------------------------------------- loops that lead away from an end

# Where each round adds the same to the variables of a test, and its two sides come no nearer to
# each other, the test says for ever what it says now. That holds for floats, too: however a sum is
# rounded, it is never on the other side of what was added to. Whole numbers as small as these
# overflow after 2^42 rounds at the earliest: a GPU takes hours for them.


FAR, SMALL = 1 << 60, 1 << 20  # of a number; of what a round adds to it
WAYS = {ast.Lt: -1, ast.LtE: -1, ast.Gt: 1, ast.GtE: 1}  # that left - right may go, if it is true
LEAVES = (ast.Break, ast.Continue, ast.Return, ast.Raise, ast.Assert)
Steps: TypeAlias = dict[str, tuple[ast.operator, ast.expr]]  # name -> what a round does to it
Tests: TypeAlias = list[tuple[ast.expr, bool]]  # each, and what it says if a round follows


@functools.lru_cache(maxsize=1024)
def drift_of(loop: ast.While) -> tuple[Steps, Tests, Counter[str]] | None:
    """And how often each name is assigned; None if it may end in a way not understood here."""
    steps: Steps = {}
    tests: Tests = [(loop.test, True)]
    for statement in loop.body:
        match statement:
            case ast.If(test, [*_, ast.Break() | ast.Return()], []):
                tests.append((test, False))
                continue
            case ast.AugAssign(ast.Name(name), operation, value):
                steps[name] = operation, value
            case ast.Assign([ast.Name(name)], ast.BinOp(ast.Name(same), operation, value)):
                if name == same:
                    steps[name] = operation, value
        if any(isinstance(part, LEAVES) for part in ast.walk(statement)):
            return None
    names = (node for node in ast.walk(loop) if isinstance(node, ast.Name))
    stored = Counter(node.id for node in names if isinstance(node.ctx, ast.Store))
    return (steps, tests, stored) if steps else None


class Ahead:
    """What the rounds to come will bring. values: of the threads that run.

    steps: name -> what each round adds to it.
    """

    def __init__(self, loop: ast.While, source: Source, values: Mapping[str, Any]) -> None:
        drift = drift_of(loop)
        self.source, self.values = source, values
        self.steps: dict[str, Any] = {}
        if drift is None:
            return
        steps, tests, self.stored = drift
        for name, (operation, added) in steps.items():
            step = self.number(added)
            alike = is_small(values.get(name), FAR) and is_small(step, SMALL)
            if alike and self.stored[name] == 1 and isinstance(operation, (ast.Add, ast.Sub)):
                self.steps[name] = step if isinstance(operation, ast.Add) else 0 - step
        asked = {name for test, _ in tests for name in names_in(test)}
        if not all(self.stays(test, true) for test, true in tests):
            asked = set()
        self.steps = {name: step for name, step in self.steps.items() if name in asked}

    def number(self, node: ast.expr) -> Any:
        """The value of what no round changes; None if it is not a name or number."""
        match node:
            case ast.Constant(value):
                return value
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
                return -value
            case ast.Call(function, [ast.Constant(int() | float() as value)], []):  # float32(0.1)
                is_single = ast.unparse(function).endswith("float32")
                return float(np.float32(value)) if is_single else None
            case ast.Name(name) if not self.stored[name]:
                return self.values[name] if name in self.values else self.source.lookup(name)
        return None

    def without_offset(self, node: ast.expr) -> ast.expr:
        """`k` for `k + 1`, which moves the same way."""
        match node:
            case ast.BinOp(left, ast.Add() | ast.Sub(), right):
                return left if is_small(self.number(right), SMALL) else node
        return node

    def stays(self, test: ast.expr, true: bool) -> bool:
        """Whether a test that was true, or false, will always be so."""
        match test:
            case ast.Constant(value):
                return bool(value) is true
            case ast.Name():
                return self.pair_stays(test, ast.NotEq(), ast.Constant(0), true)
            case ast.UnaryOp(ast.Not(), inner):
                return self.stays(inner, not true)
            case ast.BoolOp(operation, tests) if isinstance(operation, ast.And) is true:
                return all(self.stays(one, true) for one in tests)
            case ast.Compare(left, [operation], [right]):
                return self.pair_stays(left, operation, right, true)
        return False

    def pair_stays(self, left: ast.expr, operation: ast.cmpop, right: ast.expr, true: bool) -> bool:
        if type(operation) in WAYS:
            left, right = self.without_offset(left), self.without_offset(right)
        both = [ast.unparse(side) for side in (left, right)]
        fixed = [name not in self.steps for name in both]
        for side, is_fixed in zip((left, right), fixed, strict=True):
            if is_fixed and any(self.stored[name] for name in names_in(side)):
                return False
            if not all(map(is_pure, ast.walk(side))):
                return False
        one, other = (self.steps.get(name, 0) for name in both)
        whole = not any(
            np.asarray(self.values[n]).dtype.kind == "f" for n in both if n in self.steps
        )
        if whole and not any(fixed):
            one, other = one - other, 0  # exact, so that one makes up for the other
        up, down = (bool(np.all(s * one >= 0) and np.all(s * other <= 0)) for s in (1, -1))
        if type(operation) in WAYS:
            return up if (WAYS[type(operation)] > 0) is true else down
        if type(operation) is not (ast.NotEq if true else ast.Eq):
            return False
        now = [self.values[name] if name in self.steps else self.number(side)
               for name, side in zip(both, (left, right), strict=True)]  # fmt: skip
        if not all(is_small(value, FAR) for value in now):
            return False
        above, below = (bool(np.all(s * now[0] > s * now[1])) for s in (1, -1))
        return (up and above) or (down and below) or (whole and up and down)


def is_small(value: Any, limit: int) -> bool:
    """Whether it is one number, or one per thread: an int64 below a limit, or a finite float."""
    if not isinstance(value, (int, float, np.generic, np.ndarray)):
        return False
    numbers = np.asarray(value)
    if numbers.dtype == np.int64:
        return bool(((numbers > -limit) & (numbers < limit)).all())
    return numbers.dtype.kind == "f" and bool(np.isfinite(numbers).all())


# ---------------------------------------------------------------- loops that only compute

# A loop that touches no memory has nothing that must be checked in each of its rounds. Once every
# statement of it has been interpreted, with all checks, Numba can run the rounds that remain.
# Compiling takes longer than most loops do, so only a loop is compiled that has kept the
# interpreter busy for a while, in this run or in those before.


BUSY_SECONDS = 0.5  # that are worth compiling for
FIRST_ROUND = 4
EVERY_ROUNDS = 16
CHUNK = 1024  # rounds between two looks at the budget

# (file, line) of a loop -> seconds that the interpreter has spent in it
seconds_spent: dict[tuple[str, int], float] = {}


class Progress:
    """One run of a loop of a team. rounds: so far."""

    def __init__(self, place: tuple[str, int], plan: Plan | None) -> None:
        self.place = place
        self.plan = plan
        self.rounds = 0
        self.since = time.thread_time() if plan else 0.0

    def is_due(self) -> bool:
        """Count a round. Returns whether it is time to look for a faster way."""
        if self.plan is None:
            return False
        self.rounds += 1
        if self.rounds != FIRST_ROUND and self.rounds % EVERY_ROUNDS:
            return False
        now = time.thread_time()
        seconds_spent[self.place] = seconds_spent.get(self.place, 0.0) + now - self.since
        self.since = now
        return seconds_spent[self.place] >= BUSY_SECONDS


class ComputingLoops:
    """Finishes loops of a team in compiled code."""

    def __init__(self, context: Context, watch: LoopWatch) -> None:
        self.launch = context.launch
        self.team = context.team
        self.stack = context.stack
        self.recorder = context.recorder
        self.watch = watch

    def enter(self, node: AnyLoop) -> Progress:
        plans = self.launch.plans
        if node not in plans:
            watched = self.launch.options.watch is not None  # it has to see every round
            plans[node] = None if watched else plan_of(node, self.stack.source)
        return Progress((self.stack.source.filename, node.lineno), plans[node])

    def finish(
        self, running: Mask, loop: Loop, progress: Progress, limits: tuple[Any, ...] = ()
    ) -> bool:
        """Do all rounds that remain for the threads `running`; False if that is not possible.

        limits: of a `for`: the next value, the end and the step, each one for all or one per
        thread. Raises `Stop` if the budget is used up.
        """
        plan = progress.plan
        if plan is None or not self.launch.seen.issuperset(plan.must_be_seen):
            return False
        kinds = self.kinds(plan, running)
        if kinds is None:
            return False
        compiled = uninterrupted(partial(compile_loop, plan, kinds))
        if compiled is not None:
            self.run(compiled, kinds, running, loop, progress, limits)
        return compiled is not None

    def run(
        self, code: Any, kinds: Kinds, running: Mask, loop: Loop, progress: Progress, limits: Any
    ) -> None:
        """The rounds in compiled code, many at a time."""
        plan: Any = progress.plan
        positions = np.flatnonzero(running)
        values = [self.value(name, positions, is_vector) for name, _, is_vector in kinds]
        ends = [self.team.full(limit)[positions].astype(np.int64) for limit in limits]
        branches = np.zeros((len(plan.branches), 2), np.int64)
        going_on = np.arange(len(positions))
        while len(going_on):
            status, rounds = np.zeros((2, len(going_on)), np.int64)
            parts = [v[going_on] if np.ndim(v) else v for v in (*ends, *values)]
            warps = positions[going_on] // WARP
            next_rounds = partial(code, CHUNK, warps, status, rounds, branches, *parts)
            if code.signatures:
                next_rounds()
            else:  # Numba compiles at the first call
                uninterrupted(next_rounds)
            for whole, part in zip((*ends, *values), parts, strict=True):
                if np.ndim(whole):
                    whole[going_on] = part
            loop.broken = loop.broken | self.mask_of(positions[going_on[status == 2]])
            still_there = self.mask_of(positions[going_on])
            if self.launch.options.measure:
                most = np.zeros(self.team.size // WARP, np.int64)
                np.maximum.at(most, warps, rounds)
                line = self.stack.line_of_kernel
                self.launch.report.work.repeat(line, plan.loop, int(most.sum()))
            progress.rounds += int(rounds.max())
            self.watch.spend_round(plan.loop, still_there, progress.rounds, int(rounds.max()))
            going_on = going_on[status == 0]
            if len(going_on) and isinstance(plan.loop, ast.While):
                still_there = self.mask_of(positions[going_on])
                now = {name: v[going_on] if np.ndim(v) else v
                       for (name, _, _), v in zip(kinds, values, strict=True)}  # fmt: skip
                self.watch.look_ahead(plan.loop, still_there, progress.rounds, now)
        for name, value in zip(plan.written, values[len(plan.read) :], strict=True):
            self.keep(name, positions, value)
        for node, (taken, divergent) in zip(plan.branches, branches.tolist(), strict=True):
            if self.launch.options.measure:
                traffic = self.recorder.traffic_of_line(node)
                traffic.branches += taken
                traffic.divergent += divergent

    def kinds(self, plan: Plan, running: Mask) -> Kinds | None:
        """The variables as they are; None if one is not a number, or has no value somewhere."""
        kinds = []
        for name in (*plan.read, *plan.written):
            variable = self.stack.frame.variables.get(name)
            if variable is None or not isinstance(variable.value, (np.generic, np.ndarray)):
                return None
            if variable.defined is not None and (running & ~variable.defined).any():
                return None
            is_vector = name in plan.written or isinstance(variable.value, np.ndarray)
            kinds.append((name, variable.value.dtype, is_vector))
        return tuple(kinds)

    def mask_of(self, positions: np.ndarray) -> Mask:
        mask = self.team.nobody.copy()
        mask[positions] = True
        return mask

    def value(self, name: str, positions: np.ndarray, is_vector: bool) -> Any:
        value: Any = self.stack.frame.variables[name].value
        return self.team.full(value)[positions] if is_vector else value

    def keep(self, name: str, positions: np.ndarray, value: np.ndarray) -> None:
        """Give a variable its values after the loop."""
        variables = self.stack.frame.variables
        former: Any = variables[name]
        everybody = len(positions) == np.count_nonzero(self.stack.frame.live)
        if everybody and (value == value[0]).all():
            value = value[0]
        else:
            vector = np.array(self.team.full(former.value))
            vector[positions] = value
            value = vector
        variables[name] = former._replace(value=value)


# Runs statements. Returns the mask of the threads that reach the end of them.
RunBody: TypeAlias = Callable[[Sequence[ast.stmt], Mask], Mask]


class Loops:
    """Executes `while`, `for`, `break` and `continue`."""

    def __init__(
        self,
        context: Context,
        expressions: Expressions,
        assignments: Assignments,
        run_body: RunBody,
    ) -> None:
        self.context = context
        self.team = context.team
        self.stack = context.stack
        self.expressions = expressions
        self.assignments = assignments
        self.watch = LoopWatch(context)
        self.computing = ComputingLoops(context, self.watch)
        self.run_body = run_body

    def while_loop(self, node: ast.While, mask: Mask) -> Mask:
        loop = self.enter()
        running, waiting, progress = mask, self.watch.enter(), self.computing.enter(node)
        while True:
            if progress.is_due() and self.computing.finish(running, loop, progress):
                break
            running = running & self.expressions.condition(node.test, running)
            if not anybody(running):
                break
            self.watch.begin_round(node, running, waiting)
            running = self.one_round(node, running, loop, mask)
            if not anybody(running):
                break
        return self.leave(node, mask, loop)

    def for_loop(self, node: ast.For, mask: Mask) -> Mask:
        loop = self.enter()
        if not is_range(node.iter):
            self.for_each(node, mask, loop)
            return self.leave(node, mask, loop)
        arguments = self.expressions.items(node.iter.args, mask)
        limits = self.expressions.calls.python.numbers(node.iter, arguments, 1, 3)
        begin, end, step = range_limits(node.iter, limits)
        if not np.all(step):
            self.report_no_step(node, mask & (step == 0))
            step = np.where(step == 0, end - begin + 1, step)[()]  # one round at most
        self.for_range(node, mask, loop, begin, end, step)
        return self.leave(node, mask, loop)

    def report_no_step(self, node: ast.For, mask: Mask) -> None:
        if mask.any():
            reporter = self.context.reporter
            where = reporter.name_all(mask)
            reporter.add("endless", node.iter, f"the step of this range is 0 in {where}")
            raise Stop

    def for_range(
        self, node: ast.For, mask: Mask, loop: Loop, begin: Any, end: Any, step: Any
    ) -> None:
        progress, running = self.computing.enter(node), mask
        for rounds, (value, there) in enumerate(self.values_of_range(begin, end, step), 1):
            limits = value, end, step
            if progress.is_due() and self.computing.finish(running, loop, progress, limits):
                return
            if there is not None:
                running = running & there
                if not anybody(running):
                    return
            self.watch.spend_round(node, running, rounds)
            self.assignments.store_to(node.target, value, running)
            running = self.one_round(node, running, loop, mask)
            if not anybody(running):
                return

    def values_of_range(self, begin: Any, end: Any, step: Any) -> Iterator[tuple[Any, Any]]:
        """The value of each round, and for which threads there is one; None: for all."""
        if not (np.ndim(begin) or np.ndim(end) or np.ndim(step)):
            kind = begin.dtype.type
            yield from ((kind(value), None) for value in range(int(begin), int(end), int(step)))
            return
        value = self.team.full(begin)
        while True:
            yield value, np.where(step > 0, value < end, value > end)
            value = value + step

    def for_each(self, node: ast.For, mask: Mask, loop: Loop) -> None:
        """A loop over a tuple, an array, `enumerate`, `zip`."""
        values = self.expressions.evaluate(node.iter, mask)
        iteration = self.expressions.calls.python.iteration(node.iter, values)
        running = mask
        for index in range(int(np.max(iteration.length, initial=0))):
            if np.ndim(iteration.length):
                running = running & (index < iteration.length)
                if not anybody(running):
                    return
            item = iteration.item(index, running)
            self.assignments.store_to(node.target, item, running)
            running = self.one_round(node, running, loop, mask)
            if not anybody(running):
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
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "range"
