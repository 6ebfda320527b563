"""Rules about names, calls and indices, which stand in for Numba's compiler where there is none."""

import ast
import functools
import inspect
import random
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType

import numpy as np
from numba.core.typing.templates import builtin_registry

from .compile_checks import Refusal, calls_in, is_numpy_function, nodes_in, sources_reached
from .names import CudaName, is_known, object_at, resolve
from .refusals import DIM3, did_you_mean, names, no_random, refusal_of_value, there_is_no
from .source import MISSING, Source, is_raw_instruction, python_function

POSITIONS = ("threadIdx", "blockIdx", "blockDim", "gridDim")
Problem = tuple[ast.expr | ast.stmt, str]
ATOMIC_KINDS = {"inc": "u", "dec": "u", "cas": "iu", "exch": "iu"}
ATOMIC_KINDS |= {"and_": "iu", "or_": "iu", "xor": "iu", "compare_and_swap": "iu"}


def name_refusals(kernel: Source, arguments: Sequence[object]) -> Iterator[Refusal]:
    """What is refused in a kernel and in what it calls, also on paths that nobody takes."""
    problems = list(problems_of_kernel(kernel, arguments))
    for source in sources_reached(kernel):
        found = [*problems_in(source), *(problems if source.function is kernel.function else [])]
        for node, message in found:
            if source.function is not kernel.function:
                message = f"in {source.function.__name__}: {message}"
            last_line = node.end_lineno or node.lineno
            yield Refusal(source.filename, node.lineno, message, last_line)


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
    return isinstance(found, CudaName) and object_at(found.path) is value


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
    elif isinstance(function, FunctionType) and not is_compiled(function):
        yield call, refusal_of_value(ast.unparse(call.func), function)
    elif hasattr(function, "py_func") or isinstance(function, FunctionType):
        problem = problem_of_arguments(call, python_function(function))
        if problem:
            yield call, problem


@functools.lru_cache(maxsize=1024)
def is_compiled(function: Callable) -> bool:
    """Whether Numba compiles a plain function: those that are registered, as `register_jitable`."""
    if is_numpy_function(function) or is_raw_instruction(function):
        return True
    if (function.__module__ or "").split(".")[0] in ("numba", "numba_cuda", "numba_cuda_mlir"):
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
    for part in parts_of_index(node):
        is_float = isinstance(part, ast.Constant) and isinstance(part.value, float)
        if is_float or (isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div)):
            text = ast.unparse(part)
            yield part, f"an index must be a whole number, and `{text}` is not: write //, or int()"


def parts_of_index(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


# ---------------------------------------------------------------- the kernel's own arguments


def problems_of_kernel(kernel: Source, arguments: Sequence[object]) -> Iterator[Problem]:
    assigned = {n.id for n in nodes_in(kernel.tree) if isinstance(n, ast.Name) and is_store(n)}
    parameters = [argument.arg for argument in kernel.tree.args.args]
    given = dict(zip(parameters, arguments, strict=False))
    known = {name: value for name, value in given.items() if name not in assigned}
    for node in own_nodes(kernel.tree):
        if isinstance(node, ast.Return) and not is_none(node.value):
            yield node, "a kernel cannot return a value; write it to an array"
        elif isinstance(node, ast.Subscript):
            yield from problems_of_dimensions(node, known)
        elif isinstance(node, ast.Call):
            yield from problems_of_atomic(kernel, node, known)


def is_store(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


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
    parts = parts_of_index(node)
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
