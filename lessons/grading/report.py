"""The outcome of grading as a file for machines and a table for people (see lessons/GRADING.md)."""

import json

from kernels.files.atomic import write_atomically
from lessons.course.lesson import ROOT, digest

VERSION = 1  # of the report's format


def all_results(selected, results, reason):
    """The results, with a row for every check of the selected lessons that has none.

    reason: (lesson, check) -> why the check has no result. The maximum is therefore always that of
    the whole lesson.
    """
    from lessons.grading.run import Result

    known = {(result.lesson, result.check): result for result in results}
    rows = []
    for lesson in selected:
        for check in lesson.checks:
            key = lesson.name, check.name
            status, message = reason(*key)
            missing = Result(*key, 0, check.points, status, message, "", "", "", 0.0)
            rows.append(known.get(key, missing))
    return rows


def write_report(path, rows, seed, files, remarks):
    """Write grade.json.

    files: paths that took part, whose hashes are recorded. remarks: lesson -> list of lines.
    """
    content = {
        "checks": [row._asdict() for row in rows],
        "seed": seed,
        "files": {name_of(file): digest(file) for file in files},
        "remarks": remarks,
        "version": VERSION,
    }
    text = json.dumps(content, indent=2) + "\n"
    write_atomically(path, lambda file: file.write(text.encode("utf-8")))


def name_of(path):
    path = path.resolve()
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)


def summary_lines(rows):
    """A table of points: a line a lesson, and the total."""
    lines = []
    names = list(dict.fromkeys(row.lesson for row in rows))
    for name in names:
        mine = [row for row in rows if row.lesson == name]
        lines.append(f"{name:<16} {points_of(mine)}{remarks(mine)}")
    if len(names) > 1:
        lines.append(f"{'total':<16} {points_of(rows)}")
    return lines


def points_of(rows):
    got, most = sum(row.score for row in rows), sum(row.max_score for row in rows)
    return f"{got:3} of {most:3} points"


def remarks(rows):
    parts = []
    for status in ("failed", "error", "timeout", "skipped"):
        named = [f"{row.check} ({row.diagnosis})" if row.diagnosis else row.check
                 for row in rows if row.status == status]  # fmt: skip
        if named:
            parts.append(f"{status}: {', '.join(named)}")
    return "   " + "; ".join(parts) if parts else ""
