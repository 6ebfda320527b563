"""What the names of `numba.cuda` become."""

import ast
import copy
import inspect
import operator
from types import FunctionType
from typing import Any, NamedTuple, NoReturn

from numba.core import types

from ..compile_checks import problem_of_size, shape_argument
from ..frozen_globals import device_array
from ..names import ARGUMENT_NAMES, KNOWN_PATHS, VECTORS, type_of_numba
from ..source import Source, parts_of
from . import atomics, bits, half, vectors, warps
from .compiler import Part
from .meanings import ALIASES, constant_int
from .memory import LOCAL, SHARED, array_maker, element_type, outside_array
from .messages import NativeRefusal, place, refuse
from .program import NAMES, PREFIX, Program, call, thread, wait_call
from .thread import POSITIONS
from .vectors import vector_maker
from .waits import WAITS, waits_in


class ArrayType(NamedTuple):
    """What `cuda.shared.array` and `cuda.local.array` are told."""

    shape: tuple[int, ...]  # (0,) for dynamic shared memory
    element: types.Type | None  # None if it depends on an argument, as in `x.dtype`
    expression: ast.expr  # of the type


def array_type(source: Source, call: ast.Call, scope: dict[str, Any]) -> ArrayType:
    """What a call of an array maker asks for. scope: values of names. Raises `NativeRefusal`."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    kind = call.args[1] if len(call.args) > 1 else named.get("dtype")
    shape = shape_argument(call)
    if kind is None or shape is None:
        refuse(source, call, "an array without a shape and a type")
    sizes = shape_of(source, call, shape, scope)
    try:
        value = constant(source, kind, scope)
    except (NameError, AttributeError):  # of an argument: known when the kernel is compiled
        return ArrayType(sizes, None, kind)
    element = element_type(value)
    if element is None:
        refuse(source, call, f"an array of type {ast.unparse(kind)}")
    return ArrayType(sizes, element, kind)


def shape_of(
    source: Source, call: ast.Call, shape: ast.expr, scope: dict[str, Any]
) -> tuple[int, ...]:
    for size in parts_of(shape):
        if isinstance(size, ast.Name) and size.id in ALIASES.get(source.tree, {}):
            continue  # the caller has passed a number
        problem = problem_of_size(source, size)
        if problem:
            raise NativeRefusal(
                f"{place(source, call)}: the size `{ast.unparse(size)}` of an array {problem}"
            )
    value = constant(source, shape, scope)
    sizes = tuple(value) if isinstance(value, tuple) else (value,)
    if min(sizes, default=0) < 0:
        refuse(source, call, f"an array of {sizes}")
    return sizes


def constant(source: Source, node: ast.expr, scope: dict[str, Any]) -> Any:
    """Value of an expression of literals, names from outside, and local names for either."""
    passed = ALIASES.get(source.tree, {})
    scope = {**scope, **passed}
    if isinstance(node, ast.Name):
        node = assigned_in(source).get(node.id, node)
    if any(
        isinstance(part, ast.Name)
        and part.id in source.function.__code__.co_varnames
        and part.id not in passed
        for part in ast.walk(node)
    ):
        raise NameError(f"{ast.unparse(node)} is known only when the kernel runs")
    expression = ast.Expression(copy.deepcopy(node))
    return eval(compile(ast.fix_missing_locations(expression), "<size>", "eval"), scope)


def assigned_in(source: Source) -> dict[str, ast.expr]:
    """What a function last assigns to each of its variables."""
    assigned: dict[str, ast.expr] = {}
    for statement in ast.walk(source.tree):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            assigned[statement.targets[0].id] = statement.value
    return assigned


# ---------------------------------------------------------------- calls


class Rewriting(ast.NodeTransformer):
    """What is known of a function while it is rewritten."""

    def __init__(self, source: Source, program: Program, is_kernel: bool) -> None:
        self.source = source
        self.program = program
        self.is_kernel = is_kernel
        self.waits = waits_in(source)
        self.namespace: dict[str, object] = {}  # what the rewritten text needs to find

    def scope(self) -> dict[str, Any]:
        function = self.source.function
        closure = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}
        return {**function.__globals__, **closure, **NAMES, **self.namespace}

    def refuse(self, node: ast.expr | ast.stmt, what: str) -> NoReturn:
        refuse(self.source, node, what)


NO_EFFECT = ("threadfence", "threadfence_block", "threadfence_system", "nanosleep")
LOADS = ("ldca", "ldcg", "ldcs", "ldlu", "ldcv")  # with a hint for the cache
STORES = ("stcg", "stcs", "stwb", "stwt")
INDEXING = (operator.getitem, operator.setitem, operator.delitem)
FULL_MASK = ast.Constant(warps.FULL)


def value(writer: Rewriting, node: ast.expr, path: str) -> ast.expr:
    """A name that is not called, such as `cuda.threadIdx.x`."""
    if path in POSITIONS:
        return ast.Subscript(thread(), ast.Constant(POSITIONS[path]), ast.Load())
    if path == "laneid":
        return call("lane", thread())
    if path == "warpsize":
        return ast.Constant(32)
    if f"{path}.x" in POSITIONS:
        return call("dim3", thread(), ast.Constant(POSITIONS[f"{path}.x"]))
    writer.refuse(node, f"anything with cuda.{path} but to call it")


def rewritten(writer: Rewriting, node: ast.Call, path: str) -> ast.expr:
    """A call."""
    node = by_position(node, path)
    if path in ("grid", "gridsize"):
        dimensions = constant_int(writer.source, node.args[0]) if node.args else None
        if dimensions not in (1, 2, 3):
            writer.refuse(node, f"cuda.{path} of anything but 1, 2 or 3")
        return call(f"{path}{dimensions}", thread())
    if path in ("shared.array", "local.array"):
        return array(writer, node, SHARED if path == "shared.array" else LOCAL)
    if path == "const.array_like" and len(node.args) == 1:
        return writer.visit(node.args[0])
    if path.startswith("atomic."):
        return atomic(writer, node, path.split(".")[1])
    if path in NO_EFFECT:
        return ast.Constant(None)
    if path in bits.FUNCTIONS and not node.keywords:
        return call(path, *[writer.visit(argument) for argument in node.args])
    if path == "lanemask_lt":
        return call("lanes_below", thread())
    if path in WAITS:
        return waiting(writer, node, path)
    if path in LOADS and len(node.args) == 2 and not node.keywords:
        return writer.visit(element(node, ast.Load()))
    if path in VECTORS and not node.keywords:
        values = [writer.visit(argument) for argument in node.args]
        made = ast.Tuple(values, ast.Load())
        return ast.Call(named(writer, vector_maker(path)), [made], [])
    if path.startswith("fp16.") and path in KNOWN_PATHS and not node.keywords:
        return of_halves(writer, node, path.split(".")[1])
    if path.startswith("bf16."):
        writer.refuse(node, f"cuda.{path}: Numba has no bfloat16 for a CPU; checked_run knows it")
    if path.startswith("libdevice.") and path in KNOWN_PATHS:
        return of_device_library(writer, node, path.split(".")[1])
    writer.refuse(node, f"cuda.{path}")


def from_outside(writer: Rewriting, node: ast.expr, value: object) -> ast.expr | None:
    """What stands for a type, or for a GPU's array, that a kernel knows by a name from outside.

    None for other values. Refuses a function that would use an index at which nothing looks.
    """
    if any(value is function for function in INDEXING):
        writer.refuse(node, f"`{ast.unparse(node)}`: write array[index] instead")
    memory, kind = device_array(value), type_of_numba(value)
    if memory is not None:
        made = ast.Call(named(writer, outside_array(memory)), [], [])
        return ast.copy_location(made, node)
    if kind is None:
        return None
    alias = f"{PREFIX}type_{kind}"
    writer.namespace[alias] = kind
    return ast.copy_location(ast.Name(alias, ast.Load()), node)


def by_position(node: ast.Call, path: str) -> ast.Call:
    """A call whose arguments are all given by position, as far as that is possible."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    names = ARGUMENT_NAMES.get(path, ())[len(node.args) :]
    if "array" in path or set(given) != set(names):
        return node
    arguments = [*node.args, *(given[name] for name in names)]
    return ast.copy_location(ast.Call(node.func, arguments, []), node)


def array(writer: Rewriting, node: ast.Call, space: int) -> ast.expr:
    found = array_type(writer.source, node, writer.scope())
    short_lived = space == LOCAL and not writer.waits and not writer.is_kernel
    maker = array_maker(writer.program.layout, space, found.shape, found.element, short_lived)
    alias = f"{PREFIX}array_{len(writer.namespace)}"
    writer.namespace[alias] = maker
    passed: list[ast.expr] = [thread()]
    if found.element is None:
        passed.append(writer.visit(found.expression))
    return ast.Call(ast.Name(alias, ast.Load()), passed, [])


def element(node: ast.Call, context: ast.expr_context) -> ast.Subscript:
    """The element that a load or store with a hint for the cache names."""
    return ast.copy_location(ast.Subscript(node.args[0], node.args[1], context), node)


def named(writer: Rewriting, value: object) -> ast.Name:
    """A name for an object that the rewritten function needs."""
    alias = f"{PREFIX}object_{len(writer.namespace)}"
    writer.namespace[alias] = value
    return ast.Name(alias, ast.Load())


def of_device_library(writer: Rewriting, node: ast.Call, name: str) -> ast.expr:
    given, results = vectors.types_of(name)
    if len(node.args) != len(given) or node.keywords:
        writer.refuse(node, f"cuda.libdevice.{name} of {len(node.args)} numbers")
    passed: list[ast.expr] = [
        ast.Call(named(writer, kind), [writer.visit(argument)], [])
        for kind, argument in zip(given, node.args, strict=True)
    ]
    function = vectors.by_math(name) or vectors.by_bits(name)
    if function:
        found = ast.Call(named(writer, function), [*passed], [])
        return ast.Call(named(writer, results[0]), [found], [])
    found_all = [
        ast.Call(named(writer, vectors.by_numpy(name, number)), copy.deepcopy(passed), [])
        for number in range(len(results))
    ]
    return found_all[0] if len(results) == 1 else ast.Tuple([*found_all], ast.Load())


def of_halves(writer: Rewriting, node: ast.Call, name: str) -> ast.expr:
    """A function of `cuda.fp16`: computed in single precision, and rounded."""
    function = half.COMPARISONS.get(name) or half.FUNCTIONS[name]
    if isinstance(function, FunctionType):
        function = writer.program.parts.setdefault((function, ()), Part(function))
    halved = [call("halved", writer.visit(argument)) for argument in node.args]
    found = ast.Call(named(writer, function), [*halved], [])
    return found if name in half.COMPARISONS else call("as_half", found)


def atomic(writer: Rewriting, node: ast.Call, operation: str) -> ast.expr:
    if operation == "compare_and_swap":
        node.args.insert(1, ast.Constant(0))  # it always works on the first element
        operation = "cas"
    if operation not in atomics.ATOMICS or len(node.args) < 3 or node.keywords:
        writer.refuse(node, f"cuda.atomic.{operation}")
    site = writer.program.site(writer.source, node, ast.unparse(node.args[0]))
    if not writer.program.bounds_check:
        site = ast.Constant(None)
    arguments = [writer.visit(argument) for argument in node.args]
    return call(f"atomic_{operation}", *arguments, site, thread())


def waiting(writer: Rewriting, node: ast.Call, path: str) -> ast.expr:
    """A wait for other threads, and what is then known of them."""
    if node.keywords:
        writer.refuse(node, f"cuda.{path} with arguments by name")
    arguments = [writer.visit(argument) for argument in node.args]
    code = wait_call(WAITS[path])
    if path in ("syncthreads", "grid_group.sync"):
        return code
    if path in warps.VOTES_OF_A_BLOCK:
        return call(path, thread(), call("vote", thread(), *arguments), code)

    def offer(mask: ast.expr, offered: ast.expr) -> ast.expr:
        site = writer.program.site(writer.source, node, f"cuda.{path}")
        return call("offer", thread(), site, mask, offered)

    none = ast.Constant(0)
    if path == "syncwarp":
        return call(
            "group_of", thread(), offer(arguments[0] if arguments else FULL_MASK, none), code
        )
    if path == "activemask":
        return call("group_of", thread(), offer(FULL_MASK, none), code)
    if path in warps.SHUFFLES:
        mask, offered, lane = arguments
        return call(path, thread(), lane, offer(mask, offered), code)
    mask, offered = arguments
    if path in warps.VOTES_OF_A_WARP:
        return call(path, thread(), offer(mask, call("truth", offered)), code)
    if path == "match_any_sync":
        return call("same_value", thread(), offer(mask, offered), code)
    return call("all_same", thread(), offer(mask, offered), code)  # match_all_sync
