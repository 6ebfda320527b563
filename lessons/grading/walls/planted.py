"""pytest runs what it finds beside a file that it is given: a submission must not hold any of it.

Known to pytest are our options only after `lessons/conftest.py` is loaded. Until then it takes the
word behind "--submission" for a folder with tests, and loads what is there, in the judge itself.
So this file is a plugin of pytest, named in pyproject.toml, which is loaded before any conftest.py.
The conftest.py files of this project call it as well, for a run with other options.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

PLANTED = (
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml",
    "tox.ini", "setup.cfg",
)  # fmt: skip
REFUSED = 4  # pytest's own exit status for a command line that it cannot use
ROOT = Path(__file__).resolve().parents[3]


def pytest_load_initial_conftests() -> None:
    """A hook of pytest."""
    refuse_planted_files()


def refuse_planted_files() -> None:
    """End this process if pytest would run a stranger's files, or has run one already."""
    for found in loaded_from_elsewhere():
        # It has run here, and may have changed what would be called now: the shortest way out.
        os.write(standard_error(), f"{message_on(found)}\n".encode())
        os._exit(REFUSED)
    for found in planted_beside(command_line()):
        sys.exit(message_on(found))


def message_on(found: Path) -> str:
    return (
        f"error: {found} is a file that pytest would use: remove it, or grade that folder with "
        "python -m lessons grade FOLDER --single, which runs nothing of it"
    )


def standard_error() -> int:
    """The descriptor that shows a message: pytest has put a file of its own in the place of 2."""
    kept = [2]
    for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd") else []:
        with suppress(OSError):
            what = os.readlink(f"/proc/self/fd/{name}")
            if what.startswith(("/dev/", "pipe:")) and what != os.devnull:
                kept.append(int(name))
    return max(kept)


def command_line() -> Sequence[str]:
    """The words of the command: from Linux itself, since a file that has run may change `sys`."""
    try:
        return Path("/proc/self/cmdline").read_text("utf-8", "surrogateescape").split("\0")[1:]
    except OSError:
        return sys.argv[1:]


def planted_beside(words: Sequence[str]) -> Iterator[Path]:
    """Files that pytest takes from where the words of its command line lead to."""
    for word in words:
        path = Path(word.partition("::")[0])
        if word.startswith("-") or not word or not os.path.exists(path):
            continue
        place = path.resolve()
        for folder in [place, *place.parents]:
            if ROOT.is_relative_to(folder):
                break  # our own, and what is above it
            if is_ours(folder):
                break
            yield from (folder / name for name in PLANTED if (folder / name).is_file())


def is_ours(folder: Path) -> bool:
    """Whether a folder is one of this project's own, with tests in it."""
    return any(folder.is_relative_to(ROOT / name) for name in ("lessons", "tests"))


def loaded_from_elsewhere() -> Iterator[Path]:
    """The conftest.py files that this process has loaded, but for those of this project."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and Path(file).name == "conftest.py":
            if not is_ours(Path(file).resolve().parent) and Path(file).resolve().parent != ROOT:
                yield Path(file)
