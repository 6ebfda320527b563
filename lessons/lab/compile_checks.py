"""Find, before anything runs, what Python would run and a GPU compiler would refuse.

These checks read the syntax tree of a kernel and of every function it calls, so they see the paths
that a test does not take. What depends on types is found while the kernel runs.
"""

import ast

import numpy as np

from lessons.lab.names import CudaName, resolve
from lessons.lab.numba_types import MATH, dtype_of_type
from lessons.lab.source import MISSING, python_function, source_of_function

REFUSED = {
    ast.ListComp: "a comprehension builds a list, which kernels do not have: write a loop",
    ast.SetComp: "a comprehension builds a set, which kernels do not have: write a loop",
    ast.DictComp: "a comprehension builds a dict, which kernels do not have: write a loop",
    ast.GeneratorExp: "generators do not exist in kernels: write a loop",
    ast.List: "lists do not exist in kernels: use a tuple, or cuda.local.array",
    ast.Dict: "dicts do not exist in kernels",
    ast.Set: "sets do not exist in kernels",
    ast.JoinedStr: "strings cannot be made in kernels",
    ast.Lambda: "move this out of the kernel and mark it @cuda.jit(device=True)",
    ast.FunctionDef: "move this function out of the kernel and mark it @cuda.jit(device=True)",
    ast.ClassDef: "classes cannot be defined in kernels",
    ast.Try: "exceptions cannot be caught in kernels: test for the case with an if",
    ast.With: "`with` does not exist in kernels",
    ast.Import: "import at the top of the file, not in the kernel",
    ast.ImportFrom: "import at the top of the file, not in the kernel",
    ast.Yield: "a kernel cannot yield",
    ast.YieldFrom: "a kernel cannot yield",
    ast.Await: "a kernel cannot await",
    ast.Global: "a kernel cannot change a module's variables: pass an array and write to it",
    ast.Nonlocal: "a kernel cannot change variables outside: pass an array and write to it",
    ast.Delete: "`del` does not exist in kernels",
    ast.Starred: "a starred name cannot be compiled for a GPU: write each value",
}
ARRAY_MAKERS = ("shared.array", "local.array")


def check_compiles(source, report, seen=None):
    """Add a `compile` finding for everything in a function, and those it calls, that is refused."""
    seen = seen if seen is not None else set()
    if source.function in seen:
        return
    seen.add(source.function)
    for node in ast.walk(ast.Module(body=source.tree.body, type_ignores=[])):
        message = REFUSED.get(type(node))
        if message and not is_unpacking_target(node):
            add(report, source, node, message)
        if isinstance(node, ast.Call):
            check_call(source, node, report, seen)


def is_unpacking_target(node):
    return isinstance(node, ast.List) and isinstance(node.ctx, ast.Store)


def add(report, source, node, message):
    if source.function is not report.source.function:
        message = f"in {source.function.__name__}: {message}"
    report.add(
        "compile", node.lineno, message, None if source is report.source else source.filename
    )


def check_call(source, node, report, seen):
    function = resolve(source, node.func)
    if isinstance(function, CudaName):
        if function.path in ARRAY_MAKERS:
            check_shape(source, node, report)
        return
    if is_numpy_function(function):
        text = ast.unparse(node.func)
        name = getattr(function, "__name__", "")
        twin = (
            f"write math.{name}"
            if name in {f.__name__ for f in MATH} - {"abs"}
            else ("use a loop, and cuda.local.array for small arrays")
        )
        add(
            report,
            source,
            node,
            f"`{text}` is a NumPy call, and kernels compile without NumPy: {twin}",
        )
        return
    if function is MISSING or not callable(function) or isinstance(function, type):
        return
    if dtype_of_type(function) is not None or callable(getattr(function, "emulation", None)):
        return
    try:
        called = source_of_function(python_function(function))
    except Exception:  # a builtin or a function of the math module: no source to look into
        return
    check_compiles(called, report, seen)


def is_numpy_function(function):
    if isinstance(function, type):  # np.float32 and its like are types, and fine
        return function is np.ndarray
    if type(function) is np.ufunc:
        return True
    return callable(function) and str(getattr(function, "__module__", "")).split(".")[0] == "numpy"


# ---------------------------------------------------------------- the shape of an array


def check_shape(source, call, report):
    """Numba needs numbers here, or plain names for numbers; Python would take anything."""
    shape = shape_argument(call)
    if shape is None:
        return
    parts = shape.elts if isinstance(shape, ast.Tuple) else [shape]
    for part in parts:
        problem = problem_of_size(source, part)
        if problem:
            add(report, source, part, f"the size `{ast.unparse(part)}` of an array {problem}")


def shape_argument(call):
    """The syntax tree of an array's shape, given by position or by name; None if it is missing."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "shape"]
    return next(iter([*call.args[:1], *named]), None)


def problem_of_size(source, node):
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


def problem_of_name(source, name):
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


def problem_of_local(source, name):
    """A local name is fine if it is assigned once, to a number or to a name for one."""
    assigned = [
        node.value
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign) and name in [ast.unparse(t) for t in node.targets]
    ]
    if len(assigned) == 1:
        value = assigned[0]
        if isinstance(value, ast.Tuple):
            return next(filter(None, (problem_of_size(source, part) for part in value.elts)), None)
        return problem_of_size(source, value)
    return "is known only when the kernel runs; give it a module-level name with a number"
