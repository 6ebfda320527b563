"""Rewrite a CUDA kernel's syntax tree so that Numba can compile it for the CPU.

* `cuda.syncthreads()` becomes a `yield`: the kernel turns into a generator, and whoever runs a
  block resumes its threads one after another, from barrier to barrier. `yield False` says "I wait
  at a barrier", `yield True` "I have finished".
* `cuda.threadIdx.x` and its like are read from a tuple `_at` that every function gets.
* Shared and local arrays are made by the caller, once for many blocks, and passed in.
* Every index of an array goes through a check that knows line, array, thread and block.

Line numbers stay those of the original file, so that Numba's errors point there.
"""

import ast
import copy
import inspect
from pathlib import Path

from numba import njit
from numba.core.dispatcher import Dispatcher

from kernels.errors import InputError
from lessons.lab.compile_checks import problem_of_size, shape_argument
from lessons.lab.compiled import runtime
from lessons.lab.names import CudaName, resolve
from lessons.lab.numba_types import dtype_of_type
from lessons.lab.source import MISSING, python_function, source_of_function

POSITIONS = {
    f"{name}.{axis}": 3 * group + number
    for group, name in enumerate(("threadIdx", "blockIdx", "blockDim", "gridDim"))
    for number, axis in enumerate("xyz")
}
NO_EFFECT = ("threadfence", "threadfence_block", "threadfence_system", "nanosleep")
# Without "_nrt", Numba would count references to every array at every barrier, in instructions that
# lock memory: half of the running time. No thread owns an array, so there is nothing to count.
OPTIONS = {"error_model": "numpy", "fastmath": {"contract"}, "nogil": True, "_nrt": False}
WITH_ALLOCATION = {**OPTIONS, "_nrt": True}


class NativeRefusal(InputError):
    """The kernel does something that cannot be done one thread after another."""


class Site:
    """A place in the source where an array is indexed."""

    def __init__(self, source, node):
        self.file = Path(source.filename).name
        self.line = node.lineno
        self.array = ast.unparse(node.value if isinstance(node, ast.Subscript) else node.args[0])


class Rewritten:
    """A kernel ready to compile: the function, and what its caller has to provide."""

    def __init__(self, function, has_barrier, shared, local, sites):
        self.function = function
        self.has_barrier = has_barrier
        self.shared = shared  # [(shape, dtype)]
        self.local = local
        self.sites = sites


def rewrite(source, bounds_check):
    """The `Rewritten` form of a kernel. Raises `NativeRefusal`."""
    sites = []
    writer = Writer(source, bounds_check, sites, is_kernel=True, done={})
    function = writer.compile()
    return Rewritten(function, writer.has_barrier, writer.shared, writer.local, sites)


class Writer(ast.NodeTransformer):
    """Rewrites one function; the functions that it calls get writers of their own."""

    def __init__(self, source, bounds_check, sites, is_kernel, done):
        self.source = source
        self.bounds_check = bounds_check
        self.sites = sites
        self.is_kernel = is_kernel
        self.done = done  # python function -> its rewritten form, or None where it may stay
        self.namespace = {}
        self.shared = []
        self.local = []
        self.allocates = False
        self.has_barrier = is_kernel and has_barrier(source)

    def compile(self):
        tree = copy.deepcopy(self.source.tree)
        tree.decorator_list = []
        tree.body = self.statements(tree.body)
        if self.has_barrier:
            tree.body.append(ast.copy_location(finished(), self.source.tree.body[-1]))
        names = ["_at", "_error"]
        names += [f"_shared_{i}" for i in range(len(self.shared))]
        names += [f"_local_{i}" for i in range(len(self.local))]
        tree.args.args = [ast.arg(name) for name in names] + tree.args.args
        ast.fix_missing_locations(tree)
        module = ast.Module(body=[tree], type_ignores=[])
        scope = self.scope()
        exec(compile(module, self.source.filename, "exec"), scope)
        return scope[self.source.function.__name__]

    def scope(self):
        function = self.source.function
        closure = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}
        return {**function.__globals__, **closure, **runtime.NAMES, **self.namespace}

    def statements(self, body):
        result = []
        for statement in body:
            changed = self.visit(statement)
            result.extend(changed if isinstance(changed, list) else [changed])
        return result

    # ------------------------------------------------------------ statements

    def visit_Expr(self, node):
        call = node.value
        if isinstance(call, ast.Call):
            target = resolve(self.source, call.func)
            if isinstance(target, CudaName) and target.path == "syncthreads":
                if not self.is_kernel:
                    self.refuse(call, "a barrier in a function that a kernel calls")
                return ast.copy_location(ast.Expr(ast.Yield(ast.Constant(False))), node)
            if isinstance(target, CudaName) and target.path in NO_EFFECT:
                return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_Return(self, node):
        if not self.has_barrier:
            return self.generic_visit(node)
        return [ast.copy_location(finished(), node), ast.copy_location(ast.Return(None), node)]

    def visit_If(self, node):
        return self.with_bodies(node)

    visit_For = visit_While = visit_With = visit_If

    def with_bodies(self, node):
        """A statement may become two, so bodies are rewritten as lists."""
        for field, value in ast.iter_fields(node):
            if field in ("body", "orelse"):
                setattr(node, field, self.statements(value))
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
        return node

    # ------------------------------------------------------------ expressions

    def visit_Attribute(self, node):
        target = resolve(self.source, node)
        if isinstance(target, CudaName):
            return ast.copy_location(self.position(node, target.path), node)
        return self.generic_visit(node)

    def position(self, node, path):
        if path in POSITIONS:
            return ast.Subscript(name("_at"), ast.Constant(POSITIONS[path]), ast.Load())
        if path == "laneid":
            return call("_lane", name("_at"))
        if path == "warpsize":
            return ast.Constant(32)
        self.refuse(node, f"cuda.{path}")

    def visit_Subscript(self, node):
        if not self.bounds_check or any(isinstance(n, ast.Slice) for n in ast.walk(node.slice)):
            return self.generic_visit(node)
        site = self.new_site(node)
        array = self.visit(node.value)
        if not isinstance(array, ast.Name):
            node.value, node.slice = array, self.visit(node.slice)
            return node  # image.shape[0] and the like: a tuple
        checked = self.checked(node, array, self.visit(node.slice), site)
        return ast.copy_location(ast.Subscript(array, checked, node.ctx), node)

    def checked(self, node, array, index, site):
        arguments = (copy.deepcopy(array), index, ast.Constant(site), name("_at"), name("_error"))
        for argument in arguments:
            if hasattr(argument, "ctx"):
                argument.ctx = ast.Load()
        return ast.copy_location(call("_inside", *arguments), node)

    def new_site(self, node):
        self.sites.append(Site(self.source, node))
        return len(self.sites) - 1

    def visit_Call(self, node):
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

    def cuda_call(self, node, path):
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

    def grid(self, node, path):
        dimensions = getattr(node.args[0], "value", None) if node.args else None
        if dimensions not in (1, 2, 3):
            self.refuse(node, f"cuda.{path} of anything but 1, 2 or 3")
        return call(f"_{path}{dimensions}", name("_at"))

    def array(self, node, arrays, prefix):
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        kind = node.args[1] if len(node.args) > 1 else named.get("dtype")
        expression = shape_argument(node)
        if kind is None or expression is None:
            self.refuse(node, "an array without a shape and a type")
        shape, dtype = self.shape(node, expression), dtype_of_type(self.constant(kind))
        if dtype is None:
            self.refuse(node, f"an array of type {ast.unparse(kind)}")
        if not self.is_kernel:
            if prefix == "_shared_":
                self.refuse(node, "a shared array made in a function that a kernel calls")
            self.allocates = True
            self.namespace[f"_dtype_{node.lineno}"] = dtype.type
            return call("_empty", ast.Constant(shape), name(f"_dtype_{node.lineno}"))
        arrays.append((shape, dtype))
        return name(f"{prefix}{len(arrays) - 1}")

    def shape(self, node, expression):
        parts = expression.elts if isinstance(expression, ast.Tuple) else [expression]
        for part in parts:
            problem = problem_of_size(self.source, part)
            if problem:
                raise NativeRefusal(
                    f"{self.place(node)}: the size `{ast.unparse(part)}` of an array {problem}"
                )
        shape = self.constant(expression)
        shape = tuple(shape) if isinstance(shape, tuple) else (shape,)
        if 0 in shape:
            self.refuse(node, "dynamic shared memory")
        return shape

    def constant(self, node):
        """Value of an expression of literals and names from outside the kernel."""
        local = {}
        for statement in ast.walk(self.source.tree):
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                local[statement.targets[0].id] = statement.value
        if isinstance(node, ast.Name) and node.id in local:
            node = local[node.id]
        expression = ast.Expression(copy.deepcopy(node))
        return eval(compile(ast.fix_missing_locations(expression), "<size>", "eval"), self.scope())

    def atomic(self, node, operation):
        if operation == "compare_and_swap":
            first = ast.Constant(0)
            node.args.insert(1, first)
            operation = "cas"
        if operation not in runtime.ATOMICS or len(node.args) < 3:
            self.refuse(node, f"cuda.atomic.{operation}")
        site = self.new_site(node)
        array, index, *values = [self.visit(argument) for argument in node.args]
        if self.bounds_check and isinstance(array, ast.Name):
            index = self.checked(node, array, index, site)
        return call(f"_atomic_{operation}", array, index, *values)

    # ------------------------------------------------------------ functions that a kernel calls

    def device_call(self, node, target):
        """Call the rewritten form of a function, if it has to be rewritten."""
        if callable(getattr(target, "emulation", None)):
            self.refuse(node, f"the raw instruction {ast.unparse(node.func)}")
        try:
            function = python_function(target)
            source = source_of_function(function)
        except InputError:
            return  # a builtin, or a function of the math module
        if function not in self.done:
            self.done[function] = self.rewritten(target, source)
        compiled = self.done[function]
        if compiled is None:
            return
        alias = f"_called_{function.__name__}_{len(self.namespace)}"
        self.namespace[alias] = compiled.function
        node.func = ast.copy_location(name(alias), node.func)
        if compiled.needs_position:
            node.args = [name("_at"), name("_error"), *node.args]

    def rewritten(self, target, source):
        if not touches_arrays_or_cuda(source):
            if isinstance(target, Dispatcher) or target is source.function:
                return None
            return Called(njit(**OPTIONS)(source.function), False)  # @cuda.jit(device=True)
        writer = Writer(source, self.bounds_check, self.sites, is_kernel=False, done=self.done)
        function = writer.compile()
        return Called(njit(**WITH_ALLOCATION if writer.allocates else OPTIONS)(function), True)

    # ------------------------------------------------------------ refusals

    def place(self, node):
        return f"{Path(self.source.filename).name}, line {node.lineno}"

    def refuse(self, node, what):
        raise NativeRefusal(
            f"{self.place(node)}: the native engine runs one thread after another and cannot do "
            f"{what}; use checked_run, which can"
        )


class Called:
    """A function for the CPU, and whether it wants to know which thread calls it."""

    def __init__(self, function, needs_position):
        self.function = function
        self.needs_position = needs_position


def touches_arrays_or_cuda(source):
    """Whether a function, or one that it calls, indexes something or uses `cuda`."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Subscript):
            return True
        if isinstance(node, (ast.Attribute, ast.Name)):
            if isinstance(resolve(source, node), CudaName):
                return True
        if isinstance(node, ast.Call):
            called = resolve(source, node.func)
            if called is MISSING or not callable(called) or isinstance(called, type):
                continue
            try:
                inner = source_of_function(python_function(called))
            except InputError:
                continue
            if inner.function is not source.function and touches_arrays_or_cuda(inner):
                return True
    return False


def has_barrier(source):
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            target = resolve(source, node.func)
            if isinstance(target, CudaName) and target.path == "syncthreads":
                return True
    return False


def name(text):
    return ast.Name(text, ast.Load())


def call(function, *arguments):
    return ast.Call(name(function), list(arguments), [])


def finished():
    return ast.Expr(ast.Yield(ast.Constant(True)))
