"""Where a kernel's numbers come from, by its text: memory, a thread's number or a block's."""

import ast
import functools
from collections.abc import Callable

from ...names import resolve
from ...source import Source, called_source, is_element, names_given_in, names_in
from .race_sides import Side

# What differs from thread to thread: positions, arrays of its own, what others have given to it.
OF_A_THREAD = ("threadIdx", "grid", "laneid", "local", "atomic")
GRID_BY_HAND = (
    "cuda.blockIdx.x * cuda.blockDim.x", "cuda.blockDim.x * cuda.blockIdx.x",
    "blockIdx.x * blockDim.x", "blockDim.x * blockIdx.x",
)  # fmt: skip
PLAIN_CALLS = ("range", "int", "min", "max", "abs", "int32", "int64", "uint32", "uint64", "divmod")


def chosen_by_data(source: Source, element: ast.Subscript) -> bool:
    """Whether an index comes from memory, as that of a histogram does: any thread may have it."""
    return comes_from(element.slice, names_from(source.tree, is_element), is_element)


def added_by_all(side: Side, element: ast.Subscript, value: ast.expr) -> bool:
    """Whether all threads of a block add the same numbers from memory, which then count often.

    side: where they do. element, value: to what, and what is added. Constants do not count:
    `count[0] += 1` is right where each thread counts for itself.
    """
    if not any(map(is_element, ast.walk(value))):
        return False
    tests = (parent.test for parent in side.around if isinstance(parent, (ast.If, ast.While)))
    names, asks = names_that_may_differ(side), functools.partial(may_be_of_thread, side.source)
    return not any(comes_from(part, names, asks) for part in (value, element.slice, *tests))


def names_that_may_differ(side: Side) -> frozenset[str]:
    """Names whose values may differ from thread to thread.

    Each thread may have called a function with numbers of its own, and come to a line or not.
    """
    tree, asks = side.source.tree, functools.partial(may_be_of_thread, side.source)
    parameters = [part.arg for part in (*tree.args.args, *tree.args.kwonlyargs)]
    found = frozenset(parameters if side.calls else [])
    while True:
        more = names_from(tree, asks, known=found)
        for node in ast.walk(tree):
            if isinstance(node, (ast.If, ast.While, ast.For)):
                decides = node.iter if isinstance(node, ast.For) else node.test
                more |= names_given_in(node) if comes_from(decides, more, asks) else frozenset()
        if more == found:
            return found
        found = more


def may_be_of_thread(source: Source, node: ast.AST) -> bool:
    """Whether a node gives another value in each thread, or may, as somebody's own function."""
    if isinstance(node, ast.Call) and called_source(resolve(source, node.func)) is not None:
        return True
    return is_of_thread(node)


def first_thread_of_block(tree: ast.FunctionDef) -> str:
    """What is true of one thread of a block, along the axes that a function asks for."""
    text = ast.unparse(tree)
    asked = {"y": ("threadIdx.y", "grid(2)", "grid(3)"), "z": ("threadIdx.z", "grid(3)")}
    axes = [axis for axis, signs in asked.items() if any(sign in text for sign in signs)]
    return " and ".join(f"cuda.threadIdx.{axis} == 0" for axis in ("x", *axes))


def depends_on_thread(tree: ast.FunctionDef, node: ast.AST) -> bool:
    return comes_from(node, names_from(tree, is_of_thread), is_of_thread)


def depends_on_block(tree: ast.FunctionDef, node: ast.AST) -> bool:
    """Whether an expression may differ from block to block."""
    return comes_from(node, names_from(tree, is_of_block), is_of_block)


def in_pieces_of_blocks(tree: ast.FunctionDef, index: ast.expr) -> bool:
    """Whether an index begins at a place that is the block's, and not at the number in the grid."""
    if set(GRID_BY_HAND) & {ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.BinOp)}:
        return False
    return comes_from(index, names_from(tree, is_number_of_block), is_number_of_block)


def block_left_out(side: Side) -> str:
    """A hint where an index counts threads, and blocks come to the same elements; else ""."""
    if not isinstance(side.node, ast.Subscript) or chosen_by_data(side.source, side.node):
        return ""
    tree, index = side.source.tree, side.node.slice
    if names_in(index) & {*side.source.parameters} or depends_on_block(tree, index):
        return ""
    if not depends_on_thread(tree, index):
        return ""
    return ". Or should each block have elements of its own? The index is the same in all blocks"


def made_of_array(tree: ast.FunctionDef, value: ast.expr, array: str) -> bool:
    """Whether a value is computed from elements of an array, by way of names and a thread's arrays.

    Not by way of another shared or global array: with that, there are two already.
    """

    def is_of_array(node: ast.AST) -> bool:
        return isinstance(node, ast.Subscript) and ast.unparse(node.value) == array

    return comes_from(value, names_from(tree, is_of_array, own_arrays(tree)), is_of_array)


def own_arrays(tree: ast.FunctionDef) -> frozenset[str]:
    """Names of the arrays that a thread has for itself."""
    return frozenset(
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and "local.array" in ast.unparse(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    )


@functools.lru_cache(maxsize=256)
def names_from(
    tree: ast.FunctionDef,
    begins: Callable[[ast.AST], bool],
    arrays: frozenset[str] = frozenset(),
    known: frozenset[str] = frozenset(),
) -> frozenset[str]:
    """Names that are given a value in which `begins` is true of a part, or of such a name.

    arrays: of these also the name, if an element is given such a value. known: names of which that
    is known already.
    """
    found = known
    while True:
        more = found
        for node in ast.walk(tree):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
                value = node.value
            else:
                value = node.iter if isinstance(node, ast.For) else None
            if value is not None and comes_from(value, more, begins):
                targets = node.target if isinstance(node, ast.For) else node
                more |= names_given_in(targets) | (arrays_given_in(targets) & arrays)
        if more == found:
            return found
        found = more


def comes_from(node: ast.AST, names: frozenset[str], begins: Callable[[ast.AST], bool]) -> bool:
    return bool(names_in(node) & names) or any(map(begins, ast.walk(node)))


def last_name(node: ast.AST) -> str:
    """ "atomic" of `cuda.atomic`; "" of what is no name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_of_thread(node: ast.AST) -> bool:
    return last_name(node) in OF_A_THREAD or last_name(node).startswith("shfl")


def is_number_of_block(node: ast.AST) -> bool:
    return last_name(node) == "blockIdx"


def is_of_block(node: ast.AST) -> bool:
    """Whether it tells the block, or may: a function of somebody's own can ask for it, too."""
    if last_name(node) in ("blockIdx", "grid", "atomic"):
        return True
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Name) and called.id not in PLAIN_CALLS


def arrays_given_in(node: ast.AST) -> frozenset[str]:
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Subscript))
    return frozenset(ast.unparse(part.value) for part in parts if isinstance(part.ctx, ast.Store))


@functools.lru_cache(maxsize=64)
def values_by_name(tree: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """All that a function gives to each name, in assignments and in loops."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr, ast.For)):
            value = node.iter if isinstance(node, ast.For) else node.value
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in {name for target in targets for name in names_given_in(target)}:
                found.setdefault(name, []).extend([value] if value else [])
    return found
