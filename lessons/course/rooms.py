"""Which files of `kernels/` the lessons are made of, also those in rooms of their own.

Part one's kernels are the files directly in `kernels/`. A lesson of part two has a room, such as
`kernels/transfers/`; its lesson.toml names files of it, and these import others.
"""

from collections.abc import Sequence
from pathlib import Path

from lessons.course.exercises import SourceFile
from lessons.course.lesson import ROOT, Lesson

# Rooms that hold no kernels of a lesson, but what trains and runs with them.
NO_LESSONS = {"cpu", "fast", "files", "fused", "plumbing", "training"}
# But these files of them solve nothing: raw instructions, which kernels of any room may call.
INSTRUCTIONS = {"kernels.fast.ptx", "kernels.fast.ptx_numpy"}


def kernel_modules(everything: Sequence[Lesson]) -> dict[str, Path]:
    """Module -> its file: the files of rooms that lessons hold parts of, and what these import."""
    found: dict[str, Path] = {}
    waiting = [part.module for lesson in everything for part in lesson.parts]
    while waiting:
        module = waiting.pop()
        path = file_of(module)
        if module not in found and is_in_a_room(module) and path.is_file():
            found[module] = path
            waiting += imported_modules(path)
    return found


def rooms(everything: Sequence[Lesson]) -> list[Path]:
    """The folders of `kernel_modules`."""
    return sorted({path.parent for path in kernel_modules(everything).values()})


def file_of(module: str) -> Path:
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")


def is_in_a_room(module: str) -> bool:
    parts = module.split(".")
    in_a_room = len(parts) == 3 and parts[0] == "kernels" and parts[1] not in NO_LESSONS
    return in_a_room or module in INSTRUCTIONS


def imported_modules(path: Path) -> list[str]:
    file = SourceFile(path.read_text(encoding="utf-8"), None)
    found = []
    for name in file.imports.values():
        # `from kernels.siren import sizes` names a module, too.
        found += [name.module, f"{name.module}.{name.source}"]
    return found
