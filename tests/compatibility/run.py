"""Run numba-cuda's own tests with the lab behind each kernel launch, and print what passes.

    python -m tests.compatibility.run                       both engines, all files
    python -m tests.compatibility.run checked --only math   one engine, files whose names match
    python -m tests.compatibility.run --save                and write tests/compatibility/results/
    python -m tests.compatibility.run --again --save        without the kernels that passed there
    python -m tests.compatibility.run --mlir FOLDER         those of numba-cuda-mlir

Needs numba-cuda, but no GPU. FOLDER: `tests/numba_cuda_tests` of numba-cuda-mlir, which is then
needed, too.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.compatibility import table
from tests.compatibility.launches import ENGINES
from tests.compatibility.some_files import tests_of_numba_cuda

SECONDS_PER_PROCESS = 1800
FILES_PER_PROCESS = 12
MOST_CRASHES = 40  # of one process
FOLDERS = ("cudapy", "doc_examples", "cudadrv", "nrt", "core")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engines", nargs="*", choices=[[], *ENGINES], default=list(ENGINES))
    parser.add_argument("--only", default="", help="run the files whose names contain this")
    parser.add_argument(
        "--again", action="store_true", help="leave out what has passed in results/"
    )
    parser.add_argument("--mlir", default="", help="the folder of numba-cuda-mlir's tests")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default 1)")
    parser.add_argument("--save", action="store_true", help="keep the results in this folder")
    options = parser.parse_args()
    for engine in options.engines:
        saved = table.load(engine) if options.again else []
        done = table.tests_that_pass(saved)
        rows = run_engine(engine, options.only, options.jobs, done, options.mlir)
        rows = table.updated(saved, rows)
        print(table.summary(engine, rows))
        print(table.failures(rows))
        if options.save:
            table.save(engine, rows)
    return 0


def run_engine(
    engine: str, only: str = "", jobs: int = 1, done: Collection[str] = (), successors: str = ""
) -> list[table.Row]:
    """A row per kernel of each test in the files whose names contain `only`.

    done: names of tests to leave out. successors: the folder of numba-cuda-mlir's tests.
    """
    tests = Path(successors).resolve() if successors else tests_of_numba_cuda()
    files = [file for file in test_files(tests) if only in file]
    groups = [files[i : i + FILES_PER_PROCESS] for i in range(0, len(files), FILES_PER_PROCESS)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        results = [Path(folder) / f"{number}.jsonl" for number in range(len(groups))]
        run_group = partial(run_files, engine, successors and str(tests), done=done)
        return [row for rows in pool.map(run_group, results, groups) for row in rows]


def test_files(tests: Path) -> list[str]:
    """Paths of the files, from the folder of the tests on."""
    found = [path for folder in FOLDERS for path in sorted((tests / folder).glob("test_*.py"))]
    return [path.relative_to(tests).as_posix() for path in found]


def run_files(
    engine: str, successors: str, results: Path, files: list[str], done: Collection[str]
) -> list[table.Row]:
    """Run files in a process of their own, again and again until no test kills it."""
    results.write_text("".join(json.dumps({"begun": name}) + "\n" for name in done))
    module = "tests.compatibility.some_files"
    command = [sys.executable, "-m", module, engine, str(results), successors, *files]
    for _ in range(MOST_CRASHES):
        died = "the process died"
        try:
            finished = subprocess.run(command, capture_output=True, timeout=SECONDS_PER_PROCESS)
            code = finished.returncode
        except subprocess.TimeoutExpired:
            code, died = -1, "the process hung"
        if code >= 0:
            break
        note_death(results, died)
    return table.rows_of(read_lines(results))


def note_death(results: Path, died: str) -> None:
    """Give the test that was running an outcome."""
    lines = read_lines(results)
    begun = lines[-1].get("begun") if lines else None
    if begun:
        line = {"test": begun, "outcome": "failed", "failure": died, "launches": [["?", died]]}
        with results.open("a", encoding="utf-8") as output:
            output.write(json.dumps(line) + "\n")


def read_lines(results: Path) -> list[dict]:
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    sys.exit(main())
