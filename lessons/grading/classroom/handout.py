"""`python -m lessons handout OUT`: the course without its solutions, for students.

The lessons, their commands, the lab and the checks are those of this project. Of `kernels/` stays
what these import; the functions that students write have no body. Where a check or a command needs
one, it is the student's own, or one of `solutions/` (see `lessons.course.earlier`). Left out are
all other places where solutions, or half of one, can be read: wrong kernels, pictures' scripts,
backends, tests, history.
"""

import ast
import json
import re
import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kernels.plumbing.errors import InputError
from lessons.course.earlier import COMMAND, NEEDED, SOLUTIONS
from lessons.course.exercises import (
    START,
    SourceFile,
    assigned_names,
    blanked,
    exercise_text,
    names_in,
    write_solutions,
)
from lessons.course.lesson import LESSONS, ROOT, Lesson, find_lessons, lessons
from lessons.course.rooms import file_of, imported_modules, kernel_modules

KEPT = (
    "LICENSE", "pyproject.toml", "requirements.txt", "requirements-cpu.txt", ".gitignore",
    "images/lake.png", "lessons",
)  # fmt: skip
README = Path(__file__).with_name("handout_readme.txt")
LEFT_OUT = (
    "GRADING.md", "__pycache__", ".progress.json", "mistakes.diff", "other_ways.diff",
    "start_here.ipynb", "notebook.py", "native_backend.py", "student_backend.py",
    "prove_checks.py", "make_fingerprints.py", "gradescope", "case_kernels.py", README.name,
)  # fmt: skip
FUSED = (
    "siren/fused inline/fused classifier/fused attention/fused derivatives/fused "
    "derivatives/fused_writer"
)
FAST = "training/cpu_backend training/graph_backend training/lake_model"
OTHERS = f"products/large_tiles general/stages {FAST}"
HALF_SOLUTIONS = {ROOT / "kernels" / f"{name}.py" for name in f"{FUSED} {OTHERS}".split()}
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")

Place = tuple[str, str]  # a module, and a name in it
Files = Mapping[str, SourceFile]  # module -> its file


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("out", metavar="OUT", help="the folder to make; it must not exist yet")
    parser.add_argument(
        "--with", dest="given", metavar="LESSONS",
        help="put our solutions of these lessons in, such as 1-9 or 1,4,5b (default: none)",
    )  # fmt: skip


def write_handout(options: Namespace) -> int:
    """The command; returns 0. Raises `InputError` if the folder exists or cannot be written."""
    out = Path(options.out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} exists already: give the name of a new folder")
    if out.resolve().is_relative_to(LESSONS):
        raise InputError(f"{out} is inside of the lessons: give another folder")
    everything = lessons()
    given = find_lessons(options.given) if options.given else []
    if any((lesson.folder / START).exists() for lesson in everything):
        raise InputError("this copy of the course is a handout already: use the whole project")
    try:
        copy_project(out)
        files = kernel_files(out)
        write_kernels(out, everything, files)
        write_lessons(out, everything, files)
        shutil.copyfile(README, out / "README.md")
        write_solutions(given, out / SOLUTIONS.name)
        for page in out.rglob("*.md"):
            page.write_text(
                without_dead_links(page, ROOT / page.relative_to(out)), encoding="utf-8"
            )
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror}") from None
    but = f" but those of {', '.join(lesson.number for lesson in given)}" if given else ""
    print(f"{out}: the course without solutions{but}; try it: cd {out} && python -m lessons")
    return 0


def copy_project(out: Path) -> None:
    for name in KEPT:
        source, target = ROOT / name, out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=not_for_students, dirs_exist_ok=True)
        elif source.exists():
            shutil.copyfile(source, target)


def not_for_students(folder: str, names: list[str]) -> set[str]:
    """Those of the names in a folder that are not copied."""
    found = set(shutil.ignore_patterns(*LEFT_OUT, "*.bak-*")(folder, names))
    # The picture of a lesson stays; the script that draws it holds solutions.
    return found | {"picture.py"} if "lesson.toml" in names else found


def without_dead_links(page: Path, original: Path) -> str:
    """The text of a page, where a link to a file that only the whole project has becomes words."""

    def kept(link: re.Match[str]) -> str:
        dead = (original.parent / link[2]).exists() and not (page.parent / link[2]).exists()
        return link[1] if dead else link[0]

    return LINK.sub(kept, page.read_text(encoding="utf-8"))


# ---------------------------------------------------------------- kernels without solutions


def write_kernels(out: Path, everything: Sequence[Lesson], files: Mapping[str, Path]) -> None:
    """These files of `kernels/`, without the bodies that students write."""
    for path in files.values():
        name = path.relative_to(ROOT).as_posix()
        blank = {
            function
            for lesson in everything
            for part in lesson.parts
            if part.file == name
            for function in set(part.functions) & set(lesson.blank)
        }
        text = without_bodies(path.read_text(encoding="utf-8"), blank)
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")
        page = path.with_suffix(".html")  # that a file fills, beside it
        if page.exists():
            shutil.copyfile(page, (out / name).with_suffix(".html"))


def kernel_files(out: Path) -> dict[str, Path]:
    """Module -> file: those directly in `kernels/`, and what the lessons in a handout import."""
    waiting = [*(ROOT / "kernels").glob("*.py"), *kernel_modules(lessons()).values()]
    waiting += [ROOT / path.relative_to(out) for path in out.rglob("*.py")]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        near = {path.with_name("__init__.py")}
        for module in imported_modules(path):
            near |= {file_of(module), file_of(module).with_suffix("") / "__init__.py"}
        found = {path for path in near if path.is_file()} - seen - HALF_SOLUTIONS
        seen |= found
        waiting += found
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in sorted(seen)
        if path.is_relative_to(ROOT / "kernels")
    }


def without_bodies(text: str, names: set[str]) -> str:
    file = SourceFile(text, None)
    lines = text.splitlines()
    for node in reversed(file.tree.body):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            stub = blanked(file, node, keep_comments=False).splitlines()
            last = node.end_lineno or node.lineno
            lines[last - len(file.text_of(node).splitlines()) : last] = stub
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------- what a lesson builds on


def write_lessons(out: Path, everything: Sequence[Lesson], kernels: Mapping[str, Path]) -> None:
    """For each lesson: the exercise, how it begins, and what it and its command need of others."""
    shared = {
        f"lessons.capstones.{path.stem}": path for path in (LESSONS / "capstones").glob("*.py")
    }
    files = {
        module: SourceFile(path.read_text(encoding="utf-8"), module)
        for module, path in {**kernels, **shared}.items()
    }
    for lesson in everything:
        folder = out / lesson.folder.relative_to(ROOT)
        text = exercise_text(lesson)
        for name in ("exercise.py", START):
            (folder / name).write_text(text, encoding="utf-8")
        (checks,) = lesson.folder.glob("test_*.py")
        own = [(part.module, name) for part in lesson.parts for name in part.functions]
        needed = written_in(everything, lesson, [*own, *called_in(checks)], files)
        needed.pop(lesson.name, None)
        write_table(folder / NEEDED, needed)
        if (lesson.folder / "__main__.py").exists():
            scripts = {ROOT / path.relative_to(out) for path in folder.glob("*.py")}
            for path in scripts - {checks, lesson.exercise}:
                own += [*called_in(path), *asked_for_in(path, everything)]
            write_table(folder / COMMAND, written_in(everything, lesson, own, files))


def write_table(path: Path, table: object) -> None:
    path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


def called_in(path: Path) -> Iterator[Place]:
    """What a file of a lesson imports, and what it uses of modules that it imports."""
    file = SourceFile(path.read_text(encoding="utf-8"), None)
    yield from imports_of(file)
    yield from used_in(file.tree, file)


def asked_for_in(path: Path, everything: Sequence[Lesson]) -> Iterator[Place]:
    """Functions of exercises that a command names in a string, as `run.stages` wants them."""
    held = {
        name: part.module
        for lesson in everything
        for part in lesson.parts
        for name in part.functions
    }
    for node in ast.walk(SourceFile(path.read_text(encoding="utf-8"), None).tree):
        if isinstance(node, ast.Constant) and node.value in held:
            yield held[node.value], node.value


def written_in(
    everything: Sequence[Lesson], lesson: Lesson, begin: Iterable[Place], files: Files
) -> dict[str, dict[str, list[str]]]:
    """Lesson -> module -> names: what students write of all that these places lead to."""
    # Two lessons may ask for the same function: then the later one's is taken.
    writers = {
        (part.module, name): other.name
        for other in everything[: everything.index(lesson) + 1]
        for part in other.parts
        for name in part.functions
        if name in other.blank
    }
    found: dict[str, dict[str, list[str]]] = {}
    for module, name in sorted(reached_from(begin, files)):
        if (module, name) in writers:
            found.setdefault(writers[module, name], {}).setdefault(module, []).append(name)
    return dict(sorted(found.items()))


def reached_from(begin: Iterable[Place], files: Files) -> set[Place]:
    """All of our modules' functions, classes and constants that these lead to."""
    waiting = list(begin)
    reached: set[Place] = set()
    while waiting:
        module, name = place = waiting.pop()
        if place in reached:
            continue
        reached.add(place)
        if module in files:
            waiting += leads_to(module, name, files[module])
    return reached


def leads_to(module: str, name: str, file: SourceFile) -> Iterator[Place]:
    """What a function, a class or a constant of a module names, of this module and of others."""
    for node in file.tree.body:
        if getattr(node, "name", None) == name or name in assigned_in(node):
            yield from used_in(node, file)
            yield from ((module, used) for used in names_in(node) - set(file.imports))


def used_in(node: ast.AST, file: SourceFile) -> Iterator[Place]:
    """What part of a file uses of the modules that the file imports."""
    imported = dict(zip(file.imports, imports_of(file), strict=True))
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id in imported:
            yield imported[inner.id]
        if isinstance(inner, ast.Attribute) and ast.unparse(inner.value) in imported:
            module, name = imported[ast.unparse(inner.value)]
            yield f"{module}.{name}".rstrip("."), inner.attr


def assigned_in(node: ast.stmt) -> set[str]:
    return set(assigned_names(ast.Module([node], [])))


def imports_of(file: SourceFile) -> list[Place]:
    return [(found.module, found.source or "") for found in file.imports.values()]
