"""Under what a class was graded: versions, machine, checks, what confined the students' code."""

import hashlib
import importlib.metadata
import os
import platform
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from lessons.course.lesson import LESSONS, Lesson
from lessons.grading.walls.confine import what_is_enforced

PACKAGES = ("numba", "numba-cuda", "numpy")


def place(jobs: int, confinement: Sequence[str]) -> dict[str, Any]:
    """What should be known to repeat a grading. confinement: what was in force, in words."""
    return {
        "began": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        **{package: version_of(package) for package in PACKAGES},
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "jobs": jobs,
        "confinement": list(confinement),
    }


def version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def digest_of_checks(lessons: Sequence[Lesson]) -> str:
    """SHA-256 of all that decides a verdict besides the student's file and the engines."""
    graders = LESSONS.glob("grading/**/*.py")
    paths = [*LESSONS.glob("reference/*.py"), *(p for p in graders if "classroom" not in p.parts)]
    for lesson in lessons:
        paths += [lesson.folder / "lesson.toml", *lesson.folder.glob("test_*.py")]
    hashed = hashlib.sha256()
    for path in sorted(paths):
        hashed.update(path.relative_to(LESSONS).as_posix().encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()


def confinement() -> list[str]:
    """What keeps a student's code in its place here, and what does not; one line each."""
    lines = ["every file runs in processes of its own, which end with their checks"]
    if os.name == "posix":
        lines.append("memory and the size of files are limited")
    else:
        lines.append("NOT enforced: memory and the size of files")
    if not sys.platform.startswith("linux"):
        lines.append("NOT enforced: processes that leave their group are not found")
    return [*lines, *what_is_enforced(), "use a container for strangers"]
