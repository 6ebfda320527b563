"""`python -m lessons site --to FOLDER`: the course as pages that any web server, or none, shows.

    README.md files, and what a run of train.py has left  ->  pages with links, search and a gallery

The idea: every page lies where its Markdown file lies in the project, so that links stay as they
are. Nothing on a page asks another server for anything. All is made beside the folder first.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from kernels.files.atomic import unwritable
from kernels.plumbing.errors import InputError, not_empty
from lessons.course.exercises import START
from lessons.course.lesson import ROOT, Lesson, find_lessons, lessons
from lessons.site import gallery, pages

RECORD = "site.json"  # names what we have written into the folder
PAGES = (
    "README.md", "CONTRIBUTING.md", "lessons/**/*.md", "kernels/**/*.md", "benchmarks/*.md",
    "tests/README.md",
)  # fmt: skip
HOST = r"(?:www\.|ssh\.)?github\.com(?::443)?"  # SSH behind a firewall has the last one
GITHUB = re.compile(rf"(?:\w+://)?(?:[^/@]+@)?{HOST}[:/]([^/]+)/([^/]+?)(?:\.git)?/?$")
STEPS = 40_000  # of the lake on the front page


def add_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    # fmt: off
    add("--to", metavar="FOLDER", required=True, type=not_empty, help="the folder to make (needed)")
    add("--gallery", metavar="LESSONS", default="",
        help="show broken kernels of these lessons, such as 1-9 or 1,4,5b (default: of all)")
    add("--steps", type=int, default=STEPS, metavar="N",
        help=f"steps of the training on the front page (default: {STEPS:,}, about a minute)")
    add("--overwrite", action="store_true",
        help="write into a folder that holds other files, which stay (default: refuse)")
    # fmt: on


def write_site(options: Namespace) -> int:
    """The command; returns 0. Raises `InputError` if the folder holds something else."""
    if any((lesson.folder / START).exists() for lesson in lessons()):
        raise InputError("this copy of the course has no mistakes to show: use the whole project")
    pages.require_packages()
    out = Path(options.to)
    require_consent(out, options.overwrite)
    chosen = find_lessons(options.gallery) if options.gallery else lessons()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=out.parent) as folder:
            made = Path(folder) / "site"
            write_pages(made, chosen, options.steps)
            require_consent(out, options.overwrite)  # making it took its time
            put(made, out)
    except OSError as error:
        raise unwritable(out, error) from error
    print(f"{out / 'index.html'}: the course; open it in a browser")
    return 0


def write_pages(out: Path, chosen: Sequence[Lesson], steps: int) -> None:
    train_the_lake(out / "lake", steps)
    shown = gallery.write(out / "gallery", chosen)
    files = sorted({path for pattern in PAGES for path in ROOT.glob(pattern)})
    pages.Site(out, files, repository(), shown).write()
    names = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    (out / RECORD).write_text(json.dumps(names, indent=0), encoding="utf-8")


def train_the_lake(folder: Path, steps: int) -> None:
    """Leave the page of a run of train.py, `index.html`, in a folder."""
    with tempfile.TemporaryDirectory() as runs:
        options = "--steps", str(steps), "--quiet", "--out", "lake"
        command = [sys.executable, str(ROOT / "train.py"), *options]
        ran = subprocess.run(command, cwd=runs, capture_output=True, text=True)
        if ran.returncode:
            raise InputError(f"train.py has ended with: {ran.stderr.strip()[-200:]}")
        folder.mkdir(parents=True)
        shutil.copyfile(Path(runs) / "lake" / "index.html", folder / "index.html")


def repository() -> str:
    """Owner and name of the repository on GitHub, such as "somebody/lake"; "" if it has none."""
    command = ["git", "remote", "get-url", "origin"]
    try:
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    except OSError:
        return ""
    address = GITHUB.match(told.strip())
    return "/".join(address.groups()) if address else ""


# ---------------------------------------------------------------- the folder


def ours(out: Path) -> set[str]:
    """The files in a folder that an earlier call has written."""
    try:
        names = [*json.loads((out / RECORD).read_text(encoding="utf-8")), RECORD]
        inside = [name for name in names if (out / name).resolve().is_relative_to(out.resolve())]
    except (OSError, TypeError, ValueError):
        return set()
    return set(inside)


def require_consent(out: Path, overwrite: bool) -> None:
    """Raise `InputError` if there is something else than a site of ours, and nobody agreed."""
    if os.path.lexists(out) and not out.is_dir():
        raise InputError(f"{out} is no folder: give another name")
    there = {path.relative_to(out).as_posix() for path in out.rglob("*") if not path.is_dir()}
    foreign = sorted(there - ours(out))
    if foreign and not overwrite:
        raise InputError(
            f"{out} holds other files, such as {foreign[0]}: give a new folder, or --overwrite"
        )


def put(made: Path, out: Path) -> None:
    """Move a site that is finished into its place. What else lies there stays."""
    if not out.exists():
        made.rename(out)
        return
    for name in ours(out):
        (out / name).unlink(missing_ok=True)
    shutil.copytree(made, out, dirs_exist_ok=True)
    for folder in sorted(out.rglob("*/"), reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
