"""A kernel's text as a syntax tree, the values of the names in it, and what its file is called."""

import ast
import builtins
import functools
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple, TypeAlias, TypeGuard

from .errors import InputError

MISSING = object()  # the value of a name that nobody has defined; None would be a value


class Source(NamedTuple):
    """A function's text and tree, and how to look up the names it uses."""

    function: Callable  # the plain Python function
    tree: ast.FunctionDef
    filename: str
    lines: dict[int, str]  # line number -> text of that line

    @property
    def parameters(self) -> list[str]:
        return [argument.arg for argument in self.tree.args.args]

    def require_count(self, arguments: Sequence[object]) -> None:
        """Raises `TypeError` for another number of arguments than the function takes."""
        names = self.parameters
        if len(names) != len(arguments):
            raise TypeError(
                f"{self.function.__name__} takes {len(names)} arguments ({', '.join(names)}), "
                f"but {len(arguments)} were given"
            )

    def line(self, number: int) -> str:
        return self.lines.get(number, "").strip()

    def lookup(self, name: str) -> object:
        """Value of a name from outside the function: closure, module, builtin; else MISSING."""
        function = self.function
        if name in function.__code__.co_freevars:
            cells = function.__closure__ or ()
            cell = cells[function.__code__.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:  # a function that is assigned only after this one was made
                return MISSING
        if name in function.__globals__:
            return function.__globals__[name]
        return getattr(builtins, name, MISSING)


def python_function(kernel: object) -> FunctionType:
    """The plain function inside a kernel, device function or `njit` function.

    A dispatcher keeps it as `py_func`, Numba's own simulator as `fn`. Raises `InputError` for what
    is none of these.
    """
    for attribute in ("py_func", "fn"):
        inner = getattr(kernel, attribute, None)
        if isinstance(inner, FunctionType):
            return inner
    if isinstance(kernel, FunctionType):
        return kernel
    raise InputError(
        f"{kernel!r} is not a kernel: give the function that @cuda.jit decorates, "
        "and do not call it"
    )


# The kernel with its call of a device function, that one with its call of another, and so on.
Calls: TypeAlias = tuple[tuple[Source, ast.expr], ...]


def called_source(function: object) -> Source | None:
    """The `Source` of what a kernel calls; None for types, builtins and raw instructions."""
    if function is MISSING or isinstance(function, type) or is_raw_instruction(function):
        return None
    try:
        return read_source(function)
    except InputError:
        return None


def is_raw_instruction(function: object) -> bool:
    """Whether a function stands for inline PTX, and so has an emulation in NumPy beside it."""
    return callable(getattr(function, "emulation", None))


def read_source(kernel: object) -> Source:
    """The `Source` of a kernel. Raises `InputError` if its text cannot be found."""
    return source_of_function(python_function(kernel))


class ConstantPowers(ast.NodeTransformer):
    """Computes powers of numbers, as Python does before Numba sees them: 2 ** -1 is 0.5."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Pow):
            return node
        try:
            base, exponent = ast.literal_eval(node.left), ast.literal_eval(node.right)
            if exponent >= 0:  # is the same at run time
                return node
            return ast.copy_location(ast.Constant(base**exponent), node)
        except (ValueError, TypeError, ArithmeticError):  # no numbers, or 0 ** -1
            return node


def where_to_write(function: FunctionType) -> str:
    """What to do about a function whose text cannot be found."""
    if function.__code__.co_filename == "<string>":  # as exec(text) calls it
        return (
            "it was made by exec. Give its text a name that Python can look up: "
            "linecache.cache[name] = len(text), None, text.splitlines(True), name, and then "
            'exec(compile(text, name, "exec"))'
        )
    return (
        "write the kernel in a .py file and import it, or in a notebook's cell that has no %%magic"
    )


@functools.lru_cache(maxsize=1024)
def source_of_function(function: FunctionType) -> Source:
    """The `Source` of a plain function. Raises `InputError` if its text cannot be found."""
    name = function.__name__
    try:
        if function.__code__.co_filename == "<string>":  # for which newer Pythons show that of -c
            raise OSError
        text, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise InputError(
            f"the source of {name} cannot be read: {where_to_write(function)}"
        ) from None
    try:
        tree = ast.parse(textwrap.dedent("".join(text)))
    except SyntaxError:
        raise InputError(f"{name} must be written with def, not as a lambda") from None
    definition = tree.body[0] if tree.body else None
    if name == "<lambda>":
        definition = definition_of_lambda(function, tree)
    if not isinstance(definition, ast.FunctionDef):
        raise InputError(f"{name} must be written with def")
    first = max(first, 1)
    ast.increment_lineno(tree, first - 1)
    ConstantPowers().visit(definition)
    given = definition.args  # what is given by position alone is like the others here
    given.args, given.posonlyargs = given.posonlyargs + given.args, []
    lines = {first + offset: line.rstrip("\n") for offset, line in enumerate(text)}
    return Source(function, definition, function.__code__.co_filename, lines)


def definition_of_lambda(function: FunctionType, tree: ast.Module) -> ast.FunctionDef | None:
    """A lambda among the statements around it, written as a `def`."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    alike = [node for node in found if tuple(a.arg for a in node.args.args) == names]
    same = [node for node in alike if code_of_lambda(node) == code.co_code]
    chosen = next(iter(same or alike), None)
    return None if chosen is None else as_definition(chosen, "<lambda>")


def as_definition(node: ast.Lambda, name: str) -> ast.FunctionDef:
    """A lambda written as a `def`."""
    result = ast.copy_location(ast.Return(node.body), node.body)
    return ast.copy_location(ast.FunctionDef(name, node.args, [result], [], None, None), node)


def code_of_lambda(node: ast.Lambda) -> bytes:
    """What Python makes of it where it uses no variables of a function around it."""
    codes = codes_in(compile(ast.Expression(node), "<lambda>", "eval"))
    return next((code.co_code for code in codes), b"")


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """The compiled functions within one, or within a module."""
    return (item for item in code.co_consts if isinstance(item, CodeType))


# ---------------------------------------------------------------- parts of a tree


def parts_of(node: ast.expr) -> list[ast.expr]:
    """The parts of a tuple, such as an index for each axis; else the expression alone."""
    return node.elts if isinstance(node, ast.Tuple) else [node]


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def names_given_in(node: ast.AST) -> frozenset[str]:
    """The names to which some code gives a value."""
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return frozenset(part.id for part in names if isinstance(part.ctx, ast.Store))


def is_element(node: ast.AST) -> TypeGuard[ast.Subscript]:
    """Whether a node is an element of an array, `values[i]`, and not `values.shape[0]`."""
    if not isinstance(node, ast.Subscript):
        return False
    return not (isinstance(node.value, ast.Attribute) and node.value.attr in ("shape", "strides"))


# ---------------------------------------------------------------- cells of a notebook


# IPython's own names for cells: in a terminal, and in a notebook.
NUMBERED_CELL = re.compile(r"<ipython-input-(\d+)-\w+>")
UNNUMBERED_CELL = re.compile(r"ipykernel_\d+[/\\]\d+\.py")


def file_label(filename: str) -> str:
    """What messages call a source file: its name without folders, or "cell 3" in a notebook."""
    numbered = NUMBERED_CELL.fullmatch(filename) or re.fullmatch(
        r"In\[(\d+)\]", name_by_ipython(filename)
    )
    if numbered:
        return f"cell {numbered[1]}"
    if UNNUMBERED_CELL.search(filename):
        return "a cell of this notebook"
    return Path(filename).name


def name_by_ipython(filename: str) -> str:
    """ "In[3]" for the file that stands for a cell; "" without IPython, or for other files."""
    ipython = sys.modules.get("IPython")  # never loaded for this: it is slow, and often missing
    shell = ipython.get_ipython() if ipython else None
    format_code_name = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = format_code_name(filename) if format_code_name else None
    return found[1] if found else ""
