"""What a checked run found: findings, and a table of the memory traffic of each line."""

from os import PathLike
from typing import NamedTuple

from lessons.lab.dimensions import Dim3, dim3_text
from lessons.lab.simulator.events import AccessEvent
from lessons.lab.simulator.report_html import report_html
from lessons.lab.simulator.traffic import Traffic, traffic_table
from lessons.lab.source import Source

KINDS = (
    "race", "out-of-bounds", "uninitialised", "barrier", "deadlock", "endless", "limits", "order",
    "compile", "slow",
)  # fmt: skip


class Finding(NamedTuple):
    """One thing that is wrong with a kernel.

    kind: one of `KINDS`. line: number of the source line. message: what happened there, to which
    array, index, threads and blocks, and what to try. advice: True if the kernel is right as it is
    and could be faster; such a finding leaves `report.ok` True.
    """

    kind: str
    line: int
    message: str
    advice: bool = False

    def __str__(self) -> str:
        return f"line {self.line}: {self.kind}: {self.message}"


class Report:
    """The result of `checked_run`."""

    def __init__(self, source: Source, grid: Dim3, block: Dim3) -> None:
        self.source = source
        self.name = source.function.__name__
        self.grid = grid
        self.block = block
        self.findings: list[Finding] = []
        self.traffic: dict[tuple[str, int], Traffic] = {}  # by filename and line
        self.events: list[AccessEvent] = []  # for the picture
        self.events_left_out = 0
        # (kind, line, key) of a finding -> how often it was made
        self.times_seen: dict[tuple[str, int, object], int] = {}

    @property
    def ok(self) -> bool:
        """True if nothing was found but advice."""
        return all(finding.advice for finding in self.findings)

    def add(
        self, kind: str, line: int, message: str, key: object = None, advice: bool = False
    ) -> None:
        """Add a finding, unless one of the same kind and `key` at this line is there already."""
        same = (kind, line, key)
        self.times_seen[same] = self.times_seen.get(same, 0) + 1
        if self.times_seen[same] == 1:
            self.findings.append(Finding(kind, line, message, advice))

    def table(self) -> str:
        """Text: what each source line asks of memory."""
        return traffic_table(self.traffic, self.source.filename)

    def picture(self, path: str | PathLike[str]) -> None:
        """Draw which thread of which block touches which element, in time order, as a PNG.

        Raises `InputError` if the file cannot be written.
        """
        # Imported here, so that a run which draws nothing does not load Pillow.
        from lessons.lab.simulator.picture import draw_accesses

        title = f"{self.name}: {dim3_text(self.grid)} blocks of {dim3_text(self.block)} threads"
        if self.events_left_out:
            title += f", the first {len(self.events)} accesses"
        draw_accesses(self.events, path, title, self.grid, self.block)

    def __str__(self) -> str:
        problems = [str(f) for f in self.findings if not f.advice]
        advice = [f"{f} (advice)" for f in self.findings if f.advice]
        count = f"{len(problems)} problem{'s' * (len(problems) > 1)}" if problems else "no problem"
        return "\n".join([f"{self.name}: {count} found", *problems, *advice])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows below a cell; with the picture, if accesses were recorded."""
        table = self.table() if self.traffic else ""
        return report_html(str(self), table, self.picture if self.events else None)
