"""`pytest --lab`: a project's tests for a GPU run without one, and every launch is checked.

    python -m pytest -p lessons.lab.pytest_plugin --lab PATH    in the folder of a clone
    pytest --lab                                                where the package is installed

A test in which something is found fails, and says what.
"""

from collections.abc import Generator
from contextlib import ExitStack
from typing import Any

import pytest

from . import loading

EXIT_NOTHING = 6  # no launch was checked; pytest itself has 0 to 5


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lab", "kernels without a GPU")
    group.addoption(
        "--lab",
        action="store_true",
        help="run kernels of numba.cuda without a GPU, and check each launch: races, indices "
        "outside an array, barriers, memory that nobody wrote; a test with a finding fails",
    )
    group.addoption(
        "--lab-native",
        action="store_true",
        help="with --lab: compile kernels for the CPU; finds only indices outside an array",
    )
    group.addoption(
        "--lab-budget", type=int, metavar="N", help="with --lab: rounds of loops per kernel"
    )
    for name, words in (
        ("--lab-without", "kinds of findings to leave out, with commas"),
        ("--lab-only", "kinds of findings to keep, with commas"),
        ("--lab-baseline", "a file of findings that are accepted"),
    ):
        group.addoption(name, metavar=words.split()[0].upper(), help=f"with --lab: {words}")
    group.addoption(
        "--lab-update-baseline",
        action="store_true",
        help="with --lab: write what is found into the baseline",
    )
    group.addoption("--lab-devices", type=int, default=1, metavar="N", help="how many GPUs")
    group.addoption("--lab-sarif", metavar="FILE", help="with --lab: write the findings as SARIF")


def pytest_configure(config: pytest.Config) -> None:
    # Before any test is imported: its marks ask whether there is a GPU.
    if config.getoption("--lab"):
        with loading():
            config.pluginmanager.register(AllTests(config))


class AllTests:
    """The one session of all tests, and what each of them has found."""

    def __init__(self, config: pytest.Config) -> None:
        from .errors import InputError
        from .files import refuse_foreign
        from .host.command import kinds
        from .host.instead_of_gpu import replaced
        from .host.session import Acceptances, Session, SessionOptions
        from .host.stand_ins import stand_ins

        option = config.getoption
        self.updates = option("--lab-update-baseline")
        options = SessionOptions(
            native=option("--lab-native"), devices=option("--lab-devices"), unwritten=True
        )
        if config.getoption("--lab-budget"):
            options = options._replace(budget=config.getoption("--lab-budget"))
        self.sarif = config.getoption("--lab-sarif")
        try:
            refuse_foreign("sarif", self.sarif)
            options = options._replace(
                acceptances=Acceptances(option("--lab-baseline"), self.updates),
                kinds=kinds(option("--lab-only") or "") or None,
                without=kinds(option("--lab-without") or ""),
            )
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
        self.session: Session = Session(options)
        self.stack = ExitStack()
        self.stack.enter_context(replaced(self.session))
        self.stack.enter_context(stand_ins())
        self.failed = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self.session.begin()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "call":
            self.judge(report)
        return report

    def judge(self, report: pytest.TestReport) -> None:
        """A test that has found something fails, unless it fails anyway."""
        self.session.order.wait_for_everything()
        if self.session.ok or self.updates:
            return
        self.failed += 1
        text = self.session.summary()
        if report.outcome == "passed":
            report.outcome = "failed"
            report.longrepr = text
        else:
            report.sections.append(("the lab", text))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if not exitstatus and not self.session.everything().launches:
            session.exitstatus = EXIT_NOTHING

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        everything = self.session.everything()
        first = everything.summary().partition("\n")[0]
        if self.failed:
            first += f", in {self.failed} test" + "s" * (self.failed > 1)
        terminalreporter.section("the lab")
        for line in (first, *everything.accepted_lines(), *everything.gone()):
            terminalreporter.write_line(line)

    def pytest_unconfigure(self) -> None:
        self.stack.close()
        if self.updates and self.session.acceptances is not None:
            self.session.acceptances.write(self.session.everything().findings)
        if self.sarif:
            from .files import write_whole

            text = self.session.everything().as_sarif()
            write_whole(self.sarif, lambda file: file.write(text.encode()))
