"""What in a student's file is more than an exercise, told from its names alone."""

import ast
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import NamedTuple

from lessons.grading.walls.allowed_names import (
    BUILTINS_LEFT_OUT,
    BUILTINS_OF_OUR_OWN,
    INNER_NAMES_ALLOWED,
    METHODS_ALLOWED,
    is_inner,
    is_left_out,
    module_named,
    value_in,
    why_not,
    why_not_module,
)
from lessons.grading.walls.identifiers import (
    FUNCTIONS,
    bound_names,
    identifiers,
    in_classes,
    in_function_bodies,
    in_jit_functions,
    walk,
)
from lessons.grading.walls.own_objects import ASKED, IN_KERNELS, is_super, names_in_classes
from lessons.grading.walls.stand_ins import IF_NEEDED, stand_in

# Classes whose pattern `case float(x)` takes the whole value, and none of its attributes.
WHOLE_IN_A_PATTERN = {
    "bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str",
    "tuple",
}  # fmt: skip


class Reason(NamedTuple):
    """Why a statement does not run."""

    line: int
    what: str  # such as "imports ctypes"

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}, which no exercise needs"


class Names(NamedTuple):
    """Global names of one statement."""

    read: set[str]
    given: set[str]


class FileNames:
    """Which names of a file stand for modules, and what each statement makes of them.

    A module is known by its name alone, wherever in the file that stands. So it may have names,
    each for one module, and may not go where a name does not show it: into lists, calls, classes.
    """

    def __init__(self, tree: ast.Module, names: Mapping[ast.stmt, Names]) -> None:
        self.names = names
        self.modules: dict[str, ModuleType] = {}
        self.inner_modules: set[str] = set()  # names of modules in functions
        self.ambiguous: set[str] = set()  # names of two modules
        self.own: set[str] = set()  # functions and variables of the file
        self.bound = {name for name, _ in bound_names(tree)}
        self.own_names = {*names_in_classes(tree)}
        self.in_jit = {id(node) for node in in_jit_functions(tree)}
        self.in_classes = {id(node) for node in in_classes(tree)}
        self.called_later = {id(node) for node in in_function_bodies(tree)}
        nodes = walk(tree)
        # Pairs of a name and an attribute of it.
        self.asked = {
            (node.value.id, node.attr)
            for node in nodes
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.note_import(node, inner=node not in tree.body)
        while self.note_aliases(nodes, tree.body):
            pass  # the name of a name, and so on
        for found in names.values():
            self.own |= found.given

    def note_import(self, node: ast.Import | ast.ImportFrom, inner: bool) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                if self.why_not_import(alias) is None:
                    module = module_named(whole)
                    self.note_module(alias.asname or whole, module, inner)
                continue
            if is_module(node, alias):
                module = module_named(f"{node.module}.{alias.name}")
                self.note_module(alias.asname or alias.name, module, inner)
                continue
            source = module_of(node)
            if source is None:
                continue
            value = value_in(source, alias.name)
            if isinstance(value, ModuleType):
                self.note_module(alias.asname or alias.name, value, inner)

    def why_not_import(self, alias: ast.alias) -> str | None:
        """Why `import name` does not run; of some modules, if nothing is used that is there."""
        why = why_not_module(alias.name)
        name = alias.asname or alias.name
        if why is None and alias.name in IF_NEEDED:
            module = module_named(alias.name)
            used = any(owner == name and hasattr(module, attr) for owner, attr in self.asked)
            return None if used else f"imports {alias.name}"
        return why

    def note_module(self, name: str, module: ModuleType, inner: bool) -> None:
        if self.modules.setdefault(name, module) is not module:
            self.ambiguous.add(name)
        if inner:
            self.inner_modules.add(name)

    def note_aliases(self, nodes: list[ast.AST], top: list[ast.stmt]) -> bool:
        """Note `name = module`; whether there was one that was not known."""
        before = len(self.modules)
        for node in nodes:
            if not isinstance(node, ast.Assign):
                continue
            module = self.module_in(node.value)
            for target in node.targets if module else ():
                if isinstance(target, ast.Name) and module:
                    self.note_module(target.id, module, inner=node not in top)
        return len(self.modules) > before

    # ------------------------------------------------------------

    def reasons(self, statement: ast.stmt, needed: bool) -> set[Reason]:
        """Why a statement of the file is more than an exercise; empty if it is not.

        needed: whether a function of the lesson uses it. Then its functions may use builtins of our
        own, which end what they are not for; what nobody needs is left out, and costs nothing.
        """
        ours = BUILTINS_OF_OUR_OWN if needed else set()
        read = self.names[statement].read
        as_modules = set(self.used_as_modules(statement))
        found = set()
        for node in walk(statement):
            line = getattr(node, "lineno", statement.lineno)
            later = id(node) in self.called_later
            if later and isinstance(node, ast.Name) and node.id in ours - self.bound:
                continue
            for what in self.what_is_unusual(node, read, id(node) not in as_modules):
                found.add(Reason(line, what))
        return found

    def used_as_modules(self, statement: ast.stmt) -> Iterator[int]:
        """The nodes of names in `np.zeros` and in `gpu = cuda`, where a module may stand."""
        for node in walk(statement):
            if isinstance(node, ast.Attribute):
                yield id(node.value)
            if isinstance(node, ast.Assign) and id(node) not in self.in_classes:
                if all(isinstance(target, ast.Name) for target in node.targets):
                    yield id(node.value)

    def what_is_unusual(self, node: ast.AST, read: set[str], handed_on: bool) -> Iterator[str]:
        yield from unusual_identifiers(node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from self.unusual_imports(node)
            if id(node) in self.in_classes:
                yield "imports into a class"
        elif isinstance(node, ast.Name):
            yield from self.unusual_name(node, read, handed_on)
        elif isinstance(node, ast.Attribute):
            yield from self.unusual_attribute(node, handed_on)
        elif isinstance(node, ast.ClassDef):
            if is_inner(node.name) or not all(map(is_abstract, node.keywords)):
                yield f"makes the class {node.name} in another way"
        elif isinstance(node, ast.MatchClass):
            yield from self.unusual_pattern(node)
        elif isinstance(node, ast.Call) and is_named(node.func, "type") and len(node.args) != 1:
            yield "makes a class with type()"

    def unusual_name(self, node: ast.Name, read: set[str], handed_on: bool) -> Iterator[str]:
        name = node.id
        if is_inner(name) and name not in INNER_NAMES_ALLOWED:
            yield f"uses {name}"
        if name in self.ambiguous:
            yield f"uses {name}, a name of two modules"
        # What a file binds it could delete again, and there is the one of Python, to Numba.
        if name in BUILTINS_LEFT_OUT and name in read - (self.own - BUILTINS_OF_OUR_OWN):
            yield f"uses {name}"
        stands_for_it = name in read or name in self.inner_modules
        loaded = isinstance(node.ctx, ast.Load)
        if name in self.modules and loaded and handed_on and stands_for_it:
            yield f"hands on the module {name}"

    def unusual_attribute(self, node: ast.Attribute, handed_on: bool) -> Iterator[str]:
        """What is not asked while the file runs: see `own_objects`."""
        loaded, compiled = isinstance(node.ctx, ast.Load), id(node) in self.in_jit
        module = self.module_in(node.value)
        if not loaded and (module or compiled or is_inner(node.attr)):
            yield f"changes the attribute {node.attr}"
        if module is not None:
            if problem := why_not(module, node.attr):
                yield problem
            elif handed_on and self.module_in(node):
                yield f"hands on the module {node.attr}"
            elif compiled and stand_in(module, node.attr):
                yield f"uses {node.attr} of {module.__name__} in a kernel"
            return
        of_everybody = node.attr not in ASKED or (compiled and node.attr in IN_KERNELS)
        if not is_left_out(node.attr) and of_everybody:
            return
        if is_inner(node.attr):
            asked = is_super(node.value) and node.attr in METHODS_ALLOWED
        else:
            asked = not compiled and (
                node.attr.startswith("_") or node.attr in self.own_names | ASKED
            )
        if not asked:
            yield f"uses {node.attr}"

    def unusual_imports(self, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from filter(None, map(self.why_not_import, node.names))
            return
        names = [alias for alias in node.names if not is_module(node, alias)]
        source = module_of(node)
        if source is None:
            yield from [f"imports {'.' * node.level}{node.module or ''}"] if names else []
            return
        for alias in names:
            if alias.name != "*" and (problem := why_not(source, alias.name)):
                yield problem

    def unusual_pattern(self, node: ast.MatchClass) -> Iterator[str]:
        yield from (f"uses {name}" for name in node.kwd_attrs if is_left_out(name) or name in ASKED)
        kind = node.cls.id if isinstance(node.cls, ast.Name) else ""
        if node.patterns and (kind not in WHOLE_IN_A_PATTERN or kind in self.bound):
            yield f"takes a {ast.unparse(node.cls)} apart without the names of its parts"

    def module_in(self, node: ast.expr) -> ModuleType | None:
        """The module that an expression stands for, as `np` or `numba.cuda` do."""
        if isinstance(node, ast.Name):
            return self.modules.get(node.id)
        if isinstance(node, ast.Attribute):
            module = self.module_in(node.value)
            value = None if module is None else value_in(module, node.attr)
            return value if isinstance(value, ModuleType) else None
        return None


def unusual_identifiers(node: ast.AST) -> Iterator[str]:
    """Inner names, wherever Python lets a name stand: `case __init__`, `import x as __init__`."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.ImportFrom)):
        return  # looked at elsewhere
    if isinstance(node, ast.alias):
        if is_inner(node.asname or ""):
            yield f"uses {node.asname}"
        return
    for name in identifiers(node):
        if is_inner(name) and not (isinstance(node, FUNCTIONS) and name in METHODS_ALLOWED):
            yield f"defines {name}"


def is_abstract(keyword: ast.keyword) -> bool:
    """Whether it is `metaclass=ABCMeta`, which is looked at again when it runs."""
    value = keyword.value
    name = getattr(value, "attr", getattr(value, "id", ""))
    return keyword.arg == "metaclass" and name == "ABCMeta"


def is_module(node: ast.ImportFrom, alias: ast.alias) -> bool:
    """Whether `from package import name` names a module that a file may import."""
    return not node.level and why_not_module(f"{node.module}.{alias.name}") is None


def module_of(node: ast.ImportFrom) -> ModuleType | None:
    """The module of `from module import ...`, if a file may import from it."""
    if node.level or not node.module or why_not_module(node.module):
        return None
    return module_named(node.module)


def is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
