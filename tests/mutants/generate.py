"""Make the mutants of a kernel: copies of its module with one small mistake each.

The changes are those of `lessons.mutations`, with which the grader tells mistakes;
of them those are taken that a check has to notice on any kernel. Only one place of the text is
changed, so comments and line numbers stay as they are, and whatever is found in a mutant names the
line of the real file. Six operators:

    barrier         a barrier is removed
    guard           a bounds check is dropped, whole or one operand of it
    atomic          `cuda.atomic.add(a, i, x)` becomes `a[i] += x`
    swap            indices change places
    off by one      an index of a shared array is one too large
    initialisation  a variable, an array or a shared tile is not given its first value
"""

import ast
import inspect
import linecache
import types
from typing import NamedTuple

from lessons.mutations.changes import changes_of
from lessons.mutations.source import Change, Source


class Mutant(NamedTuple):
    """One mistake in one kernel. `occurrence` counts those that read the same, from 0."""

    kernel: str
    operator: str
    line: int
    old: str
    new: str
    occurrence: int
    text: str  # the whole module, with the mistake in it

    @property
    def key(self):
        """What names this mutant in `equivalent`; it outlives edits elsewhere in the file."""
        return self.kernel, self.operator, self.old, self.new, self.occurrence

    def __str__(self):
        return f"{self.kernel}, line {self.line}, {self.operator}: `{self.old}` -> `{self.new}`"


def mutants_of_module(module, kernel):
    """All mutants of the kernel of that name in an imported module."""
    return mutants_of(inspect.getsource(module), kernel)


def mutants_of(text, kernel):
    """List of `Mutant`. text: of a whole module. kernel: name of a function in it.

    Functions of the same module that the kernel calls are a part of it.
    """
    source = Source(text)
    found = []
    for function in functions_of_kernel(source.tree, kernel):
        places = Places(source, function)
        distinct = {change[:3]: change for _, change in changes_of(function, source)}
        for change in sorted(distinct.values()):
            operator = places.operator_of(change)
            if operator:
                found.append(mutant_of(source, kernel, operator, change))
    return counted(found)


def counted(mutants):
    """The same mutants, those that read the same with a number each."""
    seen, found = {}, []
    for mutant in mutants:
        occurrence = seen.get(mutant.key, 0)
        seen[mutant.key] = occurrence + 1
        found.append(mutant._replace(occurrence=occurrence))
    return found


def load(text, name, filename):
    """Run a module's text as a module of its own; returns it.

    The text is registered with `linecache` under `filename`, which must be unique: then
    `inspect` finds the mutated source of a function.
    """
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    module = types.ModuleType(name)
    exec(compile(text, filename, "exec"), module.__dict__)
    return module


def mutant_of(source, kernel, operator, change):
    old, new = source.between(change.start, change.end), change.new
    if old.endswith("\n") and not new.strip():  # a statement left out
        new = f"{old[: len(old) - len(old.lstrip())]}pass\n"
    # As many lines as before, so that the lines below keep their numbers.
    text = source.changed(change._replace(new=new + "\n" * (old.count("\n") - new.count("\n"))))
    head = "if " if source.between(change.start - 3, change.start) == "if " else ""
    shown = (head + " ".join(part.split()) for part in (old, new))
    return Mutant(kernel, operator, change.line, *shown, 0, text)


# ---------------------------------------------------------------- syntax


def functions_of_kernel(tree, kernel):
    """The kernel's definition, and those of the functions it names in the same module."""
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    names = [kernel]
    for name in names:
        for node in ast.walk(defined[name]):
            named = node.id if isinstance(node, ast.Name) else None
            if named in defined and named not in names:
                names.append(named)
    return [defined[name] for name in names]


def nodes_in_order(tree, kind):
    """The nodes of that type in a syntax tree, in the order in which they stand in the text."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, kind)]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset, -node.end_col_offset))


def is_call_of_name(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def is_constant(node):
    """A number, as it stands or inside a type (`float32(0)`), or a name in capitals."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (bool, int, float))
    if isinstance(node, ast.Name):
        return node.id.isupper()
    return is_call_of_name(node) and len(node.args) == 1 and is_constant(node.args[0])


def is_early_return(node):
    one = isinstance(node, ast.If) and not node.orelse and len(node.body) == 1
    return one and isinstance(node.body[0], ast.Return)


def indices_of(subscript):
    return subscript.slice.elts if isinstance(subscript.slice, ast.Tuple) else [subscript.slice]


class Places:
    """Where in a function each operator may change something: spans in bytes."""

    def __init__(self, source, function):
        self.source = source
        self.statements = {}  # span of whole lines -> operator
        self.guards, self.swaps, self.shared, self.numbers = set(), set(), set(), set()
        tiles = set()
        for node in nodes_in_order(function, ast.Assign):
            if "cuda.shared.array" in ast.unparse(node.value):
                tiles |= {target.id for target in node.targets}
        for node in nodes_in_order(function, ast.Subscript):
            self.note_subscript(node, tiles)
        named = {
            node.slice.id
            for node in nodes_in_order(function, ast.Subscript)
            if isinstance(node.slice, ast.Name)
        }
        for node in nodes_in_order(function, (ast.stmt, ast.IfExp)):
            self.note(node, named, tiles)

    def note_subscript(self, node, tiles):
        self.swaps.add(self.source.span(node))
        if ast.unparse(node.value) in tiles:
            self.shared.add(self.source.span(node))
            indices = [index for index in indices_of(node) if isinstance(index, ast.Constant)]
            self.numbers |= {self.source.span(index) for index in indices}

    def note(self, node, named, not_yet_stored):
        """not_yet_stored: shared arrays; the first store into one takes it out."""
        if isinstance(node, (ast.If, ast.IfExp)):
            conditions = [node.test, *nodes_in_order(node.test, ast.BoolOp)]
            self.guards |= {self.source.span(part) for part in conditions}
        if isinstance(node, ast.IfExp):
            self.guards.add(self.source.span(node))
        elif is_early_return(node):
            self.statements[self.source.lines_of(node)] = "guard"
            self.guards.discard(self.source.span(node.test))
            if isinstance(node.test, ast.BoolOp):
                self.guards.add(self.source.span(node.test))
        elif isinstance(node, ast.Expr):
            called = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""
            if called == "cuda.syncthreads":
                self.statements[self.source.lines_of(node)] = "barrier"
            if called.startswith("cuda.atomic."):
                self.swaps.add(self.source.span(node.value.args[1]))
        elif isinstance(node, ast.Assign):
            target = node.targets[0]
            if ast.unparse(target) in named:
                self.swaps.add(self.source.span(node.value))
            array = ast.unparse(target.value) if isinstance(target, ast.Subscript) else ""
            if array in not_yet_stored or is_constant(node.value):
                self.statements[self.source.lines_of(node)] = "initialisation"
            not_yet_stored.discard(array)

    def operator_of(self, change: Change):
        """Which operator a change belongs to; "" for one that no mutant is made of."""
        span = change.start, change.end
        if change.kind == "line too many":
            return self.statements.get(span, "")
        if change.kind == "condition" and span in self.guards and "without" in change.words:
            early = any(start <= span[0] < end for start, end in self.statements)
            return "" if change.new == "True" and early else "guard"
        if change.kind == "atomic addition":
            return "atomic" if change.new.count("+=") else ""
        if change.kind in ("order of indices", "order of arguments"):
            return "swap" if span in self.swaps else ""
        one_more = change.kind == "one more or less" and " + 1)" in change.new
        if one_more and span in self.shared:
            return "off by one"
        if change.kind == "number" and span in self.numbers:
            old = self.source.between(*span)
            return "off by one" if old.isdecimal() and change.new == str(int(old) + 1) else ""
        return ""
