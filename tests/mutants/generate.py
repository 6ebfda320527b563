"""Make the mutants of a kernel: copies of its module with one small mistake each.

The syntax tree says where a mistake can be made; the text is changed just there, so comments and
line numbers stay as they are, and whatever is found in a mutant names the line of the real file.

Six operators, each a mistake that people make:

    barrier         a barrier is removed
    guard           a bounds check is dropped, whole or one operand of it
    atomic          `cuda.atomic.add(a, i, x)` becomes `a[i] += x`
    swap            two neighbouring indices change places
    off by one      an index of a shared array is one too large
    initialisation  a variable, an array or a shared tile is not given its first value
"""

import ast
import inspect
import itertools
import linecache
import types
from typing import NamedTuple


class Mutant(NamedTuple):
    """One mistake in one kernel. `occurrence` counts those that read the same, from 0."""

    kernel: str
    operator: str
    line: int
    description: str
    old: str
    new: str
    occurrence: int
    text: str  # the whole module, with the mistake in it

    @property
    def key(self):
        """What names this mutant in `equivalent`; it outlives edits elsewhere in the file."""
        return self.kernel, self.operator, self.old, self.new, self.occurrence

    def __str__(self):
        return f"{self.kernel}, {self.description}: `{self.old}` -> `{self.new}`"


class Edit(NamedTuple):
    """Replace what stands between two offsets; `shown` is the larger piece a reader should see."""

    operator: str
    begin: int
    end: int
    replacement: str
    shown: tuple
    what: str


def mutants_of_module(module, kernel):
    """All mutants of the kernel of that name in an imported module."""
    return mutants_of(inspect.getsource(module), kernel)


def mutants_of(text, kernel):
    """List of `Mutant`. text: of a whole module. kernel: name of a function in it.

    Functions of the same module that the kernel calls are a part of it.
    """
    source = SourceText(text)
    found, seen = [], {}
    for function in functions_of_kernel(ast.parse(text), kernel):
        for operator in OPERATORS:
            for edit in operator(source, function):
                mutant = make_mutant(source, kernel, edit)
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


# ---------------------------------------------------------------- text


class SourceText:
    """A module's text, by the positions of its syntax tree, which count bytes."""

    def __init__(self, text):
        self.bytes = text.encode()
        self.line_starts = [0]
        for line in self.bytes.splitlines(keepends=True):
            self.line_starts.append(self.line_starts[-1] + len(line))

    def begin(self, node):
        return self.line_starts[node.lineno - 1] + node.col_offset

    def end(self, node):
        return self.line_starts[node.end_lineno - 1] + node.end_col_offset

    def span(self, node):
        return self.begin(node), self.end(node)

    def between(self, begin, end):
        return self.bytes[begin:end].decode()

    def of(self, node):
        return self.between(*self.span(node))

    def line_at(self, offset):
        return self.bytes.count(b"\n", 0, offset) + 1


def make_mutant(source, kernel, edit):
    old_piece = source.between(edit.begin, edit.end)
    # As many lines as before, so that the lines below keep their numbers.
    lost_lines = old_piece.count("\n") - edit.replacement.count("\n")
    before, after = source.between(0, edit.begin), source.between(edit.end, len(source.bytes))
    first, last = edit.shown
    new = source.between(first, edit.begin) + edit.replacement + source.between(edit.end, last)
    line = source.line_at(edit.begin)
    return Mutant(
        kernel=kernel,
        operator=edit.operator,
        line=line,
        description=f"line {line}: {edit.what}",
        old=in_one_line(source.between(first, last)),
        new=in_one_line(new),
        occurrence=0,
        text=before + edit.replacement + "\n" * lost_lines + after,
    )


def in_one_line(text):
    return " ".join(text.split())


def replace_node(operator, source, node, replacement, what, shown=None):
    return Edit(operator, *source.span(node), replacement, shown or source.span(node), what)


# ---------------------------------------------------------------- syntax


def functions_of_kernel(tree, kernel):
    """The kernel's definition, and those of the functions it calls in the same module."""
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    names = [kernel]
    for name in names:
        for node in ast.walk(defined[name]):
            called = node.func.id if is_call_of_name(node) else None
            if called in defined and called not in names:
                names.append(called)
    return [defined[name] for name in names]


def nodes_in_order(tree, kind):
    """The nodes of that type in a syntax tree, in the order in which they stand in the text."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, kind)]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset, -node.end_col_offset))


def is_call_of_name(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def is_statement_calling(node, path):
    """Whether a statement is a bare call of `path`, such as "cuda.syncthreads"."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == path
    )


def is_constant(node):
    """A number, as it stands or inside a type (`float32(0)`), or a name in capitals."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (bool, int, float))
    if isinstance(node, ast.Name):
        return node.id.isupper()
    return is_call_of_name(node) and len(node.args) == 1 and is_constant(node.args[0])


def is_zero(node):
    if is_call_of_name(node) and len(node.args) == 1:
        return is_zero(node.args[0])
    return isinstance(node, ast.Constant) and node.value == 0


def shared_arrays(function):
    """Names that the function gives to shared arrays."""
    return {
        target.id
        for node in nodes_in_order(function, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "cuda.shared.array"
    }


def is_element_of(node, names):
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in names
    )


def indices_of(subscript):
    return subscript.slice.elts if isinstance(subscript.slice, ast.Tuple) else [subscript.slice]


# ---------------------------------------------------------------- the operators


def remove_barriers(source, function):
    for node in nodes_in_order(function, ast.Expr):
        if is_statement_calling(node, "cuda.syncthreads"):
            yield replace_node("barrier", source, node, "pass", "barrier removed")


def drop_guards(source, function):
    for node in nodes_in_order(function, (ast.If, ast.IfExp)):
        head = source.begin(node), source.end(node.test)
        if isinstance(node, ast.IfExp):
            if not is_zero(node.orelse):
                continue
            kept = source.of(node.body)
            yield replace_node("guard", source, node, kept, "guard dropped")
            yield from drop_operands(source, node.test, source.span(node))
        elif is_early_return(node):
            yield replace_node("guard", source, node, "pass", "early return dropped")
            yield from drop_operands(source, node.test, head)
        elif not node.orelse and isinstance(node.test, (ast.Compare, ast.BoolOp)):
            yield replace_node("guard", source, node.test, "True", "guard dropped", head)
            yield from drop_operands(source, node.test, head)


def is_early_return(node):
    return not node.orelse and len(node.body) == 1 and isinstance(node.body[0], ast.Return)


def drop_operands(source, condition, shown):
    """One mutant for each operand of each `and` and `or` in a guard's condition."""
    for node in nodes_in_order(condition, ast.BoolOp):
        word = " and " if isinstance(node.op, ast.And) else " or "
        for dropped in node.values:
            rest = [operand_text(source, value) for value in node.values if value is not dropped]
            what = f"`{source.of(dropped)}` dropped from the guard"
            yield replace_node("guard", source, node, word.join(rest), what, shown)


def operand_text(source, node):
    compound = isinstance(node, (ast.BoolOp, ast.IfExp))
    return f"({source.of(node)})" if compound else source.of(node)


def make_atomics_plain(source, function):
    for node in nodes_in_order(function, ast.Expr):
        if not is_statement_calling(node, "cuda.atomic.add"):
            continue
        array, index, value = node.value.args
        indices = index.elts if isinstance(index, ast.Tuple) else [index]
        subscript = ", ".join(source.of(part) for part in indices)
        added = source.of(value)
        if "\n" in added:
            added = f"({added})"
        new = f"{source.of(array)}[{subscript}] += {added}"
        yield replace_node("atomic", source, node, new, "atomic add made plain")


def swap_indices(source, function):
    named = {
        node.slice.id
        for node in nodes_in_order(function, ast.Subscript)
        if isinstance(node.slice, ast.Name)
    }
    for shown in nodes_in_order(function, (ast.Subscript, ast.Call, ast.Assign)):
        indices = index_tuple(shown, named)
        for first, second in itertools.pairwise(indices):
            a, b = source.of(first), source.of(second)
            if a == b:
                continue
            new = b + source.between(source.end(first), source.begin(second)) + a
            begin, end = source.begin(first), source.end(second)
            what = f"indices `{a}` and `{b}` swapped"
            yield Edit("swap", begin, end, new, source.span(shown), what)


def index_tuple(node, named):
    """The indices in `a[i, j]`, in `cuda.atomic.add(a, (i, j), x)`, and in `index = i, j`.

    named: names that are used as an index. Returns an empty list for any other node.
    """
    index = None
    if isinstance(node, ast.Subscript):
        index = node.slice
    elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("cuda.atomic."):
        index = node.args[1]
    elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in named:
        index = node.value
    return index.elts if isinstance(index, ast.Tuple) else []


def shift_shared_indices(source, function):
    names = shared_arrays(function)
    for node in nodes_in_order(function, ast.Subscript):
        if not is_element_of(node, names):
            continue
        for index in indices_of(node):
            text = source.of(index)
            new = f"{text} + 1" if binds_like_a_sum(index) else f"({text}) + 1"
            what = f"index `{text}` of a shared array one too large"
            yield replace_node("off by one", source, index, new, what, source.span(node))


def binds_like_a_sum(node):
    """Whether `+ 1` can follow without brackets."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod))
    return isinstance(node, (ast.Name, ast.Constant))


def drop_initialisations(source, function):
    not_yet_stored = shared_arrays(function)
    for node in nodes_in_order(function, ast.Assign):
        target = node.targets[0]
        fills = is_element_of(target, not_yet_stored)
        if fills:
            not_yet_stored.remove(target.value.id)
        if fills or is_constant(node.value):
            what = "first store removed" if fills else "initialisation removed"
            yield replace_node("initialisation", source, node, "pass", what)


OPERATORS = (
    remove_barriers, drop_guards, make_atomics_plain, swap_indices, shift_shared_indices,
    drop_initialisations,
)  # fmt: skip
