"""How long a class takes: makes submissions, grades them by the documented command, and times it.

    python -m tests.grading.time_class FOLDER --count 100 --jobs 2

The folder is new: it gets the submissions (see `made_class.make_many`) and their grades.
"""

import argparse
import csv
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from lessons.course.lesson import ROOT
from tests.grading.made_class import PART_ONE, make_many

LESSONS = ",".join(map(str, PART_ONE))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=100, help="submissions (default: 100)")
    parser.add_argument("--jobs", type=int, default=2, help="at the same time (default: 2)")
    parser.add_argument("--lessons", default=LESSONS, help=f"default: {LESSONS}")
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    made, out = options.folder / "submissions", options.folder / "grades"
    make_many(made, options.count)
    load = os.getloadavg()[0]
    command = [sys.executable, "-m", "lessons", "grade", made.resolve(), "--out", out.resolve(),
               "--jobs", options.jobs, "--lessons", options.lessons, "--seed", 1]  # fmt: skip
    began = time.monotonic()
    with open(options.folder / "printed.txt", "wb") as printed:
        subprocess.run(list(map(str, command)), cwd=ROOT, stdout=printed, check=True)
    seconds = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime + used.ru_stime
    print(f"{options.count} submissions, --jobs {options.jobs}, load before: {load:.1f}")
    print(f"{seconds / 60:.1f} minutes; {processor:.0f} CPU-seconds, "
          f"{processor / options.count:.1f} for each")  # fmt: skip
    for line in kinds_of_rows(out / "checks.csv"):
        print(line)


def kinds_of_rows(path):
    """How many checks ended how, and how long they took."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    count = Counter(row["status"] for row in rows)
    yield ", ".join(f"{number} {status}" for status, number in count.most_common())
    seconds = Counter()
    for row in rows:
        seconds[row["lesson"]] += float(row["seconds"])
    for lesson, total in sorted(seconds.items()):
        yield f"{lesson}: {total:.0f} s of its checks"


if __name__ == "__main__":
    main()
