"""What each room may weigh. A change that needs more changes the table, and says why in its commit.

Size is a feature: a reader can only trust what a reader can read. Lines are those of all tracked
files that end as the second column says; a room has those beneath it that no longer name has.
"""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# room                     ending              lines at most
TABLE = """
train.py                   .py                   275
kernels                    .py                 19210
kernels/fast               .py                  5040
lessons                    .py                  1580
lessons/NN                 test_*.py            5560
lessons/NN                 .py                  8775
lessons/NN                 .diff               26985
lessons/broken             .py                   810
lessons/capstones          .py                   930
lessons/course             .py                  1550
lessons/detective          .py                  2580
lessons/grading            .py                 14370
lessons/lab                .py                 24990
lessons/lab/simulator/foretell .py               306
lessons/mutations          .py                  1180
lessons/reference          .py                  1325
lessons/site               .py                   480
tests                      .py                 44220
benchmarks                 .py                  4160
images                     .py                   840
"""
ALL_FILES = 1_070
ALL_LINES_OF_PYTHON = 138_110
ALL_BYTES = 11_680_000
WORDS = {"README.md": 1_500, "CHANGELOG.md": 1_200, "benchmarks/README.md": 3_300}


def tracked_files():
    """The paths of a checkout, as text with slashes; none outside of one."""
    command = ["git", "ls-files", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


FILES = tracked_files()
ROWS = [tuple(line.split()) for line in TABLE.strip().splitlines()]

pytestmark = pytest.mark.skipif(not FILES, reason="only a git checkout says which files are ours")


def room_of(name):
    """The longest room of the table that a file is in: its folder, or a folder above."""
    parts = ["NN" if part[:2].isdigit() else part for part in name.split("/")]
    places = ["/".join(parts[:length]) for length in range(len(parts), 0, -1)]
    rooms = {room for room, _, _ in ROWS}
    return next((place for place in places if place in rooms), "")


def is_counted(name, room, ending):
    if room_of(name) != room or not name.endswith(ending.removeprefix("test_*")):
        return False
    is_test = room == "lessons/NN" and name.rpartition("/")[2].startswith("test_")
    return is_test == ending.startswith("test_")


def lines_of(names):
    return sum((ROOT / name).read_bytes().count(b"\n") for name in names)


@pytest.mark.parametrize(("room", "ending", "most"), ROWS, ids=lambda value: str(value))
def test_a_room_is_no_larger_than_the_table_says(room, ending, most):
    lines = lines_of(name for name in FILES if is_counted(name, room, ending))
    assert 0 < lines <= int(most), f"{room}: {lines} lines of {ending}, at most {most}"


def test_every_python_file_is_in_a_room():
    python = [name for name in FILES if name.endswith(".py")]
    assert [name for name in python if not room_of(name)] == ["conftest.py"]
    assert lines_of(python) <= ALL_LINES_OF_PYTHON


def test_the_checkout_is_small():
    assert len(FILES) <= ALL_FILES
    assert sum((ROOT / name).stat().st_size for name in FILES) <= ALL_BYTES


@pytest.mark.parametrize("page", WORDS)
def test_a_page_is_short(page):
    assert len((ROOT / page).read_text(encoding="utf-8").split()) <= WORDS[page]
