"""What the names in a function stand for, and what can be said of a function from that."""

import ast
import copy
import math
from collections.abc import Iterator

from numba.core import types

from ..compile_checks import is_numpy_function
from ..names import CudaName, below, resolve
from ..source import MISSING, Source, called_source, names_in, parts_of
from .thread import POSITIONS

# Names that are numbers: a variable that is assigned one is a variable.
NUMBERS = ("laneid", "warpsize", *POSITIONS)

# Of a function's tree: its variables that stand for a name of `numba.cuda`, or for a function.
ALIASES: dict[ast.FunctionDef, dict[str, object]] = {}


def meaning(source: Source, node: ast.AST) -> object:
    """As `names.resolve`, also of a variable that stands for a name of `numba.cuda`."""
    if isinstance(node, ast.Name):
        known = aliases(source)
        return known[node.id] if node.id in known else resolve(source, node)
    if isinstance(node, ast.Attribute):
        owner = meaning(source, node.value)
        if isinstance(owner, CudaName):
            return below(owner, node.attr)
    if isinstance(node, ast.Call):
        called = meaning(source, node.func)
        is_grid = isinstance(called, CudaName) and called.path == "cg.this_grid"
        return CudaName("grid_group") if is_grid else MISSING
    return resolve(source, node)


def aliases(source: Source) -> dict[str, object]:
    """Variables that are assigned once, to a name of `numba.cuda`: {variable: name}."""
    tree = source.tree
    if tree in ALIASES:
        return ALIASES[tree]
    found = ALIASES[tree] = {}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    stored = [name.id for name in names if isinstance(name.ctx, ast.Store)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and stored.count(target.id) == 1:
                value = meaning(source, node.value)
                if isinstance(value, CudaName) and value.path not in NUMBERS:
                    found[target.id] = value
    return found


def with_arguments(source: Source, arguments: dict[str, object]) -> Source:
    """A function whose parameters of these names stand for functions, or names of `numba.cuda`."""
    special = source._replace(tree=copy.deepcopy(source.tree))
    ALIASES[special.tree] = {**arguments, **aliases(special)}
    return special


def function_arguments(source: Source, call: ast.Call, called: Source) -> dict[str, object]:
    """What a called function has to be told before it is rewritten: {parameter: value}.

    Which parameters are functions, and the sizes and types of arrays.
    """
    of_arrays = names_in_arrays(called)
    by_name = [(keyword.arg or "", keyword.value) for keyword in call.keywords]
    given = [*zip(called.parameters, call.args, strict=False), *by_name]
    found = {}
    for name, node in given:
        value = meaning(source, node)
        if is_function(value):
            found[name] = value
        elif name in of_arrays:
            known = constant_value(source, node) if value is MISSING else value
            if known is not MISSING:
                found[name] = known
    return found


def give_nothing(node: ast.Call, called: Source, arguments: dict[str, object]) -> None:
    """Pass None where a function was passed: the called function knows it already."""
    for number, name in enumerate(called.parameters[: len(node.args)]):
        if is_function(arguments.get(name)):
            node.args[number] = ast.Constant(None)
    for keyword in node.keywords:
        if is_function(arguments.get(keyword.arg or "")):
            keyword.value = ast.Constant(None)


def is_function(value: object) -> bool:
    """Whether a value is a function, or a name of `numba.cuda` that is no number."""
    if isinstance(value, CudaName):
        return value.path not in NUMBERS
    return callable(value) and not isinstance(value, (type, types.Type))


def names_in_arrays(source: Source) -> set[str]:
    """Variables in the shapes and types of a function's arrays."""
    return {
        name
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and is_array_maker(source, node)
        for argument in (*node.args, *node.keywords)
        for name in names_in(argument)
    }


def is_array_maker(source: Source, call: ast.Call) -> bool:
    target = meaning(source, call.func)
    return isinstance(target, CudaName) and target.path in ("shared.array", "local.array")


def constant_value(source: Source, node: ast.expr) -> object:
    """A number, or a tuple of numbers, that is the same in every launch; else MISSING."""
    if isinstance(node, ast.Tuple) and constant_index(source, node):
        return tuple(constant_int(source, part) for part in node.elts)
    number = constant_int(source, node)
    return MISSING if number is None else number


def calls(source: Source) -> Iterator[tuple[ast.Call, object, Source | None]]:
    """(call, what is called, its source) of each call; without source where it has none."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            target = meaning(source, node.func)
            yield node, target, source_of(target)


def source_of(target: object) -> Source | None:
    """The source of a function that has to be rewritten."""
    if isinstance(target, CudaName) or is_numpy_function(target) or is_numbas_own(target):
        return None
    return called_source(target)


def is_numbas_own(function: object) -> bool:
    """Whether Numba has a compiled form of a function of its own."""
    return str(getattr(function, "__module__", "")).split(".")[0] in ("math", "operator", "cmath")


def reached(source: Source) -> list[Source]:
    """A function, and each that it calls, directly or through others."""
    found: list[Source] = []
    seen = set()
    waiting = [source]
    while waiting:
        source = waiting.pop(0)
        bound = ALIASES.get(source.tree, {})
        key = (source.function, tuple(sorted((name, id(value)) for name, value in bound.items())))
        if key in seen:
            continue
        seen.add(key)
        found.append(source)
        for call, _, called in calls(source):
            if called:
                arguments = function_arguments(source, call, called)
                waiting.append(with_arguments(called, arguments) if arguments else called)
    return found


def is_recursive(source: Source) -> bool:
    """Whether a function calls itself, directly or through others."""
    return any(
        called is not None and called.function is source.function
        for function in reached(source)
        for _, _, called in calls(function)
    )


def is_stub(source: Source) -> bool:
    """Whether a function does nothing by itself."""
    return all(
        isinstance(statement, (ast.Pass, ast.Raise))
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in source.tree.body
    )


def touches_arrays_or_cuda(source: Source) -> bool:
    """Whether a function, or one that it calls, has to be told about the thread."""
    kinds = (ast.Subscript, ast.While, ast.For, ast.Raise, ast.Assert)
    return is_recursive(source) or any(
        is_stub(function)  # and its implementation may have to be
        or isinstance(node, kinds)
        or isinstance(meaning(function, node), CudaName)
        for function in reached(source)
        for node in ast.walk(function.tree)
    )


# ---------------------------------------------------------------- numbers


def rounds(source: Source, loop: ast.For) -> float:
    """How often a loop's body runs at most, with all loops within it; infinite if unknown."""
    own = trip_count(source, loop)
    inner = [
        rounds(source, node) if isinstance(node, ast.For) else math.inf
        for statement in loop.body
        for node in ast.walk(statement)
        if isinstance(node, (ast.For, ast.While))
    ]
    return own * max(inner, default=1)


def trip_count(source: Source, loop: ast.For) -> float:
    call = loop.iter
    if not isinstance(call, ast.Call) or meaning(source, call.func) is not range:
        return math.inf
    numbers = [constant_int(source, argument) for argument in call.args]
    if None in numbers or not numbers or 0 in numbers[2:]:
        return math.inf
    return len(range(*[number for number in numbers if number is not None]))


def constant_int(source: Source, node: ast.expr) -> int | None:
    """The number that an expression stands for in every launch; None for other expressions."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = constant_int(source, node.operand)
        return None if number is None else -number
    value: object = node.value if isinstance(node, ast.Constant) else None
    if isinstance(node, ast.Name) and node.id not in source.function.__code__.co_varnames:
        value = source.lookup(node.id)
    return value if type(value) is int else None


def is_constant_slice(node: ast.expr) -> bool:
    """Whether an index is a slice like `:2`, with nothing in it that could lie outside."""
    if not isinstance(node, ast.Slice):
        return False
    ends = (node.lower, node.upper, node.step)
    return all(end is None or isinstance(end, ast.Constant) for end in ends)


def constant_index(source: Source, node: ast.expr) -> bool:
    """Whether an index is a number, or a tuple of numbers, that is the same in every launch."""
    parts = parts_of(node)
    return bool(parts) and all(constant_int(source, part) is not None for part in parts)
