"""A student's grade in the formats of others: grade.json, Gradescope, JUnit, Classroom 50."""

import os
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from kernels.files.atomic import write_atomically
from lessons.grading.classroom.gradebook import Grade, without_places
from lessons.grading.classroom.journal import Run
from lessons.grading.judge.result import Result
from lessons.grading.report import VERSION, write_json
from lessons.grading.worker.text import printable


def write_exports(folder: Path, grade: Grade, run: Run) -> None:
    """Write all formats into a student's folder, which must exist."""
    write_json(folder / "grade.json", grade_json(grade, run))
    write_json(folder / "results.json", gradescope(grade))
    write_json(folder / "result.json", classroom50(grade, os.environ))
    tree = ElementTree.ElementTree(junit(grade))
    ElementTree.indent(tree)
    write_atomically(
        folder / "junit.xml", lambda file: tree.write(file, encoding="utf-8", xml_declaration=True)
    )


def grade_json(grade: Grade, run: Run) -> dict[str, Any]:
    """As `pytest lessons --report` writes it, with what is only known of a class."""
    return {
        "checks": [row._asdict() for row in grade.rows],
        "seed": run.seed,
        "files": grade.digests,
        "remarks": grade.remarks,
        "version": VERSION,
        "student": grade.handed.student,
        "notes": grade.handed.notes,
        "points_after_late_days": grade.after_lateness,
        "place": run.place,
    }


def gradescope(grade: Grade) -> dict[str, Any]:
    """Gradescope's results.json: points after days late, a test per check."""
    return {
        "score": grade.total,
        "output": "\n".join(printable(note) for note in grade.handed.notes),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "name": name_of(row),
                "score": row.score,
                "max_score": row.max_score,
                "status": "passed" if row.status == "passed" else "failed",
                "output": printable(without_places(row.message)),
                "output_format": "text",
                "tags": [row.lesson, row.diagnosis] if row.diagnosis else [row.lesson],
                "visibility": "visible",
            }
            for row in grade.rows
        ],
        "extra_data": {"scores": grade.scores, "after_late_days": grade.after_lateness},
    }


def junit(grade: Grade) -> ElementTree.Element:
    """One suite per lesson, one case per check; points stand in its properties."""
    root = ElementTree.Element("testsuites", name=printable(grade.handed.student))
    for lesson in grade.scores:
        rows = [row for row in grade.rows if row.lesson == lesson]
        suite = ElementTree.SubElement(root, "testsuite", name=lesson, tests=str(len(rows)))
        for kind, statuses in (("failures", ("failed",)), ("errors", ("error", "timeout")),
                               ("skipped", ("skipped",))):  # fmt: skip
            suite.set(kind, str(sum(row.status in statuses for row in rows)))
        suite.set("time", f"{sum(row.seconds for row in rows):.3f}")
        for row in rows:
            suite.append(junit_case(row))
    return root


def junit_case(row: Result) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase", classname=row.lesson, name=row.check, time=f"{row.seconds:.3f}"
    )
    properties = ElementTree.SubElement(case, "properties")
    for name, value in (("score", row.score), ("max_score", row.max_score)):
        ElementTree.SubElement(properties, "property", name=name, value=str(value))
    tag = {"passed": None, "failed": "failure", "skipped": "skipped"}.get(row.status, "error")
    if tag is not None:
        outcome = ElementTree.SubElement(case, tag, message=printable(row.diagnosis or row.status))
        outcome.text = printable(row.message)
    return case


def classroom50(grade: Grade, environment: Mapping[str, str]) -> dict[str, Any]:
    """`classroom50/result/v1`; what names the submission comes from its runner's environment."""
    commit = environment.get("COMMIT_URL", "")
    return {
        "schema": "classroom50/result/v1",
        "classroom": environment.get("CLASSROOM", ""),
        "assignment": environment.get("ASSIGNMENT", ""),
        "submission": environment.get("SUBMISSION_TAG", ""),
        "commit": commit,
        "release": environment.get("RELEASE_URL", ""),
        "review": environment.get("REVIEW_URL", "") or commit,
        "datetime": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": sum(row.score for row in grade.rows),
        "max-score": grade.max_total,
        "tests": [
            {"test-name": name_of(row), "passed": row.status == "passed", "score": row.score,
             "max-score": row.max_score}
            for row in grade.rows
        ],
    }  # fmt: skip


def name_of(row: Result) -> str:
    return f"{row.lesson} {row.check}"
