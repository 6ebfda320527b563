"""Rewrite a CUDA kernel's syntax tree so that Numba can compile it for the CPU.

* `cuda.syncthreads()` becomes a `yield`: the kernel turns into a generator, and whoever runs a
  block resumes its threads one after another, from barrier to barrier. `yield False` says "I wait
  at a barrier", `yield True` "I have finished".
* `cuda.threadIdx.x` and its like are read from a tuple `_position` that every function gets.
* Shared and local arrays are made by the caller, once for many blocks, and passed in.
* Every index of an array goes through a check that knows line, array, thread and block.

Line numbers stay those of the original file, so that Numba's errors point there.
"""

import ast
import copy
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from numba import njit
from numba.core.dispatcher import Dispatcher

from lessons.lab.cells import file_label
from lessons.lab.compiled import runtime
from lessons.lab.compiled.arrays import ArrayType, array_type
from lessons.lab.compiled.refusal import refuse
from lessons.lab.compiled.syntax import (
    call,
    finished,
    has_barrier,
    name,
    touches_arrays_or_cuda,
    waiting,
)
from lessons.lab.names import CudaName, resolve
from lessons.lab.source import MISSING, Source, called_source, is_raw_instruction

POSITIONS = {
    f"{name}.{axis}": 3 * group + number
    for group, name in enumerate(("threadIdx", "blockIdx", "blockDim", "gridDim"))
    for number, axis in enumerate("xyz")
}
NO_EFFECT = ("threadfence", "threadfence_block", "threadfence_system", "nanosleep")


class Site(NamedTuple):
    """A place in the source where an array is indexed."""

    file: str
    line: int
    array: str


class Rewritten(NamedTuple):
    """A kernel ready to compile: the function, and what its caller has to provide."""

    function: Callable
    has_barrier: bool
    shared: list[ArrayType]
    local: list[ArrayType]
    sites: list[Site]


class Called(NamedTuple):
    """A function for the CPU, and whether it wants to know which thread calls it."""

    function: Callable
    needs_position: bool


def rewrite(source: Source, bounds_check: bool) -> Rewritten:
    """The `Rewritten` form of a kernel. Raises `NativeRefusal`."""
    sites: list[Site] = []
    writer = Writer(source, bounds_check, sites, is_kernel=True, done={})
    function = writer.compile()
    return Rewritten(function, writer.has_barrier, writer.shared, writer.local, sites)


def compiled(function: Callable, allocates: bool = False) -> Callable:
    """A function as Numba compiles it for the CPU. allocates: whether it makes arrays."""
    # Without "_nrt", Numba would count references to every array at every barrier, in instructions
    # that lock memory: half of the running time. No thread owns an array, so nothing need be
    # counted but in functions that make arrays.
    options: dict[str, Any] = {
        "error_model": "numpy",
        "fastmath": {"contract"},
        "nogil": True,
        "_nrt": allocates,
    }
    return njit(**options)(function)


class Writer(ast.NodeTransformer):
    """Rewrites one function; the functions that it calls get writers of their own."""

    def __init__(
        self,
        source: Source,
        bounds_check: bool,
        sites: list[Site],
        is_kernel: bool,
        done: dict[Callable, Called | None],
    ) -> None:
        self.source = source
        self.bounds_check = bounds_check
        self.sites = sites
        self.is_kernel = is_kernel
        self.done = done  # Python function -> its rewritten form, or None where it may stay
        self.namespace: dict[str, object] = {}  # what the rewritten text needs to find
        self.shared: list[ArrayType] = []
        self.local: list[ArrayType] = []
        self.allocates = False
        self.has_barrier = is_kernel and has_barrier(source)

    def compile(self) -> Callable:
        """The rewritten function; Numba has not seen it yet."""
        tree = copy.deepcopy(self.source.tree)
        tree.decorator_list = []
        tree.body = self.statements(tree.body)
        if self.has_barrier:
            tree.body.append(ast.copy_location(finished(), self.source.tree.body[-1]))
        names = ["_position", "_error"]
        names += [f"_shared_{i}" for i in range(len(self.shared))]
        names += [f"_local_{i}" for i in range(len(self.local))]
        tree.args.args = [ast.arg(text) for text in names] + tree.args.args
        ast.fix_missing_locations(tree)
        module = ast.Module(body=[tree], type_ignores=[])
        scope = self.scope()
        exec(compile(module, self.source.filename, "exec"), scope)
        return scope[self.source.function.__name__]

    def scope(self) -> dict[str, Any]:
        function = self.source.function
        closure = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}
        return {**function.__globals__, **closure, **runtime.NAMES, **self.namespace}

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in body:
            changed = self.visit(statement)
            result.extend(changed if isinstance(changed, list) else [changed])
        return result

    # ------------------------------------------------------------ statements

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        target = resolve(self.source, node.value.func) if isinstance(node.value, ast.Call) else None
        path = target.path if isinstance(target, CudaName) else None
        if path == "syncthreads":
            if not self.is_kernel:
                self.refuse(node, "a barrier in a function that a kernel calls")
            return ast.copy_location(waiting(), node)
        if path in NO_EFFECT:
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        if not self.has_barrier:
            return self.generic_visit(node)
        return [ast.copy_location(finished(), node), ast.copy_location(ast.Return(None), node)]

    def with_bodies(self, node: ast.stmt) -> ast.stmt:
        """A statement may become two, so bodies are rewritten as lists."""
        for field, value in ast.iter_fields(node):
            if field in ("body", "orelse"):
                setattr(node, field, self.statements(value))
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
        return node

    visit_If = visit_For = visit_While = visit_With = with_bodies

    # ------------------------------------------------------------ expressions

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        target = resolve(self.source, node)
        if isinstance(target, CudaName):
            return ast.copy_location(self.position(node, target.path), node)
        return self.generic_visit(node)

    def position(self, node: ast.Attribute, path: str) -> ast.expr:
        if path in POSITIONS:
            return ast.Subscript(name("_position"), ast.Constant(POSITIONS[path]), ast.Load())
        if path == "laneid":
            return call("_lane", name("_position"))
        if path == "warpsize":
            return ast.Constant(32)
        self.refuse(node, f"cuda.{path}")

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not self.bounds_check or any(isinstance(n, ast.Slice) for n in ast.walk(node.slice)):
            return self.generic_visit(node)
        site = self.new_site(node, node.value)
        array = self.visit(node.value)
        if not isinstance(array, ast.Name):
            node.value, node.slice = array, self.visit(node.slice)
            return node  # image.shape[0] and the like: a tuple
        checked = self.checked(node, array, self.visit(node.slice), site)
        return ast.copy_location(ast.Subscript(array, checked, node.ctx), node)

    def checked(self, node: ast.expr, array: ast.Name, index: ast.expr, site: int) -> ast.Call:
        """The index, by way of the check that it lies within the array."""
        arguments = (index, ast.Constant(site), name("_position"), name("_error"))
        return ast.copy_location(call("_inside", name(array.id), *arguments), node)

    def new_site(self, node: ast.expr, array: ast.expr) -> int:
        """The number of a new site."""
        self.sites.append(Site(file_label(self.source.filename), node.lineno, ast.unparse(array)))
        return len(self.sites) - 1

    def visit_Call(self, node: ast.Call) -> ast.AST:
        target = resolve(self.source, node.func)
        if isinstance(target, CudaName):
            return ast.copy_location(self.cuda_call(node, target.path), node)
        if target is MISSING:
            node.func = self.visit(node.func)
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        if callable(target) and not isinstance(target, type):
            self.device_call(node, target)
        return node

    def cuda_call(self, node: ast.Call, path: str) -> ast.expr:
        if path in ("grid", "gridsize"):
            return self.grid(node, path)
        if path == "shared.array":
            return self.array(node, self.shared, "_shared_")
        if path == "local.array":
            return self.array(node, self.local, "_local_")
        if path == "const.array_like":
            return self.visit(node.args[0])
        if path.startswith("atomic."):
            return self.atomic(node, path.split(".")[1])
        self.refuse(node, f"cuda.{path}")

    def grid(self, node: ast.Call, path: str) -> ast.expr:
        dimensions = getattr(node.args[0], "value", None) if node.args else None
        if dimensions not in (1, 2, 3):
            self.refuse(node, f"cuda.{path} of anything but 1, 2 or 3")
        return call(f"_{path}{dimensions}", name("_position"))

    def array(self, node: ast.Call, arrays: list[ArrayType], prefix: str) -> ast.expr:
        kind = array_type(self.source, node, self.scope())
        if self.is_kernel:
            arrays.append(kind)
            return name(f"{prefix}{len(arrays) - 1}")
        if prefix == "_shared_":
            self.refuse(node, "a shared array made in a function that a kernel calls")
        self.allocates = True
        self.namespace[f"_dtype_{node.lineno}"] = kind.dtype.type
        shape = ast.Tuple([ast.Constant(size) for size in kind.shape], ast.Load())
        return call("_empty", shape, name(f"_dtype_{node.lineno}"))

    def atomic(self, node: ast.Call, operation: str) -> ast.expr:
        if operation == "compare_and_swap":
            node.args.insert(1, ast.Constant(0))  # it always works on the first element
            operation = "cas"
        if operation not in runtime.ATOMICS or len(node.args) < 3:
            self.refuse(node, f"cuda.atomic.{operation}")
        site = self.new_site(node, node.args[0])
        array, index, *values = [self.visit(argument) for argument in node.args]
        if self.bounds_check and isinstance(array, ast.Name):
            index = self.checked(node, array, index, site)
        return call(f"_atomic_{operation}", array, index, *values)

    # ------------------------------------------------------------ functions that a kernel calls

    def device_call(self, node: ast.Call, target: object) -> None:
        """Call the rewritten form of a function, if it has to be rewritten."""
        if is_raw_instruction(target):
            self.refuse(node, f"the raw instruction {ast.unparse(node.func)}")
        source = called_source(target)
        if source is None:
            return  # a builtin, or a function of the math module
        if source.function not in self.done:
            self.done[source.function] = self.rewritten(target, source)
        called = self.done[source.function]
        if called is None:
            return
        alias = f"_called_{source.function.__name__}_{len(self.namespace)}"
        self.namespace[alias] = called.function
        node.func = ast.copy_location(name(alias), node.func)
        if called.needs_position:
            node.args = [name("_position"), name("_error"), *node.args]

    def rewritten(self, target: object, source: Source) -> Called | None:
        if not touches_arrays_or_cuda(source):
            if isinstance(target, Dispatcher) or target is source.function:
                return None
            return Called(compiled(source.function), False)  # @cuda.jit(device=True)
        writer = Writer(source, self.bounds_check, self.sites, is_kernel=False, done=self.done)
        function = writer.compile()
        return Called(compiled(function, writer.allocates), True)

    def refuse(self, node: ast.expr | ast.stmt, what: str) -> NoReturn:
        refuse(self.source, node, what)
