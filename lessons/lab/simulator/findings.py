"""What is wrong with a kernel: each finding with its kind, its words, and its place as fields."""

import json
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from ..dimensions import Dim3
from ..errors import ProblemsFound

# kind -> what it is, in one sentence
KINDS = {
    "race": "Two threads access one element, at least one writes, and nothing orders them.",
    "out-of-bounds": "An index lies outside its array.",
    "negative": "A computed index is negative, and counts from the end.",
    "uninitialised": "Memory, a register or a variable is read before anything is written to it.",
    "unwritten": "An element of an output is never written.",
    "overflow": "The value of an index does not fit its type.",
    "barrier": "Some threads of a block never reach a barrier that others wait at.",
    "deadlock": "Threads wait for something that never comes.",
    "endless": "A loop does not end.",
    "limits": "The launch asks for more than the hardware has.",
    "order": "The result depends on which thread comes first.",
    "compile": "Numba does not compile this for a GPU.",
    "unsupported": "It compiles, but this simulator does not know it.",
    "frozen": "A value from outside has changed since the kernel was compiled with it.",
    "raised": "An assert fails, or an exception is raised: the thread ends there.",
    "unsynchronised": "The host, or another stream, uses an array before work on it is done.",
    "slow": "The result is right, and could be had faster.",
}


class Place(NamedTuple):
    """Who did it and to what; None for what is not known, or has no meaning here."""

    thread: Dim3 | None = None  # (x, y, z) within its block
    block: Dim3 | None = None  # (x, y, z) within the grid
    array: str | None = None
    index: tuple[int, ...] | None = None  # type: ignore[assignment]  # no need of tuple.index
    # The other side of a race, or the thread that never comes to a barrier.
    other_thread: Dim3 | None = None
    other_block: Dim3 | None = None
    other_file: str | None = None
    other_line: int | None = None


NOWHERE = Place()


class Finding(NamedTuple):
    """One thing that is wrong with a kernel.

    kind: one of `KINDS`. line: number of the source line. message: what happened there, to which
    array, index, threads and blocks, and what to try. advice: True if the kernel is right as it is;
    such a finding leaves `Report.ok` True. file: path of the source file. topic: of a kind that
    is about several things, which of them; of "slow": "double", "signed index" or "atomic".

    The other fields are those of `Place`: the thread and block (x, y, z), the array and index, and
    the other thread of a race with its line. None for what is not known. accepted: the reason why
    the project accepts it, None if it does not. accepted_by: "comment" or "baseline".
    """

    kind: str
    line: int
    message: str
    advice: bool = False
    file: str = ""
    topic: str = ""
    thread: Dim3 | None = None
    block: Dim3 | None = None
    array: str | None = None
    index: tuple[int, ...] | None = None  # type: ignore[assignment]  # no need of tuple.index
    other_thread: Dim3 | None = None
    other_block: Dim3 | None = None
    other_file: str | None = None
    other_line: int | None = None
    accepted: str | None = None
    accepted_by: str | None = None

    def __str__(self) -> str:
        return f"line {self.line}: {self.kind}: {self.message}"

    @property
    def place(self) -> Place:
        return Place(**{name: getattr(self, name) for name in Place._fields})


class Findings:
    """What is asked of findings, be they of one launch or of many; its text is the summary."""

    findings: list[Finding]

    @property
    def ok(self) -> bool:
        """True if nothing was found but advice, and what is accepted."""
        return not self.problems

    @property
    def problems(self) -> list[Finding]:
        """The findings that are more than advice, and that nobody has accepted."""
        return [one for one in self.findings if not one.advice and one.accepted is None]

    @property
    def accepted(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.accepted is not None]

    @property
    def advice(self) -> list[Finding]:
        """What could be faster although it is right: one finding per line at most."""
        first: dict[tuple[str, int], Finding] = {}
        for finding in self.findings:
            if finding.advice and finding.accepted is None:
                first.setdefault((finding.file, finding.line), finding)
        return list(first.values())

    def as_sarif(self, root: str | PathLike[str] = ".") -> str:
        """The findings as a SARIF 2.1.0 log, which code hosts show beside a pull request's lines.

        root: folder that the paths of files are relative to, usually the repository's.
        """
        return json.dumps(sarif_log(self.findings, root), indent=2)

    def raise_if_problems(self) -> None:
        """Raise `ProblemsFound`, with the summary as its text, if there are any but advice."""
        if not self.ok:
            raise ProblemsFound(str(self))


def counted(number: int, what: str) -> str:
    """ "1 launch", "2 launches"."""
    plural = what + ("es" if what.endswith("ch") else "s")
    return f"{number:,} {what if number == 1 else plural}"


def wanted_kinds(kinds: Iterable[str] | None, without: Iterable[str]) -> frozenset[str]:
    """`kinds`, or all there are, but those in `without`. Raises `ValueError` for unknown ones."""
    kinds = KINDS if kinds is None else named(kinds)
    return frozenset(kinds) - frozenset(named(without))


def named(kinds: Iterable[str]) -> list[str]:
    listed = [kinds] if isinstance(kinds, str) else list(kinds)
    for kind in listed:
        if kind not in KINDS:
            raise ValueError(f"there is no finding of kind {kind!r}; there are {', '.join(KINDS)}")
    return listed


# ---------------------------------------------------------------- SARIF


Data = dict[str, Any]  # what `json.dumps` takes

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "SRCROOT"  # what SARIF calls the folder that paths are relative to


def sarif_log(findings: Iterable[Finding], root: str | PathLike[str]) -> Data:
    """A SARIF 2.1.0 log with one run. root: folder that the paths of files are relative to."""
    folder = Path(root).resolve()
    driver = {"name": "twothreads", "rules": [rule(kind, text) for kind, text in KINDS.items()]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"uri": folder.as_uri() + "/"}},
        "results": [result(finding, folder) for finding in findings],
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def rule(kind: str, description: str) -> Data:
    return {
        "id": kind,
        "shortDescription": {"text": description},
        "defaultConfiguration": {"level": "note" if kind == "slow" else "error"},
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
    names = ("thread", "block", "array", "index", "other_thread", "other_block")
    known = {name: getattr(finding, name) for name in names}
    fields = {name: value for name, value in known.items() if value is not None}
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
