"""Other but equal forms of a right kernel: nothing of it is where, or as, it stands in `kernels/`.

Each step changes syntax trees in place, at some of the places where it could, drawn by `rng`. None
of them changes what is computed, but for the rounding of sums in another order. Whether that is so
for a kernel is shown by running it: see `cases`.
"""

import ast
import copy
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

from lessons.detective.words import FUNCTIONS, LOCALS
from lessons.mutations.scope import WHOLE, Scope

Functions = dict[str, ast.FunctionDef]
Body = list[ast.stmt]

FLIPPED = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq}
NEGATED = {ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
           ast.NotEq: ast.Eq}  # fmt: skip
ORDERED = "cuda.atomic", "cuda.sync", "cuda.threadfence", "cuda.shfl", "cuda.shared", "cuda.local"
AXES = "xyz"
NEVER_ZERO = re.compile(r"[A-Z][A-Z_]*|\d+|\w+\.shape\[\d\]")
ROUNDED_UP = re.compile(r"\((?P<n>\w+) \+ (?P<t>\w+) - 1\) // (?P=t)")
WAYS_UP = "-(-{n} // {t})", "({n} - 1) // {t} + 1", "{n} // {t} + ({n} % {t} > 0)"
MOST_ARGUMENTS = 5  # of a function that is put in the place of its calls


def text(node: ast.AST) -> str:
    return ast.unparse(node)


def expression(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body


def statements(source: str) -> Body:
    return ast.parse(source).body


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def written_by(node: ast.AST) -> set[str]:
    """The names and arrays that a statement may change."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, (ast.Name, ast.Subscript)) and isinstance(part.ctx, ast.Store):
            target: ast.expr = part
            while isinstance(target, ast.Subscript):
                target = target.value
            found |= names_in(target)
    return found


def bodies(node: ast.AST) -> Iterator[Body]:
    """All lists of statements within a function, the inner ones first."""
    for part in ast.walk(node):
        for field in ("body", "orelse"):
            value = getattr(part, field, None)
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value


def is_pure(node: ast.AST) -> bool:
    """Whether an expression may be computed elsewhere nearby: it calls nothing that meets others."""
    return not any(isinstance(part, (ast.Call, ast.IfExp, ast.BoolOp)) for part in ast.walk(node))


def negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in NEGATED:
        return ast.Compare(test.left, [NEGATED[type(test.ops[0])]()], test.comparators)
    if isinstance(test, ast.BoolOp):
        other = ast.Or() if isinstance(test.op, ast.And) else ast.And()
        return ast.BoolOp(other, [negated(value) for value in test.values])
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


class Disguise:
    """functions, constants: those of a `Gathered`, which are changed.

    alike: texts such as "a.shape[1]" of equal sizes -> all that are equal to it.
    """

    def __init__(
        self,
        functions: Functions,
        constants: dict[str, ast.expr],
        rng: Random,
        alike: Mapping[str, Sequence[str]],
    ) -> None:
        self.functions, self.constants, self.rng, self.alike = functions, constants, rng, alike
        self.new = 0  # names so far

    def often(self, share: float) -> bool:
        return self.rng.random() < share

    def name(self) -> str:
        """A new name, which is replaced like all others at the end."""
        self.new += 1
        return f"new_{self.new}"

    def apply(self) -> None:
        self.inline_helpers()
        self.block_sizes()
        self.rounded_up()
        for step in (
            self.strides, self.split_tuples, self.expand_grid, self.guards, self.returns,
            self.conditional_values, self.equal_sizes, self.bounds, self.cut_loops, self.loops,
            self.sums, self.lift, self.named_parts, self.sizes, self.barriers, self.order,
        ):  # fmt: skip
            for function in list(self.functions.values()):
                if not self.is_host(function):
                    step(function)
        for function in self.functions.values():
            Expressions(self, self.is_host(function)).visit(function)

    @staticmethod
    def is_host(function: ast.FunctionDef) -> bool:
        return not function.decorator_list

    def edit(self, function: ast.FunctionDef, change: Callable[[Body, int], Body | None]) -> None:
        """Put what `change(body, place)` returns in place of that statement, unless it is None."""
        for body in list(bodies(function)):
            place = 0
            while place < len(body):
                new = change(body, place)
                if new is not None:
                    body[place : place + 1] = new
                place += 1 if new is None else len(new)

    # ---------------------------------------------------------------- helpers

    def inline_helpers(self) -> None:
        """Calls of a function that is one expression become that expression."""
        for name, function in list(self.functions.items()):
            short = len(function.body) == 1 and isinstance(function.body[0], ast.Return)
            many = len(function.args.args) > MOST_ARGUMENTS or function.args.defaults
            if self.is_host(function) or not short or many or not self.often(0.6):
                continue
            inline = Inline(name, function)
            for other in self.functions.values():
                inline.visit(other)
            if not any(name in names_in(other) for other in self.functions.values()):
                del self.functions[name]

    def lift(self, function: ast.FunctionDef) -> None:
        """An expression of some statement becomes a function."""
        found = [
            node
            for node in ast.walk(function)
            if isinstance(node, (ast.Assign, ast.AugAssign))
            and isinstance(node.value, ast.BinOp)
            and is_pure(node.value)
        ]
        if not found or not self.often(0.4):
            return
        chosen, name = self.rng.choice(found), self.name()
        known = {*self.constants, *self.functions, "cuda"}
        needed = sorted(names_in(chosen.value) - known)
        made = statements(
            f"@cuda.jit(device=True)\ndef {name}({', '.join(needed)}):\n"
            f"    return {text(chosen.value)}"
        )[0]
        assert isinstance(made, ast.FunctionDef)
        chosen.value = expression(f"{name}({', '.join(needed)})")
        before = {name: made}
        for key in list(self.functions):
            before[key] = self.functions.pop(key)
        self.functions.update(before)

    # ---------------------------------------------------------------- sizes and bounds

    def block_sizes(self) -> None:
        """A constant that is the size of a block, as the size of a block."""
        calls = [
            node
            for function in self.functions.values()
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and text(node.func) == "launch"
        ]
        threads = {text(call.args[2]) for call in calls}
        if len(threads) != 1:
            return
        sizes = ast.parse(threads.pop(), mode="eval").body
        axes = sizes.elts if isinstance(sizes, ast.Tuple) else [sizes]
        for function in self.functions.values():
            for axis, size in zip(AXES, axes, strict=False):
                if not self.is_host(function) and isinstance(size, ast.Name):
                    BlockSize(self, size.id, f"cuda.blockDim.{axis}").visit(function)

    def rounded_up(self) -> None:
        """A division that rounds up, in another form."""
        for function in self.functions.values():
            last = function.body[-1]
            if self.is_host(function) and isinstance(last, ast.Return) and last.value:
                (found,) = [ROUNDED_UP.fullmatch(text(last.value))]
                if found and self.often(0.7):
                    last.value = expression(self.rng.choice(WAYS_UP).format(**found.groupdict()))

    def equal_sizes(self, function: ast.FunctionDef) -> None:
        """The size of another array that is as large."""
        arguments = {one.arg for one in function.args.args}
        for node in ast.walk(function):
            if isinstance(node, ast.Subscript) and text(node) in self.alike and self.often(0.6):
                others = [one for one in self.alike[text(node)] if one.split(".")[0] in arguments]
                if others:
                    new = expression(self.rng.choice(others))
                    assert isinstance(new, ast.Subscript)
                    node.value, node.slice = new.value, new.slice

    def bounds(self, function: ast.FunctionDef) -> None:
        """Equal forms of comparisons of whole numbers."""
        (again,) = ast.parse(text(function)).body
        assert isinstance(again, ast.FunctionDef)
        scope = Scope(again, set(self.constants))
        Bounds(self, scope).visit(function)

    def barriers(self, function: ast.FunctionDef) -> None:
        """A barrier more, before one that all threads of the block come to."""
        for body in list(bodies(function)):
            places = [n for n, one in enumerate(body) if text(one) == "cuda.syncthreads()"]
            if places and self.often(0.5):
                first = next((n for n, one in enumerate(body) if "cuda.shared" not in text(one)), 0)
                place = self.rng.randint(min(first, places[-1]), places[-1])
                if not any(
                    isinstance(one, ast.Return) for n in body[:place] for one in ast.walk(n)
                ):
                    body[place:place] = statements("cuda.syncthreads()")

    # ---------------------------------------------------------------- statements

    def split_tuples(self, function: ast.FunctionDef) -> None:
        """`a, b = x, y` in two statements, where y does not use a."""

        def change(body: Body, place: int) -> Body | None:
            node = body[place]
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
                return None
            targets = node.targets[0].elts
            if isinstance(node.value, ast.Tuple) and self.often(0.7):
                written = set().union(*map(names_in, targets))
                if written & names_in(node.value):
                    return None
                pairs = list(zip(targets, node.value.elts, strict=True))
                self.rng.shuffle(pairs)
                return [ast.Assign([target], value, lineno=0) for target, value in pairs]
            if text(node.value).endswith(".shape") and self.often(0.6):
                return [
                    ast.Assign([target], expression(f"{text(node.value)}[{axis}]"), lineno=0)
                    for axis, target in enumerate(targets)
                    if text(target) != "_"
                ]
            return None

        self.edit(function, change)

    def expand_grid(self, function: ast.FunctionDef) -> None:
        """cuda.grid(n) in terms of blocks and threads."""

        def along(axis: str) -> str:
            parts = [f"cuda.blockIdx.{axis} * cuda.blockDim.{axis}", f"cuda.threadIdx.{axis}"]
            self.rng.shuffle(parts)
            return " + ".join(parts)

        def change(body: Body, place: int) -> Body | None:
            node = body[place]
            if not isinstance(node, ast.Assign) or not self.often(0.6):
                return None
            called = text(node.value)
            if isinstance(node.targets[0], ast.Tuple) and called in (
                "cuda.grid(2)",
                "cuda.grid(3)",
            ):
                pairs = list(zip(node.targets[0].elts, AXES, strict=False))
                self.rng.shuffle(pairs)
                return [ast.Assign([t], expression(along(axis)), lineno=0) for t, axis in pairs]
            if "cuda.grid(1)" in called:
                node.value = expression(called.replace("cuda.grid(1)", f"({along('x')})"))
            return None

        self.edit(function, change)

    def strides(self, function: ast.FunctionDef) -> None:
        """A thread per element as threads that go on, in steps of the whole grid."""
        body = function.body
        for place, (first, guard) in enumerate(itertools.pairwise(body)):
            at = text(first).removesuffix(" = cuda.grid(1)")
            rest = body[place + 2 :]
            found = re.fullmatch(rf"if {at} >= (.*):\n    return", text(guard))
            busy = any(word in text(one) for one in rest for word in (*ORDERED, "return"))
            if found and at.isidentifier() and not busy and self.often(0.5):
                loop = f"for {at} in range(cuda.grid(1), {found[1]}, cuda.gridsize(1)):\n    pass"
                (new,) = statements(loop)
                assert isinstance(new, ast.For)
                new.body = rest
                body[place:] = [new]
                return

    def guards(self, function: ast.FunctionDef) -> None:
        """Two conditions one after the other, or one within the other."""

        def change(body: Body, place: int) -> Body | None:
            node = body[place]
            if not isinstance(node, ast.If) or not isinstance(node.test, ast.BoolOp):
                return None
            if node.orelse or not self.often(0.5):
                return None
            first, *others = node.test.values
            rest = ast.BoolOp(node.test.op, others) if len(others) > 1 else others[0]
            if isinstance(node.test.op, ast.And):
                return [ast.If(first, [ast.If(rest, node.body, [])], [])]
            if text(node.body[0]) == "return":
                return [ast.If(first, [ast.Return()], []), ast.If(rest, node.body, [])]
            return None

        self.edit(function, change)

    def cut_loops(self, function: ast.FunctionDef) -> None:
        """A loop in two parts: its first round, or its first half, and what is left."""

        def change(body: Body, place: int) -> Body | None:
            node = body[place]
            if not isinstance(node, ast.For) or not isinstance(node.target, ast.Name):
                return None
            arguments = node.iter.args if isinstance(node.iter, ast.Call) else []
            only = len(node.body) == 1 and isinstance(node.body[0], ast.AugAssign)
            if len(arguments) != 1 or not only or not self.often(0.4):
                return None
            end, i = text(arguments[0]), node.target.id
            if self.often(0.5) and NEVER_ZERO.fullmatch(end):
                begin = Fill({i: ast.Constant(0)}).visit(copy.deepcopy(node.body[0]))
                node.iter = expression(f"range(1, {end})")
                return [begin, node]
            again = copy.deepcopy(node)
            node.iter = expression(f"range({end} // 2)")
            again.iter = expression(f"range({end} // 2, {end})")
            return [node, again]

        self.edit(function, change)

    def returns(self, function: ast.FunctionDef) -> None:
        """An early return becomes a condition around the rest, and the other way round."""
        body = function.body
        for place, node in enumerate(body):
            if isinstance(node, ast.If) and len(node.body) == 1 and not node.orelse:
                only = node.body[0]
                if isinstance(only, ast.Return) and only.value is None and self.often(0.5):
                    body[place:] = [ast.If(negated(node.test), body[place + 1 :], [])]
                    return
        last = body[-1]
        if isinstance(last, ast.If) and not last.orelse and self.often(0.5):
            body[-1:] = [ast.If(negated(last.test), [ast.Return()], []), *last.body]

    def conditional_values(self, function: ast.FunctionDef) -> None:
        """`x = a if c else b` as a condition with two statements, or one."""

        def change(body: Body, place: int) -> Body | None:
            node = body[place]
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.IfExp):
                return None
            if not self.often(0.6):
                return None
            test, value, other = node.value.test, node.value.body, node.value.orelse
            if self.often(0.5):
                test, value, other = negated(test), other, value
            first = ast.Assign(node.targets, value, lineno=0)
            second = ast.Assign(copy.deepcopy(node.targets), other, lineno=0)
            simple = not any(isinstance(part, ast.Subscript) for part in ast.walk(second))
            if simple and self.often(0.6):
                return [second, ast.If(test, [first], [])]
            return [ast.If(test, [first], [second])]

        self.edit(function, change)

    def loops(self, function: ast.FunctionDef) -> None:
        """`for` loops as `while`, or counted from elsewhere, or backwards if they only add up."""

        def change(body: Body, place: int) -> Body | None:
            node = body[place]
            if not isinstance(node, ast.For) or not isinstance(node.target, ast.Name):
                return None
            called = node.iter
            if not isinstance(called, ast.Call) or text(called.func) != "range":
                return None
            variable = node.target.id
            if variable == "_":
                variable = self.name()
            arguments = list(map(text, called.args))
            start, end = ("0", arguments[0]) if len(arguments) == 1 else arguments[:2]
            step = arguments[2] if len(arguments) > 2 else "1"
            inner = set().union(*map(written_by, node.body))
            if inner & names_in(called) or variable in inner:
                return None
            kind = self.rng.choice("while while shifted backwards as_it_is".split())
            if kind == "while":
                begin = statements(f"{variable} = {start}")
                loop = ast.While(expression(f"{variable} < {end}"), node.body, [])
                loop.body = [*node.body, *statements(f"{variable} += {step}")]
                return [*begin, loop]
            adds = all(isinstance(one, (ast.AugAssign, ast.For)) for one in node.body)
            if kind == "backwards" and adds and step == "1":
                new = self.name()
                node.target, node.iter = (
                    ast.Name(new, ast.Store()),
                    expression(f"range({end})" if start == "0" else f"range({end} - ({start}))"),
                )
                node.body[:0] = statements(f"{variable} = {end} - 1 - {new}")
            if kind == "shifted" and step == "1":
                new = self.name()
                node.target = ast.Name(new, ast.Store())
                node.iter = expression(f"range(1 + {start}, {end} + 1)")
                node.body[:0] = statements(f"{variable} = {new} - 1")
            return None

        self.edit(function, change)

    def sums(self, function: ast.FunctionDef) -> None:
        """`x += y` and `x = x + y`."""

        def change(body: Body, place: int) -> Body | None:
            node = body[place]
            if isinstance(node, ast.AugAssign) and self.often(0.5):
                target = copy.deepcopy(node.target)
                value = ast.BinOp(expression(text(target)), node.op, node.value)
                return [ast.Assign([target], value, lineno=0)]
            return None

        self.edit(function, change)

    def named_parts(self, function: ast.FunctionDef) -> None:
        """A part of an expression, such as an index, gets a name of its own on the line before."""

        def change(body: Body, place: int) -> Body | None:
            node = body[place]
            if not isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)) or not self.often(0.45):
                return None
            if any(isinstance(part, (ast.IfExp, ast.BoolOp)) for part in ast.walk(node)):
                return None
            found = [
                part
                for part in ast.walk(node)
                if isinstance(part, ast.BinOp) and part is not getattr(node, "value", None)
                and is_pure(part) and not "cuda.shared" in text(node)
            ]  # fmt: skip
            if not found:
                return None
            chosen, name = self.rng.choice(found), self.name()
            before = ast.Assign([ast.Name(name, ast.Store())], copy.deepcopy(chosen), lineno=0)
            Replace(chosen, ast.Name(name, ast.Load())).visit(node)
            return [before, node]

        self.edit(function, change)

    def sizes(self, function: ast.FunctionDef) -> None:
        """A size of an array gets a name at the beginning."""
        arguments = {one.arg for one in function.args.args}
        shapes = sorted(
            {
                text(node)
                for node in ast.walk(function)
                if isinstance(node, ast.Subscript)
                and text(node.value).removesuffix(".shape") in arguments
                and text(node.value).endswith(".shape")
            }
        )
        for shape in shapes:
            if self.often(0.5):
                name = self.name()
                Rename({}, {shape: name}).visit(function)
                function.body[:0] = statements(f"{name} = {shape}")

    def order(self, function: ast.FunctionDef) -> None:
        """Neighbours that have nothing to do with each other, in another order."""
        for body in list(bodies(function)):
            for place in self.rng.sample(range(len(body)), len(body)):
                if place and self.often(0.7) and independent(body[place - 1], body[place]):
                    body[place - 1 : place + 1] = [body[place], body[place - 1]]

    # ---------------------------------------------------------------- names

    def rename(self, launch: str, arguments: Sequence[str]) -> tuple[dict[str, str], str]:
        """Give everything another name. Returns those of arguments, and of the launch function."""
        pool = self.rng.sample(LOCALS, len(LOCALS))
        kinds = self.rng.sample(FUNCTIONS, len(FUNCTIONS))
        renamed = {name: kinds.pop() for name in self.functions}
        renamed |= {name: pool.pop().upper() for name in self.constants}
        for name in arguments:
            renamed.setdefault(name, pool.pop())
        for function in self.functions.values():
            local = {one.arg for one in function.args.args} | written_by(function)
            for name in sorted(local):
                if name not in renamed and name != "launch" and name not in self.functions:
                    renamed[name] = pool.pop()
        kernels = [name for name in self.functions if name.removeprefix("launch_") != launch]
        assert kernels
        renamed[launch] = "launch_" + renamed[launch]
        for function in self.functions.values():
            Rename(renamed, {}).visit(function)
        functions = {renamed[name]: node for name, node in self.functions.items()}
        constants = {renamed[name]: node for name, node in self.constants.items()}
        for value in constants.values():
            Rename(renamed, {}).visit(value)
        self.functions, self.constants = functions, {}
        for name, value in constants.items():  # a bare name cannot be changed in place
            new = (
                ast.Name(renamed.get(value.id, value.id)) if isinstance(value, ast.Name) else value
            )
            self.constants[name] = new
        return {name: renamed[name] for name in arguments}, renamed[launch]


def independent(first: ast.stmt, second: ast.stmt) -> bool:
    """Whether two statements may change places."""
    if not all(isinstance(one, (ast.Assign, ast.AugAssign)) for one in (first, second)):
        return False
    if any(word in text(one) for word in ORDERED for one in (first, second)):
        return False
    both = written_by(first), written_by(second)
    return not (both[0] & names_in(second) or both[1] & names_in(first))


class Replace(ast.NodeTransformer):
    """One node by another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else super().generic_visit(node)


class Rename(ast.NodeTransformer):
    """Names, and whole expressions by their text."""

    def __init__(self, names: dict[str, str], texts: dict[str, str]) -> None:
        self.names, self.texts = names, texts

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        new = self.texts.get(text(node)) if self.texts else None
        return ast.Name(new, ast.Load()) if new else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.names.get(node.arg, node.arg)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)


class Inline(ast.NodeTransformer):
    """Calls of one function by its only expression."""

    def __init__(self, name: str, function: ast.FunctionDef) -> None:
        self.name = name
        self.arguments = [one.arg for one in function.args.args]
        only = function.body[0]
        assert isinstance(only, ast.Return) and only.value is not None
        self.value = only.value

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if text(node.func) != self.name or not all(map(is_pure, node.args)):
            return node
        given = dict(zip(self.arguments, node.args, strict=True))
        return Fill(given).visit(copy.deepcopy(self.value))


class Fill(ast.NodeTransformer):
    def __init__(self, given: dict[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self.given.get(node.id, node))


class BlockSize(ast.NodeTransformer):
    """A constant as the size of a block, but for sizes of arrays."""

    def __init__(self, disguise: Disguise, name: str, size: str) -> None:
        self.disguise, self.name, self.size = disguise, name, size

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return node if text(node.func).endswith(".array") else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return expression(self.size) if node.id == self.name and self.disguise.often(0.4) else node


class Bounds(ast.NodeTransformer):
    """`a < b` of whole numbers as `a <= b - 1`, and the like."""

    def __init__(self, disguise: Disguise, scope: Scope) -> None:
        self.often, self.scope = disguise.often, scope

    def is_whole(self, node: ast.expr) -> bool:
        constants = {n for n in names_in(node) if n.isupper()}
        return self.scope.kind_of(node) == WHOLE or names_in(node) == constants != set()

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) != 1 or not (
            self.is_whole(node.left) and self.is_whole(node.comparators[0])
        ):
            return node
        left, right = text(node.left), text(node.comparators[0])
        forms = {
            ast.Lt: (f"{left} <= {right} - 1", f"{left} + 1 <= {right}"),
            ast.GtE: (f"{left} > {right} - 1", f"{left} + 1 > {right}"),
            ast.LtE: (f"{left} < {right} + 1", f"{left} - 1 < {right}"),
            ast.Gt: (f"{left} >= {right} + 1", f"{left} - 1 >= {right}"),
        }.get(type(node.ops[0]))
        return expression(forms[self.often(0.5)]) if forms and self.often(0.5) else node


class Expressions(ast.NodeTransformer):
    """Equal forms of expressions. host: of a launch function, whose numbers are Python's."""

    def __init__(self, disguise: Disguise, host: bool) -> None:
        self.disguise, self.often, self.host = disguise, disguise.often, host

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [self.visit(one) for one in node.body]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        calls = any(isinstance(part, ast.Call) and "cuda." in text(part) for part in ast.walk(node))
        if isinstance(node.op, (ast.Add, ast.Mult)) and not calls and self.often(0.45):
            node.left, node.right = node.right, node.left
        power = self.power_of_two(node.right)
        if power is not None and self.often(0.4):
            if isinstance(node.op, ast.FloorDiv):
                return ast.BinOp(node.left, ast.RShift(), ast.Constant(power))
            if isinstance(node.op, ast.Mod):
                return ast.BinOp(node.left, ast.BitAnd(), ast.Constant(2**power - 1))
        return node

    def power_of_two(self, node: ast.expr) -> int | None:
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, int) and value > 1 and value & (value - 1) == 0:
            return value.bit_length() - 1
        return None

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) != 1 or type(node.ops[0]) not in FLIPPED:
            return node
        if self.often(0.4):
            flipped = FLIPPED[type(node.ops[0])]()
            node = ast.Compare(node.comparators[0], [flipped], [node.left])
        return ast.UnaryOp(ast.Not(), negated(node)) if self.often(0.15) else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        simple = not any(isinstance(part, ast.Subscript) and "shape" not in text(part)
                         for part in ast.walk(node))  # fmt: skip
        if simple and self.often(0.4):
            self.disguise.rng.shuffle(node.values)
        return ast.UnaryOp(ast.Not(), negated(node)) if self.often(0.2) else node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = self.disguise.constants.get(node.id)
        if isinstance(value, ast.Constant) and self.often(0.4):
            return copy.deepcopy(value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        node.value = self.visit(node.value)
        node.targets = [
            self.visit(one) if isinstance(one, ast.Subscript) else one for one in node.targets
        ]
        return node
