"""Make exercise.py out of kernels/: the reference, with the bodies that a student writes left out.

The solution of a lesson is the function in `kernels/`, never a second copy. An exercise keeps each
function's signature, docstring and the comments that stand on lines of their own, which say what to
think of; the imports are those that the reference needs.

    python -m lessons.course.exercises          write exercise.py of lessons that have none
    python -m lessons.course.exercises --all    write every one anew (what is there is lost!)
"""

import ast
import sys
from typing import NamedTuple

from kernels.files.atomic import write_atomically
from lessons.course.lesson import ROOT, lessons

NOT_WRITTEN = 'raise NotImplementedError("write me")'
LINE_LENGTH = 100


def exercise_text(lesson):
    """What exercise.py of a `Lesson` holds before the student has written anything."""
    return assemble(lesson, lesson.blank)


def solution_text(lesson):
    """The same file with nothing left out: the reference."""
    return assemble(lesson, ())


def wrong_text(lesson, path):
    """The solution with the functions of the file `path` in the place of its own.

    Whatever else stands at the top of that file (constants, functions of another name) is added.
    """
    return assemble(lesson, (), SourceFile(path.read_text(encoding="utf-8"), None))


def unwritten(text, names):
    """Those of `names` that are missing in a Python text, or have a body that does nothing.

    Such a body is a docstring, `pass`, `...`, `raise NotImplementedError`, or any of them together.
    A text that is no Python has nothing unwritten: it has an error, which running it will tell.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    bodies = {node.name: node.body for node in tree.body if isinstance(node, ast.FunctionDef)}
    written = {name for name, body in bodies.items() if not all(map(does_nothing, body))}
    # A name may be given otherwise: grayscale = cuda.jit(...), or an import.
    written |= set(assigned_names(tree)) | set(imported_names(tree))
    return [name for name in names if name not in written]


def does_nothing(statement):
    if isinstance(statement, ast.Pass):
        return True
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if not isinstance(statement, ast.Raise) or statement.exc is None:
        return False
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


# ---------------------------------------------------------------- putting the file together


class Import(NamedTuple):
    """`import module as name` if `source` is None, else `from module import source as name`."""

    module: str
    source: str
    name: str


class SourceFile:
    """A Python text, its top-level functions, and where each name it uses comes from."""

    def __init__(self, text, module):
        self.lines = text.splitlines()
        self.tree = ast.parse(text)
        self.module = module  # dotted name from which the rest of it can be imported
        self.imports = imported_names(self.tree)
        self.functions = {
            node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)
        }

    def text_of(self, node):
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno] + [decorator.lineno for decorator in decorators])
        while first > 1 and self.lines[first - 2].startswith("#"):
            if self.lines[first - 2].startswith("# ---"):
                break
            first -= 1
        return "\n".join(self.lines[first - 1 : node.end_lineno])

    def extras(self):
        """Top-level statements that are neither functions, imports nor the docstring."""
        skipped = (ast.FunctionDef, ast.Import, ast.ImportFrom)
        has_docstring = ast.get_docstring(self.tree) is not None
        return [node for node in self.tree.body[has_docstring:] if not isinstance(node, skipped)]


def assemble(lesson, blank, replacement=None):
    pieces = []  # (text, SourceFile, node)
    held = set()
    for part in lesson.parts:
        module = part.file.removesuffix(".py").replace("/", ".")
        file = SourceFile((ROOT / part.file).read_text(encoding="utf-8"), module)
        for name in part.functions:
            node, origin = file.functions[name], file
            if replacement and name in replacement.functions:
                node, origin = replacement.functions[name], replacement
            text = blanked(origin, node) if name in blank else origin.text_of(node)
            pieces.append((text, origin, node))
            held.add(name)
    if replacement:
        pieces[:0] = additions(replacement, held)
        held |= set(replacement.functions) | set(assigned_names(replacement.tree))
    wanted = {
        found
        for _, origin, node in pieces
        for name in names_in(node)
        if name not in held and (found := where_from(origin, name))
    }
    header = f'"""{lesson.header.rstrip()}\n"""'
    body = "\n\n\n".join(text for text, _, _ in pieces)
    top = "\n\n".join(part for part in (header, import_lines(wanted)) if part)
    return f"{top}\n\n\n{body}\n"


def additions(file, held):
    """What a file of wrong functions has besides the functions it replaces."""
    helpers = [node for name, node in file.functions.items() if name not in held]
    added = sorted(file.extras() + helpers, key=lambda node: node.lineno)
    return [(file.text_of(node), file, node) for node in added]


def blanked(file, node):
    """The text of a function with its body left out, but for docstring and whole-line comments."""
    body = node.body
    has_docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    last_kept = body[0].end_lineno if has_docstring else body[0].lineno - 1
    text = file.text_of(node).splitlines()
    kept = text[: len(text) - (node.end_lineno - last_kept)]
    indent = " " * body[0].col_offset
    comments = comment_paragraphs(file.lines[last_kept : node.end_lineno], indent)
    return "\n".join([*kept, *comments, indent + NOT_WRITTEN])


def comment_paragraphs(lines, indent):
    """Whole-line comments, each group of neighbouring lines followed by an empty line."""
    result = []
    previous = None
    for number, line in enumerate(lines):
        stripped = line.strip()
        if not stripped.startswith("#"):
            continue
        if previous is not None and number != previous + 1:
            result.append("")
        result.append(indent + stripped)
        previous = number
    return result


# ---------------------------------------------------------------- names and imports


def names_in(node):
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def imported_names(tree):
    """name -> `Import`, for the imports at the top of a file."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name
                found[name] = Import(alias.name, None, name)
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                found[name] = Import(node.module, alias.name, name)
    return found


def assigned_names(tree):
    """Names that a file's top-level assignments and classes define."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        for target in getattr(node, "targets", ()):
            for inner in ast.walk(target):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    yield inner.id


def where_from(file, name):
    """The `Import` that makes `name` known in another file, or None for builtins and locals."""
    if name in file.imports:
        return file.imports[name]
    if file.module and (name in file.functions or name in set(assigned_names(file.tree))):
        return Import(file.module, name, name)
    return None


def import_lines(wanted):
    """Import statements: the standard library first, then packages, then the project."""
    plain = {entry for entry in wanted if entry.source is None}
    lines = {0: [], 1: [], 2: []}
    for entry in sorted(plain):
        renamed = f" as {entry.name}" if entry.name != entry.module else ""
        lines[rank(entry.module)].append(f"import {entry.module}{renamed}")
    for module in sorted({entry.module for entry in wanted - plain}):
        entries = sorted(entry for entry in wanted - plain if entry.module == module)
        names = [
            entry.source if entry.source == entry.name else f"{entry.source} as {entry.name}"
            for entry in entries
        ]
        lines[rank(module)].append(from_import(module, names))
    return "\n\n".join("\n".join(group) for group in lines.values() if group)


def rank(module):
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return 0
    return 2 if top in ("kernels", "lessons") else 1


def from_import(module, names):
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= LINE_LENGTH:
        return line
    inside = "".join(f"    {name},\n" for name in names)
    return f"from {module} import (\n{inside})"


# ---------------------------------------------------------------- writing


def write_exercise(lesson):
    """Write exercise.py of a lesson as it is before the student begins."""
    text = exercise_text(lesson).encode("utf-8")
    write_atomically(lesson.exercise, lambda file: file.write(text))


def main():
    for lesson in lessons():
        if "--all" in sys.argv[1:] or not lesson.exercise.exists():
            write_exercise(lesson)
            print(lesson.exercise.relative_to(ROOT))


if __name__ == "__main__":
    main()
