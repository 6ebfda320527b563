"""Findings that a project has accepted, each with its reason: in the source, or in a baseline file.

    total[0] = 1.0  # lab: allow race - every thread stores the same number

stands on the line of the finding, or alone on the line above. A baseline file is written by
`--update-baseline`; its entries hold the text of the line, so that they survive when lines move.
"""

import json
import linecache
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..files import refuse_foreign, write_whole
from ..source import file_label
from .findings import KINDS, Finding

COMMENT = re.compile(
    r"#\s*lab:\s*allow\s+(?P<kinds>[\w-]+(?:\s*,\s*[\w-]+)*)(?:\s+-+\s+(?P<reason>.*\S))?\s*$"
)
NO_REASON = "no reason given"


class Comment(NamedTuple):
    """A comment that allows kinds of findings. line: that it is about."""

    file: str
    line: int
    kinds: tuple[str, ...]
    reason: str


def comment_at(file: str, line: int) -> Comment | None:
    """The comment about a line: at its end, or alone on the line above."""
    above = linecache.getline(file, line - 1).strip()
    for text in (linecache.getline(file, line), above if above.startswith("#") else ""):
        found = COMMENT.search(text)
        if found:
            kinds = tuple(kind.strip() for kind in found["kinds"].split(","))
            return Comment(file, line, kinds, found["reason"] or NO_REASON)
    return None


class Acceptances:
    """What a project accepts. baseline: path of the file, or None.

    Raises `InputError` if there is no such file, unless it is to be made: `update`.
    """

    def __init__(self, baseline: str | None = None, update: bool = False) -> None:
        self.path = Path(baseline).resolve() if baseline else None
        self.update = update
        self.entries: list[dict[str, Any]] = []
        self.used: set[int] = set()  # positions of entries that a finding has met
        self.met: set[Comment] = set()  # comments that a finding has met
        self.lines_run: set[tuple[str, int]] = set()  # of kernels
        if update and self.path is None:
            raise InputError("which baseline is to be updated? Write --baseline FILE, too")
        if self.path is None or (update and not self.path.exists()):
            return
        if not self.path.is_file():
            raise InputError(f"there is no baseline {baseline}: --update-baseline makes it")
        refuse_foreign("baseline", str(self.path))
        try:
            self.entries = json.loads(self.path.read_text(encoding="utf-8"))["accepted by the lab"]
        except (ValueError, KeyError, UnicodeDecodeError):
            raise InputError(f"{baseline} is damaged: remove it, and make it anew") from None

    def judged(self, finding: Finding) -> Finding:
        """The finding with its reason, if it is accepted."""
        comment = comment_at(finding.file, finding.line)
        if comment is not None and finding.kind in comment.kinds:
            self.met.add(comment)
            return finding._replace(accepted=comment.reason, accepted_by="comment")
        known = self.entry_of(finding)
        for position, entry in enumerate(self.entries):
            if all(entry.get(name) == known[name] for name in ("kind", "file", "text", "array")):
                self.used.add(position)
                reason = entry.get("reason") or NO_REASON
                return finding._replace(accepted=reason, accepted_by="baseline")
        return finding

    def entry_of(self, finding: Finding) -> dict[str, Any]:
        file = Path(finding.file)
        if self.path is not None and file.resolve().is_relative_to(self.path.parent):
            file = file.resolve().relative_to(self.path.parent)
        return {
            "kind": finding.kind,
            "file": file.as_posix(),
            "line": finding.line,
            "text": linecache.getline(finding.file, finding.line).strip(),
            "array": finding.array,
            "message": finding.message,
            "reason": finding.accepted or "",
        }

    def gone(self, kinds: Collection[str]) -> Iterator[str]:
        """What is accepted and no longer occurs, one line each. kinds: that are looked for."""
        for position, entry in enumerate(self.entries):
            if position not in self.used and not self.update and entry.get("kind") in kinds:
                where = f"{file_label(entry.get('file', ''))}, line {entry.get('line')}"
                yield f"{where}: the {entry['kind']} of the baseline no longer occurs"
        for file, line in sorted(self.lines_run):
            comment = comment_at(file, line)
            alone = linecache.getline(file, line).strip().startswith("#")  # about the line below
            if comment is None or comment in self.met or alone:
                continue
            where, text = f"{file_label(file)}, line {line}", ", ".join(comment.kinds)
            unknown = [kind for kind in comment.kinds if kind not in KINDS]
            if unknown:
                yield f"{where}: `lab: allow {text}`: there is no kind {unknown[0]}"
            elif not set(comment.kinds).isdisjoint(kinds):
                yield f"{where}: `lab: allow {text}` allows nothing that occurs: take it out"

    def write(self, findings: Iterable[Finding]) -> list[Finding]:
        """Write a new baseline of what no comment accepts. Returns the findings, all accepted."""
        listed = [
            one if one.advice or one.accepted is not None
            else one._replace(accepted=NO_REASON, accepted_by="baseline")
            for one in findings
        ]  # fmt: skip
        kept = [self.entry_of(one) for one in listed if one.accepted_by == "baseline"]
        for entry in kept:
            entry["reason"] = "" if entry["reason"] == NO_REASON else entry["reason"]
        text = json.dumps({"accepted by the lab": kept}, indent=2) + "\n"
        assert self.path is not None
        write_whole(self.path, lambda file: file.write(text.encode()))
        return listed
