"""What a detective has asked and answered so far: one small file beside the lessons."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernels.files.atomic import write_atomically
from kernels.plumbing.errors import InputError
from lessons.course.lesson import LESSONS
from lessons.detective.answers import POINTS

RECORDS = LESSONS / ".detective.json"
MOST_LOOKS, MOST_MENDS, NAMED = 3, 3, ["kind", "line", "witness"]


class Record:
    """One case's. Raises `InputError` if the file holds something else, or cannot be written."""

    def __init__(self, key: str) -> None:
        self.path, self.key = RECORDS, key
        self.everything = read(self.path)
        self.looks: list[str] = []
        self.right: list[str] = []  # parts that have been named rightly
        self.namings = self.mends = self.mended_at = 0
        self.over = False
        for name, value in self.everything.get(key, {}).items():
            if name not in FIELDS or type(value) is not type(getattr(self, name)):
                raise unreadable(self.path, f"{name} of {key}")
            setattr(self, name, value)

    def save(self) -> None:
        self.everything[self.key] = {name: getattr(self, name) for name in FIELDS}
        write_text(self.path, json.dumps(self.everything, indent=1) + "\n")

    def open(self, names: bool = False) -> None:
        """Raises `InputError` if the case is over, or has nothing left to name."""
        if self.over:
            raise InputError(f"this case is over, with {self.points} points: take another --seed")
        if names and self.right == NAMED:
            raise InputError("line, kind and witness are right already: now mend it, with --mend")

    def look(self, what: str) -> None:
        """Counts a look; the same one again is free. Raises `InputError` after the last."""
        self.open()
        if what not in self.looks:
            if len(self.looks) == MOST_LOOKS:
                had = ", ".join(map(str, self.looks))
                raise InputError(f"you have had your {MOST_LOOKS} looks: {had}")
            self.looks.append(what)
            self.save()

    def name(self, right: Mapping[str, bool]) -> None:
        self.namings += 1
        self.right = sorted({*self.right, *(part for part, ok in right.items() if ok)})
        self.save()

    def mend(self, passed: bool) -> None:
        """Counts a run of a mended kernel. The last one ends the case."""
        self.mends += 1
        self.mended_at = self.mends if passed else 0
        self.over = passed or self.mends == MOST_MENDS
        self.save()

    @property
    def left(self) -> str:
        looks, mends = MOST_LOOKS - len(self.looks), MOST_MENDS - self.mends
        return f"left: looks {looks}, runs of a mended kernel {mends}; points so far {self.points}"

    @property
    def points(self) -> int:
        """Each further answer costs a point of what it is about."""
        told = sum(POINTS.get(part, 0) for part in self.right) - max(0, self.namings - 1)
        return max(0, told) + (POINTS["mend"] - self.mended_at + 1 if self.mended_at else 0)


FIELDS = ("looks", "right", "namings", "mends", "mended_at", "over")


def read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if isinstance(found, dict) and all(isinstance(one, dict) for one in found.values()):
            return found
        raise ValueError("it is no table of cases")
    except (OSError, ValueError, RecursionError) as error:
        raise unreadable(path, str(error)) from None


def write_text(path: Path, text: str, overwrite: bool = True) -> None:
    write_atomically(path, lambda file: file.write(text.encode("utf-8")), overwrite)


def unreadable(path: Path, why: str) -> InputError:
    return InputError(f"{path} cannot be read ({why}): give it another name to begin anew")
