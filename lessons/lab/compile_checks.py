"""Our rules: what Numba refuses, seen in the syntax tree."""

import ast
import functools
import inspect
import random
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import NamedTuple

import numpy as np
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.core.typing.templates import builtin_registry

from .compile_words import (
    DIM3,
    did_you_mean,
    is_numpy_function,
    names,
    no_random,
    numpy_message,
    refusal_of_value,
    there_is_no,
)
from .names import CudaName, is_known, object_at, resolve
from .numba_types import COMPILED_NUMPY
from .overloads import templates_of
from .source import (
    MISSING,
    Source,
    called_source,
    is_raw_instruction,
    names_given_in,
    parts_of,
    python_function,
)


class Refusal(NamedTuple):
    """One thing that a GPU compiler would not take: where it is, and what to write instead."""

    filename: str
    line: int
    message: str
    last_line: int  # of what is refused


POSITIONS = ("threadIdx", "blockIdx", "blockDim", "gridDim")
Problem = tuple[ast.expr | ast.stmt, str]
MODULES_OF_NUMBA_CUDA = ("fp16", "bf16", "libdevice")  # classes in Numba without numba-cuda
NUMBAS = ("numba", "numba_cuda", "numba_cuda_mlir")  # packages
ATOMIC_KINDS = {"inc": "u", "dec": "u", "cas": "iu", "exch": "iu"}
ATOMIC_KINDS |= {"and_": "iu", "or_": "iu", "xor": "iu", "compare_and_swap": "iu"}


def compile_refusals(kernel: Source, arguments: Sequence[object]) -> Iterator[Refusal]:
    """What is refused in a kernel and in what it calls, also on paths that nobody takes.

    First by what stands there, then by what the names stand for.
    """
    reached = sources_reached(kernel)
    found = [(source, *problem) for source in reached for problem in refusals_in(source)]
    for source in reached:
        own = problems_of_kernel(kernel, arguments) if source is kernel else ()
        found += [(source, *problem) for problem in (*problems_in(source), *own)]
    for source, node, message in found:
        if source.function is not kernel.function:
            if isinstance(node, ast.Name) and is_parameter(source, node.id):
                continue  # a size: Numba takes it where each call gives a number
            message = f"in {source.function.__name__}: {message}"
        yield Refusal(source.filename, node.lineno, message, node.end_lineno or node.lineno)


def problems_in(source: Source) -> Iterator[Problem]:
    yield from problems_of_names(source)
    for call in calls_in(source):
        yield from problems_of_call(source, call)
    for node in nodes_in(source.tree):
        if isinstance(node, ast.Subscript):
            yield from problems_of_index(node)


# ---------------------------------------------------------------- names


def problems_of_names(source: Source) -> Iterator[Problem]:
    own = inner_names(source)
    for node in nodes_in(source.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
            value = source.lookup(node.id)
            if value is MISSING:
                yield node, f"the name `{node.id}` is not defined{meant(node.id, source)}"
            elif isinstance(value, type) and is_numbas_own(resolve(source, node), value):
                yield node, refusal_of_value(node.id, value)
        if isinstance(node, ast.Attribute):
            found = resolve(source, node)
            if isinstance(found, CudaName) and found.path and is_missing(found.path):
                yield node, there_is_no(found.path)


def is_numbas_own(found: object, value: object) -> bool:
    """Whether a name stands for a class of `numba.cuda`, such as `threadIdx`."""
    if not isinstance(found, CudaName) or found.path in MODULES_OF_NUMBA_CUDA:
        return False
    return object_at(found.path) is value


def meant(name: str, source: Source) -> str:
    return did_you_mean(name, names(source))


def inner_names(source: Source) -> set[str]:
    """All names that are assigned somewhere in a function, or in functions within it."""
    code = source.function.__code__
    own = {*code.co_varnames, *code.co_cellvars}
    for node in nodes_in(source.tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            own.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            own.add(node.name)
        elif isinstance(node, ast.arg):
            own.add(node.arg)
    return own


def is_missing(path: str) -> bool:
    """Whether cuda has no such name, though it has what the name is looked up in."""
    owner, _, _ = path.rpartition(".")
    if is_known(path) or object_at(path) is not None:
        return False
    return not owner or owner in ("atomic", "shared", "local", "const", "cg")


# ---------------------------------------------------------------- calls


def problems_of_call(source: Source, call: ast.Call) -> Iterator[Problem]:
    function = resolve(source, call.func)
    if isinstance(getattr(function, "__self__", None), (random.Random, np.random.RandomState)):
        yield call, no_random(ast.unparse(call.func))
    elif isinstance(function, CudaName) and function.path in POSITIONS:
        yield call, DIM3
    elif isinstance(function, FunctionType) and templates_of(function):
        return  # it depends on the types
    elif isinstance(function, FunctionType) and not is_compiled(function):
        yield call, refusal_of_value(ast.unparse(call.func), function)
    elif hasattr(function, "py_func") or isinstance(function, FunctionType):
        problem = problem_of_arguments(call, python_function(function))
        if problem:
            yield call, problem
    elif isinstance(vars(type(function)).get("__call__"), FunctionType):
        if not has_type(function):
            yield call, refusal_of_value(ast.unparse(call.func), function)


def has_type(value: object) -> bool:
    """Whether Numba knows an object of a Python class that can be called, and compiles the call."""
    if is_raw_instruction(value) or type(value).__module__.split(".")[0] in NUMBAS:
        return True
    try:
        cpu_target.typing_context.resolve_value_type(value)
    except (ValueError, NumbaError):
        return False
    return True


@functools.lru_cache(maxsize=1024)
def is_compiled(function: Callable) -> bool:
    """Whether Numba compiles a plain function: those that are registered, as `register_jitable`."""
    if is_numpy_function(function) or is_raw_instruction(function):
        return True
    if (function.__module__ or "").split(".")[0] in NUMBAS:
        return True
    return any(known is function for known, _ in builtin_registry.globals)


def problem_of_arguments(call: ast.Call, function: FunctionType) -> str | None:
    """Why a device function does not take the arguments of a call."""
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    keywords = {keyword.arg: None for keyword in call.keywords if keyword.arg}
    if len(keywords) < len(call.keywords):
        return None
    signature = inspect.signature(function)
    try:
        signature.bind(*call.args, **keywords)
    except TypeError as error:
        return f"{function.__name__}{signature}: {error}"
    return None


# ---------------------------------------------------------------- indices


def problems_of_index(node: ast.Subscript) -> Iterator[Problem]:
    for part in parts_of(node.slice):
        is_float = isinstance(part, ast.Constant) and isinstance(part.value, float)
        if is_float or (isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div)):
            text = ast.unparse(part)
            yield part, f"an index must be a whole number, and `{text}` is not: write //, or int()"


# ---------------------------------------------------------------- the kernel's own arguments


def problems_of_kernel(kernel: Source, arguments: Sequence[object]) -> Iterator[Problem]:
    assigned = names_given_in(kernel.tree)
    given = dict(zip(kernel.parameters, arguments, strict=False))
    known = {name: value for name, value in given.items() if name not in assigned}
    for node in own_nodes(kernel.tree):
        if isinstance(node, ast.Return) and not is_none(node.value):
            yield node, "a kernel cannot return a value; write it to an array"
        elif isinstance(node, ast.Subscript):
            yield from problems_of_dimensions(node, known)
        elif isinstance(node, ast.Call):
            yield from problems_of_atomic(kernel, node, known)


def is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def own_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions within it."""
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, (ast.FunctionDef, ast.Lambda)):
            yield child
            yield from own_nodes(child)


def problems_of_dimensions(node: ast.Subscript, known: dict[str, object]) -> Iterator[Problem]:
    array = known.get(node.value.id) if isinstance(node.value, ast.Name) else None
    if not isinstance(array, np.ndarray):
        return
    parts = parts_of(node.slice)
    extra = sum(isinstance(p, ast.Constant) and p.value in (None, Ellipsis) for p in parts)
    if len(parts) - extra > array.ndim:
        text, plural = ast.unparse(node.value), "s" * (array.ndim != 1)
        yield (
            node,
            f"`{text}` has {array.ndim} dimension{plural}, and is given {len(parts)} indices",
        )
    elif not array.flags.writeable and isinstance(node.ctx, ast.Store):
        yield node, "this array is read-only: pass a copy of it"


def problems_of_atomic(
    kernel: Source, call: ast.Call, known: dict[str, object]
) -> Iterator[Problem]:
    function = resolve(kernel, call.func)
    if not isinstance(function, CudaName) or not function.path.startswith("atomic."):
        return
    first = call.args[0] if call.args else None
    array = known.get(first.id) if isinstance(first, ast.Name) else None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iufb":
        return
    kinds = ATOMIC_KINDS.get(function.path.partition(".")[2], "iuf")
    if array.dtype.kind not in kinds or array.itemsize not in (4, 8):
        wanted = "uint32 or uint64" if kinds == "u" else "int32, int64 or their unsigned kin"
        wanted += ", float32 or float64" if "f" in kinds else ""
        yield (
            call,
            f"cuda.{function.path} does not take an array of {array.dtype}; it takes {wanted}",
        )


# ---------------------------------------------------------------- statements


REFUSED = {
    ast.ListComp: "a comprehension builds a list, which kernels do not have: write a loop",
    ast.SetComp: "a comprehension builds a set, which kernels do not have: write a loop",
    ast.DictComp: "a comprehension builds a dict, which kernels do not have: write a loop",
    ast.GeneratorExp: "generators do not exist in kernels: write a loop",
    ast.List: "lists do not exist in kernels: use a tuple, or cuda.local.array",
    ast.Dict: "dicts do not exist in kernels: use an array, or a chain of ifs",
    ast.Set: "sets do not exist in kernels",
    ast.JoinedStr: "strings cannot be made in kernels",
    ast.ClassDef: "classes cannot be defined in kernels",
    ast.Try: "exceptions cannot be caught in kernels: test for the case with an if",
    ast.With: "`with` does not exist in kernels",
    ast.Import: "import at the top of the file, not in the kernel",
    ast.ImportFrom: "import at the top of the file, not in the kernel",
    ast.Yield: "a kernel cannot yield: write to an array",
    ast.YieldFrom: "a kernel cannot yield: write to an array",
    ast.Await: "a kernel cannot await",
    ast.Delete: "`del` does not exist in kernels",
}
ARRAY_MAKERS = ("shared.array", "local.array")


def is_parameter(source: Source, name: str) -> bool:
    return name in inspect.signature(source.function).parameters


def sources_reached(kernel: Source) -> list[Source]:
    """The kernel, and each function that it calls, directly or through others."""
    reached: list[Source] = []
    waiting = [kernel]
    while waiting:
        source = waiting.pop(0)
        if source in reached:
            continue
        reached.append(source)
        for call in calls_in(source):
            function = resolve(source, call.func)
            called = None if is_numpy_function(function) else called_source(function)
            if called:
                waiting.append(called)
    return reached


def calls_in(source: Source) -> Iterator[ast.Call]:
    return (node for node in nodes_in(source.tree) if isinstance(node, ast.Call))


@functools.lru_cache(maxsize=1024)
def nodes_in(tree: ast.FunctionDef) -> list[ast.AST]:
    """Every node of a function's body, without its decorators and arguments."""
    return list(ast.walk(ast.Module(body=tree.body, type_ignores=[])))


def refusals_in(source: Source) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """(node, message) of each refusal in one function."""
    fine = harmless_parts(source)
    for node in nodes_in(source.tree):
        if isinstance(node, (ast.expr, ast.stmt)) and node not in fine:
            message = REFUSED.get(type(node)) or problem_of_statement(node)
            if message:
                yield node, message
        if isinstance(node, ast.Call):
            yield from refusals_of_call(source, node)


def harmless_parts(source: Source) -> set[ast.AST]:
    """Lists that the compiler makes no list of: names to unpack into, and what a loop goes over."""
    fine: set[ast.AST] = set()
    for node in nodes_in(source.tree):
        if isinstance(node, ast.List) and isinstance(node.ctx, ast.Store):
            fine.add(node)
        elif isinstance(node, ast.For):
            fine.add(node.iter)
        elif isinstance(node, ast.Compare):
            fine.update(node.comparators)
    return fine


def problem_of_statement(node: ast.AST) -> str | None:
    """Why a statement of an ordinary kind is refused; None if it is not."""
    if isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Store):
        return "a starred name cannot be compiled for a GPU: write each value"
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.MatMult):
        return "`@` multiplies whole matrices on the CPU, and a kernel cannot: write the loop"
    if isinstance(node, ast.Raise) and node.cause is not None:
        return "`raise ... from` does not exist in kernels: leave out the cause"
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        return problem_of_exception(node.exc.args)
    if isinstance(node, ast.Assert) and node.msg is not None:
        return problem_of_exception([node.msg])
    return None


def problem_of_exception(arguments: list[ast.expr]) -> str | None:
    if all(isinstance(argument, ast.Constant) for argument in arguments):
        return None
    return "what an exception says must be constant, such as a text in quotes"


def refusals_of_call(source: Source, call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    function = resolve(source, meaning(source, call.func))
    if isinstance(function, CudaName) and function.path in ARRAY_MAKERS:
        yield from refusals_of_shape(source, call)
    elif is_numpy_function(function) and function not in COMPILED_NUMPY:
        yield call, numpy_message(function, ast.unparse(call.func))


def meaning(source: Source, node: ast.expr) -> ast.expr:
    """What a local name is assigned, if that is done once, as in `root = np.sqrt`."""
    if isinstance(node, ast.Name) and node.id in source.function.__code__.co_varnames:
        assigned = values_of(source, node.id)
        return assigned[0] if len(assigned) == 1 else node
    return node


def values_of(source: Source, name: str) -> list[ast.expr]:
    return [
        node.value
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign) and name in [ast.unparse(target) for target in node.targets]
    ]


def refusals_of_shape(source: Source, call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    """Numba needs numbers here, or plain names for numbers; Python would take anything."""
    shape = shape_argument(call)
    if shape is None:
        return
    for size in parts_of(shape):
        problem = problem_of_size(source, size)
        if problem:
            yield size, f"the size `{ast.unparse(size)}` of an array {problem}"


def shape_argument(call: ast.Call) -> ast.expr | None:
    """The syntax tree of an array's shape, given by position or by name; None if it is missing."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "shape"]
    given = [*call.args[:1], *named]
    return given[0] if given else None


def problem_of_size(source: Source, node: ast.expr) -> str | None:
    """Why Numba would not take this as the size of an array; None if it does."""
    if isinstance(node, ast.Constant):
        return None if isinstance(node.value, int) else "must be a whole number"
    if isinstance(node, ast.Name):
        return problem_of_name(source, node.id)
    if isinstance(node, ast.BinOp) and all(
        isinstance(n, ast.Constant) for n in (node.left, node.right)
    ):
        return None  # 16 * 2 is folded by Python itself
    return (
        "is computed inside the kernel, and Numba must know it before: give it a module-level "
        "name, such as TILE_PITCH = TILE + 1, and use that"
    )


def problem_of_name(source: Source, name: str) -> str | None:
    if name in source.function.__code__.co_varnames:
        return problem_of_local(source, name)
    value = source.lookup(name)
    if value is MISSING:
        return "is not defined"
    if isinstance(value, tuple) and all(type(item) is int for item in value):
        return None
    if type(value) is not int:
        kind = type(value).__name__
        return f"is a {kind}; Numba takes only a plain int here: write int(...) where it is defined"
    return None


def problem_of_local(source: Source, name: str) -> str | None:
    """A local name is fine if it is assigned once, to a number or to a name for one."""
    assigned = values_of(source, name)
    if len(assigned) == 1:
        problems = [problem_of_size(source, size) for size in parts_of(assigned[0])]
        return next((problem for problem in problems if problem), None)
    return "is known only when the kernel runs; give it a module-level name with a number"
