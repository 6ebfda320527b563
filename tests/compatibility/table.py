"""What numba-cuda's tests came to: a row per kernel of a test, and tables of them."""

import collections
import json
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

HERE = Path(__file__).parent
RESULTS = HERE / "results"


class Row(NamedTuple):
    """A kernel that a test launches."""

    test: str  # "cudapy/test_math.py::TestCudaMath::test_math_sin"
    kernel: str  # its name and first line
    problem: str  # what was wrong, or "" if it passed


def key(row: Row) -> str:
    """A kernel of a test in one text."""
    return f"{row.test} {row.kernel}"


def rows_of(lines: list[dict]) -> list[Row]:
    """A row per kernel, from the lines that `some_files` writes."""
    rows = []
    for line in lines:
        if line.get("launches") and line["outcome"] != "expected to fail":
            rows += rows_of_test(line)
        elif "test" in line:
            rows.append(Row(line["test"], "", ""))  # it launches no kernel
    return rows


def rows_of_test(line: dict) -> list[Row]:
    problems: dict[str, str] = {}
    for kernel, problem in line["launches"]:
        problems[kernel] = problems.get(kernel) or problem
    if line["outcome"] == "failed" and not any(problems.values()):
        # What the last kernel left is what the test looked at.
        last = line["launches"][-1][0]
        problems[last] = f"wrong: {first_lines(line['failure'])}"
    return [Row(line["test"], kernel, first_lines(problem)) for kernel, problem in problems.items()]


def first_lines(text: str) -> str:
    """The beginning of a message in one line; of a file its name alone, wherever it lies here."""
    return re.sub(r"/(?:[^\s/\"']+/)+", "", " ".join(text.split()))[:240]


# ---------------------------------------------------------------- what does not count


def excused() -> list[tuple[str, str]]:
    """(pattern of a test's name, reason) of what no simulator can do: see `excused.toml`."""
    groups = tomllib.loads((HERE / "excused.toml").read_text(encoding="utf-8"))["group"]
    return [(pattern, group["reason"]) for group in groups for pattern in group["tests"]]


def reason_for(row: Row, patterns: list[tuple[str, str]]) -> str:
    """Why a kernel does not count, or "" if it does."""
    names = (row.test, key(row))
    return next((why for pattern, why in patterns if any(fnmatch(n, pattern) for n in names)), "")


def counted(rows: list[Row]) -> list[Row]:
    """The rows of kernels that need no GPU hardware."""
    patterns = excused()
    return [row for row in rows if row.kernel and not reason_for(row, patterns)]


def passed(rows: list[Row]) -> list[Row]:
    return [row for row in rows if not row.problem]


# ---------------------------------------------------------------- tables


def summary(engine: str, rows: list[Row]) -> str:
    """One line."""
    counting, kernels = counted(rows), [row for row in rows if row.kernel]
    share = 100 * len(passed(counting)) / max(1, len(counting))
    return (
        f"{engine}: {len(passed(counting))} of {len(counting)} kernels pass ({share:.1f} %); "
        f"{len(kernels) - len(counting)} need hardware or foreign code and do not count"
    )


def failures(rows: list[Row]) -> str:
    """A line per kernel that does not pass."""
    failed = [row for row in counted(rows) if row.problem]
    return "\n".join(f"  {row.test}  {row.kernel}\n      {row.problem}" for row in failed)


def save(engine: str, rows: list[Row]) -> None:
    """Write `results/ENGINE.json` and `results/ENGINE.md`."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{engine}.json").write_text(packed(rows), encoding="utf-8")
    (RESULTS / f"{engine}.md").write_text(markdown(engine, rows), encoding="utf-8")


def packed(rows: list[Row]) -> str:
    """JSON, one line per class: {class: {test: {kernel: problem}}}, of the tests with kernels."""
    classes: dict[str, dict[str, dict[str, str]]] = {}
    for row in sorted(rows):
        if row.kernel:
            name, _, test = row.test.rpartition("::")
            classes.setdefault(name, {}).setdefault(test, {})[row.kernel] = row.problem
    lines = (f"{json.dumps(name)}: {json.dumps(tests)}" for name, tests in classes.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def load(engine: str) -> list[Row]:
    """What `save` has written: the kernels' rows."""
    classes = json.loads((RESULTS / f"{engine}.json").read_text(encoding="utf-8"))
    return [
        Row(f"{name}::{test}", kernel, problem)
        for name, tests in classes.items()
        for test, kernels in tests.items()
        for kernel, problem in kernels.items()
    ]


def tests_that_pass(rows: list[Row]) -> set[str]:
    """Names of the tests all of whose kernels pass."""
    return {row.test for row in rows} - {row.test for row in rows if row.problem}


def updated(rows: list[Row], newer: list[Row]) -> list[Row]:
    """The rows of both, of the tests that are in both the newer ones."""
    tests = {row.test for row in newer}
    return [row for row in rows if row.test not in tests] + newer


def markdown(engine: str, rows: list[Row]) -> str:
    patterns, rows = excused(), sorted(rows)
    lines = [f"# numba-cuda's tests on `{engine}`", "", summary(engine, rows) + ".", ""]
    lines += ["| file | kernels | pass |", "|---|---|---|"]
    for file, group in by_file(counted(rows)).items():
        lines.append(f"| `{file}` | {len(group)} | {len(passed(group))} |")
    lines += ["", "## Which do not pass, and why", "", "| test | kernel | why |", "|---|---|---|"]
    for row in rows:
        if row.problem and not reason_for(row, patterns):
            lines.append(f"| `{row.test}` | `{row.kernel}` | {cell(row.problem)} |")
    lines += ["", "## Which do not count", "", "| why | kernels |", "|---|---|"]
    reasons = collections.Counter(reason_for(row, patterns) for row in rows if row.kernel)
    del reasons[""]
    lines += [f"| {cell(why)} | {count} |" for why, count in reasons.items()]
    return "\n".join(lines) + "\n"


def by_file(rows: list[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.test.partition("::")[0], []).append(row)
    return groups


def cell(text: str) -> str:
    return text.replace("|", "\\|")
