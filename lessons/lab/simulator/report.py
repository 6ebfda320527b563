"""What a checked run found: findings, and a table of the memory traffic of each line."""

import base64
import html
import json
from collections import Counter
from collections.abc import Collection
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

from ..dimensions import Dim3, dim3_text
from ..errors import InputError
from ..source import Source
from .accepted import Acceptances
from .events import AccessEvent, Recording
from .findings import KINDS, NOWHERE, Finding, Findings, Place
from .foretell.model import Prediction, foretell
from .traffic import Traffic, totals_of_lines, traffic_table
from .work import Work

ALT = "Which thread of which block touches which element"  # of the picture, in a notebook


class Report(Findings):
    """The result of `checked_run`.

    findings: all of them, in the order in which they were made. grid, block: (x, y, z). kinds: the
    kinds of findings that are kept.
    """

    def __init__(
        self, source: Source, grid: Dim3, block: Dim3, kinds: Collection[str] = tuple(KINDS)
    ) -> None:
        self.source = source
        self.name = source.function.__name__
        self.grid = grid
        self.block = block
        self.kinds = kinds
        self.findings: list[Finding] = []
        self.left_out: Counter[str] = Counter()  # kind -> findings of it that are not kept
        self.doubles_asked_for = False  # by an array of doubles among the arguments
        self.counted: dict[tuple[str, int, str], Traffic] = {}  # by filename, line and array
        self.work = Work()  # for `predict`, as is this: kernel, arguments, their types if explicit,
        self.given: tuple | None = None  # arrays by name, how many blocks ran
        self.events: list[AccessEvent] = []  # for the picture
        self.events_left_out = 0
        self.compiler_not_asked: str | None = None  # why the lab's rules decided what compiles
        self.recording: Recording | None = None  # for the replay
        self.acceptances: Acceptances | None = None
        self.budget_used_up = False  # of rounds of loops
        # (kind, line, key) of a finding -> how often it was made
        self.times_seen: dict[tuple[str, int, object], int] = {}

    def add(
        self,
        kind: str,
        line: int,
        message: str,
        key: object = None,
        advice: bool = False,
        place: Place = NOWHERE,
        topic: str = "",
        file: str = "",
    ) -> bool:
        """Add a finding, unless one of the same kind and `key` at this line is there already.

        file: the source file, unless it is the kernel's own. Returns whether it is new.
        """
        if topic == "double" and self.doubles_asked_for:
            return False
        advice, file = advice or kind == "slow", file or self.source.filename
        return self.keep(Finding(kind, line, message, advice, file, topic, *place), key)

    def keep(self, found: Finding, key: object) -> bool:
        """As `add`, of a finding that is made already."""
        same = (found.kind, found.line, key)
        self.times_seen[same] = self.times_seen.get(same, 0) + 1
        if self.times_seen[same] > 1:
            return False
        if found.kind not in self.kinds:
            self.left_out[found.kind] += 1
            return False
        self.findings.append(self.acceptances.judged(found) if self.acceptances else found)
        return True

    def has(self, kind: str, line: int, key: object) -> bool:
        """Whether `add` has been given this already; if so, it is counted once more."""
        same = (kind, line, key)
        if same not in self.times_seen:
            return False
        self.times_seen[same] += 1
        return True

    @property
    def not_run(self) -> bool:
        """Whether this simulator cannot run the kernel: its arrays are what they were."""
        return any(kind == "unsupported" for kind, _, _ in self.times_seen)

    def as_data(self) -> dict[str, object]:
        """What `as_json` writes, as dicts and lists."""
        return {
            "kernel": self.name,
            "file": self.source.filename,
            "grid": list(self.grid),
            "block": list(self.block),
            "ok": self.ok,
            "findings": [finding._asdict() for finding in self.findings],
        }

    def as_json(self) -> str:
        """The report as JSON: kernel, grid, block, ok, and findings with all their fields."""
        return json.dumps(self.as_data(), indent=2)

    @property
    def traffic(self) -> dict[tuple[str, int], Traffic]:
        """What each line asked of memory, by filename and line."""
        return totals_of_lines(self.counted)

    def table(self) -> str:
        """Text: what each source line asks of memory."""
        return traffic_table(self.traffic, self.source.filename)

    def predict(self, gpu: str = "H200", grid: int | tuple[int, ...] | None = None) -> Prediction:
        """What the launch would take on a GPU, with the roof that binds it.

        gpu: one whose constants are in `foretell/gpus`. grid: of the launch that is meant, where
        a smaller one was run; each of its blocks then does what those that ran did on average. Who
        runs some blocks of a large launch, with `only_blocks`, hears of the whole launch.

        Raises `InputError` for a GPU that is not known, and where nothing was counted.
        """
        return foretell(self, gpu, grid)

    def picture(self, path: str | PathLike[str]) -> None:
        """Draw which thread of which block touches which element, in time order, as a PNG.

        What is wrong stands in red where it happens, or at the end. Raises `InputError` if the file
        cannot be written.
        """
        # Imported here, so that a run which draws nothing does not load Pillow.
        try:
            from .picture import draw_accesses
        except ModuleNotFoundError:
            raise InputError(
                "pictures are drawn by Pillow, which is missing: python -m pip install pillow"
            ) from None

        blocks = "block" if self.grid == (1, 1, 1) else "blocks"
        title = f"{self.name}: {dim3_text(self.grid)} {blocks} of {dim3_text(self.block)} threads"
        if self.events_left_out:
            title += f", the first {len(self.events)} accesses"
        drawn = {event.problem for event in self.events}
        elsewhere = [str(finding) for finding in self.problems if finding.message not in drawn]
        draw_accesses(self.events, path, title, self.grid, self.block, elsewhere)

    def html(self, path: str | PathLike[str]) -> None:
        """Write the replay of the run: one page that shows it step by step, in any browser.

        Needs `record=True`; without, the page shows the source and the findings only. The file is
        at most 2 MB and needs no other. Raises `InputError` if it cannot be written.
        """
        # Imported here, since most runs have no replay.
        from .replay.page import write_replay

        write_replay(path, self.replay_data())

    def replay_data(self) -> str:
        """JSON of what the replay shows; see `replay.data`."""
        from .replay.data import Run, replay_data

        run = Run(self.source, self.grid, self.block, str(self), self.findings, self.recording)
        return replay_data(run)

    def forget_run(self) -> None:
        """Forget what was counted and recorded: the run begins again."""
        self.counted.clear()
        self.work = Work()
        self.events.clear()
        if self.recording is not None:
            self.recording = Recording(len(self.findings))

    def __str__(self) -> str:
        problems = [str(finding) for finding in self.problems]
        advice = [f"{finding} (advice)" for finding in self.advice]
        count = f"{len(problems)} problem{'s' * (len(problems) > 1)}" if problems else "no problem"
        kinds = ", ".join(f"{number} of kind {kind}" for kind, number in self.left_out.items())
        left_out = f" (not shown: {kinds})" if kinds else ""
        heading = f"{self.name}: {count} found{left_out}{self.by_rules()}"
        accepted = [f"{finding} (accepted: {finding.accepted})" for finding in self.accepted]
        return "\n".join([heading, *problems, *accepted, *advice])

    def by_rules(self) -> str:
        """A note, if Numba's compiler could not be asked whether the kernel compiles."""
        reason = self.compiler_not_asked
        return f" (whether it compiles is judged by the lab's rules: {reason})" if reason else ""

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows below a cell; with the picture, if accesses were recorded."""
        headline, *findings = str(self).splitlines()
        parts = [f"<p><b>{html.escape(headline)}</b></p>", *map(paragraph, findings)]
        if self.traffic:
            parts.append(f'<pre style="overflow-x: auto">{html.escape(self.table())}</pre>')
        if self.events:
            with TemporaryDirectory() as folder:
                self.picture(Path(folder) / "picture.png")
                data = base64.b64encode((Path(folder) / "picture.png").read_bytes()).decode()
            url = f"data:image/png;base64,{data}"
            parts.append(f'<img style="max-width: 100%" alt="{ALT}" src="{url}">')
        return "\n".join(parts)


def paragraph(finding: str) -> str:
    """ "line 4: race: message", with all but the message in bold."""
    line, kind, message = finding.split(": ", 2)
    return f"<p><b>{line}: {kind}</b>: {html.escape(message)}</p>"
