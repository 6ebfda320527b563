"""Mutants that differ only where there are 2^31 elements or more: positions cut down to an int32.

`cuda.grid(1)` is an int64 and so is what is computed with it; written `int32(cuda.grid(1))`, as
from a language whose indices have 32 bits, it is right in every small test.
"""

import ast
import inspect

from lessons.mutations.source import Change, Source
from tests.mutants.generate import counted, functions_of_kernel, mutant_of, nodes_in_order

OPERATOR = "narrow"
POSITIONS = ("cuda.grid(1)", "cuda.gridsize(1)")
WHOLE_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
# Behind the last line, so that all lines keep their numbers.
IMPORT = "\nfrom numba import int32\n"


def narrow_mutants(module, kernel):
    """List of `Mutant`: one per whole number of the kernel's own that depends on where it is."""
    source = Source(inspect.getsource(module))
    functions = functions_of_kernel(source.tree, kernel)
    changes = [change for function in functions for change in narrowings(source, function)]
    found = counted(mutant_of(source, kernel, OPERATOR, change) for change in changes)
    return [mutant._replace(text=mutant.text + IMPORT) for mutant in found]


def narrowings(source, function):
    names = whole_names(function)
    for node in nodes_in_order(function, ast.Call):
        if ast.unparse(node) in POSITIONS:
            yield narrowed(source, node)
    for node in nodes_in_order(function, ast.Assign):
        if isinstance(node.targets[0], ast.Tuple) and "cuda.grid(2)" in ast.unparse(node.value):
            yield from narrowed_axes(source, node)
    for node in nodes_in_order(function, ast.BinOp):
        if is_whole(node, names) and not is_constant_whole(node):
            yield narrowed(source, node)


def narrowed(source, node):
    text = f"int32({source.text_of(node)})"
    return Change(*source.span(node), text, node.lineno, OPERATOR, "")


def narrowed_axes(source, node):
    """x, y = cuda.grid(2): one of the two."""
    for axis in range(2):
        parts = [f"cuda.grid(2)[{i}]" for i in range(2)]
        parts[axis] = f"int32({parts[axis]})"
        text = ", ".join(parts)
        yield Change(*source.span(node.value), text, node.lineno, OPERATOR, "")


# ---------------------------------------------------------------- what is a whole number


def whole_names(function):
    """The names of whole numbers in a function: its variables, and numbers that it is given."""
    used = {
        node.value.id
        for node in nodes_in_order(function, (ast.Subscript, ast.Attribute))
        if isinstance(node.value, ast.Name)
    }
    names = {argument.arg for argument in function.args.args} - used
    before = None
    while names != before:
        before = set(names)
        for node in nodes_in_order(function, (ast.Assign, ast.For)):
            names |= named_whole(node, names)
    return names


def named_whole(node, names):
    if isinstance(node, ast.For):
        return {node.target.id} if ast.unparse(node.iter).startswith("range(") else set()
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple):
        whole = ast.unparse(value).endswith((".shape", "cuda.grid(2)"))
        return {part.id for part in target.elts if isinstance(part, ast.Name)} if whole else set()
    return {target.id} if isinstance(target, ast.Name) and is_whole(value, names) else set()


def is_whole(node, names):
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.Name):
        return node.id in names or node.id.isupper()
    if isinstance(node, ast.BinOp):
        whole = is_whole(node.left, names) and is_whole(node.right, names)
        return isinstance(node.op, WHOLE_OPERATORS) and whole
    text = ast.unparse(node)
    is_position = text in POSITIONS or text.startswith(("cuda.blockIdx.", "cuda.threadIdx."))
    return is_position or ".shape[" in text


def is_constant_whole(node):
    return all(name.id.isupper() for name in ast.walk(node) if isinstance(name, ast.Name))
