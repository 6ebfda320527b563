"""What was found in many launches: each finding once, a summary, JSON and SARIF."""

import json
from collections import Counter
from collections.abc import Collection
from os import PathLike

from ..errors import InputError
from ..simulator.accepted import Acceptances
from ..simulator.findings import Finding, Findings, counted
from ..simulator.report import Report
from ..source import file_label


class Found(Findings):
    """Findings of all launches and of the host's own code.

    kinds: those that are kept. acceptances: what the project accepts. findings: each once.
    launches: kernel -> how often it was launched.
    """

    def __init__(self, kinds: Collection[str], acceptances: Acceptances | None = None) -> None:
        self.kinds = kinds
        self.acceptances = acceptances
        self.findings: list[Finding] = []
        self.times: Counter[tuple] = Counter()  # how often each was found
        self.launches: Counter[str] = Counter()
        self.earlier: list[Found] = []  # the parts that `begin` has ended
        self.recorded: Report | None = None  # of the first launch with problems

    def add(self, finding: Finding) -> None:
        same = (*finding[:1], finding.line, finding.file, finding.array, finding.other_line)
        self.times[same] += 1
        if self.times[same] == 1 and finding.kind in self.kinds:
            if self.acceptances is not None:
                finding = self.acceptances.judged(finding)
            self.findings.append(finding)

    def summary(self, with_advice: bool = False) -> str:
        """What ran and what was found, one line per finding."""
        launches = sum(self.launches.values())
        lines = [self.line_of(finding) for finding in self.problems]
        lines += self.accepted_lines()
        if with_advice:
            lines += [f"{self.line_of(finding)} (advice)" for finding in self.advice]
        problems = "no problem" if launches else "nothing was checked, no problem"
        problems = counted(len(self.problems), "problem") if self.problems else problems
        checked = f"{counted(launches, 'launch')} of {counted(len(self.launches), 'kernel')}"
        accepted = f", {len(self.accepted)} accepted" if self.accepted else ""
        return "\n".join([f"{checked}: {problems} found{accepted}", *lines])

    def accepted_lines(self) -> list[str]:
        return [f"{self.line_of(one)} (accepted: {one.accepted})" for one in self.accepted]

    def gone(self) -> list[str]:
        """What the project accepts although it no longer occurs, one line each."""
        return list(self.acceptances.gone(self.kinds)) if self.acceptances else []

    def line_of(self, finding: Finding) -> str:
        place = f"{file_label(finding.file)}, line {finding.line}" if finding.file else "somewhere"
        return f"{place}: {finding.kind}: {finding.message}"

    __str__ = summary

    def as_json(self) -> str:
        """Launches per kernel, ok, and the findings with all their fields, as JSON."""
        data = {
            "launches": dict(self.launches),
            "ok": self.ok,
            "findings": [finding._asdict() for finding in self.findings],
            "no longer occurs": self.gone(),
        }
        return json.dumps(data, indent=2)

    def html(self, path: str | PathLike[str]) -> None:
        """Write a replay of the first launch that has problems, a page for a browser.

        Raises `InputError` if there is none, or the file cannot be written.
        """
        if self.recorded is None or self.recorded.recording is None:
            raise InputError(f"{path} is not written: no launch with problems was recorded")
        self.recorded.html(path)

    # ---------------------------------------------------------------- one part after the other

    def begin(self) -> None:
        """Begin a new part, with nothing found yet."""
        part = Found(self.kinds, self.acceptances)
        part.take(self)
        self.earlier.append(part)
        self.findings, self.times, self.launches = [], Counter(), Counter()

    def take(self, other: "Found") -> None:
        """Add what another part has found."""
        self.launches += other.launches
        for finding in other.findings:
            self.add(finding)

    def everything(self) -> "Found":
        """What was found in all parts together."""
        whole = Found(self.kinds, self.acceptances)
        for part in [*self.earlier, self]:
            whole.take(part)
        return whole
