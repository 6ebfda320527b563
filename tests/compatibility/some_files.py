"""Run files of numba-cuda's tests with an engine of the lab behind each launch.

    python -m tests.compatibility.some_files checked results.jsonl "" cudapy/test_math.py ...

appends one line of JSON per test: its name, its outcome, its launches. A test that is running when
the process dies has a line {"begun": name} and no other; the tests that results.jsonl names already
are left out. So whoever starts this process can start it again after a crash.
"""

import json
import signal
import sys
from pathlib import Path
from typing import IO

import pytest

from tests.compatibility import stand_in
from tests.compatibility.launches import Launches

SECONDS_PER_TEST = 180
ENDLESS = ("TestMultiprocessCache",)  # its own processes have no stand-in, and end again and again


class Recorder:
    """A plugin of pytest: writes what each test did."""

    def __init__(self, launches: Launches, results: IO[str], done: set[str]) -> None:
        self.launches = launches
        self.results = results
        self.done = done

    @pytest.fixture(scope="class")
    def initialize_from_pytest_config(self, request: pytest.FixtureRequest) -> None:
        request.cls._dump_failed_filechecks = False

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        left = [item for item in items if name_of(item.nodeid) not in self.done]
        items[:] = [item for item in left if not any(name in item.nodeid for name in ENDLESS)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item):
        self.launches.launched.clear()
        self.failure = ""
        self.outcome = "passed"
        self.write({"begun": name_of(item.nodeid)})
        signal.alarm(SECONDS_PER_TEST)
        try:
            result = yield
        finally:
            signal.alarm(0)
        launches = list(dict.fromkeys(self.launches.launched))
        self.write(
            {
                "test": name_of(item.nodeid),
                "outcome": self.outcome,
                "failure": self.failure[:500],
                "launches": [[kernel, problem[:500]] for kernel, problem in launches],
            }
        )
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.outcome = "failed"
            self.failure = self.failure or last_line(report)
        elif report.skipped and self.outcome == "passed":
            self.outcome = "expected to fail" if hasattr(report, "wasxfail") else "skipped"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.write({"test": name_of(report.nodeid), "outcome": "not imported",
                        "failure": str(report.longrepr)[-500:], "launches": []})  # fmt: skip

    def write(self, line: dict[str, object]) -> None:
        self.results.write(json.dumps(line) + "\n")
        self.results.flush()


def name_of(nodeid: str) -> str:
    """The name of a test from the folder of numba-cuda's tests on."""
    return nodeid.rpartition("cuda/tests/")[2]


def last_line(report: pytest.TestReport) -> str:
    message = getattr(getattr(report.longrepr, "reprcrash", None), "message", "")
    return message or str(report.longrepr)[-500:]


def too_slow(number: int, frame: object) -> None:
    raise TimeoutError(f"more than {SECONDS_PER_TEST} s")


def tests_of_numba_cuda() -> Path:
    """The folder of the tests that the installed numba-cuda brings."""
    from numba import cuda

    return Path(cuda.__file__).parent / "tests"


def main(engine: str, results: Path, successors: str, files: list[str]) -> int:
    """successors: the folder of numba-cuda-mlir's tests; "" for those of numba-cuda."""
    launches = Launches(engine)
    tests = Path(successors) if successors else tests_of_numba_cuda()
    (stand_in.install_lab if successors else stand_in.install)(launches.launch)
    done = names_in(results)
    signal.signal(signal.SIGALRM, too_slow)
    with results.open("a", encoding="utf-8") as output:
        recorder = Recorder(launches, output, done)
        options = "-q --continue-on-collection-errors -p no:cacheprovider -p no:warnings".split()
        options += ["-c", "/dev/null"]
        options += ["--rootdir", str(tests), "--confcutdir", str(tests), "--import-mode=importlib"]
        paths = [str(tests / file) for file in files]
        return pytest.main([*options, *paths], plugins=[recorder])


def names_in(results: Path) -> set[str]:
    """The tests that have been begun."""
    if not results.exists():
        return set()
    lines = map(json.loads, results.read_text(encoding="utf-8").splitlines())
    return {line.get("begun", "") for line in lines}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4:]))
