"""`python -m lessons autograder OUT.zip`: what Gradescope needs to grade, in one zip."""

import io
import secrets
import zipfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from kernels.files.atomic import refuse_to_replace, write_atomically
from kernels.plumbing.errors import InputError
from lessons.course.lesson import LESSONS, ROOT, find_lessons

GRADESCOPE = LESSONS / "grading" / "gradescope"
SCRIPTS = ("setup.sh", "run_autograder", "Dockerfile")
OPTIONS = "grade_options.txt"
FOLDERS = ("kernels", "lessons")
FILES = ("requirements-cpu.txt", "pyproject.toml", "LICENSE", "images/lake.png")
LEFT_OUT = (
    "__pycache__", ".progress.json", ".ipynb_checkpoints", "mistakes.diff", "other_ways.diff",
)  # fmt: skip
EXECUTABLE, ORDINARY = 0o100755, 0o100644
WHEN = (2020, 1, 1, 0, 0, 0)  # of every file, so that the same project gives the same zip


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("zip", metavar="OUT.zip", help="the file to write, and to give Gradescope")
    parser.add_argument(
        "--lessons", metavar="N,N", help="grade these lessons only, such as 1,2 (default: all)"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace an older file (default: refuse)"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N",
        help="what the inputs of the whole class follow from (default: a new one)",
    )  # fmt: skip


def write_autograder(options: Namespace) -> int:
    """The command; returns 0. Raises `InputError` if the zip cannot be written."""
    refuse_to_replace(options.zip, options.overwrite)
    if not GRADESCOPE.exists():
        raise InputError("this copy of the course has no autograder: use the whole project")
    chosen = ["--seed", str(secrets.randbits(32) if options.seed is None else options.seed)]
    if options.lessons:
        find_lessons(options.lessons)
        chosen += ["--lessons", options.lessons]
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for script in SCRIPTS:
            add(archive, script, (GRADESCOPE / script).read_bytes(), script != "Dockerfile")
        add(archive, OPTIONS, "".join(f"{word}\n" for word in chosen).encode(), False)
        for path in project_files():
            add(archive, path.relative_to(ROOT).as_posix(), path.read_bytes(), False)
    write_atomically(options.zip, lambda file: file.write(memory.getvalue()), options.overwrite)
    print(f"{options.zip}: upload it as the autograder of a programming assignment on Gradescope")
    return 0


def add(archive: zipfile.ZipFile, name: str, content: bytes, executable: bool) -> None:
    member = zipfile.ZipInfo(name, WHEN)
    member.external_attr = (EXECUTABLE if executable else ORDINARY) << 16
    archive.writestr(member, content, zipfile.ZIP_DEFLATED)


def project_files() -> Iterator[Path]:
    """What of the project a grading needs; nobody's work, and nothing that grading leaves."""
    for name in FILES:
        yield ROOT / name
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            parts = path.relative_to(ROOT).parts
            if path.is_file() and not set(LEFT_OUT) & set(parts) and ".bak-" not in path.name:
                yield path
