"""The folder of a command's results: what a new run may replace there, and what it may not.

A file `run.json` says which lesson's command has written there, and which files. Nothing but these
is ever replaced or removed, and that only if the user has agreed.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kernels.files.atomic import make_output_folder, remove_unfinished, write_atomically
from kernels.files.folder_lock import locked
from kernels.plumbing.errors import InputError
from kernels.training.run_folder import (
    LEAVE_IT,
    RECORD,
    is_same_file,
    present,
    remove,
    remove_if_empty,
)

# No other name is removed, whatever a run.json says.
OURS = re.compile(r"[a-z0-9_]+\.(csv|gif|html|json|md|mp4|npz|png|ppm|py|txt|wav)")


class CapstoneFolder:
    """A folder for one run of a lesson's command.

    path: it need not exist. lesson: the lesson's name, such as "13_siren". overwrite: whether the
    user has said that a run that lies there may be replaced.
    """

    def __init__(self, path: Path, lesson: str, overwrite: bool) -> None:
        self.path = path
        self.lesson = lesson
        self.overwrite = overwrite
        self.planned: list[str] = []
        self.begun = False

    def require_consent(self) -> None:
        """Raise `InputError` if a run lies or works here, and the user has not agreed to that.

        To be called before anything takes time; `in_use` looks again.
        """
        if self.path.is_dir():
            with locked(self.path):
                self.refuse_a_run()

    @contextmanager
    def in_use(self, planned: Iterable[str], inputs: Iterable[Path] = ()) -> Iterator[None]:
        """Make the folder, and keep other runs out.

        planned: the names of the files that will be written. inputs: files that the run reads.
        Raises `InputError` if the folder cannot be had, or if a file of the user's is in the way.
        """
        self.planned = sorted(planned)
        made = not self.path.is_dir()
        make_output_folder(self.path)
        try:
            with locked(self.path):
                self.refuse_a_run()
                self.refuse_files_of_others(inputs)
                remove_unfinished(self.path)
                yield
        finally:
            if made:
                remove_if_empty(self.path)

    def begin(self) -> None:
        """Remove what an earlier run has left, and write down what this one will write."""
        if self.begun:
            return
        self.begun = True
        for name in present(self.path, self.files_there()):
            remove(self.path / name)
        text = json.dumps({"lesson": self.lesson, "files": self.planned}, indent=1) + "\n"
        write_atomically(self.path / RECORD, lambda file: file.write(text.encode()))

    def refuse_a_run(self) -> None:
        there = present(self.path, self.files_there())
        if there and not self.overwrite:
            raise InputError(
                f"{self.path} holds a run of {self.lesson_there()}: add --overwrite to begin anew "
                f"in its place, or {LEAVE_IT}"
            )

    def refuse_files_of_others(self, inputs: Iterable[Path]) -> None:
        ours = self.files_there()
        for name in present(self.path, ours | set(self.planned)):
            for path in inputs:
                if is_same_file(self.path / name, path):
                    raise InputError(
                        f"the run would replace {path}, which it reads: "
                        "choose another folder with --out"
                    )
        record = {RECORD} if self.lesson_there() else set()
        ours = {name for name in ours if not (self.path / name).is_dir()} | record
        for name in present(self.path, {*self.planned, *self.files_there(), RECORD} - ours):
            raise InputError(
                f"{self.path / name} was not written by this command, and would be replaced: "
                "choose another folder with --out, or give the file another name"
            )

    # ------------------------------------------------------------ what run.json says

    def lesson_there(self) -> str:
        """The lesson whose command has written here; "" if none has."""
        return read_record(self.path)[0]

    def files_there(self) -> set[str]:
        """The names of the files that it has written, or would have."""
        return read_record(self.path)[1]


def read_record(folder: Path) -> tuple[str, set[str]]:
    """The lesson and the files that `run.json` in a folder names; "" and none if it is not ours."""
    path = folder / RECORD
    try:
        # Not a pipe, which might be silent for ever.
        content = json.loads(path.read_text("utf-8") if path.is_file() else "")
        return str(content["lesson"]), {name for name in content["files"] if OURS.fullmatch(name)}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "", set()
