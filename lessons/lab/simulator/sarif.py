"""Findings as SARIF, which code hosts show beside the lines of a pull request."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .findings import KINDS, Finding

Data = dict[str, Any]  # what `json.dumps` takes

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "SRCROOT"  # what SARIF calls the folder that paths are relative to


def sarif_log(findings: Iterable[Finding], root: str | PathLike[str]) -> Data:
    """A SARIF 2.1.0 log with one run. root: folder that the paths of files are relative to."""
    folder = Path(root).resolve()
    driver = {
        "name": "twothreads",
        "rules": [rule(kind, description) for kind, description in KINDS.items()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"uri": folder.as_uri() + "/"}},
        "results": [result(finding, folder) for finding in findings],
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def rule(kind: str, description: str) -> Data:
    level = "note" if kind == "slow" else "error"
    return {
        "id": kind,
        "shortDescription": {"text": description},
        "defaultConfiguration": {"level": level},
    }


def result(finding: Finding, folder: Path) -> Data:
    found = {
        "ruleId": finding.kind,
        "ruleIndex": list(KINDS).index(finding.kind),
        "level": "note" if finding.advice else "error",
        "message": {"text": finding.message},
        "locations": [location(finding.file, finding.line, folder)],
    }
    if finding.other_line:
        other = location(finding.other_file or finding.file, finding.other_line, folder)
        found["relatedLocations"] = [{**other, "message": {"text": "the other access"}}]
    if finding.accepted is not None:
        where = "inSource" if finding.accepted_by == "comment" else "external"
        found["suppressions"] = [{"kind": where, "justification": finding.accepted}]
    fields = {
        name: value
        for name, value in finding._asdict().items()
        if name in ("thread", "block", "array", "index", "other_thread", "other_block")
        if value is not None
    }
    if fields:
        found["properties"] = fields
    return found


def location(file: str, line: int, folder: Path) -> Data:
    return {
        "physicalLocation": {
            "artifactLocation": artifact(file, folder),
            "region": {"startLine": max(line, 1)},
        }
    }


def artifact(file: str, folder: Path) -> Data:
    """Where a file is: relative to the folder, if it lies below it."""
    path = Path(file)
    if not path.is_absolute() and not path.exists():  # a cell of a notebook
        return {"uri": quote(file)}
    path = path.resolve()
    if path.is_relative_to(folder):
        return {"uri": quote(path.relative_to(folder).as_posix()), "uriBaseId": ROOT}
    return {"uri": path.as_uri()}
