"""`python -m lessons handout OUT`: the course without its solutions, for students.

The lessons, the lab and the checks are those of this project. Of `kernels/` stays what an exercise
builds on; the functions that students write have no body. Where a lesson needs one of an earlier
lesson, it is the student's own (see `lessons.course.earlier`). Left out are all other places where
solutions, or half of one, can be read: wrong kernels, pictures' scripts, trainers, tests, history.
"""

import ast
import json
import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kernels.plumbing.errors import InputError
from lessons.course.earlier import NEEDED, SOLUTIONS
from lessons.course.exercises import START, SourceFile, blanked, exercise_text, names_in
from lessons.course.lesson import LESSONS, ROOT, Lesson, lessons
from lessons.course.rooms import kernel_modules, rooms

KEPT = (
    "LICENSE", "pyproject.toml", "requirements.txt", "requirements-cpu.txt", ".gitignore",
    "images/lake.png", "kernels/files", "kernels/plumbing", "kernels/training/__init__.py",
    "kernels/training/devices.py", "lessons",
)  # fmt: skip
README = Path(__file__).with_name("handout_readme.txt")
LEFT_OUT = (
    "GRADING.md", "__pycache__", ".progress.json", "mistakes.diff", "other_ways.diff",
    "start_here.ipynb", "notebook.py", "native_backend.py", "student_backend.py",
    "student_functions.py", "prove_checks.py", "make_fingerprints.py", "gradescope", "capstones",
    README.name,
)  # fmt: skip
NO_COMMAND = """import sys

print(
    "error: this command calls the solutions, and is not part of the course as it is handed out: "
    "run it in the whole project, with your exercise.py in its place",
    file=sys.stderr,
)
sys.exit(2)
"""

Defined = Mapping[str, SourceFile]  # module of kernels/ -> its file


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("out", metavar="OUT", help="the folder to make; it must not exist yet")


def write_handout(options: Namespace) -> int:
    """The command; returns 0. Raises `InputError` if the folder exists or cannot be written."""
    out = Path(options.out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} exists already: give the name of a new folder")
    if out.resolve().is_relative_to(LESSONS):
        raise InputError(f"{out} is inside of the lessons: give another folder")
    everything = lessons()
    if any((lesson.folder / START).exists() for lesson in everything):
        raise InputError("this copy of the course is a handout already: use the whole project")
    try:
        copy_project(out)
        write_kernels(out, everything)
        write_lessons(out, everything)
        shutil.copyfile(README, out / "README.md")
        (out / SOLUTIONS.name).mkdir()
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror}") from None
    print(f"{out}: the course without solutions; try it: cd {out} && python -m lessons")
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
    found = shutil.ignore_patterns(*LEFT_OUT, "*.bak-*")(folder, names)
    if "lesson.toml" not in names:
        return set(found)
    # The picture of a lesson stays; the script that draws it calls the solution, and so does the
    # lesson's command.
    scripts = {name for name in names if name.endswith(".py") and not name.startswith("test_")}
    return {*found, *scripts - {"exercise.py"}}


# ---------------------------------------------------------------- kernels without solutions


def write_kernels(out: Path, everything: Sequence[Lesson]) -> None:
    """The files of `kernels/` and of the lessons' rooms, without the bodies that students write."""
    packages = [room / "__init__.py" for room in rooms(everything)]
    for path in [*kernel_files(everything).values(), *packages]:
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


def kernel_files(everything: Sequence[Lesson]) -> dict[str, Path]:
    """Module -> file: those directly in `kernels/`, and those of the lessons' rooms."""
    direct = {f"kernels.{path.stem}": path for path in sorted((ROOT / "kernels").glob("*.py"))}
    return {**direct, **kernel_modules(everything, with_checks=True)}


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


def write_lessons(out: Path, everything: Sequence[Lesson]) -> None:
    """For each lesson: the exercise, how it begins, and what it needs of earlier ones."""
    files = {
        module: SourceFile(path.read_text(encoding="utf-8"), None)
        for module, path in kernel_files(everything).items()
    }
    for lesson in everything:
        folder = out / lesson.folder.relative_to(ROOT)
        text = exercise_text(lesson)
        for name in ("exercise.py", START):
            (folder / name).write_text(text, encoding="utf-8")
        needed = earlier_functions(lesson, everything, files)
        if (lesson.folder / "__main__.py").exists():
            (folder / "__main__.py").write_text(NO_COMMAND, encoding="utf-8")
        (folder / NEEDED).write_text(json.dumps(needed, indent=1) + "\n", encoding="utf-8")


def earlier_functions(
    lesson: Lesson, everything: Sequence[Lesson], files: Defined
) -> dict[str, dict[str, list[str]]]:
    """Lesson -> module -> names: what is reached of earlier lessons' functions from this one."""
    # Two lessons may ask for the same function: then the later one's is taken.
    writers = {
        (part.module, name): other
        for other in everything[: everything.index(lesson) + 1]
        for part in other.parts
        for name in part.functions
        if name in other.blank
    }
    found: dict[str, dict[str, list[str]]] = {}
    for module, name in sorted(reached_from(lesson, files)):
        writer = writers.get((module, name), lesson)
        if writer is not lesson:
            found.setdefault(writer.name, {}).setdefault(module, []).append(name)
    return dict(sorted(found.items()))


def reached_from(lesson: Lesson, files: Defined) -> set[tuple[str, str]]:
    """(module, function) of `kernels/` for all that a lesson's functions and checks lead to."""
    waiting = [(part.module, name) for part in lesson.parts for name in part.functions]
    (checks,) = lesson.folder.glob("test_*.py")
    waiting += imports_of(SourceFile(checks.read_text(encoding="utf-8"), None))
    reached: set[tuple[str, str]] = set()
    while waiting:
        place = waiting.pop()
        if place not in reached and place[0] in files:
            reached.add(place)
            waiting += leads_to(*place, files)
    return reached


def leads_to(module: str, name: str, files: Defined) -> Iterator[tuple[str, str]]:
    """What a function or a class of a module names, of this module and of others."""
    file = files[module]
    imported = dict(zip(file.imports, imports_of(file), strict=True))
    for node in file.tree.body:
        if getattr(node, "name", None) == name:
            for used in names_in(node):
                yield imported.get(used, (module, used))


def imports_of(file: SourceFile) -> list[tuple[str, str]]:
    return [(found.module, found.source or "") for found in file.imports.values()]
