"""The outcome of grading as a file for machines (see lessons/GRADING.md)."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from kernels.files.atomic import write_atomically
from lessons.course.lesson import ROOT, Lesson, digest
from lessons.grading.judge.result import Result

VERSION = 1  # of the report's format


def all_results(
    selected: Iterable[Lesson], results: list[Result], reason: Callable[[str, str], tuple[str, str]]
) -> list[Result]:
    """The results, with a row for every check of the selected lessons that has none.

    reason: (lesson, check) -> (status, message) of a check that has no result. The maximum is
    therefore always that of the whole lesson.
    """
    known = {(result.lesson, result.check): result for result in results}
    rows = []
    for lesson in selected:
        for check in lesson.checks:
            key = lesson.name, check.name
            status, message = reason(*key)
            missing = Result(*key, 0, check.points, status, message, "", "", "", 0.0)
            rows.append(known.get(key, missing))
    return rows


def write_report(
    path: Path,
    rows: Iterable[Result],
    seed: int,
    files: Iterable[Path],
    remarks: dict[str, list[str]],
) -> None:
    """Write grade.json.

    files: paths that took part, whose hashes are recorded. remarks: lesson -> lines that a person
    should read. Raises `InputError` or `OSError` if the file cannot be written.
    """
    content = {
        "checks": [row._asdict() for row in rows],
        "seed": seed,
        "files": {name_of(file): digest(file) for file in files},
        "remarks": remarks,
        "version": VERSION,
    }
    write_json(path, content)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, indent=2) + "\n"
    write_atomically(path, lambda file: file.write(text.encode("utf-8")))


def name_of(path: Path) -> str:
    path = path.resolve()
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)
