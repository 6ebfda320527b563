"""Rewrite a CUDA kernel's syntax tree so that Numba can compile it for the CPU.

* Where a thread waits for others, it yields: the kernel turns into a generator, and whoever runs a
  block resumes its threads one after another, from wait to wait.
* Every function is told which thread runs it, in a tuple: `cuda.threadIdx.x` is read from there.
* Shared and local arrays are views of memory that the launch provides.
* Every index goes through a check that knows line, array, thread and block.
* Every loop that might take long asks now and then whether the host wants an end.

Line numbers stay those of the original file, so that Numba's errors point there.
"""

import ast
import copy
from collections.abc import Callable, Hashable, Sequence
from types import FunctionType
from typing import Any, NoReturn

from ..names import CudaName, type_of_numba
from ..overloads import templates_of
from ..signatures import Signature, signatures_of
from ..source import MISSING, Source, is_element, is_raw_instruction
from . import bits, cuda_calls, warps
from .compiler import Part, with_thread
from .meanings import (
    constant_index,
    function_arguments,
    give_nothing,
    is_constant_slice,
    is_recursive,
    is_stub,
    meaning,
    rounds,
    source_of,
    touches_arrays_or_cuda,
    with_arguments,
)
from .program import PREFIX, THREAD, Program, Rewritten, call, overloaded, thread, wait_call
from .waits import is_spinning, waits_in

UNPOLLED = 1 << 16  # rounds that a loop may make before it has to ask whether the host wants an end


def rewrite(source: Source, bounds_check: bool, debug: bool, counts: bool = False) -> Rewritten:
    """The `Rewritten` form of a kernel. Raises `NativeRefusal`.

    debug: exceptions reach the host. counts: references to arrays are counted.
    """
    program = Program(bounds_check, debug, counts)
    writer = Writer(source, program, is_kernel=True)
    kernel = Part(writer.compile(), counts=counts)
    parts = [kernel, *program.parts.values()]
    return Rewritten(
        kernel, parts, writer.waits, not program.has_long_loops, program.layout, program.sites
    )


class Writer(cuda_calls.Rewriting):
    """Rewrites one function; the functions that it calls get writers of their own."""

    def __init__(self, source: Source, program: Program, is_kernel: bool) -> None:
        super().__init__(source, program, is_kernel)
        self.before: list[ast.stmt] = []  # what has to come before the statement being rewritten
        self.hoists = 0
        self.recursive: list[tuple] = []  # calls of parts that are being rewritten: (key, alias)

    def compile(self) -> Callable:
        """The rewritten function; Numba has not seen it yet."""
        tree = copy.deepcopy(self.source.tree)
        tree.decorator_list = []
        tree.returns = None
        tree.body = self.statements(tree.body)
        if not self.is_kernel and is_recursive(self.source):
            self.program.has_long_loops = True
            check = ast.Expr(call("check_stack", thread()))
            tree.body.insert(0, ast.copy_location(check, tree.body[0]))
        if self.is_kernel and self.waits:
            # Never resumed; it tells Numba that this is a generator.
            last = ast.Expr(ast.Yield(ast.Constant(warps.DONE)))
            tree.body.append(ast.copy_location(last, self.source.tree.body[-1]))
        for argument in (*tree.args.args, *tree.args.kwonlyargs):
            argument.annotation = None
        tree.args.args.insert(0, ast.arg(THREAD))
        ast.fix_missing_locations(tree)
        module = ast.Module(body=[tree], type_ignores=[])
        scope = self.scope()
        exec(compile(module, self.source.filename, "exec"), scope)
        for key, alias in self.recursive:
            self.program.recursive.setdefault(key, []).append((scope, alias))
        function = scope[tree.name]
        function.__defaults__ = self.source.function.__defaults__
        function.__kwdefaults__ = self.source.function.__kwdefaults__
        return function

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        outer, self.before = self.before, []
        for statement in body:
            changed = self.visit(statement)
            result.extend(self.before)
            result.extend(changed if isinstance(changed, list) else [changed])
            self.before = []
        self.before = outer
        return result

    # ------------------------------------------------------------ statements

    def with_bodies(self, node: ast.stmt) -> ast.stmt:
        """A statement may become two, so bodies are rewritten as lists."""
        for field, value in ast.iter_fields(node):
            if field in ("body", "orelse"):
                setattr(node, field, self.statements(value))
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
        return node

    visit_If = visit_With = with_bodies

    def visit_While(self, node: ast.While) -> ast.stmt:
        spinning = is_spinning(self.source, node)
        site = self.program.site(self.source, node, f"while {ast.unparse(node.test)}")
        self.with_bodies(node)
        if spinning:
            statements = [
                ast.Expr(call("spin", thread(), site)),
                ast.Expr(wait_call(warps.SPINNING)),
            ]
            node.body[:0] = [ast.copy_location(statement, node) for statement in statements]
        return self.polled(node)

    def visit_For(self, node: ast.For) -> ast.stmt:
        few = rounds(self.source, node) <= UNPOLLED
        self.with_bodies(node)
        return node if few else self.polled(node)

    def polled(self, node: ast.For | ast.While) -> ast.stmt:
        self.program.has_long_loops = True
        poll = ast.Expr(call("poll", thread()))
        node.body.insert(0, ast.copy_location(poll, node))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function within the function: Numba makes it a part of its callers."""
        node.decorator_list = []
        node.body = self.statements(node.body)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        target = node.targets[0]
        if isinstance(target, ast.Name) and isinstance(meaning(self.source, target), CudaName):
            return ast.copy_location(ast.Pass(), node)  # another name for one of `numba.cuda`
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST | list[ast.stmt]:
        """As on a GPU: it ends this thread and no other, and the host hears nothing of it."""
        if self.program.debug:
            return node
        return [
            ast.copy_location(ast.Expr(call("end_thread", thread())), node),
            ast.copy_location(ast.Raise(ast.Name("RuntimeError", ast.Load())), node),
        ]

    def visit_Assert(self, node: ast.Assert) -> ast.AST | list[ast.stmt]:
        failed = ast.Name("AssertionError", ast.Load())
        kind = ast.Call(failed, [node.msg], []) if node.msg else failed
        otherwise = self.visit_Raise(ast.copy_location(ast.Raise(kind), node))
        body: list[Any] = otherwise if isinstance(otherwise, list) else [otherwise]
        condition = ast.UnaryOp(ast.Not(), self.visit(node.test))
        return ast.copy_location(ast.If(condition, body, []), node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant):
            return ast.copy_location(ast.Pass(), node)  # a docstring
        made = node.value
        if isinstance(made, ast.Call):
            target = meaning(self.source, made.func)
            if isinstance(target, CudaName) and target.path in cuda_calls.STORES:
                made = cuda_calls.by_position(made, target.path)
                stored = ast.Assign([cuda_calls.element(made, ast.Store())], made.args[2])
                return self.visit_Assign(ast.copy_location(stored, node))
        return self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> NoReturn:
        self.refuse(node, "`try`, which does not compile for a GPU either")

    def visit_Nonlocal(self, node: ast.Nonlocal) -> NoReturn:
        self.refuse(node, "`nonlocal`: Numba may take the old value for the new one")

    # ------------------------------------------------------------ expressions

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        target = meaning(self.source, node)
        if isinstance(target, CudaName):
            return ast.copy_location(cuda_calls.value(self, node, target.path), node)
        return cuda_calls.from_outside(self, node, target) or self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        target = meaning(self.source, node) if isinstance(node.ctx, ast.Load) else None
        if isinstance(target, CudaName) and target.path:
            return ast.copy_location(cuda_calls.value(self, node, target.path), node)
        return cuda_calls.from_outside(self, node, target) or node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        key = node.slice
        is_field = isinstance(key, ast.Constant) and isinstance(key.value, str)
        constant = constant_index(self.source, key)
        if not self.program.bounds_check or is_field or (constant and not is_element(node)):
            return self.generic_visit(node)
        if is_constant_slice(key):  # of a tuple, Numba has to see that it is one
            return self.generic_visit(node)
        site = self.program.site(self.source, node, ast.unparse(node.value))
        array = self.visit(node.value)
        if constant:
            array = call("holds", array, copy.deepcopy(key), site, thread())
            return ast.copy_location(ast.Subscript(array, key, node.ctx), node)
        if not isinstance(array, ast.Name):
            if isinstance(node.ctx, ast.Load):
                return ast.copy_location(call("load", array, self.index(key), site, thread()), node)
            array = self.hoisted(array)
        owner = ast.Name(array.id, ast.Load())
        index = call("inside", owner, self.index(key), site, thread())
        return ast.copy_location(ast.Subscript(array, index, node.ctx), node)

    def index(self, node: ast.expr) -> ast.expr:
        """An index as an argument of a call, where slices are written in another way."""
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self.index(part) for part in node.elts], ast.Load())
        if not isinstance(node, ast.Slice):
            return self.visit(node)
        ends = [part and self.visit(part) for part in (node.lower, node.upper, node.step)]
        none = ast.Constant(None)
        given = [end or none for end in ends]
        return ast.Call(ast.Name("slice", ast.Load()), given if node.step else given[:2], [])

    def hoisted(self, value: ast.expr) -> ast.Name:
        """A name for a value that is computed before the statement that is being rewritten."""
        self.hoists += 1
        text = f"{PREFIX}value_{self.hoists}"
        assignment = ast.Assign([ast.Name(text, ast.Store())], value)
        self.before.append(ast.copy_location(assignment, value))
        return ast.Name(text, ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.AST:
        target = meaning(self.source, node.func)
        if isinstance(target, CudaName):
            return ast.copy_location(cuda_calls.rewritten(self, node, target.path), node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "bit_count":
            return ast.copy_location(call("popc", self.visit(node.func.value)), node)
        if target is round and len(node.args) == 2:
            return ast.copy_location(call("round_to", *map(self.visit, node.args)), node)
        if target is breakpoint:
            return ast.copy_location(ast.Constant(None), node)
        if isinstance(target, Hashable) and target in bits.REMAINDERS:
            arguments = [self.visit(argument) for argument in node.args]
            function = cuda_calls.named(self, bits.REMAINDERS[target])
            return ast.copy_location(ast.Call(function, arguments, []), node)
        if target is MISSING or type_of_numba(target) is not None:
            node.func = self.visit(node.func)
        if callable(target) and not isinstance(target, type):
            cuda_calls.from_outside(self, node.func, target)
            self.device_call(node, target)
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        return node

    # ------------------------------------------------------------ functions that a kernel calls

    def device_call(self, node: ast.Call, target: object) -> None:
        """Call the rewritten form of a function, if it has to be rewritten."""
        if is_raw_instruction(target):
            self.refuse(node, f"the raw instruction {ast.unparse(node.func)}")
        source = source_of(target)
        if source is None:
            self.unreadable_call(node, target)
            return
        if is_stub(source) and templates_of(source.function):
            self.call_part(node, overloaded(source.function, self.program, Writer))
            node.args = [thread(), *node.args]
            return
        arguments = function_arguments(self.source, node, source)
        if arguments:
            source = with_arguments(source, arguments)
            give_nothing(node, source, arguments)
        needs_thread = touches_arrays_or_cuda(source)
        fixed = signatures_of(target)
        self.call_part(node, self.part(node, source, arguments, needs_thread, fixed))
        if needs_thread:
            node.args = [thread(), *node.args]

    def part(
        self,
        node: ast.Call,
        source: Source,
        arguments: dict[str, object],
        needs_thread: bool,
        fixed: Sequence[Signature],
    ) -> tuple:
        """The key of the part for a function whose parameters stand for `arguments`."""
        parts = self.program.parts
        bound = tuple((name, id(value)) for name, value in arguments.items())
        key = (source.function, bound, tuple(fixed))
        if key not in parts:
            parts[key] = None  # until it is known
            counts = self.program.counts
            if needs_thread:
                writer = Writer(source, self.program, is_kernel=False)
                inline, recursive = bool(writer.waits), is_recursive(source)
                fixed = [] if inline else [with_thread(one) for one in fixed]
                function = writer.compile()
                parts[key] = Part(function, inline, counts, recursive=recursive, fixed=fixed)
            else:
                parts[key] = Part(source.function, counts=counts, fixed=fixed)
            for scope, alias in self.program.recursive.pop(key, []):
                scope[alias] = parts[key]
        elif parts[key] is None and waits_in(source):
            self.refuse(node, f"{source.function.__name__}, which calls itself and waits")
        return key

    def unreadable_call(self, node: ast.Call, target: object) -> None:
        """Call a function of which there is no text, such as a lambda: Numba checks its indices."""
        function = getattr(target, "py_func", None)
        if isinstance(function, FunctionType):
            key = (function, ())
            parts = self.program.parts
            if key not in parts:
                parts[key] = Part(function, counts=self.program.counts, bounds_check=True)
            self.call_part(node, key)

    def call_part(self, node: ast.Call, key: tuple) -> None:
        alias = f"{PREFIX}called_{len(self.namespace)}"
        part = self.program.parts[key]
        self.namespace[alias] = part
        if part is None:  # it is being rewritten: this is a call of itself
            self.recursive.append((key, alias))
        node.func = ast.copy_location(ast.Name(alias, ast.Load()), node.func)
