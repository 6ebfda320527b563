"""The folder of a command's results: what a new run may replace there, and what it may not.

A file `run.json` says which lesson's command has written there, and which files. Nothing but these
is ever replaced or removed, and that only if the user has agreed.
"""

import json
import re
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from pathlib import Path

from kernels.plumbing.errors import InputError
from kernels.training.run_folder import LEAVE_IT, RECORD, OutputFolder, present, remove

# No other name is removed, whatever a run.json says.
OURS = re.compile(r"[a-z0-9_]+\.(csv|gif|html|json|lake|md|mp4|npz|png|ppm|py|txt|wav)")


class CapstoneFolder(OutputFolder):
    """A folder for one run of a lesson's command. lesson: its name, such as "13_siren"."""

    def __init__(self, path: Path, lesson: str, overwrite: bool) -> None:
        super().__init__(path, overwrite)
        self.lesson = lesson
        self.planned: Set[str] = set()
        self.begun = False

    @contextmanager
    def in_use(self, planned: Set[str], inputs: Iterable[Path] = ()) -> Iterator[None]:
        """As `OutputFolder.in_use`, and what is `planned` is kept."""
        self.planned = planned
        with super().in_use(planned, inputs):
            yield

    def begin(self) -> None:
        """Remove what an earlier run has left, and write down what this one will write."""
        if self.begun:
            return
        self.begun = True
        assert all(map(OURS.fullmatch, self.planned)), "else none could be overwritten"
        for name in present(self.path, self.there()[1]):
            remove(self.path / name)
        self.write_record(lesson=self.lesson, files=sorted(self.planned))

    def refuse_a_run(self) -> None:
        whose, files = self.there()
        if present(self.path, files) and not self.overwrite:
            raise InputError(
                f"{self.path} holds a run of {whose}: add --overwrite to begin anew "
                f"in its place, or {LEAVE_IT}"
            )

    def there(self) -> tuple[str, Set[str]]:
        """The lesson and the files that `run.json` names; "" and none if it is not ours."""
        path = self.path / RECORD
        try:
            # Not a pipe, which might be silent for ever.
            content = json.loads(path.read_text("utf-8") if path.is_file() else "")
            files = {name for name in content["files"] if OURS.fullmatch(name)}
            return str(content["lesson"]), files
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return "", set()
