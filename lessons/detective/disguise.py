"""Other but equal forms of a right kernel: nothing of it is where, or as, it stands in `kernels/`.

A step gives what may stand in the place of a statement, or changes a function. None changes what is
computed, but for rounding; whether that is so for a kernel is shown by running it: see `cases`.
"""

import ast
import copy
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from lessons.detective.gather import Each, Gathered, fill
from lessons.mutations.scope import WHOLE, Scope

Body = list[ast.stmt]
FLIPPED = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq}
NEGATED = {ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
           ast.NotEq: ast.Eq}  # fmt: skip
# Of whole numbers: the same comparison with one more or less.
BOUNDS = {
    ast.Lt: ("{} <= {} - 1", "{} + 1 <= {}"), ast.GtE: ("{} > {} - 1", "{} + 1 > {}"),
    ast.LtE: ("{} < {} + 1", "{} - 1 < {}"), ast.Gt: ("{} >= {} + 1", "{} - 1 >= {}"),
}  # fmt: skip
MEETINGS = re.compile(r"cuda\.(atomic|sync|threadfence|shfl|shared|local)")
ROUNDED_UP = re.compile(r"\((?P<n>\w+) \+ (?P<t>\w+) - 1\) // (?P=t)")
WAYS_UP = "-(-{n} // {t})", "({n} - 1) // {t} + 1", "{n} // {t} + ({n} % {t} > 0)"
BLOCKS_TOO_MANY = "{n} // {t} + 1", "{n} // {t} + 2"  # for threads that have guards
TYPES = "float32", "float64"  # with digits enough
MOST_LETTERS = 80  # of a line, if a part of it can stand on one before
MOST_ARGUMENTS = 5  # of a function that is put in the place of its calls
# Names that say nothing: of arrays, numbers and constants, and of functions.
WORDS = Path(__file__).with_name("words.txt").read_text(encoding="utf-8")
LOCALS, FUNCTIONS = (part.split() for part in WORDS.split("\n\n"))
text = ast.unparse


def expression(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body


def statements(source: str) -> Body:
    return ast.parse(source).body


def assigned(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.Assign([copy.deepcopy(target)], value, lineno=0)


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def written_by(node: ast.AST) -> set[str]:
    """The names and arrays that a statement may change."""
    parts = [part for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Subscript))]
    return {re.split(r"\W", text(part))[0] for part in parts if isinstance(part.ctx, ast.Store)}


def bodies(node: ast.AST) -> Iterator[Body]:
    """All lists of statements within a function."""
    for part in ast.walk(node):
        for value in (getattr(part, "body", None), getattr(part, "orelse", None)):
            if isinstance(value, list) and value:
                yield value


def has(node: ast.AST, *kinds: type[ast.AST]) -> bool:
    return any(isinstance(part, kinds) for part in ast.walk(node))


def rename(node: ast.AST, names: Mapping[str, str]) -> None:
    """Names of variables, arguments and functions, in their place."""
    for part in ast.walk(node):
        for field in ("id", "arg", "name"):
            if getattr(part, field, None) in names:
                setattr(part, field, names[getattr(part, field)])


def negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in NEGATED:
        return ast.Compare(test.left, [NEGATED[type(test.ops[0])]()], test.comparators)
    if isinstance(test, ast.BoolOp):
        other = ast.Or() if isinstance(test.op, ast.And) else ast.And()
        return ast.BoolOp(other, [negated(value) for value in test.values])
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


def independent(first: ast.stmt, second: ast.stmt) -> bool:
    """Whether two statements may change places."""
    for one in (first, second):
        if not isinstance(one, (ast.Assign, ast.AugAssign)) or MEETINGS.search(text(one)):
            return False
    return not (written_by(first) & names_in(second) or written_by(second) & names_in(first))


def can_inline(function: ast.FunctionDef) -> bool:
    short = len(function.body) == 1 and isinstance(function.body[0], ast.Return)
    return short and len(function.args.args) < MOST_ARGUMENTS


def inline(name: str, function: ast.FunctionDef, other: ast.AST) -> None:
    """Calls of a function that is one expression become that expression."""
    arguments = [one.arg for one in function.args.args]

    def change(node: ast.AST) -> ast.AST:
        if not isinstance(node, ast.Call) or text(node.func) != name:
            return node
        if any(has(one, ast.Call, ast.IfExp) for one in node.args):
            return node
        values = [*node.args, *function.args.defaults][: len(arguments)]
        value: ast.expr = getattr(function.body[0], "value")  # noqa: B009 - of a return
        return fill(copy.deepcopy(value), dict(zip(arguments, values, strict=True)))

    Each(change).visit(other)


class Disguise:
    """gathered is changed. guarded: whether threads that have nothing to do are no matter."""

    def __init__(self, gathered: Gathered, seed: str, guarded: bool) -> None:
        self.functions, self.constants = gathered.functions, gathered.constants
        self.rng = Random(seed)
        self.new = itertools.count()  # of names so far
        self.ways_up = [*WAYS_UP, *(BLOCKS_TOO_MANY if guarded else ())]
        self.apply()

    def often(self, share: float) -> bool:
        return self.rng.random() < share

    def name(self) -> str:
        """A new name, which is replaced like all others at the end."""
        return f"new_{next(self.new)}"

    def apply(self) -> None:
        for function in self.functions.values():
            value = getattr(function.body[-1], "value", None)
            found = ROUNDED_UP.fullmatch(text(value)) if value else None
            if found and self.often(0.7):
                new = expression(self.rng.choice(self.ways_up).format(**found.groupdict()))
                function.body[-1] = ast.Return(new)
        for name, function in list(self.functions.items()):
            if self.often(0.6) and can_inline(function):
                for other in self.functions.values():
                    inline(name, function, other)
                if not any(name in names_in(other) for other in self.functions.values()):
                    del self.functions[name]
        for step, share in STEPS:
            for function in self.functions.values():
                if function.decorator_list or step in OF_HOSTS:
                    self.take(step, share, function)
        for function in self.functions.values():
            function.body = [Each(self.other_form).visit(one) for one in function.body]
            self.short_lines(function)

    def take(self, step: Callable[..., Any], share: float, function: ast.FunctionDef) -> None:
        """One step, for a function, or for each of its statements."""
        if not share:
            step(self, function)
        for body in list(bodies(function)) if share else ():
            for place in reversed(range(len(body))):
                new = step(self, body[place]) if self.often(share) else None
                if new is not None:
                    body[place : place + 1] = new

    def other_form(self, node: ast.AST) -> ast.AST:
        """Other orders of operands, comparisons turned round, constants as numbers."""
        if isinstance(node, ast.BinOp):
            sums = isinstance(node.op, (ast.Add, ast.Mult))
            if sums and not MEETINGS.search(text(node)) and self.often(0.45):
                node.left, node.right = node.right, node.left
            value = getattr(node.right, "value", None)
            if isinstance(value, int) and value > 1 and value & (value - 1) == 0:
                if isinstance(node.op, ast.FloorDiv) and self.often(0.4):
                    return ast.BinOp(node.left, ast.RShift(), ast.Constant(value.bit_length() - 1))
                if isinstance(node.op, ast.Mod) and self.often(0.4):
                    return ast.BinOp(node.left, ast.BitAnd(), ast.Constant(value - 1))
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in FLIPPED:
            if self.often(0.4):
                flipped = FLIPPED[type(node.ops[0])]()
                node = ast.Compare(node.comparators[0], [flipped], [node.left])
            return ast.UnaryOp(ast.Not(), negated(node)) if self.often(0.15) else node
        if isinstance(node, ast.BoolOp):
            if "[" not in text(node).replace(".shape[", "") and self.often(0.4):
                self.rng.shuffle(node.values)
            return ast.UnaryOp(ast.Not(), negated(node)) if self.often(0.2) else node
        if isinstance(node, ast.Name) and self.often(0.4):
            value = self.constants.get(node.id)
            return copy.deepcopy(value) if isinstance(value, ast.Constant) else node
        return node

    def short_lines(self, function: ast.FunctionDef) -> None:
        """Of a line that is too long to read, parts get names of their own."""
        for body in bodies(function):
            for place in reversed(range(len(body))):
                while len(text(body[place]).split("\n", 1)[0]) > MOST_LETTERS:
                    new = named_part(self, body[place], MOST_LETTERS)
                    if new is None:
                        break
                    body[place : place + 1] = new
                    place += 1

    def rename(self, launch: str, arguments: Sequence[str]) -> tuple[dict[str, str], str]:
        """Give everything another name. Returns those of arguments, and of the launch function."""
        renamed: dict[str, str] = {}
        self.choose(FUNCTIONS, self.functions, renamed)
        self.choose([word.upper() for word in LOCALS], self.constants, renamed)
        local = [*arguments]
        for function in self.functions.values():
            local += [one.arg for one in function.args.args] + sorted(written_by(function))
        self.choose(LOCALS, [name for name in local if name != "launch"], renamed)
        renamed[launch] = "launch_" + renamed[launch]
        for node in (*self.functions.values(), *self.constants.values()):
            rename(node, renamed)
        self.functions = {renamed[n]: node for n, node in self.functions.items()}
        self.constants = {renamed[n]: node for n, node in self.constants.items()}
        return {name: renamed[name] for name in arguments}, renamed[launch]

    def choose(self, words: Sequence[str], names: Iterable[str], renamed: dict[str, str]) -> None:
        """A word that is still free for each name."""
        taken = {word.lower() for word in renamed.values()}
        for name in names:
            if name not in renamed:
                shuffled = self.rng.sample(words, len(words))
                renamed[name] = next(word for word in shuffled if word.lower() not in taken)
                taken.add(renamed[name].lower())


# ---------------------------------------------------------------- steps of a statement


def split_tuple(self: Disguise, node: ast.stmt) -> Body | None:
    """`a, b = x, y` in two statements, where y does not use a."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
        return None
    targets, values = node.targets[0].elts, getattr(node.value, "elts", [])
    if text(node.value).endswith(".shape"):
        values = [expression(f"{text(node.value)}[{axis}]") for axis in range(len(targets))]
    if text(node.value).startswith("cuda.grid("):
        parts = ["cuda.blockIdx.{0} * cuda.blockDim.{0}", "cuda.threadIdx.{0}"]
        self.rng.shuffle(parts)
        values = [expression(" + ".join(parts).format(axis)) for axis in "xyz"]
    written = set().union(*map(names_in, targets))
    if not values or any(written & names_in(value) for value in values):
        return None
    pairs = [pair for pair in zip(targets, values, strict=False) if text(pair[0]) != "_"]
    return [assigned(*pair) for pair in self.rng.sample(pairs, len(pairs))]


def guard(self: Disguise, node: ast.stmt) -> Body | None:
    """Two conditions one after the other, or one within the other."""
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.BoolOp) or node.orelse:
        return None
    first, *others = node.test.values
    rest = ast.If(ast.BoolOp(node.test.op, others) if others[1:] else others[0], node.body, [])
    if isinstance(node.test.op, ast.And):
        return [ast.If(first, [rest], [])]
    return [ast.If(first, [ast.Return()], []), rest] if text(node.body[0]) == "return" else None


def loop(self: Disguise, node: ast.stmt) -> Body | None:
    """A `for` loop as `while`, or counted from elsewhere, or backwards if it only adds up."""
    if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
        return None
    given = [text(one) for one in node.iter.args]
    start, end, step = ([*given, "1"] if len(given) > 1 else ["0", *given, "1"])[:3]
    i = text(node.target) if text(node.target) != "_" else self.name()
    inner = set().union(*map(written_by, node.body))
    if not i.isidentifier() or inner & {i, *names_in(node.iter)}:
        return None
    kind, new = self.rng.choice("while while shifted backwards".split()), self.name()
    if kind == "while":
        rounds = [*node.body, *statements(f"{i} += {step}")]
        return [*statements(f"{i} = {start}"), ast.While(expression(f"{i} < {end}"), rounds, [])]
    if step != "1":
        return None
    adds = all(isinstance(one, (ast.AugAssign, ast.For)) for one in node.body)
    if kind == "backwards" and adds:
        count, value = f"{end} - ({start})", f"{end} - 1 - {new}"
    else:
        count, value = f"{start} + 1, {end} + 1", f"{new} - 1"
    count = f"range({count})".replace(" - (0)", "").replace("(0 + 1,", "(1,")
    node.target, node.iter = ast.Name(new, ast.Store()), expression(count)
    node.body[:0] = statements(f"{i} = {value}")
    return [node]


def sum_in_full(self: Disguise, node: ast.stmt) -> Body | None:
    """`x += y` as `x = x + y`."""
    if not isinstance(node, ast.AugAssign):
        return None
    return [assigned(node.target, ast.BinOp(expression(text(node.target)), node.op, node.value))]


def named_part(self: Disguise, node: ast.stmt, most: int = 0) -> Body | None:
    """A part of an expression, such as an index, gets a name of its own on the line before.

    most: letters of the part, which is then the longest one, or a call. 0: any, without calls.
    """
    lazy = has(node, ast.IfExp, ast.BoolOp) or "cuda.shared" in text(node)
    kinds = (ast.Assign, ast.AugAssign, ast.Expr, *([ast.Return] if most else []))
    if lazy or not isinstance(node, kinds):
        return None
    inner = [part for part in ast.walk(node) if part is not getattr(node, "value", None)]
    parts: list[ast.AST] = [part for part in inner if isinstance(part, ast.BinOp)]
    if most:
        parts += [part for part in inner if isinstance(part, ast.Call)]
        parts = [one for one in parts if len(text(one)) <= most and not MEETINGS.search(text(one))]
        longest = max((len(text(one)) for one in parts), default=0)
        parts = [part for part in parts if len(text(part)) == longest]
    else:
        parts = [part for part in parts if not has(part, ast.Call)]
    if not parts:
        return None
    chosen = self.rng.choice(parts)
    name = self.name()
    before = statements(f"{name} = {text(chosen)}")
    Each(lambda part: ast.Name(name, ast.Load()) if part is chosen else part).visit(node)
    return [*before, node]


# ---------------------------------------------------------------- steps of a function


def strides(self: Disguise, function: ast.FunctionDef) -> None:
    """A thread per element as threads that go on, in steps of the whole grid."""
    for place, (first, guard) in enumerate(itertools.pairwise(function.body)):
        at = text(first).removesuffix(" = cuda.grid(1)")
        rest = function.body[place + 2 :]
        found = re.fullmatch(rf"if {re.escape(at)} >= (.*):\n    return", text(guard))
        busy = any(MEETINGS.search(text(one)) or has(one, ast.Return) for one in rest)
        if found and at.isidentifier() and not busy and self.often(0.5):
            loop = expression(f"range(cuda.grid(1), {found[1]}, cuda.gridsize(1))")
            function.body[place:] = [ast.For(ast.Name(at, ast.Store()), loop, rest, [], lineno=0)]
            return


def returns(self: Disguise, function: ast.FunctionDef) -> None:
    """An early return becomes a condition around the rest, and the other way round."""
    body = function.body
    for place, node in enumerate(body[:-1]):
        if text(node).endswith(":\n    return") and isinstance(node, ast.If) and self.often(0.5):
            body[place:] = [ast.If(negated(node.test), body[place + 1 :], [])]
            return
    last = body[-1]
    if isinstance(last, ast.If) and not last.orelse and self.often(0.5):
        body[-1:] = [ast.If(negated(last.test), [ast.Return()], []), *last.body]


def bounds(self: Disguise, function: ast.FunctionDef) -> None:
    """`a < b` of whole numbers as `a <= b - 1`, and the like."""
    (again,) = statements(text(function))  # with lines, which a scope looks at
    assert isinstance(again, ast.FunctionDef)
    scope = Scope(again, set(self.constants))

    def change(node: ast.AST) -> ast.AST:
        if not isinstance(node, ast.Compare) or len(node.ops) > 1:
            return node
        sides = node.left, node.comparators[0]
        whole = all(scope.kind_of(side) == WHOLE or text(side).isupper() for side in sides)
        forms = BOUNDS.get(type(node.ops[0])) if whole else None
        if not forms or self.often(0.5):
            return node
        return expression(forms[self.often(0.5)].format(*map(text, sides)))

    Each(change).visit(function)


def barriers(self: Disguise, function: ast.FunctionDef) -> None:
    """A barrier more, before one that all threads of the block come to."""
    for body in list(bodies(function)):
        lines = [text(one) for one in body]
        if "cuda.syncthreads()" in lines and self.often(0.5):
            first = sum("cuda.shared" in line for line in lines)
            place = self.rng.randint(first, max(first, lines.index("cuda.syncthreads()")))
            if not any(has(one, ast.Return) for one in body[:place]):
                body[place:place] = statements("cuda.syncthreads()")


def order(self: Disguise, function: ast.FunctionDef) -> None:
    """Neighbours that have nothing to do with each other, in another order."""
    for body in bodies(function):
        for place in self.rng.sample(range(1, len(body)), len(body) - 1):
            if self.often(0.7) and independent(body[place - 1], body[place]):
                body[place - 1 : place + 1] = [body[place], body[place - 1]]


def spare_guards(self: Disguise, function: ast.FunctionDef) -> None:
    """An index that is inside of its array is kept inside of it once more."""
    arrays = {one.arg for one in function.args.args}
    for node in ast.walk(function):
        if not isinstance(node, ast.Subscript) or text(node.value) not in arrays:
            continue
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        axis = self.rng.randrange(len(parts))
        plain = names_in(parts[axis]) and not has(parts[axis], ast.Call)
        if isinstance(node.ctx, ast.Load) and plain and self.often(0.25):
            inside = f"min({text(parts[axis])}, {text(node.value)}.shape[{axis}] - 1)"
            parts[axis] = expression(self.rng.choice((inside, f"max({text(parts[axis])}, 0)")))
            node.slice = ast.Tuple(parts, ast.Load()) if len(parts) > 1 else parts[0]


def more_digits(self: Disguise, function: ast.FunctionDef) -> None:
    """Sums, and what a block shares, with more digits than are needed, or cut to enough."""
    nodes = list(ast.walk(function))
    assigns = [node for node in nodes if isinstance(node, (ast.Assign, ast.AugAssign))]
    sums = {text(one).split(" ")[0] for one in assigns if text(one).endswith(" = float32(0)")}
    for one in assigns:
        name, _, value = text(one).partition(" ")
        if name in sums and name.isidentifier() and value != "= float32(0)" and self.often(0.4):
            one.value = ast.Call(ast.Name(self.rng.choice(TYPES), ast.Load()), [one.value], [])
    for node in (node for node in nodes if isinstance(node, ast.Call)):
        array = text(node.func) == "cuda.shared.array" and text(node.args[1]) == "float32"
        if array and self.often(0.4) and len(getattr(node.args[0], "elts", "")) < 3:
            node.args[1] = ast.Name("float64", ast.Load())
        if text(node) == "float32(0)" and self.often(0.3):
            node.func = ast.Name("float64", ast.Load())


# In their order; share: of the statements at which a step is taken, 0 for steps of functions.
STEPS: tuple[tuple[Callable[..., Any], float], ...] = (
    (strides, 0), (split_tuple, 0.7), (guard, 0.5), (returns, 0), (spare_guards, 0),
    (bounds, 0), (loop, 0.8), (sum_in_full, 0.5),
    (named_part, 0.45), (barriers, 0), (more_digits, 0), (order, 0),
)  # fmt: skip
OF_HOSTS = split_tuple, named_part, order
