"""The folder of a run: whose it is, what lies there, and what a new run may replace.

No run takes the place of another, and none touches a file of the user's own, without being told.
So each folder has a file `run.json`. It says which picture is learnt there, and which files the
run has written or will write. Nothing but these is ever replaced or removed.
"""

import itertools
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from kernels.bits.lake_file import FILE as LAKE
from kernels.files.atomic import make_output_folder, remove_unfinished, unwritable, write_atomically
from kernels.files.folder_lock import locked
from kernels.plumbing.errors import InputError
from kernels.training.checkpoint import peek

RECORD, CHECKPOINT, MODEL = "run.json", "checkpoint.npz", "model.npz"
STILLS = (
    "prediction", "ground_truth", "bilinear", "bilinear_best", "bilinear_and_learned",
    "contact_sheet",
)  # fmt: skip
OTHERS = (
    CHECKPOINT, MODEL, "summary.json", "training.gif", "loss.png", "loss.csv", "preview.png",
    "index.html", LAKE,
)  # fmt: skip
SNAPSHOT = re.compile(r"(prediction|feature)_at_\d+\.(png|ppm)")
LEAVE_IT = "--out FOLDER to leave it as it is"


class Record(NamedTuple):
    """What `run.json` says. image: its file's name. digest: `image_digest`. files: their names."""

    image: str
    digest: str
    files: frozenset[str]


NO_RUN = Record("", "", frozenset())


def files_of_run(suffix: str, snapshots: Iterable[int]) -> set[str]:
    """The names of all files that a run may write. suffix: "png" or "ppm", of still pictures."""
    taken = [f"{kind}_at_{step}" for kind in ("prediction", "feature") for step in snapshots]
    return {f"{name}.{suffix}" for name in (*STILLS, *taken)}.union(OTHERS)


def is_file_of_a_run(name: str) -> bool:
    stem, _, suffix = name.partition(".")
    is_still = stem in STILLS and suffix in ("png", "ppm")
    return is_still or name in OTHERS or SNAPSHOT.fullmatch(name) is not None


class OutputFolder(ABC):
    """A folder that one run at a time writes to. Files that no run has written stay as they are.

    path: it need not exist. overwrite: whether the user has said that a run that lies here may be
    replaced.
    """

    def __init__(self, path: Path, overwrite: bool) -> None:
        self.path = path
        self.overwrite = overwrite

    @abstractmethod
    def there(self) -> tuple[str, Set[str]]:
        """(whose run lies here, the names of its files); "" and none if there is no run."""

    @abstractmethod
    def refuse_a_run(self) -> None:
        """Raise `InputError` if a run lies here, and the user has not agreed to that."""

    def require_consent(self) -> None:
        """Raise `InputError` if a run lies or works here, and the user has not agreed to that.

        To be called before anything takes time; `in_use` looks again.
        """
        if self.path.is_dir():
            with locked(self.path):
                self.refuse_a_run()

    @contextmanager
    def in_use(self, planned: Set[str], inputs: Iterable[Path] = ()) -> Iterator[None]:
        """Make the folder, and keep other runs out.

        planned: the names of the files that will be written. inputs: files that the run reads.
        Raises `InputError` if the folder cannot be had, or if a file of the user's is in the way.
        """
        made = not self.path.is_dir()
        make_output_folder(self.path)
        try:
            with locked(self.path):
                self.refuse_a_run()
                self.refuse_files_of_others(planned, inputs)
                remove_unfinished(self.path)
                yield
        finally:
            if made:
                remove_if_empty(self.path)

    def refuse_files_of_others(self, planned: Set[str], inputs: Iterable[Path]) -> None:
        whose, files = self.there()
        for name, path in itertools.product(present(self.path, files | planned), inputs):
            if is_same_file(self.path / name, path):
                raise InputError(
                    f"the run would replace {path}, which it reads: "
                    "choose another folder with --out"
                )
        ours = {name for name in files if not (self.path / name).is_dir()}
        if whose:
            ours.add(RECORD)
        for name in present(self.path, (planned | files | {RECORD}) - ours):
            raise InputError(
                f"{self.path / name} was written by no run, and this run would replace it: "
                "choose another folder with --out, or give the file another name"
            )

    def write_record(self, **record: Any) -> None:
        text = json.dumps(record, indent=1) + "\n"
        write_atomically(self.path / RECORD, lambda file: file.write(text.encode()))


class RunFolder(OutputFolder):
    """A folder for a run on one picture.

    image_path, digest: of the picture; see `image_digest`. resume: whether the user has said that a
    run that lies here may be gone on with.
    """

    def __init__(
        self, path: Path, image_path: Path, digest: str, resume: bool, overwrite: bool
    ) -> None:
        super().__init__(path, overwrite)
        self.image_path = image_path
        self.digest = digest
        self.resume = resume

    def there(self) -> tuple[str, Set[str]]:
        record = read_record(self.path)
        return record.digest, record.files

    @property
    def steps_begun(self) -> int | None:
        """For how many steps the run to resume was planned; None where there is none."""
        found = peek(self.path / CHECKPOINT) if self.resume else None
        return found.steps if found else None

    def begin(self, planned: set[str], anew: bool) -> None:
        """Remove what an earlier run has left, and write down what this one will write.

        anew: whether it begins at step 0. Else the snapshots stay, they are its own; but final
        pictures in another format go, which would show an earlier step for ever.
        """
        ours = read_record(self.path).files
        kept = set() if anew else {name for name in ours if SNAPSHOT.fullmatch(name)}
        # The checkpoint first: it must never be mistaken for one of the run that begins.
        gone = ours if anew else ours - planned - kept
        for name in sorted(gone, key=lambda name: name != CHECKPOINT):
            remove(self.path / name)
        files = sorted(planned | kept)
        self.write_record(image=self.image_path.name, digest=self.digest, files=files)

    def refuse_a_run(self) -> None:
        record = read_record(self.path)
        there = present(self.path, record.files)
        if not there or self.overwrite:
            return
        what, resumed = describe(self.path, record)
        if not self.resume:
            way = f"--resume to {resumed}, " if resumed else ""
            raise InputError(
                f"{self.path} holds {what}: add {way}--overwrite to begin anew in its place, "
                f"or {LEAVE_IT}"
            )
        # Resuming a run that has saved nothing begins it anew. Nothing else may be lost by that.
        if CHECKPOINT not in there and (MODEL in there or record.digest != self.digest):
            raise InputError(
                f"{self.path} holds {what}, and --resume needs one: add --overwrite in its place "
                f"to begin anew, or {LEAVE_IT}"
            )


def default_folder(usual: Path, digest: str) -> Path:
    """The folder for a picture: the usual one, or usual-2, ... where that is of another picture."""
    others = (usual.with_name(f"{usual.name}-{number}") for number in itertools.count(2))
    folders = itertools.chain([usual], others)
    return next(folder for folder in folders if read_record(folder).digest in ("", digest))


# ---------------------------------------------------------------- what lies there


def read_record(folder: Path) -> Record:
    """What `run.json` in a folder says; `NO_RUN` if the folder is none of a run."""
    try:
        # Not a pipe, which might be silent for ever.
        text = (folder / RECORD).read_text("utf-8") if (folder / RECORD).is_file() else ""
        content = json.loads(text)
        files = frozenset(filter(is_file_of_a_run, content["files"]))
        return Record(str(content["image"]), str(content["digest"]), files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    # Older versions of this program have left only the checkpoint to tell.
    found = peek(folder / CHECKPOINT)
    if found is None:
        return NO_RUN
    files = frozenset(filter(is_file_of_a_run, os.listdir(folder)))
    return Record("a picture", found.digest, files)


def describe(folder: Path, record: Record) -> tuple[str, str]:
    """What lies in a folder, in words, and what resuming it would do; "" if that cannot be."""
    found = peek(folder / CHECKPOINT)
    if found and found.step == found.steps:
        text = f"a finished run of {record.image} ({found.steps:,} steps)"
        return text, "write its pictures again, --resume --steps N to train on to step N"
    if found:
        come = f"step {found.step:,} of {found.steps:,}"
        return f"an unfinished run of {record.image} ({come})", "go on with it"
    if os.path.lexists(folder / CHECKPOINT):
        return f"a run of {record.image} whose {CHECKPOINT} cannot be read", ""
    kind = "a finished" if os.path.lexists(folder / MODEL) else "an unfinished"
    return f"{kind} run of {record.image} without a checkpoint", ""


def present(folder: Path, names: Iterable[str]) -> list[str]:
    # Asked one by one: on many disks, "Loss.png" is a file of the name "loss.png", too.
    return sorted(name for name in names if os.path.lexists(folder / name))


def is_same_file(path: Path, other: Path) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error


def remove_if_empty(folder: Path) -> None:
    """A run that ended before its first file leaves no folder."""
    with suppress(OSError):  # something is in there, or somebody
        folder.rmdir()
