"""Which part of a student's file runs: what an exercise is made of, and nothing else.

A file shares its process with the simulator that looks for its races. Python has no walls within a
process: with `sys`, `gc`, a frame or an attribute such as `__globals__`, a file could drop what is
found. So it gets none of these. What a kernel needs stays: `numba`, `numpy`, `math`, the constants
and functions of `kernels/`, and all of Python's language but for its inner names.

Statements that use more, such as a plot below the functions, are left out. If a function of the
lesson cannot do without them, the file is refused. No line moves.
"""

import ast
import dis
import importlib
from collections.abc import Iterator, Sequence
from types import CodeType, ModuleType
from typing import NamedTuple

from kernels.errors import InputError
from lessons.grading.untrusted.allowed_names import (
    BUILTINS_LEFT_OUT,
    INNER_NAMES_ALLOWED,
    METHODS_ALLOWED,
    is_inner,
    is_left_out,
    value_in,
    why_not,
    why_not_module,
)

Statements = list[ast.stmt]


class Reason(NamedTuple):
    """Why a statement does not run."""

    line: int
    what: str  # such as "imports ctypes"

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}, which no exercise needs"


class PlainCode(NamedTuple):
    """What of a file runs."""

    tree: ast.Module
    left_out: list[Reason]


def plain_code(text: str, wanted: Sequence[str], filename: str = "exercise.py") -> PlainCode:
    """The part of a file that may run. wanted: functions that it has to define.

    Raises `SyntaxError` and its like for what is no Python, and `InputError` if a wanted function
    needs what is left out.
    """
    tree = ast.parse(text, filename)
    tree.body = [part for node in tree.body for part in one_name_each(node)]
    names = {node: names_of(node, filename) for node in tree.body}
    file = FileNames(tree, names)
    reasons = {node: found for node in tree.body if (found := sorted(file.reasons(node)))}
    if not reasons:
        return PlainCode(tree, [])
    leave_out_users(tree.body, names, reasons)
    for function in wanted:
        needed = reached(function, tree.body, names)
        for node, found in reasons.items():
            if names[node].given & needed:
                raise InputError(
                    f"{found[0]}, and {function} needs it. What kernels are made of is run, and no "
                    "more: numba, numpy, math, and the modules of kernels/"
                )
    tree.body = [node for node in tree.body if node not in reasons]
    return PlainCode(tree, sorted(set().union(*reasons.values())))


def one_name_each(node: ast.stmt) -> Statements:
    """The statement; of an import of several names, one import for each of them."""
    if isinstance(node, ast.Import):
        return [ast.copy_location(ast.Import([alias]), node) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [
            ast.copy_location(ast.ImportFrom(node.module, [alias], node.level), node)
            for alias in node.names
        ]
    return [node]


# ---------------------------------------------------------------- what depends on what


class Names(NamedTuple):
    """Global names of one statement."""

    read: set[str]
    given: set[str]


def names_of(node: ast.stmt, filename: str) -> Names:
    code = compile(ast.Module([node], []), filename, "exec", dont_inherit=True)
    names = Names(set(), set())
    for inner in codes_in(code):
        for instruction in dis.get_instructions(inner):
            kind, name = instruction.opname, instruction.argval
            if kind.startswith("LOAD_") and kind.endswith(("_NAME", "_GLOBAL", "_GLOBALS")):
                names.read.add(name)
            if kind == "STORE_GLOBAL" or (kind == "STORE_NAME" and inner is code):
                names.given.add(name)
    return names


def codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def leave_out_users(
    body: Statements, names: dict[ast.stmt, Names], reasons: dict[ast.stmt, list[Reason]]
) -> None:
    """Add to `reasons` the statements that use a name which is no longer given."""
    while True:
        origin = {name: found[0] for node, found in reasons.items() for name in names[node].given}
        kept = [node for node in body if node not in reasons]
        for node in kept:
            for name in names[node].given:
                origin.pop(name, None)
        users = {
            node: [origin[name] for name in sorted(names[node].read & set(origin))] for node in kept
        }
        found = {node: because for node, because in users.items() if because}
        if not found:
            return
        reasons.update(found)


def reached(function: str, body: Statements, names: dict[ast.stmt, Names]) -> set[str]:
    """The global names that a function leads to, and its own."""
    found: set[str] = set()
    waiting = {function}
    while waiting:
        found |= waiting
        waiting = {
            name for node in body if names[node].given & waiting for name in names[node].read
        } - found
    return found


# ---------------------------------------------------------------- what is more than an exercise


class FileNames:
    """Which names of a file stand for modules, and what each statement makes of them."""

    def __init__(self, tree: ast.Module, names: dict[ast.stmt, Names]) -> None:
        self.names = names
        self.modules: dict[str, ModuleType] = {}
        self.bad_names: set[str] = set()  # that "import *" brings
        self.own: set[str] = set()  # functions and variables of the file
        nodes = list(ast.walk(tree))
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.note_import(node)
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                self.note_alias(node, node.value)
        for found in names.values():
            self.own |= found.given

    def note_import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                if why_not_module(alias.name) is None:
                    self.modules[alias.asname or whole] = importlib.import_module(whole)
                continue
            if is_module(node, alias):
                whole = f"{node.module}.{alias.name}"
                self.modules[alias.asname or alias.name] = importlib.import_module(whole)
                continue
            source = module_of(node)
            if source is None:
                continue
            if alias.name == "*":
                self.note_star(source)
                continue
            value = value_in(source, alias.name)
            if isinstance(value, ModuleType):
                self.modules[alias.asname or alias.name] = value

    def note_star(self, source: ModuleType) -> None:
        public = [name for name in vars(source) if not name.startswith("_")]
        for name in getattr(source, "__all__", public):
            value = value_in(source, name)
            if isinstance(value, ModuleType):
                self.modules[name] = value
            if why_not(source, name):
                self.bad_names.add(name)

    def note_alias(self, node: ast.Assign, value: ast.Name) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name) and value.id in self.modules:
                self.modules[target.id] = self.modules[value.id]

    # ------------------------------------------------------------

    def reasons(self, statement: ast.stmt) -> set[Reason]:
        """Why a statement of the file is more than an exercise; empty if it is not."""
        read = self.names[statement].read
        as_modules = set(used_as_modules(statement))
        found = set()
        for node in ast.walk(statement):
            line = getattr(node, "lineno", statement.lineno)
            for what in self.what_is_unusual(node, read, id(node) not in as_modules):
                found.add(Reason(line, what))
        return found

    def what_is_unusual(self, node: ast.AST, read: set[str], handed_on: bool) -> Iterator[str]:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from unusual_imports(node)
        elif isinstance(node, ast.Name):
            yield from self.unusual_name(node, read, handed_on)
        elif isinstance(node, ast.Attribute):
            yield from self.unusual_attribute(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if is_inner(node.name) and node.name not in METHODS_ALLOWED:
                yield f"defines {node.name}"
        elif isinstance(node, ast.ClassDef):
            if is_inner(node.name) or node.keywords:
                yield f"makes the class {node.name} in another way"
        elif isinstance(node, ast.MatchClass):
            yield from (f"uses {name}" for name in node.kwd_attrs if is_left_out(name))
        elif isinstance(node, ast.Call) and is_named(node.func, "type") and len(node.args) != 1:
            yield "makes a class with type()"

    def unusual_name(self, node: ast.Name, read: set[str], handed_on: bool) -> Iterator[str]:
        name = node.id
        if is_inner(name) and name not in INNER_NAMES_ALLOWED:
            yield f"uses {name}"
        if name in self.bad_names and name not in self.own:
            yield f"uses {name}"
        if name in BUILTINS_LEFT_OUT and name in read - self.own:
            yield f"uses {name}"
        loaded = isinstance(node.ctx, ast.Load)
        if name in self.modules and loaded and handed_on and name in read:
            yield f"hands on the module {name}"

    def unusual_attribute(self, node: ast.Attribute) -> Iterator[str]:
        own = is_named(node.value, "self")
        if not isinstance(node.ctx, ast.Load) and not own:
            yield f"changes the attribute {node.attr}"
        module = self.module_in(node.value)
        if module is not None:
            if problem := why_not(module, node.attr):
                yield problem
        elif is_left_out(node.attr) and not (own and not is_inner(node.attr)):
            yield f"uses {node.attr}"

    def module_in(self, node: ast.expr) -> ModuleType | None:
        """The module that an expression stands for, as `np` or `numba.cuda` do."""
        if isinstance(node, ast.Name):
            return self.modules.get(node.id)
        if isinstance(node, ast.Attribute):
            module = self.module_in(node.value)
            value = None if module is None else value_in(module, node.attr)
            return value if isinstance(value, ModuleType) else None
        return None


def used_as_modules(statement: ast.stmt) -> Iterator[int]:
    """The nodes of names in `np.zeros` and in `gpu = cuda`, where a module may stand."""
    for node in ast.walk(statement):
        if isinstance(node, (ast.Attribute, ast.Assign)) and isinstance(node.value, ast.Name):
            yield id(node.value)


def unusual_imports(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from filter(None, (why_not_module(alias.name) for alias in node.names))
        return
    names = [alias for alias in node.names if not is_module(node, alias)]
    source = module_of(node)
    if source is None:
        yield from [f"imports {'.' * node.level}{node.module or ''}"] if names else []
        return
    for alias in names:
        if alias.name != "*" and (problem := why_not(source, alias.name)):
            yield problem


def is_module(node: ast.ImportFrom, alias: ast.alias) -> bool:
    """Whether `from package import name` names a module that a file may import."""
    return not node.level and why_not_module(f"{node.module}.{alias.name}") is None


def module_of(node: ast.ImportFrom) -> ModuleType | None:
    """The module of `from module import ...`, if a file may import from it."""
    if node.level or not node.module or why_not_module(node.module):
        return None
    return importlib.import_module(node.module)


def is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
