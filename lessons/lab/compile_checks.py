"""Find, before anything runs, what Python would run and a GPU compiler would refuse.

These checks read the syntax tree of a kernel and of every function it calls, so they see the paths
that a test does not take. What depends on types is found while the kernel runs.
"""

import ast
import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .names import CudaName, resolve
from .numba_types import COMPILED_NUMPY, INSTEAD_OF_NUMPY, name_of_math
from .source import MISSING, Source, called_source

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


class Refusal(NamedTuple):
    """One thing that a GPU compiler would not take: where it is, and what to write instead."""

    filename: str
    line: int
    message: str
    last_line: int  # of what is refused


def compile_refusals(kernel: Source) -> Iterator[Refusal]:
    """Everything that is refused in a kernel, then in the functions it calls."""
    for source in sources_reached(kernel):
        for node, message in refusals_in(source):
            if source.function is not kernel.function:
                message = f"in {source.function.__name__}: {message}"
            last_line = node.end_lineno or node.lineno
            yield Refusal(source.filename, node.lineno, message, last_line)


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
    function = resolve(source, call.func)
    if isinstance(function, CudaName) and function.path in ARRAY_MAKERS:
        yield from refusals_of_shape(source, call)
    elif is_numpy_function(function) and function not in COMPILED_NUMPY:
        yield call, numpy_message(function, ast.unparse(call.func))


def numpy_message(function: object, text: str) -> str:
    """Of a function of NumPy that a kernel calls as `text`."""
    advice = "use a loop, and cuda.local.array for small arrays"
    if function in INSTEAD_OF_NUMPY:
        advice = f"write {name_of_math(INSTEAD_OF_NUMPY[function])}"
    return f"`{text}` is a NumPy call that Numba does not compile for a GPU: {advice}"


def is_numpy_function(function: object) -> bool:
    if isinstance(function, type):  # np.float32 and its like are types, and fine
        return function is np.ndarray
    if type(function) is np.ufunc:
        return True
    return callable(function) and str(getattr(function, "__module__", "")).split(".")[0] == "numpy"


# ---------------------------------------------------------------- the shape of an array


def refusals_of_shape(source: Source, call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    """Numba needs numbers here, or plain names for numbers; Python would take anything."""
    shape = shape_argument(call)
    if shape is None:
        return
    for size in sizes_of(shape):
        problem = problem_of_size(source, size)
        if problem:
            yield size, f"the size `{ast.unparse(size)}` of an array {problem}"


def sizes_of(shape: ast.expr) -> list[ast.expr]:
    return shape.elts if isinstance(shape, ast.Tuple) else [shape]


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
    assigned = [
        node.value
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign) and name in [ast.unparse(target) for target in node.targets]
    ]
    if len(assigned) == 1:
        problems = [problem_of_size(source, size) for size in sizes_of(assigned[0])]
        return next((problem for problem in problems if problem), None)
    return "is known only when the kernel runs; give it a module-level name with a number"
